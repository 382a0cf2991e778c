/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The paths between hosts, one for each direction: a path may be cut, clogged,
 * or deliver packets twice. Static functions run on the thread of their caller:
 * one thread of the world runs at a time (world.h). */
#include <string.h>

#include "real.h"

/* What a clogged path holds: a call for later. */
struct held {
    struct held *next;
    void (*fn)(void *, uint64_t);
    void *obj;
    uint64_t n;
};

/* There is one as soon as something has been set for a path. */
struct path {
    const struct fake_host *from, *to;
    bool cut, clogged;
    unsigned one_in; /* this share of packets arrives twice; 0: none */
    bool noisy;      /* it has its own noise */
    struct fake_noise noise;
    struct fake_path_counts counts;
    struct held *first, **end; /* in the order of sending */
    struct path *next;
};

/* Returns NULL for a path without faults. Called by most functions of this
 * file. */
static struct path *
path_find(const struct fake_host *from, const struct fake_host *to)
{
    struct path *p = fake__world.paths;

    while (p != NULL && (p->from != from || p->to != to))
        p = p->next;
    return p;
}

/* Called by the functions that set or count something. */
static struct path *
path_get(const struct fake_host *from, const struct fake_host *to)
{
    struct path *p = path_find(from, to);

    if (p != NULL)
        return p;
    p = fake__alloc(sizeof *p);
    p->from = from;
    p->to = to;
    p->end = &p->first;
    p->next = fake__world.paths;
    fake__world.paths = p;
    return p;
}

/* --- what the fake asks ------------------------------------------------ */

/* Called in cm_peer.c, cm_wire.c, qp_wire.c and packet.c. */
bool
fake__reaches(const struct fake_host *from, const struct fake_host *to)
{
    const struct path *p = path_find(from, to);

    return to != NULL && !from->removed && !to->removed && from->port_up &&
           to->port_up && (p == NULL || !p->cut);
}

/* Called by is_neighbour() (cm.c), and neighbour_gone() and neighbour_watch()
 * (cm_wire.c). */
bool
fake__reach_each_other(const struct fake_host *a, const struct fake_host *b)
{
    return fake__reaches(a, b) && fake__reaches(b, a);
}

/* Called by fake__path_send() and datagram_depart() (ud.c). */
bool
fake__path_clogged(const struct fake_host *from, const struct fake_host *to)
{
    const struct path *p = path_find(from, to);

    return p != NULL && p->clogged;
}

/* Called by fake__path_plain(). */
static bool
is_plain(const struct path *p)
{
    return p == NULL || (!p->cut && !p->clogged && p->one_in == 0);
}

/* Called by rc_carry() and may_run_ahead() (qp_wire.c). */
bool
fake__path_plain(const struct fake_host *from, const struct fake_host *to)
{
    return is_plain(path_find(from, to)) && is_plain(path_find(to, from));
}

/* Called by fake__packet_send() (packet.c). */
bool
fake__path_repeats(const struct fake_host *from, const struct fake_host *to)
{
    const struct path *p = path_find(from, to);

    return p != NULL && p->one_in > 0 && fake__random(p->one_in) == 0;
}

/* Called by datagram_launch() (ud.c) and unheard() (cm_wire.c). */
const struct fake_noise *
fake__path_noise(const struct fake_host *from, const struct fake_host *to)
{
    const struct path *p = path_find(from, to);

    return p != NULL && p->noisy ? &p->noise : &fake__world.noise;
}

/* Called in cm_wire.c and ud.c. */
bool
fake__chance(unsigned share)
{
    return share > 0 && fake__random(1000000) < share;
}

/* Called in cm_wire.c, packet.c and ud.c. */
struct fake_path_counts *
fake__path_counts(const struct fake_host *from, const struct fake_host *to)
{
    return &path_get(from, to)->counts;
}

/* Called by fake__path_send(). */
static void
held_add(struct path *p, void (*fn)(void *, uint64_t), void *obj, uint64_t n)
{
    struct held *h = fake__alloc(sizeof *h);

    h->fn = fn;
    h->obj = obj;
    h->n = n;
    *p->end = h;
    p->end = &h->next;
    p->counts.held++;
}

/* Called by message_send() (cm_wire.c), datagram_depart() (ud.c) and in
 * packet.c. */
void
fake__path_send(const struct fake_host *from, const struct fake_host *to,
                uint64_t delay, void (*fn)(void *obj, uint64_t n), void *obj,
                uint64_t n)
{
    if (fake__path_clogged(from, to))
        held_add(path_get(from, to), fn, obj, n);
    else
        fake__after(delay, fn, obj, n);
}

/* --- what a test sets -------------------------------------------------- */

void
fake_path_cut(struct fake_host *from, struct fake_host *to, bool cut)
{
    FAKE_CALL_SAFE("fake_path_cut");

    path_get(from, to)->cut = cut;
}

void
fake_wire_cut(struct fake_host *a, struct fake_host *b, bool cut)
{
    FAKE_CALL_SAFE("fake_wire_cut");

    path_get(a, b)->cut = cut;
    path_get(b, a)->cut = cut;
}

/* Events of one moment are in the order of their creation: what was held
 * arrives in the order of sending. Called by fake_path_clog(). */
static void
held_release(struct path *p)
{
    for (struct held *h = p->first; h != NULL; h = h->next)
        fake__after(0, h->fn, h->obj, h->n);
    p->first = NULL;
    p->end = &p->first;
}

void
fake_path_clog(struct fake_host *from, struct fake_host *to, bool clogged)
{
    FAKE_CALL_SAFE("fake_path_clog");
    struct path *p = path_get(from, to);

    p->clogged = clogged;
    if (!clogged)
        held_release(p);
}

void
fake_path_duplicate(struct fake_host *from, struct fake_host *to,
                    unsigned one_in)
{
    FAKE_CALL_SAFE("fake_path_duplicate");

    path_get(from, to)->one_in = one_in;
}

void
fake_path_noise(struct fake_host *from, struct fake_host *to,
                const struct fake_noise *noise)
{
    FAKE_CALL_SAFE("fake_path_noise");
    static const struct fake_noise none;
    struct path *p;

    if (noise == NULL)
        noise = &none;
    if (from == NULL || to == NULL) {
        fake__world.noise = *noise;
        return;
    }
    p = path_get(from, to);
    p->noise = *noise;
    p->noisy = true;
}

void
fake_path_count(const struct fake_host *from, const struct fake_host *to,
                struct fake_path_counts *out)
{
    const struct path *p = path_find(from, to);

    memset(out, 0, sizeof *out);
    if (p != NULL)
        *out = p->counts;
}
