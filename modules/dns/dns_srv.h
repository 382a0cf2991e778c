/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Reads an answer with SRV records (RFC 2782). c-ares has a function for this,
 * which does not say the TTL. Pure but for its memory; on the holder,
 * vc__dns_srv_free() also on the thread of dns_close().
 *
 * Called by: dns_round.c (all), dns_srv.c (free). */
#ifndef VC_DNS_SRV_H
#define VC_DNS_SRV_H

#include <stddef.h>
#include <stdint.h>

#include "modules/dns/dns_target.h"

struct vc__dns_srv {
    uint16_t priority, weight, port;
    uint16_t place;          /* in the answer: 0.. */
    uint8_t rank;            /* of its priority: 0 for the lowest number, ... */
    size_t host;             /* the asking's: which host this is */
    char name[VC__DNS_HOST]; /* of the host, without a dot at the end */
};

struct vc__dns_srvs {
    size_t n;
    uint32_t ttl; /* in seconds, the least of all records */
    struct vc__dns_srv *record;
};

/* For srv_done(): reads the message, of any bytes. The records are in the order
 * of their priorities, those of one as they were sent. VC_ENDPOINTS_MAX at most
 * are kept. Records without a port, or whose host is no name, do not count, nor
 * does the host "." (no service here). Returns ARES_SUCCESS, or
 * ARES_EBADRESP  it is malformed
 * ARES_ENODATA  there is no record that counts
 * ARES_ENOMEM   no memory
 * On success vc__dns_srv_free() frees the records. */
int vc__dns_srv_parse(const uint8_t *msg, size_t len, struct vc__dns_srvs *out);

/* Frees the records, when their round is freed, and when vc__dns_srv_parse()
 * fails. Takes zeroed ones, too. */
void vc__dns_srv_free(struct vc__dns_srvs *srvs);

#endif
