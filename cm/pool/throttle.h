/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The client's throttle: when a server sheds calls, the client does not send
 * all of its calls. The client sends a quarter more than the server accepts and
 * fails the rest itself. Refusing a call may cost the server as much as serving
 * one. The rule is that of "Handling Overload" in B. Beyer et al., "Site
 * Reliability Engineering" (O'Reilly 2016), with K = 5/4. The counts decay
 * within a tenth of a second, so that a client soon notices when the server has
 * capacity again (doc/overload.md).
 *
 * Any thread. Relaxed throughout: the numbers are hints.
 *
 * Called by: rpc/client/attempt.c (all), rpc/client/hedge.c (is_on). */
#ifndef VC_CM_THROTTLE_H
#define VC_CM_THROTTLE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* All zero before the first call. Calls are counted 256-fold. */
struct vc__throttle {
    atomic_bool on;      /* true if the server has shed a call lately */
    atomic_uint asked;   /* calls, including those failed here */
    atomic_uint taken;   /* calls that the server did not shed */
    atomic_uint shed;    /* calls that the server shed */
    atomic_ullong faded; /* when the counts last decayed */
};

/* True if calls must ask vc__throttle_refuses(), and answers are counted.
 * Called before an attempt is sent, when its reply has come, and before a hedge
 * begins, as none is sent then. */
static inline bool
vc__throttle_is_on(const struct vc__throttle *t)
{
    return atomic_load_explicit(&t->on, memory_order_relaxed);
}

/* Records the server's answer to a call. Called by the holder when a reply has
 * come, if the throttle is on or the server has shed the call. */
void vc__throttle_answered(struct vc__throttle *t, bool shed);

/* For a throttle that is on: returns true if a call is to be failed, and counts
 * that call. Called on the thread that starts an attempt. Switches the throttle
 * off when nothing was shed for a while. */
bool vc__throttle_refuses(struct vc__throttle *t, uint64_t now, uint64_t *seed);

#endif
