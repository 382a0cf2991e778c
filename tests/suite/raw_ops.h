/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * What a raw end is made of: a table of operations for RDMA (raw_rdma.c), and
 * one for all transports behind the seam (raw_wire.c). For those files, raw.c
 * and raw_packets.c only. */
#ifndef VC_TESTS_SUITE_RAW_OPS_H
#define VC_TESTS_SUITE_RAW_OPS_H

#include "cm/connect/target.h"
#include "tests/suite/raw.h"

struct raw_ops {
    /* Makes r->end and says the hello; the answer is the next event. */
    bool (*connect)(struct raw *r, const struct vc__target *target,
                    const void *data, size_t len);
    /* As raw_wait(), without r->event. */
    int (*wait)(struct raw *r, int ms);
    void (*close)(struct raw *r);

    /* Both: l->ear is NULL before. listen() sets l->port where the system
     * picks it. */
    bool (*listen)(struct raw_listener *l, const struct vc__target *target);
    void (*unlisten)(struct raw_listener *l);
    /* Makes r->end; false when no request came in time. */
    bool (*take)(struct raw_listener *l, struct raw *r, int ms);
    bool (*accept)(struct raw *r, const void *data, size_t len);
    bool (*reject)(struct raw *r, const void *data, size_t len);

    /* As raw_send(). */
    bool (*send)(struct raw *r, const void *bytes, size_t len);
    /* Handles the next thing that came, a packet by raw_keep(); false when
     * nothing came until then, by fixture_ms(). */
    bool (*step)(struct raw *r, uint64_t until);
};

extern const struct raw_ops raw_rdma_ops, raw_wire_ops;

/* raw_long.c: sends a packet that is longer than the transport takes, up to
 * RAW_SIZE. */
bool raw_send_long(struct vc__wire *w, const void *bytes, size_t len);

/* What came with an event is r->said from now on. */
void raw_said(struct raw *r, const void *data, size_t len);

/* A packet has come: takes the account of it, and keeps it until it is read.
 * False when it is no packet. */
bool raw_keep(struct raw *r, const uint8_t *bytes, uint32_t len);

/* The descriptor can be read before this time, by fixture_ms(). */
bool raw_readable(int fd, uint64_t until);

/* Milliseconds until then, by fixture_ms(); 0 when it has passed. */
int raw_left(uint64_t until);

#endif
