/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * What a link keeps to know whether its peer lives; embedded in it. The holder
 * of the engine only. */
#ifndef VC_CM_LINK_KEEPALIVE_H
#define VC_CM_LINK_KEEPALIVE_H

#include <stdbool.h>
#include <stdint.h>

#include "cm/link/keepalive.h"
#include "transport/core/timer.h"

struct vc__link;
struct vc__frame;

/* vc_channel_opts and vc_server_opts: keepalive_ms. */
#define VC__KEEPALIVE_DEFAULT_MS 1000u
#define VC__KEEPALIVE_MIN_MS     100u
#define VC__KEEPALIVE_MAX_MS     3600000u

struct vc__link_keepalive {
    uint32_t wish_ms; /* ours; 0: off */
    bool asks;        /* the peer said that it answers PINGs in time */
    bool heard;       /* a packet came since the last tick */
    bool answered;    /* so was our PING */
    bool awaits;      /* one is out: counted in engine->awaiting_answers */
    struct vc__keepalive state;
    struct vc__timer timer;
    uint32_t pings;  /* sent; the sequence of the last */
    uint32_t probed; /* the ticket of the last probe */
};

/* How long may the peer be silent? 0: for ever. Before the link is started. */
void vc__link_keepalive_set(struct vc__link *link, uint32_t ms);

/* The link is up; it carries nothing any more. */
void vc__link_keepalive_start(struct vc__link *link);
/* The active side speaks first (iWARP): a PING, when there is nothing else. */
void vc__link_greet(struct vc__link *link);

void vc__link_keepalive_stop(struct vc__link *link);

/* A PING frame; false when it breaks the protocol. */
bool vc__link_ping(struct vc__link *link, const struct vc__frame *f);

#endif
