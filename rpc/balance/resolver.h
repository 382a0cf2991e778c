/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A resolver of a channel: calls the functions of its type, and carries what it
 * says to the channel's servers. See verbcall/resolver.h. open() of the type
 * runs on the thread of vc_channel_open(), and close() on that of
 * vc_channel_close(), or of a vc_channel_open() that fails after open();
 * again(), ready() and fire() run on the holder. The functions here: any
 * thread, unless a comment says otherwise.
 *
 * Called by: changes.c (open, close, again), rpc/client/config_file.c (make,
 * close), rpc/client/channel_config.c (servers), rpc/client/channel.c
 * (type_find). */
#ifndef VC_RPC_RESOLVER_H
#define VC_RPC_RESOLVER_H

#include <verbcall/resolver.h>

struct vc__changes;
struct vc__engine;
struct vc__servers;

/* Opens a resolver of this type: calls its open(), on this thread. Returns
 * VC_OK; or, as this thread's last error, the status of open() with the text of
 * vc_resolver_fail(), or VC_RESOURCE_EXHAUSTED. *out is set with VC_OK only.
 * Called by vc__changes_open(), inside vc_channel_open(). */
enum vc_status vc__resolver_open(struct vc_resolver **out,
                                 const struct vc_resolver_type *type,
                                 const char *target,
                                 struct vc__changes *changes,
                                 struct vc__engine *engine);

/* Makes a resolver that names no servers: of its type only close() is called,
 * at its end, besides what vc_resolver_watch() and vc_resolver_timer() ask for.
 * NULL if memory is short; no error is set. Called inside vc_channel_open(), on
 * its thread, for the file of a service config. */
struct vc_resolver *vc__resolver_make(const struct vc_resolver_type *type,
                                      void *state, struct vc__engine *engine);

/* Returns the servers of its channel. NULL, with the error as this thread's
 * last, if r is NULL or the parent process's. Aborts if it was freed, or is no
 * resolver. Called by vc_resolver_config(), on any thread. */
struct vc__servers *vc__resolver_servers(const struct vc_resolver *r);

/* Has the holder stop the resolver's timer and descriptors, waits for that,
 * calls close(), on this thread, and frees the resolver. NULL is allowed.
 * Called inside vc_channel_close(), or inside vc_channel_open() when that fails
 * after the resolver was opened; for the resolver of the servers, and that of
 * the file of a service config. */
void vc__resolver_close(struct vc_resolver *r);

/* A server cannot be reached, or was lost: has again() called, on the holder,
 * once a second at most; does nothing for a type without again(). Called by
 * vc__changes_again(), on any thread, under the lock of the changes. */
void vc__resolver_again(struct vc_resolver *r, uint64_t now);

/* rpc/balance/resolver_types.c: the type for a target with this scheme, in
 * *type; NULL: the library reads the target itself. VC_UNIMPLEMENTED if it
 * needs a module that is not there, or is none of Verbcall's, or the errors of
 * vc_resolver_register() for the type of a module: as this thread's last error.
 * Called by vc_channel_open(), on its thread. */
enum vc_status vc__resolver_type_find(const struct vc_resolver_type **type,
                                      const char *target);

#endif
