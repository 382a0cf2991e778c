/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Resolvers: where the servers of a channel come from when its target is none
 * of those that vc_channel_open() reads itself. A resolver belongs to one
 * channel, from vc_channel_open() to vc_channel_close(). It tells which servers
 * there are, as often as that changes. file: is one of the library; a program
 * or a module registers others. See doc/balancing.md. */
#ifndef VERBCALL_RESOLVER_H
#define VERBCALL_RESOLVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <verbcall/export.h>
#include <verbcall/metadata.h>
#include <verbcall/status.h>

VC_BEGIN_DECLS

/* The most servers of a channel, the most addresses of one, and the most bytes
 * of a text of struct vc_endpoint, without the final NUL: of its target, and of
 * each other. */
#define VC_ENDPOINTS_MAX          1024u
#define VC_ENDPOINT_ADDRESSES_MAX 8u
#define VC_ENDPOINT_TARGET_MAX    319u
#define VC_ENDPOINT_TEXT_MAX      63u
/* The most entries of the metadata of an endpoint, and the most bytes of their
 * keys and values together. */
#define VC_ENDPOINT_METADATA_MAX   64u
#define VC_ENDPOINT_METADATA_BYTES 4096u
/* The highest weight and priority. */
#define VC_ENDPOINT_WEIGHT_MAX   1000000u
#define VC_ENDPOINT_PRIORITY_MAX 255u

/* A server. Initialize it with VC_ENDPOINT_INIT; 0 and NULL stand for
 * defaults. The library copies all. */
struct vc_endpoint {
    size_t size; /* see VC_SIZED in verbcall/export.h */

    /* As vc_channel_open() reads it, but no list: and no other resolver's:
     * "rdma://10.9.0.1:7471", "vc://a:1". A server with several addresses has
     * them all here, the best first: "rdma://10.9.0.1:7471|tcp://10.1.0.1:7471"
     * is one server. vc_resolver_set() compares this text. */
    const char *target;

    /* Its share of the calls by weighted_round_robin, unless servers report
     * their load (verbcall/load.h), and of the keys by ring_hash, 1..1000000,
     * default 1: a server of weight 2 gets twice as many as one of weight 1. As
     * in gRPC's A58, more than 10 times the mean of all counts as that, and
     * less than a hundredth of it, too. */
    uint32_t weight;

    /* For the policy priority, 0..255, 0 first: a server gets calls only while
     * none of a lower number can be reached. */
    uint32_t priority;

    /* Where it is, as "rack-7", for the policy nearest: compared with
     * vc_channel_opts.label. Default: none. */
    const char *label;

    /* For the policy ring_hash: its place on the ring. Default: its target. */
    const char *hash_key;

    /* What else is known of it, for policies of the program's own
     * (verbcall/policy.h), as its version or zone: up to
     * VC_ENDPOINT_METADATA_MAX entries of VC_ENDPOINT_METADATA_BYTES in all,
     * with keys and values as in verbcall/metadata.h. The library copies them,
     * does not read them, and sends them to nobody. A server whose metadata
     * changes keeps its connections. Default: none. */
    const struct vc_metadata *metadata;
    size_t n_metadata;
};

#define VC_ENDPOINT_INIT VC_SIZED_INIT(vc_endpoint)

/* One resolver of one channel: given to the functions of its type, and valid
 * until close() returns. */
struct vc_resolver;

/* A kind of resolver: what a program or a module provides. `state` is what
 * open() has set. The functions are called one at a time. again(), and ready()
 * and fire() below, run on the thread that advances the channel's engine, and
 * must not block; open() and close() may. None may call functions of the
 * library other than those below, and vc_error() after one of these. */
struct vc_resolver_type {
    size_t size; /* sizeof(struct vc_resolver_type) */

    /* Of its targets, up to the first ':', as "dns": 1 to 15 lower-case
     * letters, digits, '+', '-' and '.', a letter first. None that
     * vc_channel_open() reads itself. */
    const char *scheme;

    /* A channel is opened with this target, on the thread that calls
     * vc_channel_open(). It may call vc_resolver_set() at once, or later; until
     * then calls wait, to their deadlines. Another status than VC_OK is
     * returned by vc_channel_open(), with the text of vc_resolver_fail(); then
     * close() is not called. */
    enum vc_status (*open)(struct vc_resolver *r, const char *target,
                           void **state);

