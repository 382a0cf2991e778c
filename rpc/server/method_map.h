/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * What an OPEN frame stands for (doc/wire.md 4.2): a service, and the client's
 * numbers of its methods. Clients mostly open many sessions of the same
 * service one after the other: these share one. The holder of the engine
 * only. */
#ifndef VC_RPC_SERVER_OPEN_H
#define VC_RPC_SERVER_OPEN_H

#include "rpc/server/service.h"
#include "transport/wire/packet.h"

#define VC__NO_METHOD UINT16_MAX

struct vc__opened {
    unsigned refs;
    struct vc__service_entry *entry; /* NULL: no such service here */
    /* The client's numbers of methods are indices into its own list; NULL
     * when that is the same as ours. */
    uint16_t *map;
    uint16_t n_methods;
    uint32_t len;
    uint8_t body[]; /* of the frame */
};

/* What this frame stands for, with a reference for the caller; *last is what
 * the one before stood for, or NULL, and holds another. NULL when the frame is
 * malformed, or without memory. */
struct vc__opened *vc__opened_get(struct vc__opened **last,
                                  struct vc__services *services,
                                  const struct vc__frame *f);
/* NULL is fine. */
void vc__opened_put(struct vc__opened *opened);

/* Is its body as it is to be? */
bool vc__opened_is_whole(const struct vc__frame *f);

/* And does it name the same service? */
bool vc__opened_names(const struct vc__opened *opened,
                      const struct vc__frame *f);

#endif
