/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Streams by callbacks at both ends: a service that talks back, pours down, and
 * sums up; and clients that note all that they are told. Whatever a test does,
 * they watch that callbacks come one after the other, in the order that the
 * messages were sent, and that the end comes once and last. */
#ifndef VC_TESTS_SIM_REACTOR_H
#define VC_TESTS_SIM_REACTOR_H

#include <pthread.h>

#include <verbcall/stream.h>

#include "tests/sim/sim.h"

enum {
    TALK, /* sends back what it gets, by its tag */
    DOWN, /* as many messages as reply_size says, each of the payload */
    UP,   /* answers how many bytes came */
    WAIT, /* blocks, and sends back what it gets */
};

/* Tags of messages to TALK that are more than data. */
#define REACTOR_FAIL  (UINT64_C(1) << 32) /* ends with VC_NOT_FOUND */
#define REACTOR_LATER (UINT64_C(2) << 32) /* another thread ends it, VC_OK */
#define REACTOR_PAUSE (UINT64_C(3) << 32) /* takes no more until it is told */

extern const struct vc_service reactor_service;

/* For struct sim_server. */
enum vc_status reactor_add(struct vc_server *server, struct sim_server *s);

/* What the handlers know. */
struct reactor_served {
    atomic_uint began;   /* streams */
    atomic_uint ended;   /* on_end() has run */
    atomic_uint cancels; /* on_cancel() */
    atomic_int last;     /* the status of the last cancel, or else of the end */
    atomic_uint messages; /* that were given */
    atomic_uint resume;   /* a word for sim_tell(): paused ones go on */
    atomic_uint faults;   /* something has come that may not */
};
extern struct reactor_served reactor_served;

/* --- clients --------------------------------------------------------------- */

struct reactor {
    struct vc_stream *stream;
    /* Set by a test that wants more than the notes; on the callback's
     * thread. */
    void (*at_message)(struct reactor *r);
    void (*at_writable)(struct reactor *r);
    void (*at_end)(struct reactor *r);
    void *arg;

    /* To be sent, by reactor_pump(): so many messages of this size, and then
     * HALF. */
    unsigned to_send;
    size_t size;
    uint64_t tag;  /* of the next */
    uint64_t mark; /* of the last one: REACTOR_FAIL and so on */
    bool keeps_open;

    pthread_mutex_t pumping; /* one thread at a time sends */
    atomic_uint sent;
    atomic_uint full;     /* tries that had no room */
    atomic_uint writable; /* on_writable() */
    atomic_uint came;     /* messages */
    uint64_t sum;         /* the tag of the last */
    bool in_order; /* replies of TALK or DOWN have the tags 0, 1, 2, ... */
    atomic_uint ends;
    atomic_uint faults;
    atomic_bool inside;
    enum vc_status status;
    enum vc_outcome outcome;
    char text[VC_ERROR_SIZE];
};

/* Zeroes all, and starts it. The payload of DOWN has r->size bytes. */
enum vc_status reactor_start(struct reactor *r, struct vc_channel *channel,
                             unsigned method, const struct vc_call_opts *opts,
                             uint32_t count, size_t size);

/* Sends what is to be sent, as far as there is room. */
enum vc_status reactor_pump(struct reactor *r);

/* Waits for the end, while something else advances the runtime; for 60 s. */
bool reactor_await(struct reactor *r);

/* NULL, or what was wrong with what it was told. */
const char *reactor_fault(const struct reactor *r);

/* Waits until it is so much, 60 s at most. */
bool reactor_await_word(atomic_uint *word, unsigned at_least);

#endif