    /* A server cannot be reached, or was lost: it is a good time to ask again.
     * Called at most once a second. NULL: not wanted. */
    void (*again)(void *state);

    /* The channel is closed, or vc_channel_open() fails after open(): on the
     * thread of vc_channel_close() or vc_channel_open(), which leaves the
     * engine to others meanwhile. No descriptor is watched any more, and the
     * timer is stopped. Nothing of the resolver is called afterwards. */
    void (*close)(void *state);
};

/* vc_resolver_register - from now on vc_channel_open() has targets of this
 * scheme read by this resolver, in all of the process. The type is not copied,
 * and must stay valid. Any thread.
 * VC_INVALID_ARGUMENT   the scheme is malformed, the library's own, or
 *                       registered with another type; a function is missing
 * VC_RESOURCE_EXHAUSTED there are 16 already */
VC_API enum vc_status vc_resolver_register(const struct vc_resolver_type *type);

/* vc_resolver_set - these are all servers of the channel from now on, in this
 * order. Those that were there before and have the same target keep their
 * connections; calls to the others end there. One that has sent its clients to
 * an alternative is tried at its own address again. Of several with one target
 * the first counts. Any thread, from open() on until close() returns.
 * VC_OK                 what vc_resolver_fail() said before is over
 * VC_INVALID_ARGUMENT   an endpoint is malformed, there are more than 1,024, or
 *                       none; vc_error() says which. The channel goes on with
 *                       the servers it has
 * VC_RESOURCE_EXHAUSTED no memory; the same
 * and what the build() of a policy of the program's own (verbcall/policy.h) has
 * returned; the same */
VC_API enum vc_status vc_resolver_set(struct vc_resolver *r,
                                      const struct vc_endpoint *endpoints,
                                      size_t n);

/* vc_resolver_fail - there is no answer now, and why, in words for people: what
 * was asked, and what is wrong. A channel that has servers goes on with them.
 * One that has none ends its calls with VC_UNAVAILABLE and this text, unless
 * they have VC_CALL_WAIT_FOR_READY. Any thread, from open() on until close()
 * returns. */
VC_API void vc_resolver_fail(struct vc_resolver *r, const char *why);

/* vc_resolver_config - the service config of the channel from now on, in gRPC's
 * JSON, which is copied: it counts before the option service_config of the
 * channel. NULL: the resolver has none (any more), and the option counts. See
 * doc/service-config.md. Any thread, from open() on until close() returns; not
 * one that holds a lock which a handler or callback of the program takes.
 * VC_INVALID_ARGUMENT    it is malformed; vc_error() says where and how. The
 *                        channel goes on with the config that it has
 * VC_UNIMPLEMENTED       the module libverbcall-config is not installed
 * VC_RESOURCE_EXHAUSTED  no memory; the same */
VC_API enum vc_status vc_resolver_config(struct vc_resolver *r,
                                         const char *json);

/* --- for the functions of a resolver: the engine of its channel ---------- */

/* vc_resolver_watch - from now on ready() is called, with the resolver's state,
 * when fd can be read, and if `writes` is true also when it can be written; as
 * often as that stays so, and perhaps once without reason: fd must not block.
 * It replaces what was said of this fd before. Of at most 16 descriptors. On
 * the engine's thread only: in again(), ready() and fire(). In open() ask for
 * fire() in 0 ms instead.
 * VC_INVALID_ARGUMENT   fd is negative, or ready is NULL
 * VC_RESOURCE_EXHAUSTED there are 16 already, or the kernel refuses more */
VC_API enum vc_status vc_resolver_watch(struct vc_resolver *r, int fd,
                                        bool writes,
                                        void (*ready)(void *state, int fd));

/* vc_resolver_forget - fd is not watched any more. Call it before close(2) of
 * fd. On the engine's thread only, also within ready(). */
VC_API void vc_resolver_forget(struct vc_resolver *r, int fd);

/* vc_resolver_timer - fire() is called once in ms milliseconds, 0..2^31-1, on
 * the engine's thread; it replaces a call that was asked for before. NULL: no
 * call. In open(), again(), ready() and fire(). It is not called before open()
 * has returned VC_OK. */
VC_API void vc_resolver_timer(struct vc_resolver *r, uint32_t ms,
                              void (*fire)(void *state));

VC_END_DECLS

#endif
