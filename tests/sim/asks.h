/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A client that calls by a ProtobufCService of its channel. Each test runs
 * twice: closures run in vc_closures_run(), or on a thread of the library. */
#ifndef VC_TESTS_SIM_ASKS_H
#define VC_TESTS_SIM_ASKS_H

#include "tests/sim/scene.h"
#include "tests/suite/directory.h"

#define MS       UINT64_C(1000)
#define PATIENCE (10000 * MS)
#define SEEDS    3u

/* Of the client in the running world. */
extern struct vc_closures *asks_loop; /* NULL: on a thread of the library */
extern ProtobufCService *asks_service;

/* Runs act() in a client, in some worlds of both kinds; or in one world. The
 * server's ByName is directory_own, but "slow" takes its time. */
void asks_play(void (*act)(struct scene *s));
void asks_play_once(void (*act)(struct scene *s), uint64_t seed, bool threads);

/* Another service of the channel. */
ProtobufCService *asks_service_new(struct scene *s,
                                   const struct vc_call_opts *opts);
/* Destroys the client's. */
void asks_service_drop(void);

/* A call of ByName. */
struct ask {
    struct directory_answer answer;
    atomic_uint done;
    void (*then)(struct ask *a); /* in the closure; or NULL */
};

void ask_start(struct ask *a, ProtobufCService *of, const char *text);
/* Waits until its closure was called, once. */
void ask_await(struct ask *a);
/* Starts a call and waits for it; returns its status. */
enum vc_status ask_of(struct ask *a, ProtobufCService *of, const char *text);
/* The closure; its data is the struct ask. */
void ask_told(const Lookup__Entry *entry, void *ask);

/* Makes a call that must succeed. */
void asks_assert_good(ProtobufCService *of);
/* Checks that no further closure is called. */
void asks_assert_calm(void);

#endif
