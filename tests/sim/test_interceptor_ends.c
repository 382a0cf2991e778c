/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Calls end in all ways: with a reply, refused, too late, cancelled, or with a
 * lost link. What began in an interceptor ends in it once, with the result that
 * the caller gets. */
#include <pthread.h>
#include <string.h>

#include "tests/sim/later.h"
#include "tests/sim/scene.h"

#define MS       1000u /* us */
#define SEEDS    sim_few(6u)
#define CALLERS  4u
#define CALLS    60u /* of each */
#define RECORDS  (CALLERS * CALLS)
#define STATUSES (VC_UNAUTHENTICATED + 1)

/* What one interceptor saw of one call. */
struct record {
    atomic_uint starts, requests, replies, finishes;
    atomic_uint tag; /* of its request; 0: no request seen */
    unsigned status, outcome;
};

/* One side: the outer interceptor keeps the records, the inner one refuses one
 * call in refuses_one_in. */
struct side {
    struct record records[RECORDS];
    atomic_uint n, n_inner;
    unsigned refuses_one_in;
    enum vc_status refuses_with;
};

static struct side here, there;

/* What the callers got, by tag. */
static struct {
    unsigned status, outcome;
} told[RECORDS + 1];

static enum vc_status
on_start(struct vc_interception *call, void **state, void *arg)
{
    struct side *side = arg;
    unsigned k = atomic_fetch_add(&side->n, 1);

    (void)call;
    assert_true(k < RECORDS);
    *state = &side->records[k];
    atomic_fetch_add(&side->records[k].starts, 1);
    return VC_OK;
}

static void
on_message(struct vc_interception *call, enum vc_message_kind kind,
           const ProtobufCMessage *message, void **state, void *arg)
{
    struct record *r = *state;

    (void)call;
    (void)arg;
    if (kind == VC_MESSAGE_REQUEST) {
        atomic_store(
            &r->tag,
            (unsigned)((const Suite__EchoRequest *)(const void *)message)->tag);
        atomic_fetch_add(&r->requests, 1);
    } else {
        atomic_fetch_add(&r->replies, 1);
    }
}

static void
on_finish(struct vc_interception *call, const struct vc_interception_end *end,
          void **state, void *arg)
{
    struct record *r = *state;

    (void)call;
    (void)arg;
    r->status = end->status;
    r->outcome = end->outcome;
    atomic_fetch_add(&r->finishes, 1);
}

static enum vc_status
maybe_refuse(struct vc_interception *call, void **state, void *arg)
{
    struct side *side = arg;

    (void)call;
    (void)state;
    return atomic_fetch_add(&side->n_inner, 1) % side->refuses_one_in == 0
               ? side->refuses_with
               : VC_OK;
}

/* Gives threads that wait for the call's end time to go on. */
static void
linger(struct vc_interception *call, const struct vc_interception_end *end,
       void **state, void *arg)
{
    (void)call;
    (void)state;
    (void)arg;
    if (end->status == VC_CANCELLED)
        fake_sleep_us(5 * MS);
}

static struct vc_interceptor
outer(struct side *side)
{
    struct vc_interceptor table = VC_INTERCEPTOR_INIT;

    table.start = on_start;
    table.message = on_message;
    table.finish = on_finish;
    table.arg = side;
    return table;
}

static struct vc_interceptor
inner(struct side *side)
{
    struct vc_interceptor table = VC_INTERCEPTOR_INIT;

    table.start = maybe_refuse;
    table.finish = linger;
    table.arg = side;
    return table;
}

static enum vc_status
watch_server(struct vc_server *server, struct sim_server *s)
{
    const struct vc_interceptor first = outer(&there), second = inner(&there);

    (void)s;
    assert_int_equal(vc_server_intercept(server, &first), VC_OK);
    assert_int_equal(vc_server_intercept(server, &second), VC_OK);
    return VC_OK;
}

