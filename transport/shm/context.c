/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See transport/shm/context.h. */
#include "transport/shm/context.h"

#include "transport/shm/wire.h"

/* So many wires are polled as long as the engine is awake. */
#define HOT_MANY 16u
/* Empty polls in a row after which a wire sleeps if more than HOT_MANY are
 * hot. */
#define EMPTY_MOST 1024u

void
vc__shm_heat(struct vc__shm_wire *s)
{
    struct vc__shm_context *c = vc__shm_context_of(s->wire.context);

    if (s->is_hot || s->phase != VC__SHM_OPEN)
        return;
    vc__shm_in_wake(&s->in);
    s->is_hot = true;
    s->empty = 0;
    cds_list_add(&s->hot, &c->hot);
    c->n_hot++;
    c->context.engine->cold_wires--;
}

void
vc__shm_cool(struct vc__shm_wire *s)
{
    struct vc__shm_context *c = vc__shm_context_of(s->wire.context);

    if (!s->is_hot)
        return;
    s->is_hot = false;
    cds_list_del(&s->hot);
    c->n_hot--;
    c->context.engine->cold_wires++;
}

/* poll() of the context's source: called in each turn of the engine. Reads the
 * hot wires, and cools those that had nothing for long if more than HOT_MANY
 * are hot. Returns the sum of what vc__shm_read() returned. */
static unsigned
shm_on_poll(struct vc__source *source)
{
    struct vc__shm_context *c =
        caa_container_of(source, struct vc__shm_context, source);
    struct vc__shm_wire *s, *next;
    unsigned n = 0;

    cds_list_for_each_entry_safe (s, next, &c->hot, hot) {
        unsigned found = vc__shm_read(s);

        n += found;
        s->empty = found > 0 ? 0 : s->empty + 1;
        if (s->empty >= EMPTY_MOST && c->n_hot > HOT_MANY && s->is_hot &&
            vc__shm_in_sleep(&s->in))
            vc__shm_cool(s);
    }
    return n;
}

/* arm() of the context's source. Called before the engine sleeps, or is left to
 * the program's loop: cools the hot wires, so that their peers wake this end.
 * Wires that stay hot have packets. */
static void
shm_on_arm(struct vc__source *source)
{
    struct vc__shm_context *c =
        caa_container_of(source, struct vc__shm_context, source);
    struct vc__shm_wire *s, *next;

    cds_list_for_each_entry_safe (s, next, &c->hot, hot) {
        if (vc__shm_in_sleep(&s->in))
            vc__shm_cool(s);
    }
}

/* Acts at the first wire, not in vc__shm_open(), as only the holder may add
 * polling. */
void
vc__shm_poll(struct vc__shm_context *c)
{
    if (!c->polls)
        vc__engine_poll_source(c->context.engine, &c->source, shm_on_poll,
                               shm_on_arm);
    c->polls = true;
}

/* The engine begins to use shared memory: sets the limit of its regions. */
enum vc_status
vc__shm_open(struct vc__context *context, const struct vc__context_opts *opts)
{
    struct vc__shm_context *c = vc__shm_context_of(context);

    c->memory = opts->memory;
    c->source.fd = -1;
    CDS_INIT_LIST_HEAD(&c->hot);
    return VC_OK;
}

/* Stops polling; there are no more wires. */
void
vc__shm_close(struct vc__context *context)
{
    struct vc__shm_context *c = vc__shm_context_of(context);

    if (c->polls)
        vc__engine_remove(context->engine, &c->source);
}
