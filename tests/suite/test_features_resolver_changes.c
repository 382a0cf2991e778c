/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A channel whose servers change (verbcall/resolver.h): what becomes of calls,
 * streams and connections, and of the channel when it is closed. */
#include "tests/suite/resolved.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <verbcall/stream.h>

#include "tests/suite/callers.h"

#define CALLS 300u

/* --- servers that come and go ---------------------------------------------- */

static void
another_order_keeps_all_connections(void **state)
{
    static const char *const sets[] = {"120", "210", "012", "2100"};
    struct resolved w;

    (void)state;
    resolved_start(&w, "round_robin");
    assert_status(VC_OK, resolved_set(&w, "012"));
    resolved_await_ready(&w, 3);
    for (unsigned i = 0; i < 4; i++) {
        assert_status(VC_OK, resolved_set(&w, sets[i]));
        for (unsigned k = 0; k < 6; k++)
            assert_status(VC_OK, resolved_call(&w, NULL, NULL));
    }
    assert_int_equal(3, resolved_counters(&w).links_made);
    resolved_stop(&w);
}

static void
pick_first_stays_with_its_server_until_that_is_dropped(void **state)
{
    struct vc_channel *all_ready;
    struct resolved w;
    uint64_t before;
    unsigned by;

    (void)state;
    resolved_start(&w, "round_robin");
    assert_status(VC_OK, resolved_set(&w, "012"));
    resolved_await_ready(&w, 3); /* also for the next channel */
    before = resolved_served(&w, 0);
    all_ready = w.channel;
    resolved_open(&w, "pick_first");
    assert_status(VC_OK, resolved_set(&w, "12"));
    for (unsigned i = 0; i < 3; i++) {
        static const char *const sets[] = {"12", "21", "021"};

        assert_status(VC_OK, resolved_set(&w, sets[i]));
        for (unsigned k = 0; k < 5; k++) {
            assert_status(VC_OK, resolved_call(&w, NULL, &by));
            assert_int_equal(1, by);
        }
    }
    assert_status(VC_OK, resolved_set(&w, "20"));
    for (unsigned k = 0; k < 5; k++) {
        assert_status(VC_OK, resolved_call(&w, NULL, &by));
        assert_int_equal(2, by);
    }
    assert_int_equal(before, resolved_served(&w, 0));
    assert_int_equal(3, resolved_counters(&w).links_made);
    vc_channel_close(all_ready);
    resolved_await_unused(&w, 1);
    resolved_stop(&w);
}

static void
round_robin_gives_equal_shares_after_a_change(void **state)
{
    uint64_t before[RESOLVED_SERVERS];
    struct resolved w;

    (void)state;
    resolved_start(&w, "round_robin");
    assert_status(VC_OK, resolved_set(&w, "0"));
    resolved_await_ready(&w, 1);
    assert_status(VC_OK, resolved_set(&w, "012"));
    resolved_await_ready(&w, 3);
    for (unsigned i = 0; i < RESOLVED_SERVERS; i++)
        before[i] = resolved_served(&w, i);
    for (unsigned i = 0; i < CALLS; i++)
        assert_status(VC_OK, resolved_call(&w, NULL, NULL));
    for (unsigned i = 0; i < RESOLVED_SERVERS; i++)
        assert_int_equal(CALLS / 3, resolved_served(&w, i) - before[i]);
    resolved_stop(&w);
}

/* --- what is under way at a server that is dropped -------------------------- */

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

/* A stream and a call at server 0, which is dropped meanwhile. */
struct under_way {
    struct suite_streams_talk_client_stream *stream;
    struct features_end end;
};

