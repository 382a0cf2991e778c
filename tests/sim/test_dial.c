/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A name with several addresses: which of them a channel connects to, how soon,
 * and that nothing is left of the others. */
#include <errno.h>
#include <netinet/in.h>
#include <rdma/rdma_cma.h>
#include <stdio.h>
#include <string.h>

#include <verbcall/counters.h>

#include "cm/connect/hello.h"
#include "tests/sim/caller.h"

#define SEEDS sim_few(20u)
#define MS    1000u
/* Resolving a name and connecting take less than this. */
#define SOON (30 * MS)
#define HEAD (250 * MS)

/* Adds a host "svc" with this address, and a server there unless s is NULL. */
static struct fake_host *
svc_add(const char *addr, struct sim_server *s)
{
    struct fake_host *host = fake_host_new("svc", addr);

    if (s == NULL)
        return host;
    snprintf(s->target, sizeof s->target,
             strchr(addr, ':') == NULL ? "rdma://%s:%u" : "rdma://[%s]:%u",
             addr, SIM_PORT);
    sim_server_start(s, host, 1);
    assert_true(sim_server_await(s));
    return host;
}

/* The result and the duration of connecting to svc. */
struct dialled {
    enum vc_status status;
    uint64_t us;
    char text[256];
};

static struct dialled
dial_svc(void)
{
    struct dialled d;
    struct vc_runtime *runtime;
    struct vc_channel *channel;
    char target[80];
    uint64_t begin;

    sim_target("svc", target);
    assert_int_equal(VC_OK, sim_runtime(&runtime, 1));
    assert_int_equal(VC_OK, vc_channel_open(runtime, target, NULL, &channel));
    begin = fake_now_us();
    d.status = vc_channel_connect(channel, &suite_probe_service);
    d.us = fake_now_us() - begin;
    snprintf(d.text, sizeof d.text, "%s", vc_error());
    if (d.status == VC_OK)
        assert_int_equal(VC_OK, sim_echo(channel, 64, 1, 0, NULL));
    vc_channel_close(channel);
    vc_runtime_free(runtime);
    return d;
}

static uint64_t
links_made(struct vc_runtime *runtime)
{
    struct vc_counters c = VC_COUNTERS_INIT;

    vc_runtime_counters(runtime, &c);
    return c.links_made;
}

static void
a_silent_address_has_its_head_start_and_no_more(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct sim_server s = {.sleep_us = 0};
        struct dialled d;

        sim_begin(seed, 2, true);
        fake_port_set(svc_add("10.9.0.2", NULL), false);
        svc_add("10.9.0.3", &s);
        d = dial_svc();
        assert_int_equal(VC_OK, d.status);
        assert_in_range(d.us, HEAD, HEAD + SOON);
        assert_true(sim_server_stop(&s));
        assert_int_equal(0, fake_end());
    }
}

static void
an_address_where_nobody_listens_costs_nothing(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct sim_server s = {.sleep_us = 0};
        struct dialled d;

        sim_begin(seed, 2, true);
        svc_add("10.9.0.2", NULL);
        svc_add("10.9.0.3", &s);
        d = dial_svc();
        assert_int_equal(VC_OK, d.status);
        assert_in_range(d.us, 0, SOON);
        assert_true(sim_server_stop(&s));
        assert_int_equal(0, fake_end());
    }
}

static void
an_address_of_a_family_that_leads_nowhere_costs_nothing(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct sim_server s = {.sleep_us = 0};
        struct dialled d;

        sim_begin(seed, 2, true);
        svc_add("fd09::2", NULL);
        svc_add("10.9.0.3", &s);
        d = dial_svc();
        assert_int_equal(VC_OK, d.status);
        assert_in_range(d.us, 0, SOON);
        assert_true(sim_server_stop(&s));
        assert_int_equal(0, fake_end());
    }
}

/* --- a server that makes a counter-offer ------------------------------- */

