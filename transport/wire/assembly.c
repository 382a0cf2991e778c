/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Puts the parts of a long message together. Nothing here trusts the peer:
 * lengths and offsets are checked against the announced length. See
 * transport/wire/assembly.h. Static functions run on the thread of their
 * caller, under the lock that assembly.h says. */
#include "transport/wire/assembly.h"

#include <string.h>

#include "transport/core/le.h"

/* For assembly_lose() and vc__assembly_end(): gives the message's memory back
 * to its account. */
static void
assembly_drop(struct vc__assembly *a)
{
    vc__memory_give(a->account, a->metadata, a->metadata_len);
    vc__memory_give(a->account, a->block, (size_t)a->total + VC__ASSEMBLY_ROOM);
    a->metadata = a->block = a->data = NULL;
    a->metadata_len = 0;
}

/* For vc__assembly_lose() and assembly_room_take(): drops what there is of the
 * message, which is not kept from now on. why: always
 * VC__ASSEMBLY_NO_MEMORY. */
static void
assembly_lose(struct vc__assembly *a, enum vc__assembly_loss why)
{
    assembly_drop(a);
    a->loss = why;
}

void
vc__assembly_lose(struct vc__assembly *a)
{
    if (a->loss == VC__ASSEMBLY_KEPT)
        assembly_lose(a, VC__ASSEMBLY_NO_MEMORY);
}

/* For vc__assembly_begin(): takes memory for the message and its metadata, and
 * copies the metadata of its first frame. Without memory for both the message
 * is lost. */
static void
assembly_room_take(struct vc__assembly *a, const struct vc__frame *f)
{
    a->block =
        vc__memory_take(a->account, (size_t)a->total + VC__ASSEMBLY_ROOM);
    if (a->block == NULL) {
        assembly_lose(a, VC__ASSEMBLY_NO_MEMORY);
        return;
    }
    a->data = a->block + VC__ASSEMBLY_ROOM - a->lead % VC__MEMORY_ALIGN;
    if (f->metadata_len == 0)
        return;
    a->metadata = vc__memory_take(a->account, f->metadata_len);
    if (a->metadata == NULL) {
        assembly_lose(a, VC__ASSEMBLY_NO_MEMORY);
        return;
    }
    memcpy(a->metadata, f->metadata, f->metadata_len);
    a->metadata_len = f->metadata_len;
}

/* For vc__assembly_begin() and vc__assembly_add(): copies a part, or only
 * counts it if the message is not kept. */
static void
assembly_keep(struct vc__assembly *a, const uint8_t *part, uint32_t len)
{
    if (a->data != NULL)
        memcpy(a->data + a->have, part, len);
    a->have += len;
}

uint32_t
vc__assembly_announced(const struct vc__frame *f)
{
    uint32_t total;

    if (f->body_len <= VC__ASSEMBLY_TOTAL)
        return 0;
    total = vc__get32(f->body);
    return f->body_len - VC__ASSEMBLY_TOTAL >= total ? 0 : total;
}

bool
vc__assembly_begin(struct vc__assembly *a, const struct vc__frame *f,
                   uint32_t max, struct vc__account *account)
{
    uint32_t total = vc__assembly_announced(f);

    if (a->total != 0 || total == 0)
        return false;
    a->total = total;
    a->account = account;
    if (total > max)
        a->loss = VC__ASSEMBLY_TOO_LONG;
    else if (account == NULL)
        a->loss = VC__ASSEMBLY_NO_MEMORY;
    else
        assembly_room_take(a, f);
    assembly_keep(a, f->body + VC__ASSEMBLY_TOTAL,
                  f->body_len - VC__ASSEMBLY_TOTAL);
    return true;
}

int
vc__assembly_add(struct vc__assembly *a, const struct vc__frame *f)
{
    bool last = !(f->flags & VC__FRAME_MORE);

    if (a->total == 0 || f->deadline != a->have || f->body_len == 0 ||
        f->body_len > a->total - a->have)
        return -1;
    if (last != (f->body_len == a->total - a->have))
        return -1;
    assembly_keep(a, f->body, f->body_len);
    return last ? 1 : 0;
}

uint8_t *
vc__assembly_hand(struct vc__assembly *a, size_t *size)
{
    uint8_t *block = a->block;

    *size = (size_t)a->total + VC__ASSEMBLY_ROOM;
    a->block = NULL;
    return block;
}

void
vc__assembly_end(struct vc__assembly *a)
{
    assembly_drop(a);
    memset(a, 0, sizeof *a);
}
