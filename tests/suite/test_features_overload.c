/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * One client uses more than its share of a server, and another client is not
 * affected: threads, streams that the client does not read, memory. */
#include <stdio.h>
#include <string.h>

#include <verbcall/counters.h>

#include "tests/suite/feature.h"

/* Threads of the server: one is reserved for quick handlers, and one client
 * must leave one to other clients. */
#define THREADS  8u
#define SHARE    (THREADS - 2)
#define STALL_MS 300u
#define MANY     20u
#define FEW      3u
#define QUICK    50u
#define POURS    200u /* messages, far more than a window */
#define MEMORY   ((size_t)32 << 20)
#define LONG     ((size_t)512 << 10)
#define LONGS    60u /* requests that exceed MEMORY together */

static char long_text[2000];
static char longest[LONG + 1];
static atomic_uint begun, ended; /* handlers of Pour */
static atomic_uint long_ended;   /* of these, handlers with long messages */
static atomic_uint burning;      /* handlers of Burn so far */
static atomic_uint burn_out;     /* the handlers of Burn may end */
static struct vc_runtime *server_runtime;
static atomic_uint sheds, quiets; /* calls of on_overload() */
static char why[200], total[200];

/* --- the server ---------------------------------------------------------- */

static enum vc_status
pour(struct vc_call *call, const Features__Order *order,
     struct features_hog_pour_server_stream *stream, void *arg)
{
    Features__Report report = FEATURES__REPORT__INIT;
    enum vc_status status = VC_OK;

    (void)call;
    (void)arg;
    fixture_tell(&begun);
    report.text = order->failures > 0 ? longest : order->text;
    for (; report.tag < order->tag && status == VC_OK; report.tag++)
        status = features_hog_pour_server_send(stream, &report);
    if (order->failures > 0)
        fixture_tell(&long_ended);
    fixture_tell(&ended);
    return VC_OK; /* in any case: the client gets the stream's status */
}

static unsigned
handlers_left(void)
{
    struct vc_counters c = VC_COUNTERS_INIT;

    vc_runtime_counters(server_runtime, &c);
    return (unsigned)c.handlers_left;
}

/* Each run is taken over, and each time while it uses the processor; so the
 * library never learns that the method blocks. */
static enum vc_status
burn(struct vc_call *call, const Features__Order *order,
     Features__Report *report, void *arg)
{
    unsigned left = atomic_fetch_add(&burning, 1);

    (void)call;
    (void)arg;
    report->tag = order->tag;
    while (handlers_left() <= left)
        ;
    fixture_tell(&begun);
    fixture_await(&burn_out, 1);
    return VC_OK;
}

/* Called on the thread that advances the engine; the text is written before the
 * counter is increased. */
static void
on_overload(bool begins, const char *line, void *arg)
{
    snprintf(begins ? why : total, sizeof why, "%s", line);
    if (arg != NULL)
        fixture_tell(begins ? &sheds : &quiets);
}

static void
add(struct vc_server *server)
{
    static const struct features_hog_methods methods = {.pour = pour,
                                                        .burn = burn};

    features_add(server, "first");
    assert_status(VC_OK, features_hog_add(server, &methods, NULL));
}

/* --- two clients --------------------------------------------------------- */

struct house {
    struct fixture f; /* the server, and the client that uses too much */
    struct vc_runtime *other_runtime;
    struct vc_channel *other;
};

/* The server's option. */
static uint32_t adaptive_limit;

static void
house_start(struct house *h)
{
    struct vc_server_opts opts = VC_SERVER_OPTS_INIT;

    memset(long_text, 'x', sizeof long_text - 1);
    memset(h, 0, sizeof *h);
    atomic_store(&begun, 0);
    atomic_store(&ended, 0);
    atomic_store(&burning, 0);
    atomic_store(&burn_out, 0);
    atomic_store(&sheds, 0);
    atomic_store(&quiets, 0);
    opts.stream_stall_ms = STALL_MS;
    opts.max_memory = MEMORY;
    opts.adaptive_limit = adaptive_limit;
    opts.on_overload = on_overload;
    opts.overload_arg = h;
    fixture_add = add;
    fixture_handler_threads = THREADS;
    features_start(&h->f, &opts, NULL);
    fixture_handler_threads = 0;
    server_runtime = h->f.server_runtime;
    assert_status(VC_OK, vc_runtime_start(h->f.runtime));
    assert_status(VC_OK, vc_runtime_new(NULL, &h->other_runtime));
    assert_status(VC_OK,
                  fixture_open_alone(h->other_runtime, h->f.target, &h->other));
}

