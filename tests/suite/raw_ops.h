/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The implementation of raw ends: one table of operations for RDMA
 * (raw_rdma.c), and one for all transports of transport/transport.h
 * (raw_wire.c). Included only by those files, raw.c and raw_packets.c. */
#ifndef VC_TESTS_SUITE_RAW_OPS_H
#define VC_TESTS_SUITE_RAW_OPS_H

#include "cm/connect/target.h"
#include "tests/suite/raw.h"

struct raw_ops {
    /* Makes r->end and sends the hello; the result is the next event. */
    bool (*connect)(struct raw *r, const struct vc__target *target,
                    const void *data, size_t len);
    /* As raw_wait(), without r->event. */
    int (*wait)(struct raw *r, int ms);
    void (*close)(struct raw *r);

    /* Both: l->ear is NULL before listen(). listen() sets l->port where the
     * system picks the port. */
    bool (*listen)(struct raw_listener *l, const struct vc__target *target);
    void (*unlisten)(struct raw_listener *l);
    /* Makes r->end; false when no request was received in time. */
    bool (*take)(struct raw_listener *l, struct raw *r, int ms);
    bool (*accept)(struct raw *r, const void *data, size_t len);
    bool (*reject)(struct raw *r, const void *data, size_t len);

    /* As raw_send(). */
    bool (*send)(struct raw *r, const void *bytes, size_t len);
    /* Handles the next event; a packet is passed to raw_keep(). False when
     * nothing happened until `until`, a time of fixture_ms(). */
    bool (*step)(struct raw *r, uint64_t until);
};

extern const struct raw_ops raw_rdma_ops, raw_wire_ops;

/* raw_long.c: sends a packet that is longer than the transport allows, up to
 * RAW_SIZE. */
bool raw_send_long(struct vc__wire *w, const void *bytes, size_t len);

/* Copies the data of an event to r->said. */
void raw_said(struct raw *r, const void *data, size_t len);

/* Handles a received packet: updates the flow control, and keeps the packet
 * until it is read. False when the bytes are not a valid packet. */
bool raw_keep(struct raw *r, const uint8_t *bytes, uint32_t len);

/* True if the descriptor becomes readable before `until`, a time of
 * fixture_ms(). */
bool raw_readable(int fd, uint64_t until);

/* Milliseconds until this time of fixture_ms(); 0 when it has passed. */
int raw_left(uint64_t until);

#endif
