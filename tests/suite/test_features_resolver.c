/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A channel whose servers a resolver of the program names
 * (verbcall/resolver.h): calls and streams before the servers are known, and
 * when the resolver has no answer. */
#include "tests/suite/resolved.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <verbcall/cancel.h>
#include <verbcall/stream.h>

#define UNKNOWN  "the channel's servers were not known within"
#define SOON_MS  60u
#define MESSAGES 40u /* of a stream: more than a window */
#define KINDS    9u

/* --- calls and streams of all kinds, each on a thread of its own ---------- */

struct one;
typedef enum vc_status one_run(struct one *o);

struct one {
    struct resolved *w;
    one_run *run;
    struct vc_call_opts opts;
    pthread_t thread;
    enum vc_status status;
    enum vc_outcome outcome;
    char text[VC_ERROR_SIZE];
    struct features_end end; /* of an asynchronous call */
};

static enum vc_status
run_plain(struct one *o)
{
    return resolved_call(o->w, &o->opts, NULL);
}

static enum vc_status
run_unretried(struct one *o)
{
    o->opts.flags |= VC_CALL_NO_RETRY;
    return resolved_call(o->w, &o->opts, NULL);
}

static enum vc_status
run_one_way(struct one *o)
{
    Features__Order order = features_order(1, "");

    return features_work_tell(o->w->channel, &order, &o->opts);
}

static enum vc_status
run_hedged(struct one *o)
{
    Features__Order order = features_order(1, "");
    Features__Report *report = NULL;
    enum vc_status status;

    o->opts.hedge_ms = 5000;
    status = features_work_look(o->w->channel, &order, &o->opts, &report);
    if (status == VC_OK)
        vc_message_free(report);
    return status;
}

static enum vc_status
run_async(struct one *o)
{
    Features__Order order = features_order(1, "");
    enum vc_status status;

    memset(&o->end, 0, sizeof o->end);
    status = features_work_once_async(o->w->channel, &order, &o->opts,
                                      features_done, &o->end, NULL);
    assert_status(VC_OK, status);
    fixture_await(&o->end.ends, 1);
    return o->end.status;
}

/* Sends messages of several lengths, and compares what has arrived. */
static enum vc_status
run_up(struct one *o)
{
    static uint8_t bytes[9000];
    struct suite_streams_up_client_stream *stream;
    Suite__EchoRequest request = SUITE__ECHO_REQUEST__INIT;
    Suite__EchoReply *reply = NULL;
    enum vc_status status = suite_streams_up(o->w->channel, &o->opts, &stream);
    uint64_t sum = 0;

    assert_status(VC_OK, status);
    request.payload.data = bytes;
    for (unsigned i = 0; i < MESSAGES && status == VC_OK; i++) {
        request.payload.len = i % 4 == 3 ? sizeof bytes : i;
        sum += request.payload.len;
        status = suite_streams_up_send(stream, &request);
    }
    if (status == VC_OK)
        status = suite_streams_up_finish(stream, &reply);
    if (status == VC_OK)
        assert_int_equal(sum, reply->tag);
    vc_message_free(reply);
    suite_streams_up_close(stream);
    return status;
}

