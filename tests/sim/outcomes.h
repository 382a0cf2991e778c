/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The rows of doc/outcomes.md: what happens to a call, and what it comes to.
 * Each row is played with a call that blocks, with one that ends in a function,
 * be it on a thread of the library or in a loop of the program, and with one that
 * ends in a queue, on both of the fake's devices; tests/lint.sh
 * sees that rows and document are the same. */
#ifndef VC_TESTS_SIM_OUTCOMES_H
#define VC_TESTS_SIM_OUTCOMES_H

#include <pthread.h>

#include <verbcall/async.h>
#include <verbcall/cancel.h>

#include "tests/sim/loop.h"

#define MS UINT64_C(1000)
#define S  UINT64_C(1000000)

/* Whatever happens, it is over by then. */
#define PLAY_MS 5000u

/* Tags: of the call that is looked at, one before it, and one beside it, whose
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
    PLAY_FUNCTION, /* with a thread of the library */
    PLAY_LOOP,     /* the same, in a loop of the program */
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
    int32_t pushback_ms;           /* what it advises when it fails; 0: none */
    bool holds;                    /* it waits for `go` */
    bool answers_later;            /* another thread ends it */
    bool slow_once;                /* the first takes 200 ms */
    void (*inside)(struct play *p,
                   Suite__EchoReply *reply); /* in it; or NULL */

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
    atomic_uint runs; /* of the call's handler, whatever method it is */

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

/* The server; the channel; both, connected; and one good call. */
void play_serve(struct play *p);
void play_open(struct play *p);
void play_connect(struct play *p);
void play_meet(struct play *p);

/* The call: its beginning, on a thread of its own, and its end; or both. */
void play_begin(struct play *p);
void play_finish(struct play *p);
void play_call(struct play *p);

/* Waits until a handler runs. */
void play_await_handler(struct play *p);

/* The call beside it, with a payload of other_size bytes; and its end. */
void play_other_begin(struct play *p);
void play_other_end(struct play *p);

/* For calls that are made otherwise: what became of it, by vc_error(). */
void play_ended(struct play *p, enum vc_status status);

/* Gives the call a canceller, and cancels it. */
void play_cancellable(struct play *p);
void play_cancel(struct play *p);

/* Closes the channel while others use it. */
void play_close_channel(struct play *p);

/* Probe with one method changed by the caller, which is PLAY's from now on. */
struct vc_method *play_method(struct play *p, unsigned method);

/* Has the server drained, by a thread of its own; waits until it has begun. */
void play_drain(struct play *p);

/* Deeds for fake_when(); arg is the play. */
void play_kill_server(void *arg);
void play_freeze_server(void *arg);
void play_cut_wire(void *arg);

/* A world for one play; and its end, all is given back, but fake_end(). */
void play_setup(struct play *p, const struct row *row, enum play_kind kind,
                uint64_t seed);
void play_teardown(struct play *p);

/* Plays all of them; to be returned from main(). */
int play_rows(const struct row *rows, unsigned n);

#endif