/* A server that rejects twice: first with VC__REJECT_LIMIT, then with
 * VC__REJECT_SERVICE. */
struct haggler {
    struct vc__hello said[2];
    atomic_bool serves;
};

static void
haggle(struct rdma_event_channel *events, struct vc__hello *said,
       struct vc__reject *reject)
{
    struct rdma_cm_event *ev;
    struct rdma_cm_id *id;
    uint8_t bytes[VC__REJECT_SIZE];

    assert_int_equal(0, rdma_get_cm_event(events, &ev));
    assert_int_equal(RDMA_CM_EVENT_CONNECT_REQUEST, ev->event);
    assert_int_equal(VC__SAID_OK,
                     vc__hello_get(said, ev->param.conn.private_data,
                                   ev->param.conn.private_data_len));
    id = ev->id;
    rdma_ack_cm_event(ev);
    reject->version_min = reject->version_max = VC__VERSION_MIN;
    vc__reject_put(bytes, reject);
    assert_int_equal(0, rdma_reject(id, bytes, sizeof bytes));
    assert_int_equal(0, rdma_destroy_id(id));
}

static void
haggler_main(void *arg)
{
    struct haggler *h = arg;
    struct rdma_event_channel *events = rdma_create_event_channel();
    struct sockaddr_in any = {.sin_family = AF_INET,
                              .sin_port = htons(SIM_PORT)};
    struct vc__reject limit = {
        .reason = VC__REJECT_LIMIT, .credits = 5, .log2_message = 16};
    struct vc__reject service = {.reason = VC__REJECT_SERVICE};
    struct rdma_cm_id *id;

    assert_non_null(events);
    assert_int_equal(0, rdma_create_id(events, &id, NULL, RDMA_PS_TCP));
    assert_int_equal(0, rdma_bind_addr(id, (struct sockaddr *)&any));
    assert_int_equal(0, rdma_listen(id, 0));
    atomic_store(&h->serves, true);
    haggle(events, &h->said[0], &limit);
    haggle(events, &h->said[1], &service);
    rdma_destroy_id(id);
    rdma_destroy_event_channel(events);
}

/* Of the credits with the power of two below. */
static void
a_counter_offer_is_met_in_the_next_hello(void **state)
{
    struct haggler h = {.serves = false};
    struct fake_process *p;
    struct dialled d;

    (void)state;
    sim_begin(1, 2, true);
    p = fake_process_start(svc_add("10.9.0.2", NULL), "haggler", haggler_main,
                           &h);
    while (!atomic_load(&h.serves))
        fake_sleep_us(100);
    d = dial_svc();
    assert_int_equal(VC_UNIMPLEMENTED, d.status);
    assert_true(fake_process_wait(p, 1000 * MS));
    assert_true(h.said[0].credits > 5);
    assert_int_equal(22, h.said[0].log2_message);
    assert_int_equal(4, h.said[1].credits);
    assert_int_equal(16, h.said[1].log2_message);
    assert_int_equal(0, fake_end());
}

/* --- several answers --------------------------------------------------- */

/* The first server accepts after the second one. Whatever the slow server sends
 * then, the client tells it that it does not want the connection. */
static void
the_first_that_is_up_wins_and_the_other_is_left(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 10 * SEEDS; seed++) {
        struct sim_server slow = {.sleep_us = 0}, fast = {.sleep_us = 0};
        struct dialled d;

        sim_begin(seed, 2, true);
        svc_add("10.9.0.2", &slow);
        svc_add("10.9.0.3", &fast);
        /* About as long as the head start plus a connection. */
        fake_rule("server: REP ->", 1, FAKE_DELAY, HEAD + seed * 50);
        d = dial_svc();
        assert_int_equal(VC_OK, d.status);
        assert_in_range(d.us, HEAD, HEAD + SOON);
        assert_true(sim_server_stop(&slow));
        assert_true(sim_server_stop(&fast));
        assert_int_equal(0, fake_end());
    }
}

