/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See rpc/server/server_arrival.h. */
#include "rpc/server/server_arrival.h"

#include <stdlib.h>

#include "rpc/codec/fast_codec.h"
#include "rpc/server/server_counts.h"
#include "rpc/server/server_deadline.h"
#include "rpc/server/server_link.h"

/* An arrival without a part for stream_stall_us loses its memory; while memory
 * is scarce, after this time at the latest. */
#define STALLED_US 5000000u

/* Returns the session's part. Called by account_for(),
 * vc__server_arrival_begin() and vc__server_arrival_add(). */
static struct vc__server_part *
server_arrival_part_of(const struct vc__server_session *s)
{
    return s->peer->part;
}

static void stalled_look(struct vc__server_part *part);

/* Updates the count of bytes after a change. Called by server_arrival_lose(),
 * vc__server_arrival_begin() and vc__server_arrival_free(). */
static void
holds_count(struct vc__server_part *part, struct vc__server_arrival *a)
{
    size_t holds = vc__assembly_holds(&a->assembly);

    part->arriving += holds - a->held;
    a->held = holds;
    vc__server_count_arriving(part);
}

void
vc__server_arrival_unreserve(struct vc__server_arrival *a)
{
    if (a->reserved > 0)
        vc__memory_discount(a->assembly.account, a->reserved);
    a->reserved = 0;
}

/* Drops the memory of an arrival; the rest of its parts are only counted.
 * Called by stalled_lose(). */
static void
server_arrival_lose(struct vc__server_part *part, struct vc__server_arrival *a)
{
    vc__server_arrival_unreserve(a);
    vc__assembly_lose(&a->assembly);
    holds_count(part, a);
}

/* Drops the memory of arrivals that had no part for `for_us`, or whose deadline
 * has passed: from the longest without a part on, until it finds one of neither
 * kind. Called by on_stalled(), and by account_for() when memory is scarce. */
static void
stalled_lose(struct vc__server_part *part, uint64_t now, uint64_t for_us)
{
    while (!cds_list_empty(&part->arrivals)) {
        struct vc__server_arrival *a = cds_list_entry(
            part->arrivals.next, struct vc__server_arrival, node);

        if (now - a->came < for_us && now < a->due)
            break;
        cds_list_del_init(&a->node);
        server_arrival_lose(part, a);
    }
}

/* Returns after how long without a part an arrival is lost (stream_stall_us);
 * VC__FOREVER: not before memory is scarce. Called by on_stalled() and
 * stalled_look(). */
static uint64_t
stall_us(const struct vc__server_part *part)
{
    uint64_t us = part->server->stream_stall_us;

    return us == 0 ? VC__FOREVER : us;
}

/* The timer of stalled_look(), on the holder: loses arrivals that stalled, or
 * whose deadline has passed, and starts the timer again while there are others.
 * A timer, since other engines may need the memory too, and cannot reach the
 * arrivals of this one. */
static void
on_stalled(struct vc__timer *timer)
{
    struct vc__server_part *part =
        caa_container_of(timer, struct vc__server_part, stalled);
    uint64_t us = stall_us(part);

    if (us > STALLED_US && vc__store_is_scarce(&part->server->store))
        us = STALLED_US;
    stalled_lose(part, vc__now(), us);
    if (!cds_list_empty(&part->arrivals))
        stalled_look(part);
}

/* Starts the timer of on_stalled(), unless the part closes. Called by
 * on_stalled(), and by vc__server_arrival_begin() if the timer does not run. */
static void
stalled_look(struct vc__server_part *part)
{
    uint64_t us = stall_us(part);

    if (!part->closing)
        vc__timer_start(&part->progress->engine.timers, &part->stalled,
                        vc__now() + (us < STALLED_US ? us : STALLED_US),
                        on_stalled);
}

/* Finds room for the parts of a message and for the unpacked one, `bytes` each,
 * and reserves the latter; if memory is scarce, also by dropping that of
 * stalled arrivals. Returns the client's account, from which the assembly takes
 * the parts' memory; NULL: there is not enough. Called by
 * vc__server_arrival_begin() for a message to be kept. */
static struct vc__account *
account_for(struct vc__server_session *s, struct vc__server_arrival *a,
            size_t bytes)
{
    struct vc__account *account = &s->peer->account;
    size_t parts = bytes + VC__ASSEMBLY_ROOM;

    if (!vc__memory_reserve(account, parts + bytes)) {
        if (vc__store_is_scarce(account->store))
            stalled_lose(server_arrival_part_of(s), a->came, STALLED_US);
        if (!vc__memory_reserve(account, parts + bytes))
            return NULL;
    }
    vc__memory_discount(account, parts); /* the assembly counts these itself */
    a->reserved = bytes;
    return account;
}

bool
vc__server_arrival_begin(struct vc__server_session *s,
                         struct vc__server_slot *slot,
                         const struct vc__frame *f, uint32_t max)
{
    struct vc__server_arrival *a = calloc(1, sizeof *a);
    uint32_t bytes = vc__assembly_announced(f);
    struct vc__server_part *part = server_arrival_part_of(s);
    struct vc__account *account = NULL;
    bool good;

    if (a == NULL)
        return false;
    a->came = vc__now();
    a->due = f->type == VC__FRAME_CALL ? vc__server_due(part, f->deadline)
                                       : VC__FOREVER;
    a->method = f->method;
    a->kind = f->flags & VC__FRAME_STREAMS;
    slot->arrival = a;
    if (bytes > 0 && bytes <= max)
        account = account_for(s, a, bytes);
    if (bytes > 0)
        a->assembly.lead = vc__fast_lead(f->body + VC__ASSEMBLY_TOTAL,
                                         f->body_len - VC__ASSEMBLY_TOTAL);
    good = vc__assembly_begin(&a->assembly, f, max, account);
    if (a->assembly.loss != VC__ASSEMBLY_KEPT)
        vc__server_arrival_unreserve(a);
    cds_list_add_tail(&a->node, &part->arrivals);
    if (!vc__timer_running(&part->stalled))
        stalled_look(part);
    holds_count(part, a);
    return good || vc__server_breach(s->link, "an invalid first part");
}

int
vc__server_arrival_add(struct vc__server_session *s,
                       struct vc__server_arrival *a, const struct vc__frame *f)
{
    a->came = vc__now();
    cds_list_del(&a->node);
    cds_list_add_tail(&a->node, &server_arrival_part_of(s)->arrivals);
    return vc__assembly_add(&a->assembly, f);
}

void
vc__server_arrival_free(struct vc__server_peer *peer,
                        struct vc__server_arrival *a)
{
    vc__server_arrival_unreserve(a);
    cds_list_del(&a->node);
    vc__assembly_end(&a->assembly);
    holds_count(peer->part, a);
    vc__trimmer_note(&peer->part->trimmer);
    free(a);
}

void
vc__server_arrival_drop(struct vc__server_session *s,
                        struct vc__server_slot *slot)
{
    if (slot->arrival == NULL)
        return;
    vc__server_arrival_free(s->peer, slot->arrival);
    slot->arrival = NULL;
}
