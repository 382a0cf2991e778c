/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A schedule of some flows, and the link that writes their packets: for the
 * tests of cm/link/schedule.c. */
#ifndef VC_TESTS_UNIT_SCHEDULE_RIG_H
#define VC_TESTS_UNIT_SCHEDULE_RIG_H

#include <stdbool.h>
#include <stdint.h>

#include "cm/link/schedule.h"

#define RIG_FLOWS  6u
#define RIG_SENDS  64u
#define RIG_PACKET (VC__PACKET_MAX - VC__PACKET_HEADER)

struct rig {
    struct vc__schedule schedule;
    struct vc__flow flows[RIG_FLOWS];
    struct vc__send sends[RIG_SENDS];
    uint64_t bytes[RIG_FLOWS]; /* sent so far */
    unsigned n_sends;
    struct vc__send *over[RIG_SENDS]; /* in the order of their ends */
    unsigned n_over;
};

/* Begins with flows of weight 1, and nothing to send. */
void rig_begin(struct rig *r);

/* Adds a message of len bytes to a flow. */
struct vc__send *rig_add(struct rig *r, unsigned flow, uint32_t len);

/* Writes one packet with this room; false when no message waits. */
bool rig_packet(struct rig *r, uint32_t room);

#endif
