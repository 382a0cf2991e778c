/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The keepalive state of a link; embedded in it. The holder of the engine
 * only.
 *
 * Called by: cm/pool/pool_link.c (set), rpc/server/server_link.c (set), link.c
 * (start, link_greet, stop), link_io.c (link_ping). */
#ifndef VC_CM_LINK_KEEPALIVE_H
#define VC_CM_LINK_KEEPALIVE_H

#include <stdbool.h>
#include <stdint.h>

#include "cm/link/keepalive.h"
#include "transport/core/timer.h"

struct vc__link;
struct vc__frame;

/* Values of keepalive_ms of vc_channel_opts and vc_server_opts. */
#define VC__KEEPALIVE_DEFAULT_MS 1000u
#define VC__KEEPALIVE_MIN_MS     100u
#define VC__KEEPALIVE_MAX_MS     3600000u

struct vc__link_keepalive {
    uint32_t wish_ms; /* our period; 0: off */
    bool asks;     /* true if the peer has promised to answer PINGs in time */
    bool heard;    /* true if a packet came since the last tick */
    bool answered; /* true if our PING was answered since then */
    bool awaits;   /* true while a PING counts in engine->awaiting_answers */
    struct vc__keepalive state;
    struct vc__timer timer;
    uint32_t pings;  /* sent; also the sequence of the last */
    uint32_t probed; /* the ticket of the last probe */
};

/* Sets how long the peer may be silent; 0: for ever. Called by the owner when
 * it has made the link, before that is started. */
void vc__link_keepalive_set(struct vc__link *link, uint32_t ms);

/* Starts keepalive, unless it is off or the link is not up any more. Called by
 * link_act() when the link is up. */
void vc__link_keepalive_start(struct vc__link *link);
/* The active side must send first (iWARP): sends a PING if nothing was sent
 * yet, also if keepalive is off. Called by link_act() when the link is up, or
 * was a moment ago. */
void vc__link_greet(struct vc__link *link);

/* Stops keepalive. Called by tell_down() before ops->down(). */
void vc__link_keepalive_stop(struct vc__link *link);

/* Handles a PING frame, called by frame_take() in the handling of its packet:
 * answers it, or takes it as the answer to ours. On the passive side the first
 * one makes the link trusted. Returns false if it breaks the protocol. */
bool vc__link_ping(struct vc__link *link, const struct vc__frame *f);

#endif
