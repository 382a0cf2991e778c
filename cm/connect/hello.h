/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The private data that both ends exchange while connecting: hello (56 bytes,
 * on connect), accept (196), reject (148). See doc/wire.md, section 2, and for
 * the limits rdma_connect(3), rdma_accept(3) and rdma_reject(3). The CM pads
 * with zeros and reports the full size, so each message carries its own length.
 * Pure: no state, no allocation, any thread. Links and listeners call it on the
 * holder of an engine, vc_probe() on the program's thread.
 *
 * Called by: cm/link/link_connect.c (said_text, put, accept_get, reject_get),
 * cm/link/listener.c (said_text, reject_put, reject_fit, get), rpc/probe.c
 * (put, accept_get, reject_get), cm/link/link_accept.c (accept_put,
 * accept_fit). */
#ifndef VC_CM_HELLO_H
#define VC_CM_HELLO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cm/connect/reject_reason.h"

#define VC__HELLO_SIZE  56
#define VC__ACCEPT_SIZE 196
#define VC__REJECT_SIZE 148

/* Their most bytes without a text: what a transport carries at least. */
#define VC__ACCEPT_LEAST 70
#define VC__REJECT_LEAST 84

#define VC__VERSION_MIN 1
#define VC__VERSION_MAX 1

#define VC__ID_SIZE 16 /* bytes of an instance id */

/* flags of a hello */
#define VC__HELLO_POOL     0x01u /* a further link of an existing pool */
#define VC__HELLO_RESUME   0x02u
#define VC__HELLO_DATAGRAM 0x04u
/* 0x40 is never a flag: with it an accept or reject differs from a hello. */

struct vc__hello {
    uint8_t version_min, version_max; /* 1..15 */
    uint8_t flags;
    uint8_t security; /* offered and wanted; 0 none */
    uint32_t features;
    uint16_t credits;     /* receive buffers for this link, VC__CREDIT_MIN.. */
    uint8_t log2_eager;   /* longest packet that the sender takes, 13..23 */
    uint8_t log2_message; /* longest message that it takes, 12..30 */
    uint64_t service;     /* 0 on further links of a pool */
    uint32_t fingerprint;
    uint8_t instance[VC__ID_SIZE]; /* of the client; not all zero */
    uint64_t pool_token;
};

/* A server's socket for clients of its own host. Only an accept reveals it. */
#define VC__LOCAL_NAME 16
struct vc__local {
    uint8_t name[VC__LOCAL_NAME]; /* random, new at each listen */
    uint32_t uid; /* the server's user id, as the host knows it */
};

#define VC__ACCEPT_TEXT_MAX 63
#define VC__REJECT_TEXT_MAX 63
#define VC__REJECT_ADDRS    3

struct vc__accept {
    uint8_t version; /* chosen, 1..15 */
    uint8_t log2_eager;
    uint8_t log2_message;
    uint16_t credits;              /* VC__CREDIT_MIN.. */
    uint32_t features;             /* chosen */
    uint8_t instance[VC__ID_SIZE]; /* of the server; not all zero */
    uint64_t pool_token;
    uint32_t max_sessions;
    uint16_t max_slots; /* outstanding calls a session, 1.. */
    uint32_t keepalive_ms;
    /* With VC__FEATURE_LOCAL: the socket for clients of the server's host. */
    struct vc__local local;
    char text[VC__ACCEPT_TEXT_MAX + 1]; /* server name, UTF-8 */
};

/* A value of `family`: the address is the key of a name, valid within one
 * process or one host. */
#define VC__REJECT_NAME 1

struct vc__reject_addr {
    uint8_t family; /* 4, 6 or VC__REJECT_NAME */
    uint8_t weight;
    uint16_t port;
    uint8_t addr[16]; /* network order; unused bytes are zero: IPv4 has 4, a key
                         has 8 bytes */
};

struct vc__reject {
    uint8_t version_min, version_max;
    uint8_t reason; /* enum vc__reject_reason, or one of a later version; 1.. */
    uint8_t log2_eager;   /* counter-offer, 0 for none */
    uint8_t log2_message; /* counter-offer, 0 for none */
    uint16_t credits;     /* counter-offer, 0 for none */
    uint32_t features;    /* counter-offer */
    uint32_t retry_ms;    /* retry after this time; 0: no advice */
    uint8_t n_addrs;      /* 0..VC__REJECT_ADDRS */
    struct vc__reject_addr addrs[VC__REJECT_ADDRS];
    char text[VC__REJECT_TEXT_MAX + 1]; /* for humans, UTF-8 */
};

/* The result of parsing. */
enum vc__said {
    VC__SAID_OK = 0,
    VC__SAID_FOREIGN, /* no magic: another program's data, or no data */
    VC__SAID_VERSION, /* Verbcall's, but no version in common */
    VC__SAID_LENGTH,  /* the length field is impossible, or len is shorter */
    VC__SAID_TAIL,    /* the bytes after the length field's end are not zero */
    VC__SAID_FIELD,   /* a field is out of range, or the message is of another
                         kind */
};

/* Describes a result for humans. Never NULL; constant. Called when a hello or
 * an accept was invalid. */
const char *vc__said_text(enum vc__said said);

/* Write all bytes of `out`, including the zero tail. The fields must be in
 * range. Called by the end that sends such a message. */
void vc__hello_put(uint8_t out[VC__HELLO_SIZE], const struct vc__hello *h);
void vc__accept_put(uint8_t out[VC__ACCEPT_SIZE], const struct vc__accept *a);
void vc__reject_put(uint8_t out[VC__REJECT_SIZE], const struct vc__reject *r);

/* Cut the text, at the end of a character, so that the own length is at most
 * `max` bytes (VC__ACCEPT_LEAST.., VC__REJECT_LEAST..): datagrams carry fewer
 * than connections. Called before they are written. */
void vc__accept_fit(struct vc__accept *a, size_t max);
void vc__reject_fit(struct vc__reject *r, size_t max);

/* Parse len bytes at data as the CM delivers them (data may be NULL if len is
 * 0). *out is written only on VC__SAID_OK. A hello whose version range has none
 * in common with VC__VERSION_MIN..MAX gives VC__SAID_VERSION. So does an accept
 * of another version. A reject is parsed whatever its versions are. Called by
 * the end that has received such a message; vc_probe() reads the answers to its
 * hello. */
enum vc__said vc__hello_get(struct vc__hello *out, const void *data,
                            size_t len);
enum vc__said vc__accept_get(struct vc__accept *out, const void *data,
                             size_t len);
enum vc__said vc__reject_get(struct vc__reject *out, const void *data,
                             size_t len);

#endif
