/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See tests/suite/raw.h: sending and receiving packets. */
#include <stdlib.h>
#include <string.h>

#include "tests/suite/fixture.h"
#include "tests/suite/raw_ops.h"
#include "transport/core/le.h"

/* The longest part of a long message: it fits a packet that all transports
 * take. */
#define PART_MAX (8192u - VC__PACKET_HEADER - VC__FRAME_HEADER)

/* A packet that was received and not read yet. */
struct raw_kept {
    STAILQ_ENTRY(raw_kept) next;
    uint32_t len;
    uint8_t bytes[];
};

/* --- building packets -------------------------------------------------- */

void
raw_begin(struct raw *r, struct raw_packet *p)
{
    p->head =
        (struct vc__packet){.sequence = r->sequence++,
                            .word = {.ack = r->handled, .window = r->window}};
    p->len = VC__PACKET_HEADER;
    if (r->have > 0)
        r->have--;
    vc__packet_put(p->bytes, &p->head);
}

void
raw_add(struct raw_packet *p, struct vc__frame f)
{
    uint8_t *out = p->bytes + p->len;

    vc__frame_put(out, &f);
    out += VC__FRAME_HEADER;
    if (f.metadata != NULL) {
        memcpy(out, f.metadata, f.metadata_len);
        out += f.metadata_len;
    }
    if (f.body_len > 0)
        memcpy(out, f.body, f.body_len);
    p->len = (uint32_t)(out - p->bytes) + f.body_len;
    p->head.count++;
    vc__packet_put(p->bytes, &p->head);
}

void
raw_add_open(struct raw_packet *p, uint32_t session,
             const struct vc_service *service)
{
    size_t name = strlen(service->name);
    uint8_t body[1024];
    uint8_t *out = body;

    vc__put16(out, (uint16_t)name);
    memcpy(out + 2, service->name, name);
    out += 2 + name;
    vc__put16(out, (uint16_t)service->n_methods);
    out += 2;
    for (unsigned i = 0; i < service->n_methods; i++, out += 4)
        vc__put32(out, service->methods[i].hash);
    raw_add(p, (struct vc__frame){.type = VC__FRAME_OPEN,
                                  .session = session,
                                  .sequence = 1,
                                  .deadline = service->fingerprint,
                                  .body = body,
                                  .body_len = (uint32_t)(out - body)});
}

/* --- received packets --------------------------------------------------- */

bool
raw_keep(struct raw *r, const uint8_t *bytes, uint32_t len)
{
    struct raw_kept *kept = malloc(sizeof *kept + len);
    struct vc__packet_reader reader;
    struct vc__packet head;

    if (kept == NULL)
        abort();
    kept->len = len;
    memcpy(kept->bytes, bytes, len);
    STAILQ_INSERT_TAIL(&r->kept, kept, next);
    if (!vc__packet_open(&reader, kept->bytes, kept->len, &head))
        return false;
    r->have = (uint16_t)(head.word.ack + head.word.window - r->sequence);
    r->handled += !r->hoards;
    return true;
}

/* False when no packet is kept. */
static bool
kept_read(struct raw *r)
{
    struct raw_kept *kept = STAILQ_FIRST(&r->kept);
    struct vc__packet head;

    if (kept == NULL)
        return false;
    STAILQ_REMOVE_HEAD(&r->kept, next);
    r->packet_len = kept->len;
    memcpy(r->packet, kept->bytes, kept->len);
    free(kept);
    vc__packet_open(&r->reader, r->packet, r->packet_len, &head);
    return true;
}

void
raw_forget(struct raw *r)
{
    while (kept_read(r))
        continue;
}

bool
raw_receive(struct raw *r, int ms)
{
    uint64_t until = fixture_ms() + (uint64_t)ms;

    while (!kept_read(r)) {
        if (r->ended || !r->ops->step(r, until))
            return false;
    }
    return true;
}

bool
raw_next_frame(struct raw *r, struct vc__frame *f, int ms)
{
    uint64_t until = fixture_ms() + (uint64_t)ms;

    for (;;) {
        if (r->reader.at != NULL && vc__frame_next(&r->reader, f) == 1)
            return true;
        if (!raw_receive(r, raw_left(until)))
            return false;
    }
}

/* --- sending ----------------------------------------------------------- */

bool
raw_send(struct raw *r, const void *bytes, size_t len)
{
    return r->ops->send(r, bytes, len);
}

bool
raw_send_packet(struct raw *r, const struct raw_packet *p)
{
    return raw_send(r, p->bytes, p->len);
}

/* Waits for two credits; doc/wire.md 3.2: the last credit is reserved for
 * returning credits. */
static bool
credit_wait(struct raw *r)
{
    uint64_t until = fixture_ms() + RAW_MS;

    while (r->have < 2) {
        if (r->ended || !r->ops->step(r, until))
            return false;
    }
    return true;
}

bool
raw_send_frame(struct raw *r, struct vc__frame f)
{
    struct raw_packet p;

    if (!credit_wait(r))
        return false;
    raw_begin(r, &p);
    raw_add(&p, f);
    return raw_send_packet(r, &p);
}

bool
raw_send_open(struct raw *r, uint32_t session, const struct vc_service *service)
{
    struct raw_packet p;

    if (!credit_wait(r))
        return false;
    raw_begin(r, &p);
    raw_add_open(&p, session, service);
    return raw_send_packet(r, &p);
}

bool
raw_send_message(struct raw *r, struct vc__frame f, const uint8_t *data,
                 uint32_t len)
{
    uint8_t first[PART_MAX];
    uint32_t at = PART_MAX - f.metadata_len - 4;
    bool of_reply = f.type == VC__FRAME_REPLY || f.flags & VC__FRAME_OF_REPLY;

    f.flags &= (uint8_t)~VC__FRAME_OF_REPLY;
    f.body = data;
    f.body_len = len;
    if (len <= PART_MAX - f.metadata_len)
        return raw_send_frame(r, f);
    vc__put32(first, len);
    memcpy(first + 4, data, at);
    f.body = first;
    f.body_len = at + 4;
    f.flags |= VC__FRAME_MORE;
    if (!raw_send_frame(r, f))
        return false;
    f.flags = of_reply ? VC__FRAME_OF_REPLY : 0;
    f.type = VC__FRAME_DATA;
    f.metadata_len = 0;
    for (; at < len; at += f.body_len) {
        struct vc__frame part = f;

        f.body_len = len - at < PART_MAX ? len - at : PART_MAX;
        part.body = data + at;
        part.body_len = f.body_len;
        part.deadline = at;
        if (at + f.body_len < len)
            part.flags |= VC__FRAME_MORE;
        if (!raw_send_frame(r, part))
            return false;
    }
    return true;
}
