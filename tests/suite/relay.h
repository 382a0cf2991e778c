/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A relay between a client and a server of TCP: forwards their bytes, as well
 * or as badly as the test wants. */
#ifndef VC_TESTS_SUITE_RELAY_H
#define VC_TESTS_SUITE_RELAY_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define RELAY_PAIRS 16

struct relay {
    uint16_t port; /* that the relay listens at, at $VC_TEST_ADDR */
    uint16_t to;   /* the server's port */
    /* True: each byte is sent by itself. */
    atomic_bool trickles;
    /* True: nothing is forwarded. */
    atomic_bool halted;
    /* After this many more bytes, of both directions together, all connections
     * are reset; 0: now. INT64_MAX: never. */
    atomic_llong cut_after;
    atomic_uint cuts; /* connections that were reset */

    int listener;
    pthread_t thread;
    atomic_bool ends;
    int pairs[RELAY_PAIRS][2];
    unsigned n;
};

/* Runs in a thread of its own, until relay_end(). */
void relay_begin(struct relay *r, uint16_t to);
void relay_end(struct relay *r);

/* Return a blocking socket: relay_connect() one connected to this port of
 * $VC_TEST_ADDR, relay_listen() one that listens at any port, which *port is set
 * to. */
int relay_connect(uint16_t port);
int relay_listen(uint16_t *port);

/* Closes a socket so that its peer receives a reset. */
void relay_reset(int fd);

#endif
