/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The state that all attempts of one call share, and the decision whether
 * another attempt follows: joins an attempt (rpc/client/attempt.h) with the
 * policy (rpc/client/retry.h).
 *
 * Any thread, one at a time for a call: the one that makes it, for all attempts
 * of a call that blocks; the holder once an asynchronous call is started, also
 * a hedged or one-way one. A stream uses only vc__attempts_begin() and, on the
 * thread that ends it or could not open it, vc__attempts_end().
 *
 * Called by: attempts.c (begin_at, in_time), async.c (begin, end, next,
 * in_time, settle, expired), call.c (begin, end, next, in_time, settle,
 * expired), stream_client.c (begin, end). */
#ifndef VC_RPC_ATTEMPTS_H
#define VC_RPC_ATTEMPTS_H

#include "rpc/canceller.h"
#include "rpc/client/attempt.h"
#include "rpc/client/call_opts.h"
#include "rpc/client/method_config.h"

struct vc__attempts {
    uint64_t due;    /* the call's deadline, by vc__now(); it may be up to
                      * vc__rough_us() too early, and `until` is not */
    uint64_t until;  /* when the call ends if it has not yet */
    uint64_t began;  /* when the present attempt began */
    uint32_t ms;     /* the call's timeout, as the caller gave it */
    uint32_t flags;  /* VC_CALL_* */
    unsigned number; /* of the present attempt; 1: the first */
    unsigned moved;  /* attempts that only could not be sent, see retry.h */
    bool seen;       /* true once an attempt that failed or was abandoned may
                      * have been executed */

    /* Holds references to what may cancel the call. */
    bool cancellable;
    struct vc_canceller *canceller, *parent; /* or NULL */
};

/* A call begins now, or up to early_us later: takes its limits from complete
 * options, and references to its cancellers. VC_DEADLINE_EXCEEDED or
 * VC_RESOURCE_EXHAUSTED, as this thread's last error: the parent's deadline has
 * passed, or memory is short. Otherwise VC_OK, and the caller must call
 * vc__attempts_end(). Called by vc__attempts_begin(), which reads the clock:
 * roughly if the deadline is far away (rough_us: the engine's). */
enum vc_status vc__attempts_begin_at(struct vc__attempts *a,
                                     const struct vc_call_opts *opts,
                                     uint64_t now, uint32_t early_us);
enum vc_status vc__attempts_begin(struct vc__attempts *a,
                                  const struct vc_call_opts *opts,
                                  uint32_t rough_us);
/* Drops the references to the cancellers. Called when the call ends, or cannot
 * begin. */
void vc__attempts_end(struct vc__attempts *a);

/* Attempt u has failed with u->error. Returns true if another attempt is to
 * follow after *wait_us; that attempt is then counted in a->number, unless u
 * was none, as it only waited for servers. False: none follows. If u has waited
 * too long for a policy of the program's own, u->error changes as by
 * vc__attempts_in_time(). policy: of the call, or NULL: the channel's. */
bool vc__attempts_next(struct vc__attempts *a, struct vc__attempt *u,
                       const struct vc__call_policy *policy, uint64_t *wait_us);

/* The wait has elapsed. Returns false if the call's deadline passed meanwhile;
 * then u->error is set to that. Also called by vc__attempts_next(). */
bool vc__attempts_in_time(const struct vc__attempts *a, struct vc__attempt *u,
                          uint64_t now);

/* No attempt follows, and the call ends with this error; go_on() of call.c
 * calls this with VC_OK, too. Sets the error's outcome to that of all attempts
 * together: unknown instead of not executed, if an earlier one may have been
 * executed. */
void vc__attempts_settle(const struct vc__attempts *a, struct vc__error *error);

/* The deadline has passed, and attempt u was abandoned with this outcome, or
 * none was under way: sets u->error. Counts the failure at the server if the
 * call may have been executed. */
void vc__attempts_expired(const struct vc__attempts *a, struct vc__attempt *u,
                          enum vc_outcome outcome);

#endif
