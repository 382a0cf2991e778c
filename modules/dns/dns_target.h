/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Reads targets of the scheme dns:. The form is that of gRPC's naming document,
 * with several names and a query part. Pure; on the thread of
 * vc_channel_open(), vc__dns_host_is_valid() also on the holder.
 *
 * Called by: dns.c (parse), dns_srv.c (dns_host_is_valid), dns_target.c
 * (dns_host_is_valid). */
#ifndef VC_DNS_TARGET_H
#define VC_DNS_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The most names of a target, and the bytes of the texts, with their NUL. */
#define VC__DNS_NAMES_MAX 16u
#define VC__DNS_HOST      256
#define VC__DNS_WHY       640

struct vc__dns_name {
    char host[VC__DNS_HOST]; /* a name, or an address without brackets */
    uint16_t port;           /* 0 if is_srv */
    bool is_srv;             /* true: its SRV records are asked */
};

struct vc__dns_target {
    char server[64];   /* "10.0.0.2:53", "[fd09::2]:53"; "": those of the
                          system */
    char transport[8]; /* "vc", "rdma", "tcp" */
    unsigned n;        /* 1..VC__DNS_NAMES_MAX */
    struct vc__dns_name name[VC__DNS_NAMES_MAX];
};

/* Parses "dns:[//SERVER[:PORT]/]NAME[,NAME...][?transport=vc|rdma|tcp]". NAME
 * is HOST:PORT, or the name of SRV records, which begins with '_' and has no
 * port. Returns true; false, and what is wrong in `why`, if the text is
 * malformed or NULL. Called by dns_open(). */
bool vc__dns_target_parse(struct vc__dns_target *target, const char *text,
                          char why[VC__DNS_WHY]);

/* True for names that can be asked: labels of 1 to 63 letters, digits, '-' and
 * '_', 253 bytes at most, and perhaps a dot at the end. Also called for the
 * names that SRV records have. */
bool vc__dns_host_is_valid(const char *host, size_t len);

#endif