static void
watch_channel(struct vc_channel *channel)
{
    const struct vc_interceptor first = outer(&here), second = inner(&here);

    assert_int_equal(vc_channel_intercept(channel, &first), VC_OK);
    assert_int_equal(vc_channel_intercept(channel, &second), VC_OK);
}

/* --- calls ------------------------------------------------------------- */

struct caller {
    struct vc_channel *channel;
    unsigned first, n; /* tags */
    unsigned timeout_ms;
    pthread_t thread;
};

static void *
caller_main(void *arg)
{
    struct caller *c = arg;

    for (unsigned tag = c->first; tag < c->first + c->n; tag++) {
        static const unsigned some_ms[] = {2, 30, 60, 3000};
        unsigned ms = c->timeout_ms != 0 ? c->timeout_ms : some_ms[tag % 4];
        enum vc_outcome outcome;

        told[tag].status =
            sim_echo(c->channel, tag * 97 % 20000, tag, ms, &outcome);
        told[tag].outcome = outcome;
        if (told[tag].status == VC_UNAVAILABLE)
            fake_sleep_us(50 * MS);
    }
    return NULL;
}

static void
callers_start(struct caller *callers, struct vc_channel *channel, unsigned n,
              unsigned timeout_ms)
{
    for (unsigned i = 0; i < CALLERS; i++) {
        callers[i] = (struct caller){.channel = channel,
                                     .first = 1 + i * n,
                                     .n = n,
                                     .timeout_ms = timeout_ms};
        pthread_create(&callers[i].thread, NULL, caller_main, &callers[i]);
    }
}

static void
callers_join(struct caller *callers)
{
    for (unsigned i = 0; i < CALLERS; i++)
        pthread_join(callers[i].thread, NULL);
}

/* --- checks ------------------------------------------------------------ */

static void
assert_record(const struct record *r)
{
    assert_int_equal(atomic_load(&r->starts), 1);
    assert_int_equal(atomic_load(&r->finishes), 1);
    assert_in_range(atomic_load(&r->requests), 0, 1);
    assert_int_equal(atomic_load(&r->replies), r->status == VC_OK);
}

static unsigned
tag_of(const struct record *r)
{
    return atomic_load(&r->tag);
}

/* Each call that was made began, and its record says what its caller got.
 * *counts are by status. */
static void
assert_client(unsigned n_calls, unsigned counts[STATUSES])
{
    unsigned n_refused = 0, n_told = 0;

    assert_int_equal(atomic_load(&here.n), n_calls);
    for (unsigned k = 0; k < n_calls; k++) {
        const struct record *r = &here.records[k];

        assert_record(r);
        counts[r->status]++;
        if (tag_of(r) == 0) {
            assert_int_equal(r->status, here.refuses_with);
            assert_int_equal(r->outcome, VC_OUTCOME_NOT_EXECUTED);
            n_refused++;
        } else {
            assert_int_equal(r->status, told[tag_of(r)].status);
            assert_int_equal(r->outcome, told[tag_of(r)].outcome);
        }
    }
    for (unsigned tag = 1; tag <= n_calls; tag++)
        n_told += told[tag].status == here.refuses_with;
    assert_int_equal(n_refused, n_told);
}

/* A handler ran for each call that the server's interceptors let pass, and for
 * no other. */
static void
assert_server(void)
{
    unsigned n_ran = 0, n_passed = 0;

    for (unsigned k = 0; k < atomic_load(&there.n); k++) {
        const struct record *r = &there.records[k];

        assert_record(r);
        assert_int_equal(r->outcome, tag_of(r) == 0 ? VC_OUTCOME_NOT_EXECUTED
                                                    : VC_OUTCOME_EXECUTED);
        n_passed += tag_of(r) != 0;
    }
    for (unsigned tag = 0; tag <= RECORDS; tag++)
        n_ran += atomic_load(&sim_ran[tag]);
    assert_int_equal(n_passed, n_ran);
}

