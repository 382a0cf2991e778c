/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See cm/pool/session_note.h. */
#include "cm/pool/session_note.h"

#include <stdlib.h>
#include <string.h>

#include "cm/pool/client.h"
#include "cm/pool/peer.h"
#include "cm/pool/pool.h"
#include "transport/core/le.h"

struct note {
    struct vc__send send;
    struct vc__pool *pool;
    uint32_t room;
    uint8_t body[];
};

/* The room of the one note that the pool keeps for reuse, for clients that open
 * many sessions. */
#define NOTE_ROOM 192u

/* For vc__note_new(): send->done of a note, when the link has sent or lost it.
 * On any thread, under the link's lock. Keeps it for reuse and frees the one
 * kept before, or frees it. */
static void
note_done(struct vc__send *send, enum vc__send_end end)
{
    struct note *n = caa_container_of(send, struct note, send);

    (void)end;
    if (n->room == NOTE_ROOM) /* acquire, release: pairs with vc__note_new() */
        n = atomic_exchange_explicit(&n->pool->spare, n, memory_order_acq_rel);
    free(n);
}

struct vc__send *
vc__note_new(const struct vc__session *s, enum vc__frame_type type, size_t len)
{
    struct vc__pool *p = s->peer->pool;
    uint32_t room = len <= NOTE_ROOM ? NOTE_ROOM : (uint32_t)len;
    struct note *n = NULL;
    struct vc__send *send;

    if (room == NOTE_ROOM)
        n = atomic_exchange_explicit(&p->spare, NULL, memory_order_acq_rel);
    if (n == NULL)
        n = malloc(sizeof *n + room);
    if (n == NULL)
        return NULL;
    n->pool = p;
    n->room = room;
    send = &n->send;
    vc__send_clear(send);
    send->frame.type = (uint8_t)type;
    send->frame.session = s->number;
    send->frame.sequence = s->binding;
    send->frame.body_len = (uint32_t)len;
    send->body = n->body;
    send->done = note_done;
    return send;
}

uint32_t
vc__note_open_len(const struct vc_service *service)
{
    return (uint32_t)(2 + strlen(service->name) + 2 +
                      4 * (size_t)service->n_methods);
}

void
vc__note_open_put(const struct vc_service *service, uint8_t *out)
{
    size_t name = strlen(service->name);

    vc__put16(out, (uint16_t)name);
    memcpy(out + 2, service->name, name);
    out += 2 + name;
    vc__put16(out, (uint16_t)service->n_methods);
    out += 2;
    for (unsigned i = 0; i < service->n_methods; i++)
        vc__put32(out + (size_t)i * 4, service->methods[i].hash);
}

struct vc__send *
vc__note_open(const struct vc__session *s)
{
    uint32_t len =
        s->open != NULL ? s->open_len : vc__note_open_len(s->client->service);
    struct vc__send *send = vc__note_new(s, VC__FRAME_OPEN, len);
    uint8_t *out;

    if (send == NULL)
        return NULL;
    send->frame.method = s->flow.weight;
    send->frame.deadline =
        s->open != NULL ? s->open_schema : s->client->service->fingerprint;
    out = caa_container_of(send, struct note, send)->body;
    if (s->open != NULL)
        memcpy(out, s->open, len);
    else
        vc__note_open_put(s->client->service, out);
    return send;
}
