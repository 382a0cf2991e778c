/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A server that sheds a client's calls is not sent all of them: what is beyond
 * the calls that it takes and a quarter more is failed here, as to refuse one
 * may cost the server as much as to serve one. The rule is that of "Handling
 * Overload" in B. Beyer et al., "Site Reliability Engineering" (O'Reilly 2016),
 * with K = 5/4; what counts fades within a tenth of a second, so that a client
 * notices soon when the server has time again (doc/overload.md).
 *
 * Any thread. Relaxed throughout: the numbers are hints. */
#ifndef VC_CM_THROTTLE_H
#define VC_CM_THROTTLE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* All zero before the first call. Calls are counted 256-fold. */
struct vc__throttle {
    atomic_bool on;      /* the server has shed a call lately */
    atomic_uint asked;   /* calls, those that were failed here included */
    atomic_uint taken;   /* that the server did not shed */
    atomic_uint shed;    /* that it did */
    atomic_ullong faded; /* when they last did */
};

static inline bool
vc__throttle_is_on(const struct vc__throttle *t)
{
    return atomic_load_explicit(&t->on, memory_order_relaxed);
}

/* The server has answered a call. */
void vc__throttle_answered(struct vc__throttle *t, bool shed);

/* Of one that is on: is a call to be failed? It counts it then. */
bool vc__throttle_refuses(struct vc__throttle *t, uint64_t now, uint64_t *seed);

#endif
