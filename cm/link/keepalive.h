/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Decides when a silent peer is asked for a sign of life, and when it is
 * declared dead. Pure: each tick takes the time and returns an action, which
 * cm/link/link_keepalive.c carries out on the holder of the engine.
 *
 * A peer's adapter and kernel keep working when its process is stopped. So the
 * process is asked by a PING, and its host by a probe of the transport: the
 * adapter by an empty RDMA WRITE or a packet without frames, the kernel by what
 * it acknowledges over TCP.
 * Over shared memory and inproc the host answers always. "Adapter" stands for
 * the host below. Only ticks measure silence, because reading the clock for
 * each packet would cost too much. A period P is 6 steps:
 *
 *                   a tick  asked after    dead, unanswered for  silence ended
 *   busy            1 step  1 to 2 steps   4 steps               within P
 *   idle, process   2 steps 10 to 12 steps 6 steps               within 3 P
 *   idle, adapter   2 steps 12 to 14 steps 4 steps               within 3 P
 *
 * A busy link whose peer's process may not be asked has the first row for its
 * adapter. While a process owes its answer, its adapter is asked too, half-way
 * through the wait.
 *
 * The ticks of all links with the same period fall on multiples of the same
 * step, of idle ones on multiples of two steps. So a process whose links are
 * idle wakes up three times a period for all of them.
 *
 * If this process itself was stopped, the clock jumps. A tick that is more than
 * a step late says nothing about the peer. So a new round begins: an idle peer
 * has its full time again, and a peer that a call waits for is asked at once. A
 * probe that is out has its full wait again.
 *
 * Called by: link_keepalive.c (all). */
#ifndef VC_CM_KEEPALIVE_H
#define VC_CM_KEEPALIVE_H

#include <stdbool.h>
#include <stdint.h>

struct vc__keepalive {
    uint64_t step;    /* a sixth of the period, microseconds */
    uint64_t next;    /* when the next tick is due */
    uint64_t heard;   /* last packet of its process, or the round's start */
    uint64_t reached; /* the same for its adapter */
    uint64_t asked;   /* when asked; while `asking` */
    uint64_t probed;  /* when probed; while `probe_out` */
    bool asking;      /* true while its process owes a sign of life */
    bool ping_out;    /* true while a PING is unanswered; one at a time */
    bool probe_out;   /* true while a probe is unanswered */
};

/* What happened since the last tick, and the present state. */
struct vc__keepalive_news {
    bool heard;    /* a packet was received */
    bool answered; /* the PING was answered */
    bool proven;   /* the probe was answered */
    bool busy;     /* a call waits for the peer */
    bool may_ask;  /* the process must answer PINGs; else ask its adapter */
};

enum vc__keepalive_act {
    VC__KEEPALIVE_NOTHING,
    VC__KEEPALIVE_PING,
    VC__KEEPALIVE_PROBE,
    VC__KEEPALIVE_STOPPED, /* dead: the adapter answers, the process does not */
    VC__KEEPALIVE_LOST,    /* dead: neither answers */
};

/* Begins the first round; called by vc__link_keepalive_start() when the link is
 * up. All times are in microseconds. The period must not be 0. */
void vc__keepalive_init(struct vc__keepalive *k, uint64_t now, uint64_t period);

/* Called by the timer at k->next, or as soon after it as possible. Sets the
 * next k->next. Returns what to do. */
enum vc__keepalive_act vc__keepalive_tick(struct vc__keepalive *k, uint64_t now,
                                          const struct vc__keepalive_news *n);

/* Microseconds since the last sign of life of its process. Called when the peer
 * was declared dead, for the text. */
uint64_t vc__keepalive_silence(const struct vc__keepalive *k, uint64_t now);

#endif