static void
begin(struct scene *s)
{
    memset(&here, 0, sizeof here);
    memset(&there, 0, sizeof there);
    memset(told, 0, sizeof told);
    here.refuses_one_in = 13;
    here.refuses_with = VC_ABORTED;
    there.refuses_one_in = 11;
    there.refuses_with = VC_PERMISSION_DENIED;
    s->server.add = watch_server;
}

/* --- calls that are ended later ------------------------------------------ */

static struct later later;

static void
later_start(struct sim_server *s)
{
    (void)s;
    assert_true(later_begin(&later, 500));
}

static void
later_stop(struct sim_server *s)
{
    (void)s;
    later_end(&later);
}

static enum vc_status
maybe_later(struct sim_server *s, struct vc_call *call, uint64_t tag)
{
    (void)s;
    return tag % 3 == 0 ? later_take(&later, call) : VC_OK;
}

/* --- scenes ------------------------------------------------------------ */

/* Calls with short and long deadlines. Links break, and for some seconds no
 * server can be reached. */
static void
storm(struct scene *s)
{
    struct caller callers[CALLERS];

    watch_channel(s->channel);
    for (unsigned n = 1; n < 6; n++)
        fake_rule(": SEND", n * 40, FAKE_FLUSH, 0);
    callers_start(callers, s->channel, CALLS, 0);
    fake_sleep_us(120 * MS);
    fake_port_set(s->server.host, false);
    fake_sleep_us(2500 * MS);
    fake_port_set(s->server.host, true);
    callers_join(callers);
}

static void
every_call_that_starts_finishes_once_as_its_caller_is_told(void **state)
{
    unsigned counts[STATUSES] = {0};

    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct scene s = {.opts = VC_CHANNEL_OPTS_INIT, .act = storm};

        begin(&s);
        s.server.sleep_us = 4 * MS;
        s.server.long_us = 60 * MS;
        s.server.finish = maybe_later;
        s.server.begin = later_start;
        s.server.end = later_stop;
        scene_run(&s, seed);
        assert_client(RECORDS, counts);
        assert_server();
    }
    print_message("%u good, %u too late, %u unavailable, %u and %u refused\n",
                  counts[VC_OK], counts[VC_DEADLINE_EXCEEDED],
                  counts[VC_UNAVAILABLE], counts[VC_ABORTED],
                  counts[VC_PERMISSION_DENIED]);
    assert_true(counts[VC_OK] > 0 && counts[VC_DEADLINE_EXCEEDED] > 0);
    assert_true(counts[VC_UNAVAILABLE] > 0 && counts[VC_ABORTED] > 0);
    assert_true(counts[VC_PERMISSION_DENIED] > 0);
}

/* Which calls are refused is random. */
static bool
any_ran(void)
{
    for (unsigned tag = 1; tag <= CALLERS; tag++) {
        if (atomic_load(&sim_ran[tag]) > 0)
            return true;
    }
    return false;
}

/* The interceptors of a channel are freed with it, but not before its calls
 * end. */
static void
closes_the_channel(struct scene *s)
{
    struct caller callers[CALLERS];
    struct vc_channel *channel;

    assert_int_equal(
        vc_channel_open(s->runtime, s->server.target, &s->opts, &channel),
        VC_OK);
    watch_channel(channel);
    callers_start(callers, channel, 1, 5000);
    while (!any_ran())
        fake_sleep_us(10);
    vc_channel_close(channel);
    callers_join(callers);
}

static void
calls_that_the_closing_of_their_channel_ends_finish_too(void **state)
{
    unsigned counts[STATUSES] = {0};

    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct scene s = {.opts = VC_CHANNEL_OPTS_INIT,
                          .act = closes_the_channel};

        begin(&s);
        s.server.sleep_us = 30 * MS;
        scene_run(&s, seed);
        assert_client(CALLERS, counts);
        assert_server();
    }
    assert_true(counts[VC_CANCELLED] > 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            every_call_that_starts_finishes_once_as_its_caller_is_told),
        cmocka_unit_test(
            calls_that_the_closing_of_their_channel_ends_finish_too),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