static void
under_way_start(struct under_way *u, struct resolved *w)
{
    Features__Order order = features_order(7, "");

    memset(u, 0, sizeof *u);
    order.holds = 1;
    assert_status(VC_OK, resolved_set(w, "0"));
    assert_status(VC_OK, suite_streams_talk(w->channel, NULL, &u->stream));
    assert_status(VC_OK, talk(u->stream, 10));
    assert_status(VC_OK,
                  features_work_once_async(w->channel, &order, NULL,
                                           features_done, &u->end, NULL));
    fixture_await(&features_seen.begun, 1);
    assert_status(VC_OK, resolved_set(w, "12"));
    for (unsigned i = 0; i < 20; i++) {
        unsigned by;

        assert_status(VC_OK, resolved_call(w, NULL, &by));
        assert_int_not_equal(0, by);
        assert_status(VC_OK, talk(u->stream, 20 + i));
    }
}

static void
what_is_under_way_at_a_dropped_server_goes_on_to_its_end(void **state)
{
    struct under_way u;
    struct resolved w;

    (void)state;
    resolved_start(&w, NULL);
    under_way_start(&u, &w);
    features_gate_open();
    fixture_await(&u.end.ends, 1);
    assert_status(VC_OK, u.end.status);
    assert_string_equal(" by 0", u.end.text);
    assert_status(VC_OK, talk(u.stream, 50));
    assert_status(VC_OK, suite_streams_talk_finish(u.stream));
    resolved_await_unused(&w, 0);
    suite_streams_talk_close(u.stream);
    resolved_stop(&w);
}

static void
closing_the_channel_ends_it_there_too(void **state)
{
    struct under_way u;
    struct resolved w;

    (void)state;
    resolved_start(&w, NULL);
    under_way_start(&u, &w);
    vc_channel_close(w.channel);
    w.channel = NULL;
    assert_int_equal(1, atomic_load(&u.end.ends));
    assert_status(VC_CANCELLED, u.end.status);
    assert_status(VC_CANCELLED, talk(u.stream, 50));
    suite_streams_talk_close(u.stream);
    resolved_await_unused(&w, 0);
    resolved_stop(&w);
}

/* It gets another subchannel, which shares the connections. */
static void
a_dropped_server_that_is_back_keeps_what_it_has(void **state)
{
    struct under_way u;
    struct resolved w;

    (void)state;
    resolved_start(&w, "pick_first");
    under_way_start(&u, &w);
    assert_status(VC_OK, resolved_set(&w, "0"));
    assert_status(VC_OK, resolved_call(&w, NULL, NULL));
    assert_status(VC_OK, resolved_set(&w, "1"));
    assert_status(VC_OK, resolved_set(&w, "0"));
    assert_status(VC_OK, talk(u.stream, 50));
    features_gate_open();
    fixture_await(&u.end.ends, 1);
    assert_status(VC_OK, u.end.status);
    assert_status(VC_OK, suite_streams_talk_finish(u.stream));
    suite_streams_talk_close(u.stream);
    assert_status(VC_OK, resolved_call(&w, NULL, NULL));
    assert_int_equal(2, resolved_counters(&w).links_made);
    resolved_stop(&w);
}

static void
note_end(struct suite_streams_down_client_stream *stream, enum vc_status status,
         void *arg)
{
    struct features_end *end = arg;

    (void)stream;
    end->status = status;
    fixture_tell(&end->ends);
}

static void
note_message(struct suite_streams_down_client_stream *stream,
             Suite__EchoReply *reply, void *arg)
{
    (void)stream;
    (void)arg;
    vc_message_free(reply);
}

/* The call ends, but the program does not read; its server is dropped, and all
 * of it freed; then the deadline passes. */