static enum vc_status
run_down(struct one *o)
{
    struct suite_streams_down_client_stream *stream;
    Suite__EchoRequest request = SUITE__ECHO_REQUEST__INIT;
    Suite__EchoReply *reply;
    enum vc_status status;
    unsigned n = 0;

    request.reply_size = MESSAGES;
    assert_status(
        VC_OK, suite_streams_down(o->w->channel, &request, &o->opts, &stream));
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

static enum vc_status
run_talk(struct one *o)
{
    struct suite_streams_talk_client_stream *stream;
    Suite__EchoRequest request = SUITE__ECHO_REQUEST__INIT;
    Suite__EchoReply *reply;
    enum vc_status status =
        suite_streams_talk(o->w->channel, &o->opts, &stream);

    assert_status(VC_OK, status);
    for (unsigned i = 10; i < MESSAGES && status == VC_OK; i++) {
        request.tag = i;
        status = suite_streams_talk_send(stream, &request);
        if (status == VC_OK)
            status = suite_streams_talk_receive(stream, &reply);
        if (status == VC_OK) {
            assert_int_equal(i, reply->tag);
            vc_message_free(reply);
        }
    }
    if (status == VC_OK)
        status = suite_streams_talk_finish(stream);
    suite_streams_talk_close(stream);
    return status;
}

/* A stream with callbacks, which sends as much as it can at once. */
struct talker {
    atomic_uint ends;
    pthread_mutex_t lock; /* of sending */
    unsigned sent, got, wrong;
    enum vc_status status;
    char text[VC_ERROR_SIZE];
};

static enum vc_status
talker_pump(struct talker *t, struct suite_streams_talk_client_stream *stream)
{
    Suite__EchoRequest request = SUITE__ECHO_REQUEST__INIT;
    enum vc_status status = VC_OK;
    bool sent = true;

    pthread_mutex_lock(&t->lock);
    while (status == VC_OK && sent && t->sent < MESSAGES) {
        request.tag = 10 + t->sent;
        status = suite_streams_talk_try_send(stream, &request, &sent);
        t->sent += status == VC_OK && sent;
    }
    if (status == VC_OK && sent)
        status = suite_streams_talk_half_close(stream);
    pthread_mutex_unlock(&t->lock);
    return status;
}

static void
talker_writable(struct suite_streams_talk_client_stream *stream, void *arg)
{
    talker_pump(arg, stream);
}

static void
talker_message(struct suite_streams_talk_client_stream *stream,
               Suite__EchoReply *reply, void *arg)
{
    struct talker *t = arg;

    (void)stream;
    t->wrong += reply->tag != 10 + t->got++;
    vc_message_free(reply);
}

static void
talker_end(struct suite_streams_talk_client_stream *stream,
           enum vc_status status, void *arg)
{
    struct talker *t = arg;

    (void)stream;
    t->status = status;
    strcpy(t->text, vc_error());
    fixture_tell(&t->ends);
}

static const struct suite_streams_talk_client_events talker_events = {
    .on_message = talker_message,
    .on_writable = talker_writable,
    .on_end = talker_end,
};

static enum vc_status
run_callbacks(struct one *o)
{
    struct suite_streams_talk_client_stream *stream;
    struct talker t = {.lock = PTHREAD_MUTEX_INITIALIZER};

    assert_status(VC_OK, suite_streams_talk_start(o->w->channel, &o->opts,
                                                  &talker_events, &t, &stream));
    talker_pump(&t, stream);
    fixture_await(&t.ends, 1);
    suite_streams_talk_close(stream);
    strcpy(o->end.text, t.text);
    if (t.status == VC_OK) {
        assert_int_equal(MESSAGES, t.got);
        assert_int_equal(0, t.wrong);
    }
    return t.status;
}

static one_run *const runs[KINDS] = {run_plain,  run_unretried, run_one_way,
                                     run_hedged, run_async,     run_up,
                                     run_down,   run_talk,      run_callbacks};

/* Those whose thread's last error is not that of the call. */
static bool
is_told(one_run *run)
{
    return run == run_async || run == run_callbacks;
}

static void *
one_main(void *arg)
{
    struct one *o = arg;

    o->status = o->run(o);
    o->outcome = vc_error_outcome();
    strcpy(o->text, is_told(o->run) ? o->end.text : vc_error());
    return NULL;
}

/* Starts one of each kind with these options, and waits until all wait. */
static void
ones_start(struct one ones[KINDS], struct resolved *w,
           const struct vc_call_opts *opts)
{
    for (unsigned i = 0; i < KINDS; i++) {
        memset(&ones[i], 0, sizeof ones[i]);
        ones[i].w = w;
        ones[i].run = runs[i];
        ones[i].opts = *opts;
        assert_int_equal(
            0, pthread_create(&ones[i].thread, NULL, one_main, &ones[i]));
    }
}

/* Waits for their ends; fails the test unless each has ended so, and with this
 * text. */
static void
ones_end(struct one ones[KINDS], enum vc_status status, const char *text)
{
    for (unsigned i = 0; i < KINDS; i++) {
        struct one *o = &ones[i];

        assert_int_equal(0, pthread_join(o->thread, NULL));
        if (o->status != status || (text != NULL && !strstr(o->text, text)))
            fail_msg("kind %u: %s: %s", i, vc_status_name(o->status), o->text);
    }
}

/* All of them wait in the library: the hedged one without its hedge, which
 * comes when there are servers. */
static void
ones_await(struct resolved *w)
{
    resolved_await_waiting(w, KINDS);
}

/* --- before the servers are known ----------------------------------------- */

static void
what_is_begun_before_the_servers_are_known_waits_and_succeeds(void **state)
{
    static struct one ones[KINDS];
    struct vc_call_opts opts = VC_CALL_OPTS_INIT;
    struct resolved w;

    (void)state;
    for (unsigned round = 0; round < fixture_many(3, 100); round++) {
        opts.flags = round % 2 == 1 ? VC_CALL_WAIT_FOR_READY : 0;
        resolved_start(&w, round % 3 == 2 ? "round_robin" : NULL);
        ones_start(ones, &w, &opts);
        ones_await(&w);
        assert_int_equal(0, atomic_load(&features_seen.begun));
        assert_status(VC_OK, resolved_set(&w, "012"));
        ones_end(ones, VC_OK, NULL);
        fixture_await(&features_seen.begun, 5);
        assert_int_equal(0, resolved_counters(&w).calls_waiting);
        assert_int_equal(0, resolved_counters(&w).calls_retried);
        /* None is an attempt after the first. */
        assert_int_equal(5, atomic_load(&features_seen.attempts));
        assert_int_equal(0, atomic_load(&app.agains));
        resolved_stop(&w);
        assert_int_equal(5, atomic_load(&features_seen.begun));
    }
}

static void
a_deadline_before_the_servers_are_known_says_so(void **state)
{
    static struct one ones[KINDS];
    struct vc_call_opts opts = VC_CALL_OPTS_INIT;
    struct resolved w;

    (void)state;
    resolved_start(&w, NULL);
    opts.timeout_ms = SOON_MS;
    ones_start(ones, &w, &opts);
    ones_end(ones, VC_DEADLINE_EXCEEDED, UNKNOWN);
    opts.flags = VC_CALL_WAIT_FOR_READY;
    ones_start(ones, &w, &opts);
    ones_end(ones, VC_DEADLINE_EXCEEDED, UNKNOWN);
    for (unsigned i = 0; i < KINDS; i++) {
        if (!is_told(ones[i].run))
            assert_int_equal(VC_OUTCOME_NOT_EXECUTED, ones[i].outcome);
    }
    assert_int_equal(0, resolved_counters(&w).calls_waiting);
    resolved_stop(&w);
}

static void
a_cancel_ends_what_waits_for_servers(void **state)
{
    static struct one ones[KINDS];
    struct vc_call_opts opts = VC_CALL_OPTS_INIT;
    struct resolved w;

    (void)state;
    resolved_start(&w, NULL);
    assert_status(VC_OK, vc_canceller_new(&opts.canceller));
    ones_start(ones, &w, &opts);
    ones_await(&w);
    vc_cancel(opts.canceller);
    ones_end(ones, VC_CANCELLED, "cancel");
    vc_canceller_free(opts.canceller);
    assert_int_equal(0, resolved_counters(&w).calls_waiting);
    resolved_stop(&w);
}

static void
closing_the_channel_ends_what_waits_for_servers(void **state)
{
    static struct one ones[KINDS];
    struct vc_call_opts opts = VC_CALL_OPTS_INIT;
    struct resolved w;

    (void)state;
    resolved_start(&w, NULL);
    ones_start(ones, &w, &opts);
    ones_await(&w);
    vc_channel_close(w.channel);
    w.channel = NULL;
    ones_end(ones, VC_CANCELLED, "the channel was closed");
    assert_int_equal(1, atomic_load(&app.closes));
    resolved_stop(&w);
}

/* --- the resolver has no answer ------------------------------------------- */

static void
a_failure_ends_what_waits_and_what_comes_with_its_text(void **state)
{
    static struct one ones[KINDS];
    struct vc_call_opts opts = VC_CALL_OPTS_INIT;
    struct resolved w;

    (void)state;
    resolved_start(&w, NULL);
    ones_start(ones, &w, &opts);
    ones_await(&w);
    vc_resolver_fail(app.resolver, "app:it has 7 lives, and none is left");
    ones_end(ones, VC_UNAVAILABLE, "app:it has 7 lives, and none is left");
    ones_start(ones, &w, &opts);
    ones_end(ones, VC_UNAVAILABLE, "app:it has 7 lives, and none is left");
    for (unsigned i = 0; i < KINDS; i++) {
        if (!is_told(ones[i].run))
            assert_int_equal(VC_OUTCOME_NOT_EXECUTED, ones[i].outcome);
    }
    resolved_described(&w, "no servers: app:it has 7 lives");
    resolved_stop(&w);
}

static void
wait_for_ready_waits_also_after_a_failure(void **state)
{
    static struct one ones[KINDS];
    struct vc_call_opts opts = VC_CALL_OPTS_INIT;
    struct resolved w;

    (void)state;
    for (unsigned round = 0; round < 2; round++) {
        resolved_start(&w, NULL);
        opts.flags = VC_CALL_WAIT_FOR_READY;
        if (round == 0)
            vc_resolver_fail(app.resolver, "not now");
        ones_start(ones, &w, &opts);
        if (round == 1) {
            ones_await(&w);
            vc_resolver_fail(app.resolver, "not now");
        }
        fixture_await(&app.agains, 1); /* one has failed */
        assert_status(VC_OK, resolved_set(&w, "0"));
        ones_end(ones, VC_OK, NULL);
        resolved_stop(&w);
        assert_int_equal(5, atomic_load(&features_seen.begun));
    }
}

static void
wait_for_ready_says_at_its_deadline_what_was_wrong(void **state)
{
    static struct one ones[KINDS];
    struct vc_call_opts opts = VC_CALL_OPTS_INIT;
    struct resolved w;

    (void)state;
    resolved_start(&w, NULL);
    vc_resolver_fail(app.resolver, "nobody has answered");
    opts.flags = VC_CALL_WAIT_FOR_READY;
    opts.timeout_ms = SOON_MS;
    ones_start(ones, &w, &opts);
    ones_end(ones, VC_DEADLINE_EXCEEDED, "nobody has answered");
    resolved_stop(&w);
}

static void
a_failure_once_there_are_servers_changes_nothing(void **state)
{
    struct resolved w;

    (void)state;
    resolved_start(&w, NULL);
    assert_status(VC_OK, resolved_set(&w, "0"));
    assert_status(VC_OK, resolved_call(&w, NULL, NULL));
    vc_resolver_fail(app.resolver, "not now");
    vc_resolver_fail(app.resolver, NULL);
    assert_status(VC_OK, resolved_call(&w, NULL, NULL));
    resolved_described(&w, "server 1 of 1, ");
    assert_int_equal(1, resolved_counters(&w).links_made);
    resolved_stop(&w);
}

/* A call that has waited says what is wrong with the servers, not that there
 * was a time when they were not known; also if it may not be retried. */
static void
what_waited_for_servers_that_cannot_be_reached_says_why(void **state)
{
    struct vc_call_opts opts = VC_CALL_OPTS_INIT;
    struct vc_channel *other;
    struct resolved w;
    struct one o;

    (void)state;
    resolved_start_servers(&w);
    resolved_server_stop(&w, 0);
    /* It shares the pool, which is known to fail. */
    resolved_open(&w, NULL);
    assert_status(VC_OK, resolved_set(&w, "0"));
    assert_status(VC_UNAVAILABLE, resolved_call(&w, NULL, NULL));
    other = w.channel;
    atomic_store(&app.opens, 0);
    resolved_open(&w, NULL);
    memset(&o, 0, sizeof o);
    o.w = &w;
    o.run = run_unretried;
    o.opts = opts;
    assert_int_equal(0, pthread_create(&o.thread, NULL, one_main, &o));
    resolved_await_waiting(&w, 1);
    assert_status(VC_OK, resolved_set(&w, "0"));
    pthread_join(o.thread, NULL);
    assert_status(VC_UNAVAILABLE, o.status);
    assert_null(strstr(o.text, "known since"));
    vc_channel_close(other);
    vc_channel_close(w.channel);
    vc_runtime_free(w.runtime);
    for (unsigned i = 0; i < RESOLVED_SERVERS; i++)
        resolved_server_stop(&w, i);
}

/* --- a server with several addresses --------------------------------------- */

/* Server 0, which listens at shm:resolved-PID, too; nobody listens at the first
 * address. */
static void
a_server_is_reached_at_the_first_of_its_addresses_that_answers(void **state)
{
    struct vc_endpoint e = VC_ENDPOINT_INIT;
    char shm[40], target[VC_ENDPOINT_TARGET_MAX + 1], text[1200];
    struct resolved w;
    unsigned by;

    (void)state;
    resolved_start(&w, NULL);
    snprintf(shm, sizeof shm, "shm:resolved-%u", (unsigned)getpid());
    assert_status(VC_OK, vc_server_listen(w.servers[0].server, shm));
    for (unsigned round = 0; round < 2; round++) {
        const char *own = w.servers[0].target;

        snprintf(target, sizeof target, "tcp://127.0.0.1:1|%s|%s",
                 round == 0 ? shm : own, round == 0 ? own : shm);
        e.target = target;
        assert_status(VC_OK, vc_resolver_set(app.resolver, &e, 1));
        assert_status(VC_OK, resolved_call(&w, NULL, &by));
        assert_int_equal(0, by);
        snprintf(text, sizeof text,
                 "server 1 of 1, %s: ready, 1 call, 0 failed\n%s to %s: ",
                 target, round == 0 ? "shm" : fixture_scheme(),
                 round == 0            ? shm
                 : fixture_has_names() ? own
                                       : strstr(own, "//") + 2);
        resolved_described(&w, text);
        assert_int_equal(round + 1, resolved_counters(&w).links_made);
        assert_status(VC_OK, resolved_set(&w, "1"));
    }
    resolved_stop(&w);
}

#define T(name) cmocka_unit_test(name)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        T(what_is_begun_before_the_servers_are_known_waits_and_succeeds),
        T(a_deadline_before_the_servers_are_known_says_so),
        T(a_cancel_ends_what_waits_for_servers),
        T(closing_the_channel_ends_what_waits_for_servers),
        T(a_failure_ends_what_waits_and_what_comes_with_its_text),
        T(wait_for_ready_waits_also_after_a_failure),
        T(wait_for_ready_says_at_its_deadline_what_was_wrong),
        T(a_failure_once_there_are_servers_changes_nothing),
        T(what_waited_for_servers_that_cannot_be_reached_says_why),
        T(a_server_is_reached_at_the_first_of_its_addresses_that_answers),
    };

    return fixture_main(tests);
}
