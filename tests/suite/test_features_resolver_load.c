/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A channel whose servers change (verbcall/resolver.h) while threads call, and
 * streams run: nothing of that fails. */
#include "tests/suite/resolved.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <verbcall/stream.h>

#include "tests/suite/own_policies.h"
#include "tests/suite/pace.h"

#define CALLERS  4u
#define FLYING   8u /* asynchronous calls at a time */
#define MESSAGES 6u

/* --- a load of calls and streams ------------------------------------------- */

enum what {
    CALL,
    ASYNC,
    UP,
    DOWN,
    TALK,
    N_WHATS
};

struct load {
    struct resolved *w;
    pthread_t threads[CALLERS + N_WHATS];
    atomic_bool enough;
    atomic_uint ended, failed; /* of all; for fixture_await() */
    pthread_mutex_t lock;
    char text[VC_ERROR_SIZE]; /* lock; of the first that has failed */
};

struct load_thread {
    struct load *load;
    enum what what;
};

static void
load_note(struct load *l, enum vc_status status)
{
    pthread_mutex_lock(&l->lock);
    if (status != VC_OK && atomic_fetch_add(&l->failed, 1) == 0)
        snprintf(l->text, sizeof l->text, "%s", vc_error());
    pthread_mutex_unlock(&l->lock);
    fixture_tell(&l->ended);
}

struct flight {
    struct load *load;
    atomic_uint ends;
};

static void
flight_end(enum vc_status status, Features__Report *report, void *arg)
{
    struct flight *f = arg;

    load_note(f->load, status);
    vc_message_free(report);
    fixture_tell(&f->ends);
}

static void
load_async(struct load *l)
{
    Features__Order order = features_order(1, "");
    struct flight flight = {.load = l};

    for (unsigned i = 0; i < FLYING; i++)
        assert_status(VC_OK,
                      features_work_once_async(l->w->channel, &order, NULL,
                                               flight_end, &flight, NULL));
    fixture_await(&flight.ends, FLYING);
}

static enum vc_status
load_up(struct load *l)
{
    struct suite_streams_up_client_stream *stream;
    Suite__EchoRequest request = SUITE__ECHO_REQUEST__INIT;
    Suite__EchoReply *reply = NULL;
    enum vc_status status = suite_streams_up(l->w->channel, NULL, &stream);
    uint8_t bytes[100] = {0};

    assert_status(VC_OK, status);
    request.payload.data = bytes;
    request.payload.len = sizeof bytes;
    for (unsigned i = 0; i < MESSAGES && status == VC_OK; i++)
        status = suite_streams_up_send(stream, &request);
    if (status == VC_OK)
        status = suite_streams_up_finish(stream, &reply);
    if (status == VC_OK)
        assert_int_equal(MESSAGES * sizeof bytes, reply->tag);
    vc_message_free(reply);
    suite_streams_up_close(stream);
    return status;
}

static enum vc_status
load_down(struct load *l)
{
    struct suite_streams_down_client_stream *stream;
    Suite__EchoRequest request = SUITE__ECHO_REQUEST__INIT;
    Suite__EchoReply *reply;
    enum vc_status status;
    unsigned n = 0;

    request.reply_size = MESSAGES;
    status = suite_streams_down(l->w->channel, &request, NULL, &stream);
    assert_status(VC_OK, status);
    while ((status = suite_streams_down_receive(stream, &reply)) == VC_OK &&
           reply != NULL) {
        n++;
        vc_message_free(reply);
    }
    if (status == VC_OK)
        assert_int_equal(MESSAGES, n);
    suite_streams_down_close(stream);
    return status;
}

/* Sends a message, and waits for the answer. */
static enum vc_status
talk(struct suite_streams_talk_client_stream *stream, uint64_t tag)
{
    Suite__EchoRequest request = SUITE__ECHO_REQUEST__INIT;
    Suite__EchoReply *reply = NULL;
    enum vc_status status;

    request.tag = tag;
    status = suite_streams_talk_send(stream, &request);
    if (status == VC_OK)
        status = suite_streams_talk_receive(stream, &reply);
    if (status == VC_OK && reply != NULL)
        assert_int_equal(tag, reply->tag);
    vc_message_free(reply);
    return status;
}

static enum vc_status
load_talk(struct load *l)
{
    struct suite_streams_talk_client_stream *stream;
    enum vc_status status = suite_streams_talk(l->w->channel, NULL, &stream);

    assert_status(VC_OK, status);
    for (unsigned i = 0; i < MESSAGES && status == VC_OK; i++)
        status = talk(stream, 10 + i);
    if (status == VC_OK)
        status = suite_streams_talk_finish(stream);
    suite_streams_talk_close(stream);
    return status;
}

static void
load_once(struct load *l, enum what what)
{
    switch (what) {
    case CALL:
        load_note(l, resolved_call(l->w, NULL, NULL));
        break;
    case ASYNC:
        load_async(l);
        break;
    case UP:
        load_note(l, load_up(l));
        break;
    case DOWN:
        load_note(l, load_down(l));
        break;
    case TALK:
    case N_WHATS:
        load_note(l, load_talk(l));
        break;
    }
}

static void *
load_main(void *arg)
{
    struct load_thread th = *(struct load_thread *)arg;

    free(arg);
    while (!atomic_load(&th.load->enough))
        load_once(th.load, th.what);
    return NULL;
}

static void
load_start(struct load *l, struct resolved *w)
{
    memset(l, 0, sizeof *l);
    pthread_mutex_init(&l->lock, NULL);
    l->w = w;
    for (unsigned i = 0; i < CALLERS + N_WHATS; i++) {
        struct load_thread *th = malloc(sizeof *th);

        assert_non_null(th);
        th->load = l;
        th->what = i < CALLERS ? CALL : (enum what)(i - CALLERS);
        assert_int_equal(0,
                         pthread_create(&l->threads[i], NULL, load_main, th));
    }
}

