/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Streams by callbacks at both ends: a service with four kinds of methods, and
 * clients that record all callbacks. In every test they check that callbacks
 * run one at a time, that messages arrive in the order in which they were sent,
 * and that the end is reported once and last. */
#ifndef VC_TESTS_SIM_REACTOR_H
#define VC_TESTS_SIM_REACTOR_H

#include <pthread.h>

#include <verbcall/stream.h>

#include "tests/sim/sim.h"

enum {
    TALK, /* sends each message back, with its tag */
    DOWN, /* sends reply_size messages, each with the payload */
    UP,   /* replies with the number of bytes received */
    WAIT, /* blocks, and sends each message back */
};

/* Tags of messages to TALK that are commands. */
#define REACTOR_FAIL  (UINT64_C(1) << 32) /* ends with VC_NOT_FOUND */
#define REACTOR_LATER (UINT64_C(2) << 32) /* another thread ends it, VC_OK */
#define REACTOR_PAUSE (UINT64_C(3) << 32) /* pauses until `resume` is set */

extern const struct vc_service reactor_service;

/* For struct sim_server. */
enum vc_status reactor_add(struct vc_server *server, struct sim_server *s);

/* What the handlers count. */
struct reactor_served {
    atomic_uint began;   /* streams */
    atomic_uint ended;   /* on_end() has run */
    atomic_uint cancels; /* on_cancel() */
    atomic_int last;     /* the status of the last cancel, or else of the end */
    atomic_uint messages; /* received */
    atomic_uint resume;   /* for sim_tell(): resumes paused streams */
    atomic_uint faults;   /* callbacks that must not happen */
};
extern struct reactor_served reactor_served;

/* --- clients -------------------------------------------------------------- */

struct reactor {
    struct vc_stream *stream;
    /* Set by a test that needs more than the counts; they run on the callback's
     * thread. */
    void (*at_message)(struct reactor *r);
    void (*at_writable)(struct reactor *r);
    void (*at_end)(struct reactor *r);
    void *arg;

    /* What reactor_pump() sends: to_send messages of this size, and then the
     * half-close. */
    unsigned to_send;
    size_t size;
    uint64_t tag;  /* of the next message */
    uint64_t mark; /* added to the last tag: REACTOR_FAIL and so on */
    bool keeps_open;

    pthread_mutex_t pumping; /* serializes senders */
    atomic_uint sent;
    atomic_uint full;     /* tries without room */
    atomic_uint writable; /* on_writable() */
    atomic_uint came;     /* messages received */
    uint64_t sum;         /* the tag of the last reply */
    bool in_order; /* replies of TALK or DOWN must have the tags 0, 1, 2, ... */
    atomic_uint ends;
    atomic_uint faults;
    atomic_bool inside;
    enum vc_status status;
    enum vc_outcome outcome;
    char text[VC_ERROR_SIZE];
};

/* Starts a stream; *r is zeroed but for what the test has set. The payload of
 * DOWN, and of each message, has `size` bytes; `count` is DOWN's number of
 * messages. */
enum vc_status reactor_start(struct reactor *r, struct vc_channel *channel,
                             unsigned method, const struct vc_call_opts *opts,
                             uint32_t count, size_t size);

/* Sends the remaining messages, as far as there is room. */
enum vc_status reactor_pump(struct reactor *r);

/* Waits for the end, at most 60 s, while something else advances the
 * runtime. */
bool reactor_await(struct reactor *r);

/* Returns NULL, or what was wrong with the callbacks. */
const char *reactor_fault(const struct reactor *r);

/* Waits until *word is at least at_least, 60 s at most; false if it is not. */
bool reactor_await_word(atomic_uint *word, unsigned at_least);

#endif
