/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * From addresses to the servers of a channel. Pure; on the holder: called when
 * answers have come, and when a round has ended.
 *
 * Called by: dns_round.c (all), dns_srv.c (dns_ttl_least). */
#ifndef VC_DNS_ANSWER_H
#define VC_DNS_ANSWER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <verbcall/resolver.h>

/* The bytes of "rdma://[IPV6]:65535", with the NUL. */
#define VC__DNS_ENDPOINT 64

/* Seconds: an answer is used so long, whatever its records say. */
#define VC__DNS_TTL_LEAST 1u
#define VC__DNS_TTL_MOST  3600u

/* An address: the first 4 bytes of ip if it is IPv4. */
struct vc__dns_addr {
    bool is_v6;
    uint8_t ip[16];
};

/* What vc__dns_answer_add() puts into each server. */
struct vc__dns_place {
    const char *transport; /* "vc", "rdma", "tcp" */
    uint16_t port;
    uint32_t weight, priority;
};

/* Servers, as vc_resolver_set() takes them. The texts are those of `target`. */
struct vc__dns_answer {
    size_t n; /* VC_ENDPOINTS_MAX at most */
    struct vc_endpoint endpoint[VC_ENDPOINTS_MAX];
    char target[VC_ENDPOINTS_MAX][VC__DNS_ENDPOINT];
};

/* Appends a server for each address, until the answer is full. The addresses
 * are in the order of preference; families alternate, and the first one's is
 * first (RFC 8305, section 4). */
void vc__dns_answer_add(struct vc__dns_answer *answer,
                        const struct vc__dns_place *place,
                        const struct vc__dns_addr *addrs, size_t n);

/* Returns the weight of a server with this weight in its SRV record: 0 counts
 * as 1. */
uint32_t vc__dns_weight(uint16_t of_record);

/* Returns the lesser of two TTLs, in seconds. The second is that of a record.
 * One with its highest bit set counts as 0 (RFC 2181, section 8). */
uint32_t vc__dns_ttl_least(uint32_t least, uint32_t of_record);

/* Returns the TTL, or that of VC__DNS_TTL_LEAST and VC__DNS_TTL_MOST which it
 * passes. */
uint32_t vc__dns_ttl(uint32_t ttl);

#endif
