/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The operations of a raw end: a table for RDMA (raw_rdma.c), and one for all
 * transports of transport/transport.h (raw_wire.c). For those files, raw.c and
 * raw_packets.c only. */
#ifndef VC_TESTS_SUITE_RAW_OPS_H
#define VC_TESTS_SUITE_RAW_OPS_H

#include "cm/connect/target.h"
#include "tests/suite/raw.h"

struct raw_ops {
    /* Makes r->end and sends the hello; the answer is the next event. */
    bool (*connect)(struct raw *r, const struct vc__target *target,
                    const void *data, size_t len);
    /* As raw_wait(), without r->event. */
    int (*wait)(struct raw *r, int ms);
    void (*close)(struct raw *r);

    /* For both l->ear is NULL before. listen() sets l->port if the system picks
     * it. */
    bool (*listen)(struct raw_listener *l, const struct vc__target *target);
    void (*unlisten)(struct raw_listener *l);
    /* Makes r->end; returns false if no request arrived in time. */
    bool (*take)(struct raw_listener *l, struct raw *r, int ms);
    bool (*accept)(struct raw *r, const void *data, size_t len);
    bool (*reject)(struct raw *r, const void *data, size_t len);

    /* As raw_send(). */
    bool (*send)(struct raw *r, const void *bytes, size_t len);
    /* Handles the next event or packet, the latter with raw_keep(). Returns
     * false if none arrived until then, by fixture_ms(). */
    bool (*step)(struct raw *r, uint64_t until);
};

extern const struct raw_ops raw_rdma_ops, raw_wire_ops;

/* raw_long.c: sends a packet that exceeds the transport's limit, up to
 * RAW_SIZE. */
bool raw_send_long(struct vc__wire *w, const void *bytes, size_t len);

/* Stores the data of an event in r->said. */
void raw_said(struct raw *r, const void *data, size_t len);

/* Records a received packet's sequence and credits, and keeps it until it is
 * read. Returns false if it is no valid packet. */
bool raw_keep(struct raw *r, const uint8_t *bytes, uint32_t len);

/* Waits until the descriptor is readable; false when this time, by
 * fixture_ms(), has passed. */
bool raw_readable(int fd, uint64_t until);

/* Milliseconds until then, by fixture_ms(); 0 if that has passed. */
int raw_left(uint64_t until);

#endif