static void
house_stop(struct house *h)
{
    vc_channel_close(h->other);
    vc_runtime_free(h->other_runtime);
    features_stop(&h->f);
}

/* Makes calls, in turn quick ones and calls that need a thread. */
static void
channel_is_served(struct vc_channel *channel)
{
    for (unsigned i = 0; i < QUICK; i++) {
        Features__Order order = features_order(i, "quick");
        Features__Report *report = NULL;

        if (i % 2 == 0)
            assert_status(VC_OK,
                          features_work_once(channel, &order, NULL, &report));
        else
            assert_status(VC_OK,
                          features_work_wait(channel, &order, NULL, &report));
        assert_int_equal(report->tag, i);
        vc_message_free(report);
    }
}

static void
others_are_served(struct house *h)
{
    channel_is_served(h->other);
}

/* --- handlers that do not end -------------------------------------------- */

static void
handlers_of_one_client_leave_a_thread_to_others(void **state)
{
    Features__Order order = features_order(1, "held");
    struct vc_call_opts opts = VC_CALL_OPTS_INIT;
    struct vc_counters c = VC_COUNTERS_INIT;
    static struct features_end ends[MANY];
    struct house h;
    unsigned good = 0;
    char words[40];

    (void)state;
    house_start(&h);
    memset(ends, 0, sizeof ends);
    order.holds = 1;
    opts.timeout_ms = 2000;
    opts.flags = VC_CALL_NO_RETRY;
    for (unsigned i = 0; i < MANY; i++)
        assert_status(VC_OK,
                      features_work_wait_async(h.f.channel, &order, &opts,
                                               features_done, &ends[i], NULL));
    fixture_await(&features_seen.begun, SHARE);
    others_are_served(&h);

    /* Calls that find no thread fail with the reason, long before their
     * deadline. */
    for (unsigned i = SHARE; i < MANY; i++)
        fixture_await(&ends[i].ends, 1);
    features_gate_open();
    for (unsigned i = 0; i < MANY; i++) {
        fixture_await(&ends[i].ends, 1);
        good += ends[i].status == VC_OK;
        if (ends[i].status == VC_OK)
            continue;
        assert_int_equal(ends[i].status, VC_RESOURCE_EXHAUSTED);
        assert_int_equal(ends[i].outcome, VC_OUTCOME_NOT_EXECUTED);
        assert_non_null(strstr(ends[i].text, "handler_threads"));
    }
    assert_int_equal(good, SHARE);

    fixture_await(&quiets, 1);
    assert_int_equal(atomic_load(&sheds), 1);
    assert_non_null(strstr(why, "handler_threads"));
    snprintf(words, sizeof words, "%u were shed", MANY - SHARE);
    assert_non_null(strstr(total, words));
    vc_runtime_counters(h.f.server_runtime, &c);
    assert_int_equal(c.calls_shed, MANY - SHARE);
    assert_int_equal(c.shed_threads, MANY - SHARE);
    assert_int_equal(c.shed_default, MANY - SHARE);
    assert_int_equal(c.shed_queue + c.shed_memory, 0);
    house_stop(&h);
}

