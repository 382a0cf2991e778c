/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A client with a ProtobufCService of its channel, and calls through that
 * service. Each test runs in two kinds of worlds: its closures run in
 * vc_closures_run(), or on a thread of the library. */
#ifndef VC_TESTS_SIM_ASKS_H
#define VC_TESTS_SIM_ASKS_H

#include "tests/sim/scene.h"
#include "tests/suite/directory.h"

#define MS       UINT64_C(1000)
#define PATIENCE (10000 * MS)
#define SEEDS    3u

/* The client's; of the current world. */
extern struct vc_closures
    *asks_loop; /* NULL: closures run on a library thread */
extern ProtobufCService *asks_service;

/* Runs act() in a client, in some worlds of both kinds; or in one world. The
 * server's ByName is that of directory_own, but "slow" takes SLOW_US (asks.c)
 * and is answered as "ann". */
void asks_play(void (*act)(struct scene *s));
void asks_play_once(void (*act)(struct scene *s), uint64_t seed, bool threads);

/* Creates another service of the channel. */
ProtobufCService *asks_service_new(struct scene *s,
                                   const struct vc_call_opts *opts);
/* Destroys asks_service. */
void asks_service_drop(void);

/* A call of ByName. */
struct ask {
    struct directory_answer answer;
    atomic_uint done;
    void (*then)(struct ask *a); /* runs in the closure; or NULL */
};

void ask_start(struct ask *a, ProtobufCService *of, const char *text);
/* Waits until the call's closure has run; it must have run once. */
void ask_await(struct ask *a);
/* ask_start() and ask_await(); returns the call's status. */
enum vc_status ask_of(struct ask *a, ProtobufCService *of, const char *text);
/* The closure itself; its data is the struct ask. */
void ask_told(const Lookup__Entry *entry, void *ask);

/* Makes a call that must succeed. */
void asks_assert_good(ProtobufCService *of);
/* Waits 100 ms in which no closure may run. */
void asks_assert_calm(void);

#endif
