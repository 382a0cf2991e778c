/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * When a silent peer is asked whether it lives, and when it is taken for dead.
 * Time goes in with each tick, what to do comes out: pure, cm/link/link_keepalive.c
 * does it.
 *
 * A peer's adapter and kernel go on when its process is stopped: so its
 * process is asked by a PING, its adapter by a WRITE of nothing. Silence is
 * known to a tick only, as what comes in is not worth a look at the clock; a
 * period P is 6 steps:
 *
 *                   a tick  asked after    dead, unanswered for  silence ended
 *   busy            1 step  1 to 2 steps   4 steps               within P
 *   idle, process   2 steps 10 to 12 steps 6 steps               within 3 P
 *   idle, adapter   2 steps 12 to 14 steps 4 steps               within 3 P
 *
 * The ticks of all links of one period fall on the same multiples of it, so that
 * a process whose links are idle wakes up three times a period for all of them.
 *
 * A process that was stopped itself sees the clock jump: a tick that comes
 * more than a step late says nothing of the peer, and the round begins anew. */
#ifndef VC_CM_KEEPALIVE_H
#define VC_CM_KEEPALIVE_H

#include <stdbool.h>
#include <stdint.h>

struct vc__keepalive {
    uint64_t step;    /* us: a sixth of the period */
    uint64_t next;    /* when the next tick is wanted */
    uint64_t heard;   /* last packet of its process, or the round's beginning */
    uint64_t reached; /* the same of its adapter */
    uint64_t asked;   /* while `asking` */
    uint64_t probed;  /* while `probe_out` */
    bool asking;      /* its process must be heard from */
    bool ping_out;    /* not answered yet; there is never another */
    bool probe_out;   /* not completed yet */
};

/* What happened since the last tick, and what is so now. */
struct vc__keepalive_news {
    bool heard;    /* a packet came */
    bool answered; /* the PING was */
    bool proven;   /* the WRITE has completed */
    bool busy;     /* somebody waits for the peer */
    bool may_ask;  /* its process owes us an answer to a PING; else only its
                    * adapter is asked */
};

enum vc__keepalive_act {
    VC__KEEPALIVE_NOTHING,
    VC__KEEPALIVE_PING,
    VC__KEEPALIVE_PROBE,
    VC__KEEPALIVE_STOPPED, /* dead: its adapter answers, its process does not */
    VC__KEEPALIVE_LOST,    /* dead: nothing of it answers */
};

/* now and all times: microseconds. period: not 0. */
void vc__keepalive_init(struct vc__keepalive *k, uint64_t now, uint64_t period);

/* At k->next, or whenever it became possible. */
enum vc__keepalive_act vc__keepalive_tick(struct vc__keepalive *k, uint64_t now,
                                          const struct vc__keepalive_news *n);

/* How long its process has been silent. */
uint64_t vc__keepalive_silence(const struct vc__keepalive *k, uint64_t now);

#endif