static void
a_deadline_after_its_server_was_freed_harms_nothing(void **state)
{
    static const struct suite_streams_down_client_events events = {
        .on_message = note_message, .on_end = note_end};
    Suite__EchoRequest request = SUITE__ECHO_REQUEST__INIT;
    struct suite_streams_down_client_stream *stream;
    struct vc_call_opts opts = VC_CALL_OPTS_INIT;
    struct features_end end = {0};
    struct resolved w;
    uint64_t due;

    (void)state;
    resolved_start(&w, NULL);
    assert_status(VC_OK, resolved_set(&w, "0"));
    opts.timeout_ms = 1000;
    request.reply_size = 3;
    due = fixture_ms() + opts.timeout_ms + 5;
    assert_status(VC_OK, suite_streams_down_start(w.channel, &request, &opts,
                                                  &events, &end, &stream));
    suite_streams_down_pause(stream);
    while (resolved_served(&w, 0) == 0)
        assert_true(fixture_ms() < due);
    assert_status(VC_OK, resolved_set(&w, "1"));
    resolved_await_unused(&w, 0);
    while (fixture_ms() < due)
        assert_status(VC_OK, resolved_call(&w, NULL, NULL));
    suite_streams_down_resume(stream);
    fixture_await(&end.ends, 1);
    suite_streams_down_close(stream);
    resolved_stop(&w);
}

/* --- connecting and describing ---------------------------------------------- */

/* Connects on a thread of its own. */
static void *
connecting_main(void *arg)
{
    struct caller *c = arg;

    atomic_store(&c->tid, (int)syscall(SYS_gettid));
    fixture_tell(&c->started);
    c->status = vc_channel_connect(c->channel, &suite_probe_service);
    snprintf(c->text, sizeof c->text, "%s", vc_error());
    return NULL;
}

/* Returns when it waits. */
static void
connecting_start(struct caller *c, struct resolved *w)
{
    memset(c, 0, sizeof *c);
    c->channel = w->channel;
    assert_int_equal(0, pthread_create(&c->thread, NULL, connecting_main, c));
    caller_await_asleep(c);
}

static void
connecting_waits_for_the_servers_too(void **state)
{
    struct caller c;
    struct resolved w;

    (void)state;
    resolved_start(&w, "round_robin");
    resolved_described(&w, "no servers: not known yet");
    connecting_start(&c, &w);
    resolved_server_stop(&w, 0);
    assert_status(VC_OK, resolved_set(&w, "01"));
    pthread_join(c.thread, NULL);
    assert_status(VC_OK, c.status);
    resolved_described(&w, "server 2 of 2, ");
    resolved_described(&w, ": ready,");
    assert_status(VC_OK, vc_channel_connect(w.channel, &suite_probe_service));
    assert_int_equal(1, resolved_counters(&w).links_made);
    assert_status(VC_OK, resolved_set(&w, "0"));
    assert_status(VC_UNAVAILABLE,
                  vc_channel_connect(w.channel, &suite_probe_service));
    resolved_described(&w, "server 1 of 1, ");
    resolved_described(&w, ": failing,");
    resolved_stop(&w);
}

static void
connecting_ends_with_a_failure_or_the_channel(void **state)
{
    struct caller c;
    struct resolved w;

    (void)state;
    resolved_start(&w, NULL);
    connecting_start(&c, &w);
    vc_resolver_fail(app.resolver, "no one is in");
    pthread_join(c.thread, NULL);
    assert_status(VC_UNAVAILABLE, c.status);
    assert_non_null(strstr(c.text, "no one is in"));
    assert_status(VC_UNAVAILABLE,
                  vc_channel_connect(w.channel, &suite_probe_service));
    resolved_says("no one is in");
    vc_channel_close(w.channel);
    resolved_open(&w, NULL);
    connecting_start(&c, &w);
    resolved_described(&w, "no servers: not known yet");
    vc_channel_close(w.channel);
    pthread_join(c.thread, NULL);
    assert_status(VC_CANCELLED, c.status);
    w.channel = NULL;
    resolved_stop(&w);
}

/* --- servers that are lost ------------------------------------------------- */

/* The resolver is asked for others when one is lost, also if no call needs
 * that one. */
