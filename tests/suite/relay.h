/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A relay between a TCP client and server. It forwards their bytes, with the
 * faults that the test sets. */
#ifndef VC_TESTS_SUITE_RELAY_H
#define VC_TESTS_SUITE_RELAY_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define RELAY_PAIRS 16

struct relay {
    uint16_t port; /* where it listens, on 127.0.0.1 */
    uint16_t to;   /* the server's port */
    /* true: each byte is sent by itself. */
    atomic_bool trickles;
    /* true: nothing is forwarded. */
    atomic_bool halted;
    /* After so many more bytes, of both directions, all connections are reset;
     * relay_cut() resets them now. INT64_MAX: never. */
    atomic_llong cut_after;
    atomic_uint cuts; /* connections that were reset */

    int listener;
    pthread_t thread;
    atomic_bool ends;
    int pairs[RELAY_PAIRS][2];
    unsigned n;
};

/* Runs the relay in a thread of its own, until relay_end(). */
void relay_begin(struct relay *r, uint16_t to);
void relay_end(struct relay *r);

/* relay_connect() returns a socket connected to this port of 127.0.0.1,
 * relay_listen() one that listens at any, which is stored in *port. The sockets
 * are blocking. */
int relay_connect(uint16_t port);
int relay_listen(uint16_t *port);

/* Closes a socket with a reset (RST). */
void relay_reset(int fd);

#endif
