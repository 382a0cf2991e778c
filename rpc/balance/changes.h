/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The servers of a channel that come and go, as its resolver says. Until there
 * are any, the channel has one subchannel whose pool leads nowhere, where calls
 * wait (cm/pool/pool.h, "nowhere"). A server that goes is dropped: its
 * connections are closed when the calls in progress there have ended. Any
 * thread, unless a comment says otherwise.
 *
 * Called by: rpc/client/channel.c (open, again), resolver.c (set, fail),
 * rpc/client/channel_config.c (policy), servers.c (again, lock, unlock, have,
 * describe, shut, cancel, gone, free), changes.c (free). */
#ifndef VC_RPC_CHANGES_H
#define VC_RPC_CHANGES_H

#include "rpc/balance/servers.h"

struct vc_resolver;
struct vc_resolver_type;

struct vc__changes {
    struct vc__servers *servers;
    struct vc__target_opts opts;
    struct vc__log *log;
    struct vc_resolver *resolver; /* NULL: it could not be opened */
    char *target;

    /* Held by one change at a time, while it makes a set and waits for readers
     * of the former one. Only the threads of vc_resolver_set() and
     * vc_resolver_config() wait for that; the holder only if these are called
     * there, or the file of a service config has changed. Taken before
     * `lock`. */
    pthread_mutex_t changing;
    unsigned round; /* changing; counts changes */

    pthread_mutex_t lock;
    struct cds_list_head alive;     /* lock; subchannels, also dropped ones */
    bool known;                     /* lock; there are servers */
    struct vc__subchannel *nowhere; /* lock; NULL: dropped */
    struct vc__error failure;       /* lock; the last, or VC_OK */
};

/* Gives a channel whose target is for this type of resolver one server that
 * leads nowhere, and opens the resolver. Returns VC_OK; or, as this thread's
 * last error, what open() of the type has returned, an error of
 * vc__target_opts_choose(), or VC_RESOURCE_EXHAUSTED: then nothing must be
 * closed. Called by vc_channel_open(), on its thread, instead of
 * vc__servers_open(). */
enum vc_status vc__changes_open(struct vc__servers *sv,
                                struct vc__progress *progress,
                                const struct vc_resolver_type *type,
                                const char *target,
                                struct vc__target_opts *opts);

/* These are the servers from now on: n, at least 1. Owns `endpoints`, of
 * malloc(), also after an error. VC_INVALID_ARGUMENT, VC_RESOURCE_EXHAUSTED, or
 * what build() of a policy of the program's own has returned (VC_INTERNAL for
 * what is no error's status), as this thread's last error: nothing has changed.
 * With VC_OK no choice reads the former set any more. Called by
 * vc_resolver_set(), on any thread, also inside open() of a resolver. */
enum vc_status vc__changes_set(struct vc__changes *ch,
                               struct vc__endpoint *endpoints, unsigned n);
/* The policy of the channel is this one of the library from now on. False if
 * memory is short: nothing has changed, and no error is set. If it returns true
 * no choice reads the former set any more. Called when the service config
 * changes: on the thread of vc_resolver_config(), or, if its file has changed,
 * on the holder. */
bool vc__changes_policy(struct vc__changes *ch, enum vc__policy policy);
/* There is no answer, for this reason, which is logged if it is a new one. If
 * there were no servers yet, attempts that wait for them fail with
 * VC_UNAVAILABLE and this text, soon, on the holder, and later ones at once.
 * Called by vc_resolver_fail(), on any thread. */
void vc__changes_fail(struct vc__changes *ch, const char *why);

/* A server could not be reached, or was lost: has the resolver asked again, on
 * the holder, once a second at most; does nothing once it is closed. Called
 * when an attempt or a stream has failed with VC_UNAVAILABLE, and when a choice
 * finds a server that fails: any thread, not in a read-side critical
 * section. */
void vc__changes_again(struct vc__changes *ch, uint64_t now);

/* Between these the set does not change. For vc__servers_enter() and exit(). */
void vc__changes_lock(struct vc__changes *ch);
void vc__changes_unlock(struct vc__changes *ch);
/* True once there are servers. Called by vc__servers_connect(). */
bool vc__changes_have(struct vc__changes *ch);
/* For vc_channel_describe(): a line if there are no servers, or the resolver
 * has no answer. Returns its length, as snprintf(); 0: there is no line. Under
 * the lock. */
size_t vc__changes_describe(const struct vc__changes *ch, char *text,
                            size_t size);

/* For vc_channel_close() and, except cancel, for a vc_channel_open() that
 * fails: on its thread, in this order, by the functions of servers.h of the
 * same names. Shut closes the resolver: the servers stay the same from then on.
 * Cancel, when the policy does not change any more, either, ends the calls of
 * all subchannels, also of dropped ones, and what waits to connect for this
 * owner. */
void vc__changes_shut(struct vc__changes *ch);
void vc__changes_cancel(struct vc__changes *ch, const void *owner);
/* A subchannel is closed, and about to be freed: takes it from the list
 * `alive`. Called by server_gone() of servers.c, on the holder. */
void vc__changes_gone(struct vc__changes *ch, struct vc__subchannel *s);
/* Frees it: all is closed, or could not be opened. NULL is allowed. On the
 * thread that closes or opens the channel. */
void vc__changes_free(struct vc__changes *ch);

#endif
