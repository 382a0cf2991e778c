/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See modules/dns/dns_answer.h. vc__dns_answer_add() calls all static
 * functions, on its thread. */
#include "modules/dns/dns_answer.h"

#include <arpa/inet.h>
#include <stdio.h>

/* For vc__dns_answer_add(): appends the server at one address; there is room
 * for it. */
static void
answer_append(struct vc__dns_answer *a, const struct vc__dns_place *place,
              const struct vc__dns_addr *addr)
{
    struct vc_endpoint *e = &a->endpoint[a->n];
    char ip[INET6_ADDRSTRLEN] = "?";

    /* It cannot fail: the family is known, and there is room. */
    inet_ntop(addr->is_v6 ? AF_INET6 : AF_INET, addr->ip, ip, sizeof ip);
    snprintf(a->target[a->n], sizeof a->target[a->n],
             addr->is_v6 ? "%s://[%s]:%u" : "%s://%s:%u", place->transport, ip,
             place->port);
    *e = (struct vc_endpoint)VC_ENDPOINT_INIT;
    e->target = a->target[a->n];
    e->weight = place->weight;
    e->priority = place->priority;
    a->n++;
}

/* For vc__dns_answer_add(): returns the index of the next address of this
 * family from `at` on; n: there is none. */
static size_t
family_next(const struct vc__dns_addr *addrs, size_t n, size_t at, bool is_v6)
{
    while (at < n && addrs[at].is_v6 != is_v6)
        at++;
    return at;
}

void
vc__dns_answer_add(struct vc__dns_answer *a, const struct vc__dns_place *place,
                   const struct vc__dns_addr *addrs, size_t n)
{
    bool is_v6 = n > 0 && addrs[0].is_v6;
    size_t next[2]; /* of IPv4, and of IPv6 */

    next[false] = family_next(addrs, n, 0, false);
    next[true] = family_next(addrs, n, 0, true);
    for (size_t i = 0; i < n && a->n < VC_ENDPOINTS_MAX; i++) {
        if (next[is_v6] == n)
            is_v6 = !is_v6;
        answer_append(a, place, &addrs[next[is_v6]]);
        next[is_v6] = family_next(addrs, n, next[is_v6] + 1, is_v6);
        is_v6 = !is_v6;
    }
}

uint32_t
vc__dns_weight(uint16_t of_record)
{
    return of_record == 0 ? 1 : of_record;
}

uint32_t
vc__dns_ttl_least(uint32_t least, uint32_t of_record)
{
    if (of_record > INT32_MAX)
        of_record = 0;
    return of_record < least ? of_record : least;
}

uint32_t
vc__dns_ttl(uint32_t ttl)
{
    if (ttl < VC__DNS_TTL_LEAST)
        return VC__DNS_TTL_LEAST;
    return ttl > VC__DNS_TTL_MOST ? VC__DNS_TTL_MOST : ttl;
}
