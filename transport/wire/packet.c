/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Writes and reads the headers of packets and frames, byte for byte as in
 * doc/wire.md, sections 3 and 4. This codec knows where a frame ends and what
 * its type allows. Its callers decide what a frame means to a session or a
 * call. Static functions are called by vc__frame_next(), or for it, on the
 * holder. See transport/wire/packet.h. */
#include "transport/wire/packet.h"

#include "transport/core/le.h"

void
vc__packet_put(uint8_t out[VC__PACKET_HEADER], const struct vc__packet *p)
{
    vc__put32(out, p->sequence);
    vc__put32(out + 4, p->word.ack);
    vc__put16(out + 8, p->word.window);
    vc__put16(out + 10, p->count);
}

void
vc__frame_put(uint8_t out[VC__FRAME_HEADER], const struct vc__frame *f)
{
    out[0] = f->type;
    out[1] = f->flags;
    vc__put16(out + 2, f->slot);
    vc__put32(out + 4, f->session);
    vc__put32(out + 8, f->sequence);
    vc__put16(out + 12, f->method);
    vc__put16(out + 14, f->metadata_len);
    vc__put32(out + 16, f->body_len);
    vc__put32(out + 20, f->deadline);
}

bool
vc__packet_open(struct vc__packet_reader *r, const void *data, size_t len,
                struct vc__packet *p)
{
    const uint8_t *in = data;

    if (len < VC__PACKET_HEADER)
        return false;

    p->sequence = vc__get32(in);
    p->word.ack = vc__get32(in + 4);
    p->word.window = vc__get16(in + 8);
    p->count = vc__get16(in + 10);

    r->at = in + VC__PACKET_HEADER;
    r->end = in + len;
    r->left = p->count;
    return true;
}

/* For vc__frame_next(): reads a header of VC__FRAME_HEADER bytes, whose lengths
 * were checked and the rest not. */
static void
frame_get(struct vc__frame *f, const uint8_t *in)
{
    f->type = in[0];
    f->flags = in[1];
    f->slot = vc__get16(in + 2);
    f->session = vc__get32(in + 4);
    f->sequence = vc__get32(in + 8);
    f->method = vc__get16(in + 12);
    f->metadata_len = vc__get16(in + 14);
    f->body_len = vc__get32(in + 16);
    f->deadline = vc__get32(in + 20);
    f->metadata = in + VC__FRAME_HEADER;
    f->body = f->metadata + f->metadata_len;
}

/* For frame_breach(), doc/wire.md 4.1: the flags that a frame of this type may
 * have; -1 for a type that does not exist. */
static int
frame_flags(uint8_t type)
{
    switch (type) {
    case VC__FRAME_OPEN:
    case VC__FRAME_CLOSE:
    case VC__FRAME_CANCEL:
    case VC__FRAME_GOAWAY:
    case VC__FRAME_HALF:
    case VC__FRAME_WINDOW:
        return 0;
    case VC__FRAME_CALL:
        return VC__FRAME_MORE | VC__FRAME_CLIENT_STREAM |
               VC__FRAME_SERVER_STREAM;
    case VC__FRAME_MESSAGE:
        return VC__FRAME_MORE;
    case VC__FRAME_REPLY:
        return VC__FRAME_MORE | VC__FRAME_NOT_EXECUTED;
    case VC__FRAME_DATA:
        return VC__FRAME_MORE | VC__FRAME_OF_REPLY;
    case VC__FRAME_PING:
        return VC__FRAME_ANSWER;
    default:
        return -1;
    }
}

/* For frame_breach(): true for a first part, whose body begins with the length
 * of the message: doc/wire.md 4.5. */
static bool
frame_begins_message(const struct vc__frame *f)
{
    return (f->flags & VC__FRAME_MORE) != 0 && f->type != VC__FRAME_DATA;
}

/* For frame_breach(): true for the types of doc/wire.md 4.7, 4.8 and 4.10. */
static bool
frame_has_no_body(uint8_t type)
{
    return type == VC__FRAME_PING || type == VC__FRAME_GOAWAY ||
           type == VC__FRAME_HALF || type == VC__FRAME_WINDOW;
}

/* For vc__frame_next(): the rule that a whole frame breaks, in words, or
 * NULL. */
static const char *
frame_breach(const struct vc__frame *f)
{
    int flags = frame_flags(f->type);

    if (flags < 0)
        return "a frame of an unknown type";
    if ((f->flags & ~flags) != 0)
        return "a flag that is not allowed for the type of its frame";
    if (frame_has_no_body(f->type) && f->body_len > 0)
        return "a body that is not allowed for the type of its frame";
    if (frame_begins_message(f) && f->body_len < 4)
        return "a first part without the length of its message";
    return NULL;
}

/* For vc__frame_next(): keeps the rule that is broken in r->breach; always
 * returns -1. */
static int
packet_malformed(struct vc__packet_reader *r, const char *breach)
{
    r->breach = breach;
    return -1;
}

int
vc__frame_next(struct vc__packet_reader *r, struct vc__frame *f)
{
    size_t room = (size_t)(r->end - r->at);
    struct vc__frame next;
    const char *breach;

    if (r->left == 0)
        return room == 0 ? 0
                         : packet_malformed(r, "bytes after the last frame");
    if (room < VC__FRAME_HEADER)
        return packet_malformed(r,
                                "a frame header beyond the end of its packet");
    room -= VC__FRAME_HEADER;
    /* Check the lengths first: unless they fit, frame_get() would point past
     * the packet. */
    if (vc__get16(r->at + 14) > room ||
        vc__get32(r->at + 16) > room - vc__get16(r->at + 14))
        return packet_malformed(r, "a frame beyond the end of its packet");

    frame_get(&next, r->at);
    breach = frame_breach(&next);
    if (breach != NULL)
        return packet_malformed(r, breach);

    r->at = next.body + next.body_len;
    r->left--;
    *f = next;
    return 1;
}
