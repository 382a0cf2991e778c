/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * What the attempts of one call have in common, and whether there is to be
 * another: joins an attempt (rpc/client/unary.h) with the policy (rpc/client/retry.h). */
#ifndef VC_RPC_AGAIN_H
#define VC_RPC_AGAIN_H

#include "rpc/canceller.h"
#include "rpc/client/call_opts.h"
#include "rpc/client/unary.h"

struct vc__again {
    uint64_t due;     /* of the call, by vc__now() */
    uint64_t began;   /* the present attempt */
    uint32_t ms;      /* the same as it was said */
    uint32_t flags;   /* VC_CALL_* */
    unsigned attempt; /* 1: the first */
    bool seen;        /* an attempt that has failed may have been executed */

    /* What may end it, held. */
    bool cancellable;
    struct vc_canceller *canceller, *parent; /* or NULL */
};

/* Its limits, of options that are whole; now is when it begins. Fails when the
 * parent's deadline has passed, or without memory; else end must follow. */
enum vc_status vc__again_begin(struct vc__again *a,
                               const struct vc_call_opts *opts, uint64_t now);
void vc__again_end(struct vc__again *a);

/* An attempt has failed, as u->error says. True: there is another after
 * *wait_us, and it has been counted. */
bool vc__again(struct vc__again *a, struct vc__unary *u, uint64_t *wait_us);

/* That wait is over. False: so is the call, which has waited for its server
 * all the time, as u->error says then. */
bool vc__again_in_time(const struct vc__again *a, struct vc__unary *u,
                       uint64_t now);

/* There is no other, and the call fails with this error: its outcome is that
 * of all attempts. */
void vc__again_settle(const struct vc__again *a, struct vc__error *error);

/* u was given up because its deadline has passed. */
void vc__again_expired(const struct vc__again *a, struct vc__unary *u,
                       enum vc_outcome outcome);

#endif
