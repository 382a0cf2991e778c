/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A channel whose resolver names several servers, one of which redirects its
 * clients: how long the alternative has its place, and what it has of it. */
#include <stdio.h>
#include <string.h>

#include <verbcall/outlier.h>
#include <verbcall/resolver.h>

#include "tests/sim/sim.h"

#define KEYS 50u

/* Starts a server at 10.9.0.<n>. */
static void
serve(struct sim_server *s, unsigned n, const struct vc_server_opts *opts)
{
    char addr[32];

    snprintf(addr, sizeof addr, "10.9.0.%u", n);
    s->opts = opts;
    sim_target(addr, s->target);
    sim_server_start(s, fake_host_new(addr, addr), 1);
    assert_true(sim_server_await(s));
}

/* What server a decides. */
struct decision {
    atomic_uint calls;
    const char *_Atomic to; /* NULL: served here */
};

static unsigned
decide(uint64_t service, const struct sockaddr *source,
       const char *targets[VC_REDIRECT_MAX], void *arg)
{
    struct decision *d = arg;

    (void)service;
    (void)source;
    d->calls++;
    targets[0] = d->to;
    return d->to != NULL;
}

/* A client whose resolver names servers, and two servers or three. */
struct fleet {
    struct vc_resolver *resolver;
    struct vc_runtime *runtime;
    struct vc_channel *channel;
    struct sim_server a, b, c; /* at 10.9.0.2, .3 and .4 */
    struct decision d;         /* of a */
    struct vc_server_opts opts;
    bool b_is_gone;
    atomic_bool b_fails; /* all calls */
    atomic_uint ran[5];  /* calls, by the last digit of the server */
};

static struct fleet *opening; /* for app_open() */

static enum vc_status
app_open(struct vc_resolver *r, const char *target, void **state)
{
    (void)target;
    opening->resolver = r;
    *state = opening;
    return VC_OK;
}

static void
app_close(void *state)
{
    (void)state;
}

static const struct vc_resolver_type app_type = {.size = sizeof app_type,
                                                 .scheme = "app",
                                                 .open = app_open,
                                                 .close = app_close};

/* inside() of the servers. */
static void
fleet_ran(struct sim_server *s)
{
    struct fleet *f = s->arg;
    unsigned n = s == &f->a ? 2 : s == &f->b ? 3 : 4;

    atomic_fetch_add(&f->ran[n], 1);
}

/* The resolver names these servers, a digit each, in this order. */
static void
fleet_set(struct fleet *f, const char *which)
{
    struct vc_endpoint e[4];
    char targets[4][40];
    unsigned n = (unsigned)strlen(which);

    for (unsigned i = 0; i < n; i++) {
        snprintf(targets[i], sizeof targets[i], "rdma://10.9.0.%c:7471",
                 which[i]);
        e[i] = (struct vc_endpoint)VC_ENDPOINT_INIT;
        e[i].target = targets[i];
        e[i].weight = which[i] == '2' ? 3 : 1;
    }
    assert_int_equal(VC_OK, vc_resolver_set(f->resolver, e, n));
}

/* finish() of b: its calls end as the test says. */
static enum vc_status
fleet_finish(struct sim_server *s, struct vc_call *call, uint64_t tag)
{
    struct fleet *f = s->arg;

    (void)call;
    (void)tag;
    return atomic_load(&f->b_fails) ? VC_INTERNAL : VC_OK;
}

/* A world in which a redirects its clients to b, and a channel with these
 * options to what `which` names. c: there is a third server. */
static void
fleet_begin_by(struct fleet *f, const struct vc_channel_opts *opts,
               const char *which, bool c)
{
    memset(f, 0, sizeof *f);
    f->d.to = "rdma://10.9.0.3:7471";
    f->opts = (struct vc_server_opts)VC_SERVER_OPTS_INIT;
    f->opts.redirect_decide = decide;
    f->opts.redirect_arg = &f->d;
    f->a.arg = f->b.arg = f->c.arg = f;
    f->a.inside = f->b.inside = f->c.inside = fleet_ran;
    f->b.finish = fleet_finish;
    sim_begin(1, 2, true);
    serve(&f->a, 2, &f->opts);
    serve(&f->b, 3, NULL);
    if (c)
        serve(&f->c, 4, NULL);
    opening = f;
    assert_int_equal(VC_OK, vc_resolver_register(&app_type));
    assert_int_equal(VC_OK, sim_runtime(&f->runtime, 1));
    assert_int_equal(
        VC_OK, vc_channel_open(f->runtime, "app:fleet", opts, &f->channel));
    fleet_set(f, which);
}

static void
fleet_begin(struct fleet *f, const char *which, bool c)
{
    fleet_begin_by(f, VC_CHANNEL_OPTS(.policy = "round_robin"), which, c);
}

static void
fleet_end(struct fleet *f, bool c)
{
    vc_channel_close(f->channel);
    vc_runtime_free(f->runtime);
    assert_true(sim_server_stop(&f->a));
    assert_true(f->b_is_gone || sim_server_stop(&f->b));
    assert_true(!c || sim_server_stop(&f->c));
    assert_int_equal(0, fake_end());
}

