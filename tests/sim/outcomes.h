/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The rows of doc/outcomes.md: what happens to a call, and how it ends. Each
 * row is played in four ways: with a blocking call, with a callback on a thread
 * of the library or in a loop of the program, and with a completion queue. All
 * run on both of the fake's devices. tests/lint.sh checks that the rows and the
 * document are the same. */
#ifndef VC_TESTS_SIM_OUTCOMES_H
#define VC_TESTS_SIM_OUTCOMES_H

#include <pthread.h>

#include <verbcall/async.h>
#include <verbcall/cancel.h>

#include "tests/sim/loop.h"

#define MS UINT64_C(1000)
#define S  UINT64_C(1000000)

/* The timeout of the call, whatever happens. */
#define PLAY_MS 5000u

/* Tags: of the call under test, of one before it, and of a concurrent one,
 * whose handler waits for `go`. */
#define PLAY_TAG   7u
#define PLAY_WARM  8u
#define PLAY_OTHER 9u

/* A payload longer than a packet. */
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

/* How the call is made. */
enum play_kind {
    PLAY_BLOCKING,
    PLAY_FUNCTION, /* callback on a library thread */
    PLAY_LOOP,     /* callback in a loop of the program */
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
    enum vc_status handler_status; /* of the call with PLAY_TAG */
    size_t reply_size;   /* of the reply's payload; 0: as the request */
    int32_t pushback_ms; /* server pushback on failure; 0: none */
    bool holds;          /* the handler waits for `go` */
    bool answers_later;  /* another thread ends the call */
    bool slow_once;      /* the first run takes 200 ms */
    void (*inside)(struct play *p,
                   Suite__EchoReply *reply); /* runs in the handler; or NULL */

    /* Set before play_open(). */
    char target[80];
    struct vc_runtime_opts runtime_opts;
    struct vc_channel_opts channel_opts;

    struct vc_runtime *runtime;
    struct vc_channel *channel;

    /* Set before play_begin(). The defaults are no retries and PLAY_MS. */
    struct vc_call_opts opts;
    const struct vc_service *service; /* default: Probe */
    unsigned method;                  /* default: Echo */
    const void *request;              /* NULL: Echo, PLAY_TAG, `size` bytes */
    size_t size;

    atomic_uint begun, go;                    /* of handlers */
    atomic_uint drain, drains, drained, over; /* of the server */
    atomic_uint runs;                         /* of the handler of PLAY_TAG */

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

/* Starts the server; opens the channel; both, and connects; the same, and makes
 * one good call. */
void play_serve(struct play *p);
void play_open(struct play *p);
void play_connect(struct play *p);
void play_meet(struct play *p);

/* Begins the call on a thread of its own; waits for its end; both. */
void play_begin(struct play *p);
void play_finish(struct play *p);
void play_call(struct play *p);

/* Waits until a handler runs. */
void play_await_handler(struct play *p);

/* Begins the concurrent call, with a payload of other_size bytes; ends it. */
void play_other_begin(struct play *p);
void play_other_end(struct play *p);

/* For calls made in other ways: records status, outcome and vc_error(). */
void play_ended(struct play *p, enum vc_status status);

/* Gives the call a canceller; cancels the call. */
void play_cancellable(struct play *p);
void play_cancel(struct play *p);

/* Closes the channel while others use it. */
void play_close_channel(struct play *p);

/* Copies Probe for the test to change one method, which becomes the method of
 * the call. Returns that method. */
struct vc_method *play_method(struct play *p, unsigned method);

/* Makes a thread of the server drain it; waits until that has begun. */
void play_drain(struct play *p);

/* Faults for fake_when(); arg is the play. */
void play_kill_server(void *arg);
void play_freeze_server(void *arg);
void play_cut_wire(void *arg);

/* Begins a world for one play; ends the play and frees everything. It does not
 * call fake_end(). */
void play_setup(struct play *p, const struct row *row, enum play_kind kind,
                uint64_t seed);
void play_teardown(struct play *p);

/* Plays all rows; main() returns its result. */
int play_rows(const struct row *rows, unsigned n);

#endif