/* Each handler gets its thread by a takeover, without having asked for one. */
static void
handlers_that_are_taken_over_leave_a_thread_to_others(void **state)
{
    Features__Order order = features_order(1, "burns");
    struct vc_call_opts opts = VC_CALL_OPTS_INIT;
    static struct features_end ends[MANY];
    struct house h;
    unsigned good = 0;

    (void)state;
    house_start(&h);
    memset(ends, 0, sizeof ends);
    opts.timeout_ms = 2000;
    opts.flags = VC_CALL_NO_RETRY;
    for (unsigned i = 0; i < MANY; i++) {
        assert_status(VC_OK,
                      features_hog_burn_async(h.f.channel, &order, &opts,
                                              features_done, &ends[i], NULL));
        if (i < SHARE)
            fixture_await(&begun, i + 1);
    }
    others_are_served(&h);
    for (unsigned i = SHARE; i < MANY; i++)
        fixture_await(&ends[i].ends, 1);
    others_are_served(&h);
    fixture_tell(&burn_out);
    for (unsigned i = 0; i < MANY; i++) {
        fixture_await(&ends[i].ends, 1);
        good += ends[i].status == VC_OK;
        if (ends[i].status == VC_OK)
            continue;
        assert_int_equal(ends[i].status, VC_RESOURCE_EXHAUSTED);
        assert_non_null(strstr(ends[i].text, "handler_threads"));
    }
    assert_int_equal(good, SHARE);
    /* A quick handler is taken over, too, when its thread is delayed. */
    assert_true(handlers_left() >= SHARE);
    house_stop(&h);
}

/* --- handlers that wait for other servers -------------------------------- */

#define ADAPTIVE 4u

/* The call above the limit fails at once. One place is reserved for other
 * clients. */
static void
handlers_that_wait_for_others_are_limited_by_option(void **state)
{
    Features__Order order = features_order(1, "held");
    struct vc_call_opts opts = VC_CALL_OPTS_INIT;
    struct vc_counters c = VC_COUNTERS_INIT;
    static struct features_end ends[MANY];
    Features__Report *report;
    struct house h;

    (void)state;
    adaptive_limit = ADAPTIVE;
    house_start(&h);
    adaptive_limit = 0;
    memset(ends, 0, sizeof ends);
    order.holds = 1;
    opts.flags = VC_CALL_NO_RETRY;
    for (unsigned i = 0; i < ADAPTIVE - 1; i++)
        assert_status(VC_OK,
                      features_work_wait_async(h.f.channel, &order, &opts,
                                               features_done, &ends[i], NULL));
    fixture_await(&features_seen.begun, ADAPTIVE - 1);
    assert_status(VC_RESOURCE_EXHAUSTED,
                  features_work_wait(h.f.channel, &order, &opts, &report));
    assert_int_equal(vc_error_outcome(), VC_OUTCOME_NOT_EXECUTED);
    assert_non_null(strstr(vc_error(), "adaptive_limit"));
    others_are_served(&h);
    features_gate_open();
    for (unsigned i = 0; i < ADAPTIVE - 1; i++) {
        fixture_await(&ends[i].ends, 1);
        assert_status(VC_OK, ends[i].status);
    }
    vc_runtime_counters(h.f.server_runtime, &c);
    assert_int_equal(c.shed_adaptive, 1);
    assert_int_equal(c.calls_shed, 1);
    assert_non_null(strstr(why, "adaptive_limit"));
    /* Their places are free again. The other client calls, as the first one
     * must back off. */
    order.holds = 0;
    for (unsigned i = 0; i < QUICK; i++) {
        assert_status(VC_OK,
                      features_work_wait(h.other, &order, &opts, &report));
        vc_message_free(report);
    }
    house_stop(&h);
}

/* --- handlers that run until their deadline ------------------------------ */

#define POLL_MS  60u
#define SHORT_MS 20u
#define POLLS    30u
#define TRIES    50u /* a busy machine may end some too soon */

/* Such handlers run as long as their deadline allows. From that the server must
 * not conclude that a call with a shorter deadline cannot be served. */
static void
a_handler_that_waits_for_its_deadline_begins_with_any(void **state)
{
    Features__Order order = features_order(1, "held");
    struct vc_call_opts opts = VC_CALL_OPTS_INIT;
    Features__Report *report;
    unsigned before = 0;
    struct house h;

    (void)state;
    house_start(&h);
    order.holds = 1;
    opts.flags = VC_CALL_NO_RETRY;
    for (unsigned i = 0; i < POLLS + TRIES; i++) {
        opts.timeout_ms = i < POLLS ? POLL_MS : SHORT_MS;
        if (i == POLLS)
            before = atomic_load(&features_seen.begun);
        /* The reply may arrive before the caller checks its clock. */
        if (features_work_wait(h.f.channel, &order, &opts, &report) == VC_OK)
            vc_message_free(report);
    }
    assert_in_range(before, POLLS / 2, POLLS);
    assert_in_range(atomic_load(&features_seen.begun), before + TRIES / 2,
                    before + TRIES);
    house_stop(&h);
}

