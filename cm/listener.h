/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A listening id. It reads hellos and turns bad ones away; nothing is
 * allocated before a hello was found good. */
#ifndef VC_CM_LISTENER_H
#define VC_CM_LISTENER_H

#include <stdatomic.h>

#include "cm/hello.h"
#include "cm/rdma_cm.h"

struct vc__listener {
    struct vc__cm_handler handler;
    struct vc__cm *cm;
    struct rdma_cm_id *id; /* NULL also when its device was removed */
    uint16_t port;
    atomic_bool open; /* id and port are there, and the holder's */

    /* A request with a good hello, which the owner answers: it takes the id,
     * or gives it to vc__listener_reject(). On the holder of the engine. */
    void (*request)(struct vc__listener *l, struct rdma_cm_id *id,
                    const struct vc__hello *hello, uint8_t reads_in,
                    uint8_t reads_out);

    /* A request whose hello was not good was rejected; may be NULL. */
    void (*turned_away)(struct vc__listener *l, enum vc__reject_reason reason);
};

/* Listens at addr. Requests may come before it returns. Any thread.
 * VC_UNAVAILABLE  the address cannot be bound, with the reason; and the
 *                 errors of vc__cm_open() */
enum vc_status vc__listener_open(struct vc__listener *l, struct vc__cm *cm,
                                 const struct sockaddr *addr);

/* The holder of the engine. Does nothing when not open. */
void vc__listener_close(struct vc__listener *l);

uint16_t vc__listener_port(const struct vc__listener *l);

/* Rejects a request and destroys its id. The versions are filled in. cm is of
 * the engine whose holder this is. */
void vc__listener_reject_with(struct vc__cm *cm, struct rdma_cm_id *id,
                              struct vc__reject *reject);

/* The same with a reason, a time and a text only. The text is cut to what fits. */
void vc__listener_reject(struct vc__cm *cm, struct rdma_cm_id *id,
                         enum vc__reject_reason reason, uint32_t retry_ms,
                         const char *format, ...)
    __attribute__((format(printf, 5, 6)));

#endif
