/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * What lies between a client and a server of TCP: passes their bytes on, as
 * well or as badly as the test wants. */
#ifndef VC_TESTS_SUITE_RELAY_H
#define VC_TESTS_SUITE_RELAY_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define RELAY_PAIRS 16

struct relay {
    uint16_t port; /* where it listens, on 127.0.0.1 */
    uint16_t to;   /* where the server does */
    /* Each byte goes by itself. */
    atomic_bool trickles;
    /* Nothing is passed on. */
    atomic_bool halted;
    /* After so many more bytes, of both directions, all connections are reset;
     * relay_cut() for now. INT64_MAX: never. */
    atomic_llong cut_after;
    atomic_uint cuts; /* connections that were reset */

    int listener;
    pthread_t thread;
    atomic_bool ends;
    int pairs[RELAY_PAIRS][2];
    unsigned n;
};

/* In a thread of its own, until relay_end(). */
void relay_begin(struct relay *r, uint16_t to);
void relay_end(struct relay *r);

/* A socket that has connected to this port of 127.0.0.1; one that listens at any,
 * which *port becomes. They block. */
int relay_connect(uint16_t port);
int relay_listen(uint16_t *port);

/* Closes a socket so that its peer is told of a reset. */
void relay_reset(int fd);

#endif