/* --- streams that the client does not read ------------------------------- */

static void
open_some(struct vc_channel *channel, bool is_long,
          struct features_hog_pour_client_stream **streams, unsigned n)
{
    Features__Order order = features_order(POURS, is_long ? "" : long_text);
    struct vc_call_opts opts = VC_CALL_OPTS_INIT;

    order.failures = is_long;
    opts.timeout_ms = VC_NO_DEADLINE;
    for (unsigned i = 0; i < n; i++)
        assert_status(VC_OK,
                      features_hog_pour(channel, &order, &opts, &streams[i]));
}

static void
open_all(struct house *h, struct features_hog_pour_client_stream **streams,
         unsigned n)
{
    open_some(h->f.channel, false, streams, n);
}

/* Reads the stream to its end; returns the number of messages. */
static unsigned
read_all(struct features_hog_pour_client_stream *stream, enum vc_status *status)
{
    Features__Report *report = NULL;
    unsigned n = 0;

    while ((*status = features_hog_pour_receive(stream, &report)) == VC_OK &&
           report != NULL) {
        vc_message_free(report);
        n++;
    }
    return n;
}

static void
streams_that_nobody_reads_end_when_threads_are_short(void **state)
{
    struct features_hog_pour_client_stream *streams[MANY];
    struct house h;

    (void)state;
    house_start(&h);
    open_all(&h, streams, MANY);
    fixture_await(&begun, SHARE);
    others_are_served(&h);
    /* Stalled streams end one after the other, so that each stream gets a
     * thread, until none waits for one: the last streams may stay. */
    fixture_await(&begun, MANY);
    others_are_served(&h);
    fixture_await(&ended, MANY - SHARE);
    for (unsigned i = 0; i < 2 * SHARE; i++) {
        enum vc_status status;

        assert_in_range(read_all(streams[i], &status), 1, POURS - 1);
        assert_int_equal(status, VC_RESOURCE_EXHAUSTED);
        assert_non_null(strstr(vc_error(), "has received no message for"));
    }
    for (unsigned i = 0; i < MANY; i++)
        features_hog_pour_close(streams[i]);
    house_stop(&h);
}

/* A client without a library thread that makes no call does not even receive
 * the parts of a message. At first its link lets only a few calls be sent. */
static void
long_messages_that_nobody_takes_end_when_threads_are_short(void **state)
{
    struct features_hog_pour_client_stream *longs[FEW], *streams[2 * MANY];
    struct house h;

    (void)state;
    house_start(&h);
    memset(longest, 'y', LONG);
    atomic_store(&long_ended, 0);
    others_are_served(&h); /* so that both are connected */
    channel_is_served(h.f.channel);
    open_some(h.other, true, longs, FEW);
    fixture_await(&begun, FEW);

    open_all(&h, streams, 2 * MANY);
    fixture_await(&long_ended, FEW);
    for (unsigned i = 0; i < FEW; i++) {
        enum vc_status status;

        assert_in_range(read_all(longs[i], &status), 1, POURS - 1);
        assert_int_equal(status, VC_RESOURCE_EXHAUSTED);
        assert_non_null(strstr(vc_error(), "has received no message for"));
        features_hog_pour_close(longs[i]);
    }
    for (unsigned i = 0; i < 2 * MANY; i++)
        features_hog_pour_close(streams[i]);
    house_stop(&h);
}

static void
streams_that_nobody_reads_wait_while_threads_are_there(void **state)
{
    struct features_hog_pour_client_stream *streams[2];
    struct house h;
    uint64_t until;

    (void)state;
    house_start(&h);
    open_all(&h, streams, 2);
    fixture_await(&begun, 2);
    for (until = fixture_ms() + 4 * STALL_MS; fixture_ms() < until;)
        others_are_served(&h);
    for (unsigned i = 0; i < 2; i++) {
        enum vc_status status;

        assert_int_equal(read_all(streams[i], &status), POURS);
        assert_int_equal(status, VC_OK);
        features_hog_pour_close(streams[i]);
    }
    house_stop(&h);
}