static void
the_resolver_is_asked_again_once_a_second_at_most(void **state)
{
    static const char *const policies[] = {"pick_first", "round_robin"};
    struct vc_call_opts once = VC_CALL_OPTS_INIT;

    (void)state;
    once.flags = VC_CALL_NO_RETRY;
    /* By round_robin alone, unless there is time. */
    for (unsigned p = 2 - fixture_many(1, 2); p < 2; p++) {
        struct resolved w;
        uint64_t began, due;

        resolved_start(&w, policies[p]);
        assert_status(VC_OK, resolved_set(&w, "012"));
        resolved_await_ready(&w, p == 0 ? 1 : 3);
        assert_int_equal(0, atomic_load(&app.agains));
        resolved_server_stop(&w, 0);
        began = fixture_ms();
        due = began + RESOLVED_MS;
        while (atomic_load(&app.agains) < 2) {
            assert_status(VC_OK, resolved_call(&w, NULL, NULL));
            if (p == 0 && atomic_load(&app.agains) == 1)
                break; /* it has another now */
            assert_true(fixture_ms() < due);
        }
        if (p == 1)
            assert_in_range(fixture_ms() - began, 900, RESOLVED_MS);
        resolved_server_stop(&w, 1);
        resolved_server_stop(&w, 2);
        atomic_store(&app.agains, 0);
        for (due = fixture_ms() + 1500; fixture_ms() < due;)
            assert_status(VC_UNAVAILABLE, resolved_call(&w, &once, NULL));
        assert_in_range(atomic_load(&app.agains), 1, 2);
        for (unsigned i = 1; i < RESOLVED_SERVERS; i++)
            resolved_server_start(&w, i);
        assert_status(VC_OK, resolved_set(&w, "12"));
        once.flags = VC_CALL_WAIT_FOR_READY;
        assert_status(VC_OK, resolved_call(&w, &once, NULL));
        once.flags = VC_CALL_NO_RETRY;
        resolved_stop(&w);
    }
}

/* --- closing at any moment -------------------------------------------------- */

/* A thread that sets servers until close() is called, as it may. */
struct setter {
    struct resolved *w;
    pthread_t thread;
    atomic_uint sets;
};

static pthread_mutex_t setting = PTHREAD_MUTEX_INITIALIZER;
static bool set_enough; /* setting */

static void
setter_close(void)
{
    pthread_mutex_lock(&setting);
    set_enough = true;
    pthread_mutex_unlock(&setting);
}

static void *
setter_main(void *arg)
{
    static const char *const sets[] = {"012", "1", "20", "21"};
    struct setter *s = arg;
    bool enough = false;

    while (!enough) {
        pthread_mutex_lock(&setting);
        enough = set_enough;
        if (!enough)
            assert_status(VC_OK,
                          resolved_set(s->w, sets[atomic_load(&s->sets) % 4]));
        pthread_mutex_unlock(&setting);
        fixture_tell(&s->sets);
    }
    return NULL;
}

/* The channel is closed after so many sets, with calls under way. */
static void
close_after(unsigned sets)
{
    static struct features_end ends[20];
    Features__Order order = features_order(1, "");
    struct setter s = {0};
    struct resolved w;

    resolved_start(&w, sets % 2 == 0 ? "round_robin" : NULL);
    app.on_close = setter_close;
    memset(ends, 0, sizeof ends);
    set_enough = false;
    s.w = &w;
    assert_int_equal(0, pthread_create(&s.thread, NULL, setter_main, &s));
    for (unsigned i = 0; i < 20; i++) {
        if (i == 10)
            fixture_await(&s.sets, sets);
        order.holds = i % 2;
        assert_status(VC_OK,
                      features_work_once_async(w.channel, &order, NULL,
                                               features_done, &ends[i], NULL));
    }
    vc_channel_close(w.channel);
    w.channel = NULL;
    for (unsigned i = 0; i < 20; i++) {
        assert_int_equal(1, atomic_load(&ends[i].ends));
        if (ends[i].status != VC_OK)
            assert_status(VC_CANCELLED, ends[i].status);
    }
    pthread_join(s.thread, NULL);
    resolved_stop(&w);
    assert_int_equal(1, atomic_load(&app.closes));
}

static void
a_channel_is_closed_at_any_moment_of_its_changes(void **state)
{
    (void)state;
    for (unsigned i = 0; i < fixture_many(8, 1000); i++)
        close_after(i % 20);
}