/* Stops it; fails the test if anything has failed. Returns how many have
 * ended. */
static unsigned
load_stop(struct load *l)
{
    atomic_store(&l->enough, true);
    for (unsigned i = 0; i < CALLERS + N_WHATS; i++)
        pthread_join(l->threads[i], NULL);
    if (atomic_load(&l->failed) > 0)
        fail_msg("%u of %u have failed: %s", atomic_load(&l->failed),
                 atomic_load(&l->ended), l->text);
    return atomic_load(&l->ended);
}

/* --- servers that come and go ---------------------------------------------- */

static uint64_t
served_by_all(const struct resolved *w)
{
    uint64_t n = 0;

    for (unsigned i = 0; i < RESOLVED_SERVERS; i++)
        n += resolved_served(w, i);
    return n;
}

/* Those that are not in the set lose their connections, and get no call. */
static void
dropped_are_unused(const struct resolved *w, const char *set, struct load *l)
{
    uint64_t before[RESOLVED_SERVERS] = {0};

    for (unsigned i = 0; i < RESOLVED_SERVERS; i++) {
        if (strchr(set, '0' + (char)i) != NULL)
            continue;
        resolved_await_unused(w, i);
        before[i] = resolved_served(w, i);
    }
    fixture_await(&l->ended, atomic_load(&l->ended) + 50);
    for (unsigned i = 0; i < RESOLVED_SERVERS; i++) {
        if (strchr(set, '0' + (char)i) == NULL)
            assert_int_equal(before[i], resolved_served(w, i));
    }
}

static void
servers_come_and_go_and_no_call_is_lost(void **state)
{
    static const char *const sets[] = {"012", "12", "0", "201", "1", "20"};
    static const char *const policies[] = {"round_robin", "pick_first",
                                           "least_request"};

    (void)state;
    for (unsigned p = 0; p < 3; p++) {
        struct resolved w;
        struct load l;
        unsigned n;

        resolved_start(&w, policies[p]);
        load_start(&l, &w);
        for (unsigned i = 0; i < fixture_many(8, 600); i++) {
            assert_status(VC_OK, resolved_set(&w, sets[i % 6]));
            dropped_are_unused(&w, sets[i % 6], &l);
        }
        n = load_stop(&l);
        assert_int_equal(n, served_by_all(&w));
        assert_int_equal(0, resolved_counters(&w).calls_retried);
        resolved_stop(&w);
    }
}

/* The same without a wait in between: sets overtake each other. */
static void
sets_in_a_hurry_lose_no_call(void **state)
{
    static const char *const sets[] = {"012", "12", "0", "201", "1", "20"};
    static const char *const policies[] = {"round_robin", "own:best"};

    (void)state;
    own_policy_reset();
    for (unsigned p = 0; p < 2; p++) {
        struct resolved w;
        struct load l;
        unsigned n;

        resolved_start(&w, policies[p]);
        load_start(&l, &w);
        for (unsigned i = 0; i < fixture_many(150, 10000); i++)
            assert_status(VC_OK, resolved_set(&w, sets[i * 7 % 6]));
        fixture_await(&l.ended, 500);
        n = load_stop(&l);
        assert_int_equal(n, served_by_all(&w));
        resolved_stop(&w);
    }
    /* Each set of servers had its state. */
    assert_int_equal(fixture_many(150, 10000), atomic_load(&own_policy.builds));
    assert_int_equal(atomic_load(&own_policy.builds),
                     atomic_load(&own_policy.destroys));
}

/* The first attempt waits at the gate of server 0. */
static void
a_hedge_goes_to_a_server_that_was_not_tried(void **state)
{
    Features__Order order = features_order(1, "");
    Features__Report *report;
    struct resolved w;

    (void)state;
    order.holds = 1;
    resolved_start(&w, "own:untried");
    assert_status(VC_OK, resolved_set(&w, "012"));
    assert_status(VC_OK,
                  features_work_look(w.channel, &order,
                                     VC_CALL_OPTS(.hedge_ms = 20), &report));
    assert_string_equal(" by 1", report->text);
    assert_int_equal(2, report->attempt);
    vc_message_free(report);
    resolved_stop(&w);
}

/* A call that could not be sent to server 0 goes to server 1 at once, where it
 * waits at the gate: that is its first attempt. If the hedge came before the
 * connection to server 0 was refused, it would go to server 1, and both would
 * wait; that takes so long only while the machine stalls (pace.h). */
static void
a_call_that_has_moved_is_hedged(void **state)
{
    Features__Order order = features_order(1, "");
    Features__Report *report;
    struct resolved w;

    (void)state;
    order.holds = 2;
    resolved_start(&w, "own:untried");
    resolved_server_stop(&w, 0);
    assert_status(VC_OK, resolved_set(&w, "012"));
    assert_status(
        VC_OK, features_work_look(w.channel, &order,
                                  VC_CALL_OPTS(.hedge_ms = 2 * PACE_STALL_MS),
                                  &report));
    assert_string_equal(" by 2", report->text);
    assert_int_equal(3, report->attempt);
    vc_message_free(report);
    resolved_stop(&w);
}

#define T(name) cmocka_unit_test(name)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        T(servers_come_and_go_and_no_call_is_lost),
        T(sets_in_a_hurry_lose_no_call),
        T(a_hedge_goes_to_a_server_that_was_not_tried),
        T(a_call_that_has_moved_is_hedged),
    };

    if (!own_policies_register())
        return 1;
    return fixture_main(tests);
}
