/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A long message that arrives in parts (doc/wire.md, section 4). What was
 * announced counts against an account from the first part on, so that what was
 * begun is not lost half-way; pages that nothing has come for take no memory. A
 * message over a limit is counted to its end and not kept. The owner
 * serialises. A zeroed one is idle. */
#ifndef VC_TRANSPORT_ASSEMBLY_H
#define VC_TRANSPORT_ASSEMBLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "transport/core/memory.h"
#include "transport/wire/metadata.h"
#include "transport/wire/packet.h"

/* Why a message was not kept. */
enum vc__assembly_loss {
    VC__ASSEMBLY_KEPT,
    VC__ASSEMBLY_TOO_LONG,  /* over the limit of messages */
    VC__ASSEMBLY_NO_MEMORY, /* the account has no more */
};

struct vc__assembly {
    struct vc__account *account;
    uint8_t *data;  /* NULL: not kept */
    uint32_t have;  /* bytes that have come */
    uint32_t total; /* bytes announced; more than 0 while parts are awaited */
    uint8_t *metadata; /* of the first frame, of a message that is kept */
    uint16_t metadata_len;
    enum vc__assembly_loss loss;
};

/* Bytes that the first frame of a message announces; 0: malformed. */
uint32_t vc__assembly_announced(const struct vc__frame *f);

/* The first frame of a message, with VC__FRAME_MORE. account NULL: there is no
 * memory for it. False: malformed, or one is under way. */
bool vc__assembly_begin(struct vc__assembly *a, const struct vc__frame *f,
                        uint32_t max, struct vc__account *account);

/* A DATA frame. 1: the message is whole, or lost (see loss), and the owner
 * calls vc__assembly_end() when done with it; 0: parts are missing; -1:
 * malformed. */
int vc__assembly_add(struct vc__assembly *a, const struct vc__frame *f);

/* Its memory goes to another; what comes yet is counted, and lost. */
void vc__assembly_lose(struct vc__assembly *a);

/* Those of the message; until its end. */
static inline struct vc__metadata
vc__assembly_metadata(const struct vc__assembly *a)
{
    return (struct vc__metadata){.data = a->metadata, .len = a->metadata_len};
}

/* Bytes that it has of the account. */
static inline size_t
vc__assembly_holds(const struct vc__assembly *a)
{
    return (a->data != NULL ? a->total : 0) + (size_t)a->metadata_len;
}

/* Frees all. */
void vc__assembly_end(struct vc__assembly *a);

#endif
