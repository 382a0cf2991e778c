/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Parts of a long message put together. Nothing here trusts the peer: lengths
 * and offsets are checked against what was announced, and memory is taken
 * only for what has really come. */
#include "transport/wire/assembly.h"

#include <stdlib.h>
#include <string.h>

#include "transport/core/le.h"

#define TOTAL_SIZE 4u

static void
metadata_drop(struct vc__assembly *a, size_t *budget)
{
    *budget += a->metadata_len;
    free(a->metadata);
    a->metadata = NULL;
    a->metadata_len = 0;
}

static void
lose(struct vc__assembly *a, enum vc__assembly_loss why, size_t *budget)
{
    metadata_drop(a, budget);
    *budget += a->room;
    free(a->data);
    a->data = NULL;
    a->room = 0;
    a->loss = why;
}

/* Doubles the room until len more bytes fit. */
static bool
make_room(struct vc__assembly *a, uint32_t len, size_t *budget)
{
    uint64_t room = a->room > 0 ? a->room : 16384;
    uint8_t *data;

    if (len <= a->room - a->have)
        return true;
    while (room - a->have < len)
        room *= 2;
    if (room > a->total)
        room = a->total;
    if (room - a->room > *budget) {
        lose(a, VC__ASSEMBLY_NO_BUDGET, budget);
        return false;
    }
    data = realloc(a->data, room);
    if (data == NULL) {
        lose(a, VC__ASSEMBLY_NO_MEMORY, budget);
        return false;
    }
    *budget -= room - a->room;
    a->data = data;
    a->room = (uint32_t)room;
    return true;
}

static void
metadata_keep(struct vc__assembly *a, const struct vc__frame *f, size_t *budget)
{
    if (a->loss != VC__ASSEMBLY_KEPT || f->metadata_len == 0)
        return;
    if (f->metadata_len > *budget) {
        lose(a, VC__ASSEMBLY_NO_BUDGET, budget);
        return;
    }
    a->metadata = malloc(f->metadata_len);
    if (a->metadata == NULL) {
        lose(a, VC__ASSEMBLY_NO_MEMORY, budget);
        return;
    }
    memcpy(a->metadata, f->metadata, f->metadata_len);
    a->metadata_len = f->metadata_len;
    *budget -= f->metadata_len;
}

static void
keep(struct vc__assembly *a, const uint8_t *part, uint32_t len, size_t *budget)
{
    if (a->loss == VC__ASSEMBLY_KEPT && make_room(a, len, budget))
        memcpy(a->data + a->have, part, len);
    a->have += len;
}

bool
vc__assembly_begin(struct vc__assembly *a, const struct vc__frame *f,
                   uint32_t max, size_t *budget)
{
    uint32_t len;

    if (a->total != 0 || f->body_len <= TOTAL_SIZE)
        return false;
    len = f->body_len - TOTAL_SIZE;
    a->total = vc__get32(f->body);
    if (len >= a->total) {
        a->total = 0;
        return false;
    }
    a->loss = a->total > max ? VC__ASSEMBLY_TOO_LONG : VC__ASSEMBLY_KEPT;
    metadata_keep(a, f, budget);
    keep(a, f->body + TOTAL_SIZE, len, budget);
    return true;
}

int
vc__assembly_add(struct vc__assembly *a, const struct vc__frame *f,
                 size_t *budget)
{
    bool last = !(f->flags & VC__FRAME_MORE);

    if (a->total == 0 || f->deadline != a->have || f->body_len == 0 ||
        f->body_len > a->total - a->have)
        return -1;
    if (last != (f->body_len == a->total - a->have))
        return -1;
    keep(a, f->body, f->body_len, budget);
    return last ? 1 : 0;
}

void
vc__assembly_end(struct vc__assembly *a, size_t *budget)
{
    metadata_drop(a, budget);
    *budget += a->room;
    free(a->data);
    memset(a, 0, sizeof *a);
}
