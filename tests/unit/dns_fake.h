/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A DNS server within the test, on the test's thread: on a loopback port of its
 * own, by UDP and TCP. It answers from a table, or in a way that no server
 * should. */
#ifndef VC_TESTS_DNS_FAKE_H
#define VC_TESTS_DNS_FAKE_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dns_record {
    const char *name;
    unsigned type; /* FAKE_A, ... */
    uint32_t ttl;
    const char *data; /* an address; "PRIORITY WEIGHT PORT HOST"; a name */
};

#define FAKE_A     1u
#define FAKE_CNAME 5u
#define FAKE_AAAA  28u
#define FAKE_SRV   33u

enum dns_manner {
    FAKE_HONEST = 0,
    FAKE_SILENT,
    FAKE_SERVFAIL,
    FAKE_REFUSED,
    FAKE_GARBAGE,        /* random bytes */
    FAKE_WRONG_ID,       /* the answer to another question */
    FAKE_WRONG_NAME,     /* the same with the right id */
    FAKE_HEADER_ONLY,    /* says that there are answers, and has none */
    FAKE_HUGE_COUNTS,    /* 65535 of each section */
    FAKE_LOOP,           /* a name that points to itself */
    FAKE_LONG_DATA,      /* data longer than the message */
    FAKE_TRUNCATED,      /* by UDP; honest by TCP */
    FAKE_TRUNCATED_ONLY, /* by UDP; TCP is closed at once */
    FAKE_TRUNCATED_PIPE, /* by UDP; TCP gets a FIN, and at once a RST */
    FAKE_TRUNCATED_HALF, /* by UDP; TCP is closed within the answer */
    FAKE_MANNERS
};

#define FAKE_CONNECTIONS 16

struct dns_fake {
    unsigned port;
    const struct dns_record *records;
    size_t n_records;
    enum dns_manner manner;
    unsigned manner_type; /* 0, or only questions of this type get it */
    unsigned asked;       /* questions that it has received */
    unsigned burst;       /* the most of them that came at a time */
    uint32_t random;
    int udp, tcp, connection[FAKE_CONNECTIONS];
};

/* Opens a server at 127.0.0.1, or another address of 127.0.0.0/8 and a port
 * (0: the system chooses it). */
void dns_fake_open(struct dns_fake *fake);
void dns_fake_open_at(struct dns_fake *fake, const char *ip, unsigned port);
void dns_fake_close(struct dns_fake *fake);

/* For poll(2): writes what to wait for, FAKE_POLLS at most. Returns how many. */
#define FAKE_POLLS (2 + FAKE_CONNECTIONS)
size_t dns_fake_polls(const struct dns_fake *fake, struct pollfd *out);

/* Answers what has been asked. */
void dns_fake_serve(struct dns_fake *fake);

#endif
