/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A raw publisher: sends any datagram to a multicast group, so that a test
 * decides which numbers are missing, and what is malformed. */
#ifndef VC_TESTS_SUITE_RAW_GROUP_H
#define VC_TESTS_SUITE_RAW_GROUP_H

#include "cm/link/listener.h"
#include "tests/suite/fixture.h"
#include "transport/wire/multicast.h"

struct raw_group {
    struct vc__listener listener;
    struct vc__progress *progress;
    const struct vc__transport *transport;
    uint16_t port;
    uint8_t publisher[VC__MULTICAST_PUBLISHER];
};

/* Joins the group of this address; the runtime outlives the publisher, and its
 * threads, if it has any, run on. */
void raw_group_open(struct raw_group *g, struct vc_runtime *runtime,
                    const char *address, uint16_t port);
void raw_group_close(struct raw_group *g);

/* Sends these bytes as one datagram. */
void raw_group_send(struct raw_group *g, const void *bytes, size_t len);

/* A datagram that calls this method with an Order of this tag; the test may
 * change it. Returns its length. */
#define RAW_GROUP_ROOM 256u
size_t raw_group_datagram(const struct raw_group *g, uint64_t sequence,
                          const struct vc_service *service, unsigned method,
                          uint64_t tag, uint8_t out[RAW_GROUP_ROOM]);

/* Sends such a datagram of features.Work.Tell. */
void raw_group_tell(struct raw_group *g, uint64_t sequence);

#endif