/* Makes n calls, which all end well. */
static void
fleet_call(struct fleet *f, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        assert_int_equal(VC_OK, sim_echo(f->channel, 64, 1, 0, NULL));
}

/* Makes calls until the server of this digit has run one; 1,000 at most. */
static void
fleet_call_until(struct fleet *f, unsigned server)
{
    unsigned before = atomic_load(&f->ran[server]);

    for (unsigned i = 0; i < 1000; i++) {
        fleet_call(f, 1);
        if (atomic_load(&f->ran[server]) > before)
            return;
    }
    fail_msg("no call of 1000 went to server %u", server);
}

static void
an_alternative_counts_until_the_next_answer(void **state)
{
    struct fleet f;

    (void)state;
    fleet_begin(&f, "24", true);
    fleet_call_until(&f, 3);
    f.d.to = NULL;
    fleet_call(&f, 100);
    assert_int_equal(0, f.ran[2]);
    assert_true(f.ran[3] >= 50); /* it has the share of the server's place */
    fleet_set(&f, "24");
    fleet_call_until(&f, 2);
    atomic_store(&f.ran[3], 0);
    fleet_call(&f, 100);
    assert_int_equal(0, f.ran[3]);
    fleet_end(&f, true);
}

static void
a_server_that_redirects_still_keeps_its_alternative(void **state)
{
    struct vc_counters counters = VC_COUNTERS_INIT;
    uint64_t sessions;
    unsigned asked;
    struct fleet f;

    (void)state;
    fleet_begin(&f, "24", true);
    fleet_call_until(&f, 3);
    fleet_call_until(&f, 4);
    asked = f.d.calls;
    vc_runtime_counters(f.runtime, &counters);
    sessions = counters.sessions_client_opened;
    fleet_set(&f, "24");
    for (unsigned i = 0; i < 1000 && f.d.calls == asked; i++)
        fleet_call(&f, 1);
    fleet_call(&f, 100);
    assert_int_equal(asked + 1, f.d.calls); /* an answer is one question */
    assert_int_equal(0, f.ran[2]);
    vc_runtime_counters(f.runtime, &counters);
    assert_int_equal(2, counters.links_up);
    assert_int_equal(sessions, counters.sessions_client_opened);
    fleet_end(&f, true);
}

static void
an_alternative_is_gone_with_its_server(void **state)
{
    struct fleet f;

    (void)state;
    fleet_begin(&f, "24", true);
    fleet_call_until(&f, 3);
    fleet_set(&f, "4");
    fleet_call(&f, 1);
    atomic_store(&f.ran[3], 0);
    fleet_call(&f, 100);
    assert_int_equal(0, f.ran[3]);
    fleet_end(&f, true);
}

/* A server that is not there any more has said where its clients belong. */
static void
an_alternative_stays_while_its_server_is_gone(void **state)
{
    struct fleet f;

    (void)state;
    fleet_begin(&f, "24", true);
    fleet_call_until(&f, 3);
    sim_server_close(&f.a);
    fleet_set(&f, "24");
    atomic_store(&f.ran[3], 0);
    fleet_call(&f, 100);
    assert_true(f.ran[3] >= 49);
    fleet_end(&f, true);
}

/* Makes n calls, and checks how many of them ran at servers a, b and c. */
static void
fleet_shares(struct fleet *f, unsigned n, unsigned a, unsigned b, unsigned c)
{
    for (unsigned i = 2; i <= 4; i++)
        atomic_store(&f->ran[i], 0);
    fleet_call(f, n);
    assert_int_equal(a, atomic_load(&f->ran[2]));
    assert_int_equal(b, atomic_load(&f->ran[3]));
    assert_int_equal(c, atomic_load(&f->ran[4]));
}

/* Makes calls until the description has, or has not, the line of a server that
 * redirects to another one; 1,000 at most. */
static void
fleet_await_twin(struct fleet *f, bool is)
{
    static char text[8192];

    for (unsigned i = 0; i < 1000; i++) {
        fleet_call(f, 1);
        vc_channel_describe(f->channel, text, sizeof text);
        if ((strstr(text, "10.9.0.2:7471: redirects to another of the "
                          "servers") != NULL) == is)
            return;
    }
    fail_msg("a twin was%s found: %s", is ? " not" : "", text);
}

static void
an_alternative_that_is_a_server_gets_one_share(void **state)
{
    struct vc_counters counters = VC_COUNTERS_INIT;
    struct fleet f;

    (void)state;
    fleet_begin(&f, "234", true);
    fleet_await_twin(&f, true);
    fleet_call_until(&f, 4);
    fleet_shares(&f, 100, 0, 50, 50);
    vc_runtime_counters(f.runtime, &counters);
    assert_int_equal(3, counters.links_up); /* one of them has no calls */
    fleet_end(&f, true);
}