/* --- memory --------------------------------------------------------------- */

/* Sends requests that exceed the server's memory together. Few have a thread:
 * the others wait for one, and keep their memory. */
static void
longs_ask(struct house *h, Features__Order *order, struct features_end *ends)
{
    struct vc_call_opts opts = VC_CALL_OPTS_INIT;

    opts.flags = VC_CALL_NO_RETRY;
    memset(longest, 'y', LONG);
    memset(ends, 0, LONGS * sizeof *ends);
    *order = features_order(1, longest);
    order->holds = 1;
    order->failures = 1; /* a short error instead of a long echo */
    order->status = VC_ABORTED;
    for (unsigned i = 0; i < LONGS; i++)
        assert_status(VC_OK,
                      features_work_once_async(h->f.channel, order, &opts,
                                               features_done, &ends[i], NULL));
}

/* Waits for their ends. Returns how many ran; *for_memory: how many were
 * refused for want of memory. On a slow machine some fail because they wait too
 * long for a thread. */
static unsigned
longs_await(struct features_end *ends, unsigned *for_memory)
{
    unsigned good = 0;

    *for_memory = 0;
    for (unsigned i = 0; i < LONGS; i++) {
        fixture_await(&ends[i].ends, 1);
        good += ends[i].status == VC_ABORTED;
        if (ends[i].status == VC_ABORTED)
            continue;
        assert_int_equal(ends[i].status, VC_RESOURCE_EXHAUSTED);
        assert_int_equal(ends[i].outcome, VC_OUTCOME_NOT_EXECUTED);
        *for_memory += strstr(ends[i].text, "max_memory") != NULL;
    }
    return good;
}

static void
longs_are_served(struct vc_channel *channel, unsigned n)
{
    Features__Order order = features_order(1, longest);
    Features__Report *report;

    for (unsigned i = 0; i < n; i++) {
        order.tag = i;
        assert_status(VC_OK,
                      features_work_look(channel, &order, NULL, &report));
        assert_int_equal(report->tag, i);
        vc_message_free(report);
    }
}

static void
memory_has_a_limit_and_comes_back(void **state)
{
    struct vc_counters c = VC_COUNTERS_INIT;
    static struct features_end ends[LONGS];
    Features__Order order;
    unsigned good, for_memory;
    struct house h;

    (void)state;
    house_start(&h);
    longs_ask(&h, &order, ends);
    fixture_await(&sheds, 1);
    longs_are_served(h.other, 3);
    features_gate_open();
    good = longs_await(ends, &for_memory);
    assert_in_range(good, 10, LONGS - 1);
    assert_in_range(for_memory, 1, LONGS - good);
    assert_non_null(strstr(why, "max_memory"));
    vc_runtime_counters(h.f.server_runtime, &c);
    assert_int_equal(c.shed_memory, for_memory);
    assert_int_equal(c.calls_shed, LONGS - good);
    /* A request that is refused is not sent to its end. */
    vc_runtime_counters(h.f.runtime, &c);
    assert_in_range(c.bytes_sent, good * LONG, (LONGS - 1) * LONG);
    longs_are_served(h.f.channel, 10); /* all memory is free again */
    house_stop(&h);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(handlers_of_one_client_leave_a_thread_to_others),
        cmocka_unit_test(handlers_that_wait_for_others_are_limited_by_option),
        cmocka_unit_test(a_handler_that_waits_for_its_deadline_begins_with_any),
        cmocka_unit_test(memory_has_a_limit_and_comes_back),
        cmocka_unit_test(handlers_that_are_taken_over_leave_a_thread_to_others),
        cmocka_unit_test(streams_that_nobody_reads_end_when_threads_are_short),
        cmocka_unit_test(
            long_messages_that_nobody_takes_end_when_threads_are_short),
        cmocka_unit_test(
            streams_that_nobody_reads_wait_while_threads_are_there),
    };

    return fixture_main(tests);
}