static void
when_all_fail_the_most_telling_reason_is_told_within_the_timeout(void **state)
{
    struct dialled d;

    (void)state;
    sim_begin(1, 2, true);
    fake_port_set(svc_add("10.9.0.2", NULL), false);
    svc_add("10.9.0.3", NULL);
    svc_add("fd09::2", NULL);
    d = dial_svc();
    assert_int_equal(VC_UNAVAILABLE, d.status);
    /* Families take turns. */
    assert_non_null(strstr(d.text, "nothing listens at [fd09::2]"));
    assert_in_range(d.us, HEAD, 2000 * MS + SOON);
    assert_int_equal(0, fake_end());
}

/* The second address has less time left than the first. */
static void
an_address_that_does_not_answer_ends_with_the_timeout_of_the_channel(
    void **state)
{
    struct sim_server servers[2] = {{.sleep_us = 0}, {.sleep_us = 0}};
    struct dialled d;

    (void)state;
    sim_begin(1, 2, true);
    svc_add("10.9.0.2", &servers[0]);
    svc_add("10.9.0.3", &servers[1]);
    fake_rule("server: REP ->", 1, FAKE_DROP, 0);
    fake_rule("server: REP ->", 2, FAKE_DROP, 0);
    d = dial_svc();
    assert_int_equal(VC_UNAVAILABLE, d.status);
    assert_non_null(strstr(d.text, "no answer within 2000 ms"));
    assert_true(sim_server_stop(&servers[0]));
    assert_true(sim_server_stop(&servers[1]));
    assert_int_equal(0, fake_end());
}

struct closing {
    struct vc_channel *channel;
    atomic_bool closed;
};

static void
close_body(void *arg)
{
    struct closing *c = arg;
    struct vc_runtime *runtime;
    char target[80];

    sim_target("svc", target);
    assert_int_equal(VC_OK, sim_runtime(&runtime, 1));
    assert_int_equal(VC_OK,
                     vc_channel_open(runtime, target, NULL, &c->channel));
    /* Ends before the first address has answered. */
    assert_int_equal(VC_DEADLINE_EXCEEDED,
                     sim_echo(c->channel, 64, 1, 400, NULL));
    vc_channel_close(c->channel);
    vc_runtime_free(runtime);
    atomic_store(&c->closed, true);
}

static void
a_channel_is_closed_while_several_addresses_are_tried(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct closing c = {.closed = false};
        struct fake_process *p;

        sim_begin(seed, 2, true);
        fake_port_set(svc_add("10.9.0.2", NULL), false);
        fake_port_set(svc_add("10.9.0.3", NULL), false);
        fake_port_set(svc_add("10.9.0.4", NULL), false);
        p = fake_process_start(fake_host_local(), "client", close_body, &c);
        assert_true(fake_process_wait(p, 3000 * MS));
        assert_true(atomic_load(&c.closed));
        assert_int_equal(0, fake_end());
    }
}

/* --- failures ---------------------------------------------------------- */

#define TRIES 4u