static void
a_place_that_was_empty_is_filled_by_the_next_answer(void **state)
{
    struct fleet f;

    (void)state;
    fleet_begin(&f, "234", true);
    fleet_await_twin(&f, true);
    fleet_set(&f, "24"); /* the alternative is no server any more */
    fleet_await_twin(&f, false);
    fleet_shares(&f, 100, 0, 50, 50);
    fleet_set(&f, "432"); /* it is one again, at another place */
    fleet_await_twin(&f, true);
    fleet_shares(&f, 100, 0, 50, 50);
    f.d.to = NULL;
    fleet_set(&f, "432");
    fleet_call_until(&f, 2);
    fleet_shares(&f, 99, 33, 33, 33);
    fleet_end(&f, true);
}

/* The server of the alternative is lost: the place is tried again. */
static void
a_place_is_empty_only_while_the_other_one_is_connected(void **state)
{
    struct fleet f;

    (void)state;
    fleet_begin(&f, "234", true);
    fleet_await_twin(&f, true);
    f.d.to = "rdma://10.9.0.4:7471";
    assert_true(sim_server_stop(&f.b));
    fleet_await_twin(&f, false);
    fleet_await_twin(&f, true); /* of the other one */
    fleet_shares(&f, 100, 0, 0, 100);
    f.b_is_gone = true;
    fleet_end(&f, true);
}

static void
an_alternative_has_the_weight_of_its_server(void **state)
{
    struct fleet f;

    (void)state;
    fleet_begin_by(&f, VC_CHANNEL_OPTS(.policy = "weighted_round_robin"), "24",
                   true);
    fleet_call_until(&f, 3);
    fleet_call_until(&f, 4);
    fleet_shares(&f, 400, 0, 300, 100);
    fleet_end(&f, true);
}

/* Notes the server of each key, of a channel to a and c. redirects: a sends its
 * clients to b. */
static void
keys_find(bool redirects, unsigned owner[KEYS])
{
    struct fleet f;

    fleet_begin_by(
        &f, VC_CHANNEL_OPTS(.policy = "ring_hash", .hash_metadata = "user"),
        "24", true);
    if (!redirects)
        f.d.to = NULL;
    for (unsigned k = 0; k < KEYS; k++) {
        const char user[2] = {(char)('A' + k / 26), (char)('a' + k % 26)};
        const struct vc_metadata key = {
            .key = "user", .value = user, .length = sizeof user};
        struct vc_call_opts opts = VC_CALL_OPTS_INIT;

        for (unsigned i = 2; i <= 4; i++)
            atomic_store(&f.ran[i], 0);
        opts.metadata = &key;
        opts.n_metadata = 1;
        assert_int_equal(VC_OK, sim_echo_opts(f.channel, 64, 1, &opts, NULL));
        for (unsigned i = 2; i <= 4; i++)
            owner[k] = atomic_load(&f.ran[i]) > 0 ? i : owner[k];
    }
    fleet_end(&f, true);
}

static void
an_alternative_has_the_keys_of_its_server(void **state)
{
    unsigned own[KEYS] = {0}, other[KEYS] = {0}, moved = 0;

    (void)state;
    keys_find(false, own);
    keys_find(true, other);
    for (unsigned k = 0; k < KEYS; k++) {
        assert_int_equal(own[k] == 2 ? 3 : 4, other[k]);
        moved += own[k] == 2;
    }
    assert_in_range(moved, 1, KEYS - 1);
}

/* Calls of the alternative do not count for the server when that is back. */
static void
an_alternative_is_not_ejected_for_its_server(void **state)
{
    static const struct vc_outlier_opts outlier = {
        .size = sizeof outlier,
        .interval_ms = 1000,
        .failure_percentage_minimum_hosts = 2,
        .failure_percentage_request_volume = 2};
    struct vc_counters counters = VC_COUNTERS_INIT;
    struct fleet f;

    (void)state;
    fleet_begin_by(
        &f, VC_CHANNEL_OPTS(.policy = "round_robin", .outlier = &outlier), "24",
        true);
    fleet_call_until(&f, 3);
    atomic_store(&f.b_fails, true);
    for (unsigned i = 0; i < 100; i++)
        sim_echo(f.channel, 64, 1, 0, NULL);
    atomic_store(&f.b_fails, false);
    f.d.to = NULL;
    fleet_set(&f, "24");
    fleet_call_until(&f, 2);
    fleet_call(&f, 4);
    fake_sleep_us(1100000);
    fleet_call(&f, 1);
    vc_runtime_counters(f.runtime, &counters);
    assert_int_equal(0, counters.servers_ejected);
    fleet_end(&f, true);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_alternative_counts_until_the_next_answer),
        cmocka_unit_test(a_server_that_redirects_still_keeps_its_alternative),
        cmocka_unit_test(an_alternative_is_gone_with_its_server),
        cmocka_unit_test(an_alternative_stays_while_its_server_is_gone),
        cmocka_unit_test(an_alternative_has_the_weight_of_its_server),
        cmocka_unit_test(an_alternative_has_the_keys_of_its_server),
        cmocka_unit_test(an_alternative_that_is_a_server_gets_one_share),
        cmocka_unit_test(a_place_that_was_empty_is_filled_by_the_next_answer),
        cmocka_unit_test(
            a_place_is_empty_only_while_the_other_one_is_connected),
        cmocka_unit_test(an_alternative_is_not_ejected_for_its_server),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
