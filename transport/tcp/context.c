/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See transport/tcp/context.h. */
#include "transport/tcp/context.h"

#include <stdlib.h>

#include "transport/tcp/wire.h"

/* The most hot sockets, which are read in each turn; with more busy ones, epoll
 * reports those that have data. */
#define HOT_MOST 4u
/* Empty reads in a row after which a socket is not hot any more: some 100
 * us. */
#define EMPTY_MOST 256u
/* While there are hot sockets, epoll is asked for the others every so many
 * turns. */
#define TURNS_PER_LOOK 16u
/* Blocks of each size that are kept. */
#define KEPT_MOST 16u

/* --- hot sockets --------------------------------------------------------- */

/* Reads each hot socket once, and cools those that were empty for long. Returns
 * how many reads had data, an end or an error. Called by tcp_on_poll(). */
static unsigned
hot_read(struct vc__tcp_context *c)
{
    struct vc__tcp_wire *t, *next;
    unsigned n = 0;

    cds_list_for_each_entry_safe (t, next, &c->hot, hot) {
        unsigned found = vc__tcp_read(t);

        n += found;
        if (found == 0 && t->is_hot && ++t->empty >= EMPTY_MOST)
            vc__tcp_cool(t);
    }
    return n;
}

/* poll() of the context's source: called in each turn of the engine. While
 * there are hot sockets, reads them, has the engine look at all descriptors, or
 * both. Returns how many reads and descriptors had something. */
static unsigned
tcp_on_poll(struct vc__source *s)
{
    struct vc__tcp_context *c =
        caa_container_of(s, struct vc__tcp_context, source);

    if (c->n_hot == 0) /* also before the engine sleeps: see tcp_on_arm() */
        return 0;
    if (c->crowded > 0) {
        c->crowded--;
        return vc__engine_look(c->context.engine);
    }
    if (c->context.engine->cold_wires > 0 && ++c->turns % TURNS_PER_LOOK == 0)
        return vc__engine_look(c->context.engine) + hot_read(c);
    return hot_read(c);
}

/* arm() of the context's source. Called before the engine sleeps, or is left to
 * the program's loop: epoll will report all sockets. */
static void
tcp_on_arm(struct vc__source *s)
{
    struct vc__tcp_context *c =
        caa_container_of(s, struct vc__tcp_context, source);

    while (!cds_list_empty(&c->hot))
        vc__tcp_cool(cds_list_entry(c->hot.next, struct vc__tcp_wire, hot));
}

void
vc__tcp_heat(struct vc__tcp_wire *t)
{
    struct vc__tcp_context *c = vc__tcp_context_of(t->wire.context);

    t->empty = 0;
    if (t->is_hot || !t->watched)
        return;
    if (!c->polls)
        vc__engine_poll_source(c->context.engine, &c->source, tcp_on_poll,
                               tcp_on_arm);
    c->polls = true;
    if (c->n_hot == HOT_MOST) {
        c->crowded = EMPTY_MOST;
        vc__tcp_cool(cds_list_entry(c->hot.prev, struct vc__tcp_wire, hot));
    }
    t->is_hot = true;
    cds_list_add(&t->hot, &c->hot);
    c->n_hot++;
    c->context.engine->cold_wires--;
}

void
vc__tcp_cool(struct vc__tcp_wire *t)
{
    struct vc__tcp_context *c = vc__tcp_context_of(t->wire.context);

    if (!t->is_hot)
        return;
    t->is_hot = false;
    cds_list_del(&t->hot);
    c->n_hot--;
    c->context.engine->cold_wires++;
}

/* --- the context --------------------------------------------------------- */

/* The engine begins to use TCP: allocates what its sockets share. */
enum vc_status
vc__tcp_open(struct vc__context *context, const struct vc__context_opts *opts)
{
    struct vc__tcp_context *c = vc__tcp_context_of(context);

    c->input = malloc(VC__RECORD_MAX + VC__TCP_READ);
    if (c->input == NULL)
        return vc__fail(VC_RESOURCE_EXHAUSTED, "out of memory");
    c->memory = opts->memory;
    c->source.fd = -1;
    CDS_INIT_LIST_HEAD(&c->hot);
    vc__stock_init(&c->blocks, VC__TCP_BLOCK, KEPT_MOST);
    vc__stock_init(&c->parts, VC__RECORD_MAX, KEPT_MOST);
    return VC_OK;
}

/* Frees what the engine's sockets shared; there are no more wires and ears. */
void
vc__tcp_close(struct vc__context *context)
{
    struct vc__tcp_context *c = vc__tcp_context_of(context);

    if (c->polls)
        vc__engine_remove(context->engine, &c->source);
    vc__stock_fini(&c->blocks);
    vc__stock_fini(&c->parts);
    free(c->input);
}
