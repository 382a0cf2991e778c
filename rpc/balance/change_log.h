/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * What one change of the servers of a channel has added and removed, for the
 * log. On the thread that changes them, in vc__changes_set(). vc__change_note()
 * runs under `changing` (changes.h); the lines are logged afterwards, without
 * that lock.
 *
 * Called by: changes.c (all). */
#ifndef VC_RPC_CHANGE_LOG_H
#define VC_RPC_CHANGE_LOG_H

#include "rpc/balance/subchannel.h"
#include "transport/core/log.h"

struct vc__change {
    unsigned come, gone; /* so many servers */
    bool answers;        /* the resolver had failed before, and has an answer */

    /* Servers that are held, to be named: more lines are not logged anyway. */
    bool names; /* lines that name servers are logged */
    unsigned n_named;
    struct {
        struct vc__subchannel *sub;
        bool comes;
    } named[VC__LOG_MOST];
};

/* Begins a record: nothing has changed yet. log: where it will be logged. */
void vc__change_begin(struct vc__change *c, const struct vc__log *log);

/* A server is added, or dropped: counts it, and holds it if a line is to name
 * it. The place where calls wait for servers does not count. The caller has not
 * put the server yet. */
void vc__change_note(struct vc__change *c, struct vc__subchannel *s,
                     bool comes);

/* Logs for the channel with this target, which has n servers now, that its
 * resolver has an answer again, how many servers were added and dropped, and
 * which: each if it is so, and the log wants it. */
void vc__change_log(const struct vc__change *c, struct vc__log *log,
                    const char *target, unsigned n);

/* Puts the servers that are held. Called when the change is logged, or has
 * failed. */
void vc__change_end(struct vc__change *c);

#endif