/* The text distinguishes a missing route or device from missing resources. */
static void
a_call_of_the_system_that_fails_is_told_as_what_it_is(void **state)
{
    static const struct {
        const char *call;
        int err;
        enum vc_status status;
        const char *text;
    } rows[] = {
        {"rdma_create_id", ENOMEM, VC_RESOURCE_EXHAUSTED,
         "10.9.0.2:7471: cannot make a connection id: "},
        {"rdma_create_id", ENODEV, VC_UNAVAILABLE,
         "no RDMA device of this machine leads to 10.9.0.2:7471 (make "},
        {"rdma_create_id", ENETUNREACH, VC_UNAVAILABLE,
         "no RDMA device of this machine leads to 10.9.0.2:7471 (make "},
        {"rdma_create_id", EADDRNOTAVAIL, VC_UNAVAILABLE,
         "no RDMA device of this machine leads to 10.9.0.2:7471 (make "},
        {"rdma_resolve_addr", EPERM, VC_PERMISSION_DENIED,
         "10.9.0.2:7471: cannot resolve its address: "},
        {"rdma_resolve_addr", ENETUNREACH, VC_UNAVAILABLE,
         "no RDMA device of this machine leads to 10.9.0.2:7471 (resolve "},
        {"rdma_resolve_route", ENOMEM, VC_RESOURCE_EXHAUSTED,
         "10.9.0.2:7471: cannot resolve the route: "},
        {"rdma_resolve_route", ENODEV, VC_UNAVAILABLE,
         "no RDMA route to 10.9.0.2:7471 "},
        {"rdma_connect", ENOMEM, VC_RESOURCE_EXHAUSTED,
         "10.9.0.2:7471: cannot connect: "},
        {"rdma_establish", ENOMEM, VC_RESOURCE_EXHAUSTED,
         "10.9.0.2:7471: cannot establish the connection: "},
        {"rdma_establish", EINVAL, VC_UNAVAILABLE,
         "10.9.0.2:7471 accepted and disconnected at once"},
    };

    (void)state;
    for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct sim_server s = {.sleep_us = 0};
        struct dialled d;

        sim_begin(i, 2, true);
        svc_add("10.9.0.2", &s);
        fake_fail(fake_process_self(), rows[i].call, 1, rows[i].err);
        d = dial_svc();
        assert_int_equal(1, fake_failed());
        if (d.status != rows[i].status ||
            strncmp(d.text, rows[i].text, strlen(rows[i].text)) != 0)
            fail_msg("%s, %s: %d, %s", rows[i].call, strerror(rows[i].err),
                     d.status, d.text);
        assert_true(sim_server_stop(&s));
        assert_int_equal(0, fake_end());
    }
}

/* A client that connects until it succeeds. */
struct stubborn {
    const char *target;
    atomic_bool good;
    atomic_uint mute; /* errors without a text */
};

static void
stubborn_main(void *arg)
{
    struct stubborn *s = arg;
    struct vc_runtime *runtime = NULL;
    struct vc_channel *channel = NULL;
    enum vc_status status = VC_UNKNOWN;

    for (unsigned i = 0; i < TRIES && status != VC_OK; i++) {
        status = runtime == NULL ? sim_runtime(&runtime, 1) : VC_OK;
        if (status == VC_OK && channel == NULL)
            status = vc_channel_open(runtime, s->target, NULL, &channel);
        if (status == VC_OK)
            status = sim_echo(channel, 64, 1, 0, NULL);
        if (status != VC_OK && vc_error()[0] == '\0')
            atomic_fetch_add(&s->mute, 1);
    }
    atomic_store(&s->good, status == VC_OK);
    vc_channel_close(channel);
    vc_runtime_free(runtime);
}

/* One address is silent, one is busy, one redirects. The nth call or allocation
 * fails. Returns false when there was no nth one. */
static bool
fails_at(unsigned nth, int err, const char *target)
{
    struct vc_server_opts busy_opts = VC_SERVER_OPTS_INIT;
    struct vc_server_opts moved_opts = VC_SERVER_OPTS_INIT;
    struct sim_server busy = {.opts = &busy_opts}, there = {.sleep_us = 0};
    struct sim_server moved = {.opts = &moved_opts};
    struct stubborn s = {.target = target};
    struct fake_process *p;
    bool struck;

    busy_opts.connects_per_second = 1; /* used up by the first client */
    moved_opts.redirect[0] = "rdma://10.9.0.9:7471";
    sim_begin(nth, 0, true);
    svc_add("10.9.0.2", &busy);
    assert_int_equal(VC_OK, dial_svc().status);
    fake_port_set(svc_add("10.9.0.3", NULL), false);
    svc_add("10.9.0.4", &moved);
    sim_target("10.9.0.9", there.target);
    sim_server_start(&there, fake_host_new("there", "10.9.0.9"), 1);
    assert_true(sim_server_await(&there));
    p = fake_process_start(fake_host_local(), "client", stubborn_main, &s);
    if (err == 0)
        fake_fail_memory(p, nth);
    else
        fake_fail(p, "*", nth, err);
    assert_true(fake_process_wait(p, 30000 * MS));
    struck = fake_failed() > 0;
    fake_fail_no_more();
    if (!atomic_load(&s.good) || atomic_load(&s.mute) > 0)
        fail_msg("nth %u, err %d: good %d, mute %u: %s", nth, err,
                 atomic_load(&s.good), atomic_load(&s.mute), fake_trace());
    assert_true(sim_server_stop(&busy));
    assert_true(sim_server_stop(&moved));
    assert_true(sim_server_stop(&there));
    assert_int_equal(0, fake_end());
    return struck;
}

