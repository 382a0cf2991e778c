/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * transport/wire/packet.h: any bytes as a packet, read to its end. This file
 * has a second check of each frame, by the tables of doc/wire.md, section 4. */
#include <stdbool.h>
#include <string.h>

#include "tests/fuzz/fuzz.h"
#include "transport/core/le.h"
#include "transport/wire/packet.h"

/* doc/wire.md 4.1, 4.7: flags of each type. */
static const uint8_t flags_of[] = {
    [VC__FRAME_OPEN] = 0,
    [VC__FRAME_CALL] = VC__FRAME_MORE | VC__FRAME_STREAMS,
    [VC__FRAME_REPLY] = VC__FRAME_MORE | VC__FRAME_NOT_EXECUTED,
    [VC__FRAME_DATA] = VC__FRAME_MORE | VC__FRAME_OF_REPLY,
    [VC__FRAME_CLOSE] = 0,
    [VC__FRAME_CANCEL] = 0,
    [VC__FRAME_PING] = VC__FRAME_ANSWER,
    [VC__FRAME_GOAWAY] = 0,
    [VC__FRAME_MESSAGE] = VC__FRAME_MORE,
    [VC__FRAME_HALF] = 0,
    [VC__FRAME_WINDOW] = 0,
};

static bool
has_body(unsigned type)
{
    return type != VC__FRAME_PING && type != VC__FRAME_GOAWAY &&
           type != VC__FRAME_HALF && type != VC__FRAME_WINDOW;
}

/* True if there is a valid frame at `at`, with `room` bytes left in
 * the packet. */
static bool
frame_is_good(const uint8_t *at, size_t room)
{
    uint64_t body;

    if (room < VC__FRAME_HEADER)
        return false;
    if (at[0] < VC__FRAME_OPEN || at[0] > VC__FRAME_WINDOW ||
        (at[1] & ~flags_of[at[0]]) != 0)
        return false;
    body = vc__get32(at + 16);
    if (VC__FRAME_HEADER + (uint64_t)vc__get16(at + 14) + body > room)
        return false;
    if (body > 0 && !has_body(at[0]))
        return false;
    return body >= 4 || at[0] == VC__FRAME_DATA ||
           (at[1] & VC__FRAME_MORE) == 0;
}

/* The frame read at `at` agrees with its bytes, and lies within the packet.
 * Returns where the next frame begins. */
static const uint8_t *
frame_check(const struct vc__frame *f, const uint8_t *at, const uint8_t *end)
{
    uint8_t again[VC__FRAME_HEADER];

    FUZZ_CHECK(frame_is_good(at, (size_t)(end - at)));
    FUZZ_CHECK(f->metadata == at + VC__FRAME_HEADER);
    FUZZ_CHECK(f->metadata_len <= end - f->metadata);
    FUZZ_CHECK(f->body == f->metadata + f->metadata_len);
    FUZZ_CHECK(f->body_len <= end - f->body);
    vc__frame_put(again, f);
    FUZZ_CHECK(memcmp(again, at, sizeof again) == 0);
    return f->body + f->body_len;
}

static void
header_check(const struct vc__packet *p, const uint8_t *data)
{
    uint8_t again[VC__PACKET_HEADER];

    vc__packet_put(again, p);
    FUZZ_CHECK(memcmp(again, data, sizeof again) == 0);
}

/* Reads the frames between `at` and end, until none is left or one is
 * malformed. Later calls of the reader give the same result again. */
static void
frames_check(struct vc__packet_reader *r, unsigned count, const uint8_t *at,
             const uint8_t *end)
{
    struct vc__frame f;
    unsigned frames = 0;
    int got;

    while ((got = vc__frame_next(r, &f)) == 1) {
        FUZZ_CHECK(frames < count);
        at = frame_check(&f, at, end);
        frames++;
    }
    if (frames == count)
        FUZZ_CHECK(got == (at == end ? 0 : -1));
    else
        FUZZ_CHECK(got == -1 && !frame_is_good(at, (size_t)(end - at)));
    FUZZ_CHECK(vc__frame_next(r, &f) == got);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct vc__packet_reader r;
    struct vc__packet p;
    bool opened = vc__packet_open(&r, data, len, &p);

    FUZZ_CHECK(opened == (len >= VC__PACKET_HEADER));
    if (!opened)
        return 0;
    header_check(&p, data);
    frames_check(&r, p.count, data + VC__PACKET_HEADER, data + len);
    return 0;
}
