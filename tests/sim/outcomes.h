/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The rows of doc/outcomes.md: what happens to a call, and how it ends. Each
 * row runs with a blocking call, with one that ends in a callback, on a thread
 * of the library or in a loop of the program, and with one that ends in a
 * queue, on both of the fake's devices. tests/lint.sh checks that rows and
 * document agree. */
#ifndef VC_TESTS_SIM_OUTCOMES_H
#define VC_TESTS_SIM_OUTCOMES_H

#include <pthread.h>

#include <verbcall/async.h>
#include <verbcall/cancel.h>

#include "tests/sim/loop.h"

#define MS UINT64_C(1000)
#define S  UINT64_C(1000000)

/* Timeout of a play, whatever happens. */
#define PLAY_MS 5000u

/* Tags: of the tested call, of one before it, and of one beside it, whose
 * handler waits for `go`. */
#define PLAY_TAG   7u
#define PLAY_WARM  8u
#define PLAY_OTHER 9u

/* Longer than a packet. */
#define PLAY_LONG 100000u

struct play;

struct row {
    const char *name;
    enum vc_status status;
    enum vc_outcome outcome;
    void (*act)(struct play *p);
};

#define ROW(name, status, outcome)                                             \
    {                                                                          \
#name, VC_##status, VC_OUTCOME_##outcome, name                         \
    }

/* How a call is made. */
enum play_kind {
    PLAY_BLOCKING,
    PLAY_FUNCTION, /* callback, on a thread of the library */
    PLAY_LOOP,     /* callback, in a loop of the program */
    PLAY_QUEUED,
    PLAY_KINDS
};

struct play {
    const struct row *row;
    enum play_kind kind;

    /* Set before play_serve(). */
    struct fake_host *there;
    struct fake_process *here;
    struct sim_server server;
    struct vc_server_opts server_opts;
    enum vc_status handler_status; /* what the handler of PLAY_TAG returns */
    size_t reply_size;             /* of its payload; 0: the request's */
    int32_t pushback_ms;           /* its pushback when it fails; 0: none */
    bool holds;                    /* true: it waits for `go` */
    bool answers_later;            /* true: another thread ends it */
    bool slow_once;                /* true: the first run takes 200 ms */
    void (*inside)(struct play *p,
                   Suite__EchoReply *reply); /* in the handler; or NULL */

    /* Set before play_open(). */
    char target[80];
    struct vc_runtime_opts runtime_opts;
    struct vc_channel_opts channel_opts;

    struct vc_runtime *runtime;
    struct vc_channel *channel;

    /* Set before play_begin(). Without retries, and with PLAY_MS. */
    struct vc_call_opts opts;
    const struct vc_service *service; /* Probe */
    unsigned method;                  /* Echo */
    const void *request;              /* PLAY_TAG, of `size` bytes */
    size_t size;

    atomic_uint begun, go;                    /* of handlers */
    atomic_uint drain, drains, drained, over; /* of the server */
    atomic_uint runs; /* of the handler of the call's method */

    pthread_t thread, other, helper, drainer;
    struct loop loop;
    size_t other_size;
    enum vc_status other_status;
    struct vc_async *handle;
    struct vc_completions *queue;
    struct vc_result result;
    atomic_uint ended;
    uint64_t took_us;
    enum vc_status status;
    enum vc_outcome outcome;
    char text[VC_ERROR_SIZE];
};

/* Start the server; open the channel; do both and connect; do this and make one
 * successful call. */
void play_serve(struct play *p);
void play_open(struct play *p);
void play_connect(struct play *p);
void play_meet(struct play *p);

/* Start the call on a thread of its own, and wait for its end; or do both. */
void play_begin(struct play *p);
void play_finish(struct play *p);
void play_call(struct play *p);

/* Waits until a handler runs. */
void play_await_handler(struct play *p);

/* Starts the call beside it, with a payload of other_size bytes; waits for its
 * end. */
void play_other_begin(struct play *p);
void play_other_end(struct play *p);

/* For calls that are made in another way: records how it ended, by
 * vc_error(). */
void play_ended(struct play *p, enum vc_status status);

/* Gives the call a canceller, and cancels it. */
void play_cancellable(struct play *p);
void play_cancel(struct play *p);

/* Closes the channel while others use it. */
void play_close_channel(struct play *p);

/* Returns a copy of Probe's method that the caller changes; it is PLAY's from
 * now on. */
struct vc_method *play_method(struct play *p, unsigned method);

/* Drains the server on a thread of its own; waits until that has begun. */
void play_drain(struct play *p);

/* Actions for fake_when(); arg is the play. */
void play_kill_server(void *arg);
void play_freeze_server(void *arg);
void play_cut_wire(void *arg);

/* Makes a world for one play; frees everything, except for fake_end(). */
void play_setup(struct play *p, const struct row *row, enum play_kind kind,
                uint64_t seed);
void play_teardown(struct play *p);

/* Runs all rows; main() returns the result. */
int play_rows(const struct row *rows, unsigned n);

#endif
