/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Streams with callbacks at both ends: a service that echoes, sends, or sums
 * up, and clients that record all callbacks. In every test they check that
 * callbacks run one after the other, in the order in which the messages were
 * sent, and that the end is reported once and last. */
#ifndef VC_TESTS_SIM_REACTOR_H
#define VC_TESTS_SIM_REACTOR_H

#include <pthread.h>

#include <verbcall/stream.h>

#include "tests/sim/sim.h"

enum {
    TALK, /* echoes messages, by their tags */
    DOWN, /* as many messages as reply_size says, each of the payload */
    UP,   /* replies how many bytes it received */
    WAIT, /* blocks, and echoes */
};

/* Tags of messages to TALK that have an effect. */
#define REACTOR_FAIL  (UINT64_C(1) << 32) /* ends with VC_NOT_FOUND */
#define REACTOR_LATER (UINT64_C(2) << 32) /* another thread ends it, VC_OK */
#define REACTOR_PAUSE (UINT64_C(3) << 32) /* pauses until `resume` is set */

extern const struct vc_service reactor_service;

/* For struct sim_server. */
enum vc_status reactor_add(struct vc_server *server, struct sim_server *s);

/* Counts of the handlers. */
struct reactor_served {
    atomic_uint began;   /* streams */
    atomic_uint ended;   /* on_end() has run */
    atomic_uint cancels; /* on_cancel() */
    atomic_int last;     /* the status of the last cancel, or else of the end */
    atomic_uint messages; /* received */
    atomic_uint resume;   /* for sim_tell(): paused streams go on */
    atomic_uint faults;   /* callbacks that must not happen */
};
extern struct reactor_served reactor_served;

/* --- clients --------------------------------------------------------------- */

struct reactor {
    struct vc_stream *stream;
    /* Set by a test that needs more than the records; they run on the
     * callback's thread. */
    void (*at_message)(struct reactor *r);
    void (*at_writable)(struct reactor *r);
    void (*at_end)(struct reactor *r);
    void *arg;

    /* For reactor_pump(): sends so many messages of this size, and then
     * half-closes. */
    unsigned to_send;
    size_t size;
    uint64_t tag;  /* of the next message */
    uint64_t mark; /* of the last message: REACTOR_FAIL and so on */
    bool keeps_open;

    pthread_mutex_t pumping; /* one thread at a time sends */
    atomic_uint sent;
    atomic_uint full;     /* attempts without room in the window */
    atomic_uint writable; /* on_writable() */
    atomic_uint came;     /* received messages */
    uint64_t sum;         /* the tag of the last */
    bool in_order; /* true: replies of TALK or DOWN have tags 0, 1, 2, ... */
    atomic_uint ends;
    atomic_uint faults;
    atomic_bool inside;
    enum vc_status status;
    enum vc_outcome outcome;
    char text[VC_ERROR_SIZE];
};

/* Zeroes *r, and starts the stream. The payload of DOWN has r->size bytes. */
enum vc_status reactor_start(struct reactor *r, struct vc_channel *channel,
                             unsigned method, const struct vc_call_opts *opts,
                             uint32_t count, size_t size);

/* Sends the remaining messages as far as there is room. */
enum vc_status reactor_pump(struct reactor *r);

/* Waits for the end, while another thread advances the runtime; 60 s at
 * most. */
bool reactor_await(struct reactor *r);

/* NULL, or what was wrong with the callbacks. */
const char *reactor_fault(const struct reactor *r);

/* Waits until *word is at least this, 60 s at most. */
bool reactor_await_word(atomic_uint *word, unsigned at_least);

#endif
