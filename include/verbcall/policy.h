/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Policies of the program's own: how a channel with several servers chooses one
 * for each attempt of a call. A policy is registered once, and is then named in
 * vc_channel_opts.policy like those of the library. See doc/balancing.md. */
#ifndef VERBCALL_POLICY_H
#define VERBCALL_POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <verbcall/export.h>
#include <verbcall/metadata.h>
#include <verbcall/resolver.h>
#include <verbcall/status.h>

VC_BEGIN_DECLS

struct vc_method;
struct vc_service;

/* How a server stands at this moment; the lower, the better. */
enum vc_server_state {
    VC_SERVER_READY,      /* it is connected */
    VC_SERVER_CONNECTING, /* it may be soon, or its health is not known yet
                             (health_service): a call would wait for that */
    VC_SERVER_IDLE,       /* it is not: a call would wait, too */
    VC_SERVER_EJECTED,    /* it is connected, but its calls fail: see
                             verbcall/outlier.h */
    VC_SERVER_FAILING,    /* it cannot be reached, or is unhealthy: a call
                             would fail, or wait */
};

/* Bytes of a text of a policy, with the final NUL. */
#define VC_POLICY_WHY 256

/* The servers of a channel from now on until they change, for build(). All that
 * this points to is the library's, and does not change until destroy() has
 * returned; the struct itself is valid during build() only. */
struct vc_policy_servers {
    size_t size; /* sizeof(struct vc_policy_servers) of the library */

    /* What the resolver says of each, 1..1024, in its order. The defaults are
     * filled in: hash_key is the target; label and metadata may be NULL. A
     * value of metadata is followed by a NUL that its length does not count. */
    const struct vc_endpoint *const *servers;
    uint32_t n;

    const char *label;  /* vc_channel_opts.label, or NULL */
    const char *config; /* what follows the ':' in the channel's policy, as
                           "acme=2" of "by_tenant:acme=2"; or NULL */

    /* For build() that fails: a text for people. */
    char why[VC_POLICY_WHY];
};

/* An attempt of a call that needs a server, for pick(). Valid, with all that it
 * points to, until pick() returns. The functions below are for pick() only;
 * other numbers than 0..n-1 are allowed, and stand for a server that cannot be
 * used. A test of a policy may fill in such a struct itself. */
struct vc_pick {
    size_t size; /* sizeof(struct vc_pick) of the library */

    /* As build() got them. */
    const struct vc_endpoint *const *servers;
    uint32_t n;

    const struct vc_service *service; /* see verbcall/service.h */
    const struct vc_method *method;
    uint32_t attempt; /* of the call; 1: the first */
    uint32_t turn;    /* one more each time the channel chooses; it wraps */
    uint64_t random;  /* other bits each time */

    /* How server i stands. One that is not connected is connected soon, once
     * the backoff of its last failure is over: so a policy asks for the state
     * of the servers that it wants connected, and of no others. */
    enum vc_server_state (*state)(const struct vc_pick *pick, uint32_t i);
    /* True if an attempt or a hedge of this call went there before; of the last
     * eight. */
    bool (*tried)(const struct vc_pick *pick, uint32_t i);
    /* Calls in progress there, of all channels that share its connections. */
    uint64_t (*calls)(const struct vc_pick *pick, uint32_t i);
    /* The first of the call's metadata with this key, which *found then points
     * to; its value is not followed by a NUL. False: there is none. */
    bool (*metadata)(const struct vc_pick *pick, const char *key,
                     struct vc_metadata *found);

    /* For VC_PICK_FAIL: how the call fails; at first VC_UNAVAILABLE, and "". */
    enum vc_status status;
    char why[VC_POLICY_WHY];
};

/* What pick() returns instead of a server's number. Wait: no server suits now,
 * and pick() is asked again every 10 ms, until the call's deadline. Fail: with
 * the status and text of struct vc_pick, "not executed"; as other failures,
 * VC_UNAVAILABLE and VC_RESOURCE_EXHAUSTED are tried again later
 * (vc_channel_opts.max_attempts, VC_CALL_WAIT_FOR_READY); of a stream,
 * vc_stream_open() returns it, and a further attempt ends with it. */
#define VC_PICK_WAIT UINT32_MAX
#define VC_PICK_FAIL (UINT32_MAX - 1)

/* A policy: what a program provides. None of its functions may call functions
 * of the library. `state` is what build() has set, and constant for the
 * library: many threads may be in pick() at once. */
struct vc_policy_type {
    size_t size; /* sizeof(struct vc_policy_type) */

    /* As "by_tenant": 1 to 31 lower-case letters, digits, '_', '-' and '.', a
     * letter first. None of the library's own. */
    const char *name;

    /* The channel has these servers from now on. Called for each set of servers
     * of each channel, before pick() sees it, on the thread of
     * vc_channel_open() or vc_resolver_set(), which may be that of the engine:
     * it may allocate memory, but should not block. Another status than VC_OK
     * is returned by those, with the text in servers->why; the channel then
     * goes on with the servers that it has. NULL: the policy needs no state,
     * which is then NULL, and takes no config. */
    enum vc_status (*build)(struct vc_policy_servers *servers, void **state);

    /* No pick() has this state any more, nor will; called once for each build()
     * that has returned VC_OK, and with it the state may be freed. On the
     * thread that has changed the servers, or closes the channel. May be
     * NULL. */
    void (*destroy)(void *state);

    /* Returns the number of the server for this attempt, 0..n-1, VC_PICK_WAIT
     * or VC_PICK_FAIL. Called for each attempt of a call or a stream, and for
     * one that waits, on any thread, in an RCU read-side critical section: it
     * must not block, lock, or allocate memory, and
     * changes of the servers wait for its end. Any server may be chosen, in
     * whatever state; mostly a policy takes one of the lowest state, and rather
     * one that was not tried. With anything else the attempt fails with
     * VC_INTERNAL, and vc_error() says what pick() has returned. */
    uint32_t (*pick)(void *state, struct vc_pick *pick);
};

/* vc_policy_register - from now on vc_channel_opts.policy may have this name,
 * or the name, a ':' and a text for build(), in all of the process. The type is
 * not copied, and must stay valid. Any thread.
 * VC_INVALID_ARGUMENT   the name is malformed, the library's own, or registered
 *                       with another type; there is no pick, or a destroy
 *                       without a build
 * VC_RESOURCE_EXHAUSTED there are 16 already */
VC_API enum vc_status vc_policy_register(const struct vc_policy_type *type);

VC_END_DECLS

#endif
