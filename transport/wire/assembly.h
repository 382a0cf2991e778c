/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A long message that arrives in parts (doc/wire.md, section 4). Memory grows
 * with what has come, not with what was announced, and within a budget; a
 * message over a limit is counted to its end and not kept. The owner
 * serialises. A zeroed one is idle. */
#ifndef VC_TRANSPORT_ASSEMBLY_H
#define VC_TRANSPORT_ASSEMBLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "transport/wire/metadata.h"
#include "transport/wire/packet.h"

/* Why a message was not kept. */
enum vc__assembly_loss {
    VC__ASSEMBLY_KEPT,
    VC__ASSEMBLY_TOO_LONG,  /* over the limit of messages */
    VC__ASSEMBLY_NO_BUDGET, /* all messages that arrive are over theirs */
    VC__ASSEMBLY_NO_MEMORY,
};

struct vc__assembly {
    uint8_t *data;
    uint32_t have;  /* bytes that have come */
    uint32_t total; /* bytes announced; more than 0 while parts are awaited */
    uint32_t room;  /* bytes allocated */
    uint8_t *metadata; /* of the first frame, of a message that is kept */
    uint16_t metadata_len;
    enum vc__assembly_loss loss;
};

/* The first frame of a message, with VC__FRAME_MORE. False: malformed, or one
 * is under way. */
bool vc__assembly_begin(struct vc__assembly *a, const struct vc__frame *f,
                        uint32_t max, size_t *budget);

/* A DATA frame. 1: the message is whole, or lost (see loss), and the owner
 * calls vc__assembly_end() when done with it; 0: parts are missing; -1:
 * malformed. */
int vc__assembly_add(struct vc__assembly *a, const struct vc__frame *f,
                     size_t *budget);

/* Those of the message; until its end. */
static inline struct vc__metadata
vc__assembly_metadata(const struct vc__assembly *a)
{
    return (struct vc__metadata){.data = a->metadata, .len = a->metadata_len};
}

/* Frees, and gives back to the budget. */
void vc__assembly_end(struct vc__assembly *a, size_t *budget);

#endif