static void
any_call_and_allocation_may_fail_while_several_addresses_are_tried(void **state)
{
    static const int errs[] = {0, ENOMEM, 0};
    static const char *const targets[] = {
        "rdma://svc:7471", "rdma://svc:7471",
        "rdma://svc:7471|rdma://10.9.0.4:7471"};

    (void)state;
    for (unsigned i = 0; i < sizeof errs / sizeof errs[0]; i++) {
        unsigned nth = 1;

        while (fails_at(nth, errs[i], targets[i]))
            nth++;
        print_message("%s: %u failures of %s\n", targets[i], nth - 1,
                      errs[i] == 0 ? "memory" : "calls");
        assert_true(nth > 20);
    }
}

/* --- a link that is lost -------------------------------------------------- */

/* After the loss the client connects to another address. The server there does
 * not know the call, so the call's outcome is unknown. */
static void
a_lost_link_is_made_up_for_at_another_address(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct sim_server servers[2] = {{.sleep_us = 500 * MS},
                                        {.sleep_us = 500 * MS}};
        struct vc_channel_opts opts = VC_CHANNEL_OPTS_INIT;
        struct caller c = {.tag = 1};
        struct vc_runtime *runtime;
        char target[80];

        sim_begin(seed, 2, true);
        svc_add("10.9.0.2", &servers[0]);
        svc_add("10.9.0.3", &servers[1]);
        sim_target("svc", target);
        opts.max_attempts = 1;
        assert_int_equal(VC_OK, sim_runtime(&runtime, 1));
        assert_int_equal(VC_OK,
                         vc_channel_open(runtime, target, &opts, &c.channel));
        caller_begin(&c);
        while (atomic_load(&sim_ran[1]) == 0)
            fake_sleep_us(MS);
        fake_process_kill(servers[0].process);
        caller_join(&c);
        assert_int_equal(VC_UNAVAILABLE, c.status);
        assert_int_equal(VC_OUTCOME_UNKNOWN, c.outcome);
        assert_int_equal(2, links_made(runtime));
        vc_channel_close(c.channel);
        vc_runtime_free(runtime);
        assert_true(sim_server_stop(&servers[1]));
        assert_int_equal(0, fake_end());
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_silent_address_has_its_head_start_and_no_more),
        cmocka_unit_test(an_address_where_nobody_listens_costs_nothing),
        cmocka_unit_test(
            an_address_of_a_family_that_leads_nowhere_costs_nothing),
        cmocka_unit_test(a_counter_offer_is_met_in_the_next_hello),
        cmocka_unit_test(the_first_that_is_up_wins_and_the_other_is_left),
        cmocka_unit_test(
            when_all_fail_the_most_telling_reason_is_told_within_the_timeout),
        cmocka_unit_test(
            an_address_that_does_not_answer_ends_with_the_timeout_of_the_channel),
        cmocka_unit_test(a_channel_is_closed_while_several_addresses_are_tried),
        cmocka_unit_test(a_call_of_the_system_that_fails_is_told_as_what_it_is),
        cmocka_unit_test(
            any_call_and_allocation_may_fail_while_several_addresses_are_tried),
        cmocka_unit_test(a_lost_link_is_made_up_for_at_another_address),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