static void *
closing_main(void *arg)
{
    vc_channel_close(arg);
    return NULL;
}

/* They share the connections, and each has calls under way. */
static void
two_channels_to_one_server_are_closed_at_a_time(void **state)
{
    (void)state;
    for (unsigned i = 0; i < fixture_many(5, 1000); i++) {
        static struct features_end ends[2];
        Features__Order order = features_order(1, "");
        struct vc_channel *channels[2];
        struct resolved w;
        pthread_t thread;

        resolved_start_servers(&w);
        order.holds = 1;
        memset(ends, 0, sizeof ends);
        for (unsigned k = 0; k < 2; k++) {
            assert_status(VC_OK, vc_channel_open(w.runtime, w.servers[0].target,
                                                 NULL, &channels[k]));
            assert_status(VC_OK, features_work_once_async(channels[k], &order,
                                                          NULL, features_done,
                                                          &ends[k], NULL));
        }
        fixture_await(&features_seen.begun, 2);
        assert_int_equal(
            0, pthread_create(&thread, NULL, closing_main, channels[0]));
        vc_channel_close(channels[1]);
        pthread_join(thread, NULL);
        for (unsigned k = 0; k < 2; k++)
            assert_status(VC_CANCELLED, ends[k].status);
        resolved_stop(&w);
    }
}

/* --- within handlers -------------------------------------------------------- */

static struct resolved *within;
static atomic_bool closes_within;

/* Sets the servers, and closes the channel. */
static enum vc_status
within_once(struct vc_call *call, const Features__Order *order,
            Features__Report *report, void *arg)
{
    (void)call;
    (void)arg;
    (void)order;
    assert_status(VC_OK, resolved_set(within, "12"));
    if (atomic_load(&closes_within))
        assert_status(VC_OK, vc_channel_close(within->channel));
    report->tag = 1;
    return VC_OK;
}

/* A handler of the same runtime. */
static void
a_handler_may_set_servers_and_close_the_channel(void **state)
{
    static const struct features_work_methods methods = {.once = within_once};
    struct vc_channel *channel;
    struct vc_server *server;
    struct resolved w;
    char target[80];

    (void)state;
    resolved_start(&w, NULL);
    within = &w;
    assert_status(VC_OK, vc_server_new(w.runtime, NULL, &server));
    assert_status(VC_OK, features_work_add(server, &methods, NULL));
    assert_status(VC_OK, vc_server_listen(server, "inproc://within"));
    snprintf(target, sizeof target, "inproc://within");
    assert_status(VC_OK, vc_channel_open(w.runtime, target, NULL, &channel));
    for (unsigned i = 0; i < 2; i++) {
        Features__Order order = features_order(1, "");
        Features__Report *report;

        atomic_store(&closes_within, i == 1);
        assert_status(VC_OK,
                      features_work_once(channel, &order, NULL, &report));
        vc_message_free(report);
        if (i == 0)
            assert_status(VC_OK, resolved_call(&w, NULL, NULL));
    }
    w.channel = NULL;
    vc_channel_close(channel);
    vc_server_free(server);
    resolved_stop(&w);
}

#define T(name) cmocka_unit_test(name)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        T(another_order_keeps_all_connections),
        T(pick_first_stays_with_its_server_until_that_is_dropped),
        T(round_robin_gives_equal_shares_after_a_change),
        T(what_is_under_way_at_a_dropped_server_goes_on_to_its_end),
        T(closing_the_channel_ends_it_there_too),
        T(a_dropped_server_that_is_back_keeps_what_it_has),
        T(a_deadline_after_its_server_was_freed_harms_nothing),
        T(connecting_waits_for_the_servers_too),
        T(connecting_ends_with_a_failure_or_the_channel),
        T(the_resolver_is_asked_again_once_a_second_at_most),
        T(a_channel_is_closed_at_any_moment_of_its_changes),
        T(two_channels_to_one_server_are_closed_at_a_time),
        T(a_handler_may_set_servers_and_close_the_channel),
    };

    return fixture_main(tests);
}
