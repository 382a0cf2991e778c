/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See tests/sim/asks.h. */
#include "tests/sim/asks.h"

#include <stdio.h>
#include <string.h>

#define SLOW_US (30 * MS)

struct vc_closures *asks_loop;
ProtobufCService *asks_service;

/* --- the server --------------------------------------------------------- */

static enum vc_status
by_name(struct vc_call *call, const Lookup__Name *name, Lookup__Entry *reply,
        void *arg)
{
    struct sim_server *s = arg;
    Lookup__Name ann = directory_name("ann", 0);

    if (strcmp(name->text, "slow") != 0)
        return directory_own.by_name(call, name, reply, NULL);
    fake_sleep_us(s->sleep_us);
    return directory_own.by_name(call, &ann, reply, NULL);
}

static enum vc_status
serve(struct vc_server *server, struct sim_server *s)
{
    const struct lookup_directory_methods methods = {
        .by_name = by_name, .by_number = directory_own.by_number};

    s->sleep_us = SLOW_US;
    return lookup_directory_add(server, &methods, s);
}

/* --- calls -------------------------------------------------------------- */

void
ask_told(const Lookup__Entry *entry, void *data)
{
    struct ask *a = data;

    directory_told(entry, &a->answer);
    if (a->then != NULL)
        a->then(a);
    sim_tell(&a->done);
}

void
ask_start(struct ask *a, ProtobufCService *of, const char *text)
{
    Lookup__Name name = directory_name(text, 0);
    char copy[16];

    memset(&a->answer, 0, sizeof a->answer);
    atomic_store(&a->done, 0);
    snprintf(copy, sizeof copy, "%s", text);
    name.text = copy;
    lookup__directory__by_name(of, &name, ask_told, a);
    memset(copy, 0xff, sizeof copy);
}

void
ask_await(struct ask *a)
{
    while (asks_loop != NULL && atomic_load(&a->done) == 0)
        assert_int_equal(vc_closures_run(asks_loop, VC_NO_DEADLINE), VC_OK);
    if (!sim_await(&a->done, PATIENCE))
        fail_msg("its closure is not called: %s", fake_trace());
    assert_int_equal(a->answer.calls, 1);
}

enum vc_status
ask_of(struct ask *a, ProtobufCService *of, const char *text)
{
    a->then = NULL;
    ask_start(a, of, text);
    ask_await(a);
    return a->answer.status;
}

void
asks_assert_good(ProtobufCService *of)
{
    struct ask a;

    assert_int_equal(ask_of(&a, of, "ann"), VC_OK);
    assert_string_equal(a.answer.text, DIRECTORY_ANN);
}

/* No closure is called any more, for 100 ms. */
void
asks_assert_calm(void)
{
    if (asks_loop != NULL)
        assert_int_equal(vc_closures_run(asks_loop, 100), VC_DEADLINE_EXCEEDED);
    else
        fake_sleep_us(100 * MS);
}

/* --- playing ------------------------------------------------------------ */

static void (*to_act)(struct scene *s);
static bool with_threads;

ProtobufCService *
asks_service_new(struct scene *s, const struct vc_call_opts *opts)
{
    ProtobufCService *made;

    if (vc_channel_service(s->channel, &lookup__directory__descriptor, opts,
                           asks_loop, &made) != VC_OK)
        fail_msg("%s", vc_error());
    return made;
}

void
asks_service_drop(void)
{
    protobuf_c_service_destroy(asks_service);
    asks_service = NULL;
}

static void
act_with_service(struct scene *s)
{
    asks_loop = NULL;
    if (with_threads)
        assert_int_equal(vc_runtime_start(s->runtime), VC_OK);
    else
        assert_int_equal(vc_closures_new(s->runtime, &asks_loop), VC_OK);
    asks_service = asks_service_new(s, NULL);
    to_act(s);
    if (asks_service != NULL)
        asks_service_drop();
    vc_closures_free(asks_loop);
}

void
asks_play_once(void (*act)(struct scene *s), uint64_t seed, bool threads)
{
    struct scene s = {.opts = VC_CHANNEL_OPTS_INIT, .act = act_with_service};

    to_act = act;
    with_threads = threads;
    s.server.add = serve;
    scene_run(&s, seed);
}

void
asks_play(void (*act)(struct scene *s))
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        asks_play_once(act, seed, false);
        asks_play_once(act, seed, true);
    }
}
