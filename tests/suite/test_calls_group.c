/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Multicast: a publisher and the members of its group, each in a runtime of its
 * own, on a wire that loses nothing. What a lossy one does is done by a raw
 * publisher, which leaves numbers out. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <verbcall/counters.h>
#include <verbcall/multicast.h>

#include "tests/suite/feature.h"
#include "tests/suite/fixture.h"
#include "tests/suite/raw_group.h"

#define GROUP   "239.1.2.3"
#define PORT    7000
#define TARGET  "rdma+mc://239.1.2.3:7000"
#define MEMBERS 3u
#define TELL    3u
#define TAGS    1001u
#define QUIET_N 50u /* calls under way at a time, at most */

/* --- members -------------------------------------------------------------- */

struct member {
    struct vc_runtime *runtime;
    struct vc_server *server;
    atomic_uint runs; /* handlers */
    atomic_uint repeated;
    atomic_bool ran[TAGS]; /* by tag; two handlers may run at a time */
    _Atomic uint64_t last; /* tag */
    char peer[80];         /* vc_call_peer() of the last call */
    atomic_uint reports;
    struct vc_multicast_loss loss; /* of the last report */
    char group[80];
};

static enum vc_status
member_tell(struct vc_call *call, const Features__Order *order, void *arg)
{
    struct member *m = arg;

    if (atomic_exchange(&m->ran[order->tag % TAGS], true))
        atomic_fetch_add(&m->repeated, 1);
    atomic_store(&m->last, order->tag);
    snprintf(m->peer, sizeof m->peer, "%s", vc_call_peer(call));
    fixture_tell(&m->runs);
    return VC_OK;
}

static enum vc_status
member_once(struct vc_call *call, const Features__Order *order,
            Features__Report *report, void *arg)
{
    (void)call;
    (void)arg;
    report->tag = order->tag;
    return VC_OK;
}

static void
member_on_lost(const struct vc_multicast_loss *loss, void *arg)
{
    struct member *m = arg;

    m->loss = *loss;
    snprintf(m->group, sizeof m->group, "%s", loss->group);
    fixture_tell(&m->reports);
}

/* The machine of the tests may have no route to a group. */
static void
member_start(struct member *m, const char *target)
{
    static const struct features_work_methods methods = {.once = member_once,
                                                         .tell = member_tell};

    memset(m, 0, sizeof *m);
    assert_status(VC_OK, vc_runtime_new(NULL, &m->runtime));
    assert_status(VC_OK,
                  vc_server_new(m->runtime,
                                VC_SERVER_OPTS(.multicast_address =
                                                   getenv("VC_TEST_ADDR")),
                                &m->server));
    assert_status(VC_OK, features_work_add(m->server, &methods, m));
    assert_status(VC_OK,
                  vc_server_on_multicast_lost(m->server, member_on_lost, m));
    assert_status(VC_OK, vc_server_listen(m->server, target));
}

static void
member_stop(struct member *m)
{
    vc_server_free(m->server);
    vc_runtime_free(m->runtime);
}

static struct vc_counters
member_counts(const struct member *m)
{
    struct vc_counters c = VC_COUNTERS_INIT;

    vc_runtime_counters(m->runtime, &c);
    return c;
}

/* Waits until the member has received so many datagrams of all kinds. */
static struct vc_counters
member_await(const struct member *m, uint64_t n)
{
    uint64_t due = fixture_ms() + 10000;

    for (;;) {
        struct vc_counters c = member_counts(m);

        if (c.multicast_received + c.multicast_duplicates +
                c.multicast_foreign >=
            n)
            return c;
        assert_in_range(fixture_ms(), 0, due);
    }
}

struct publisher {
    struct vc_runtime *runtime;
    struct vc_channel *channel;
};

static void
publisher_start(struct publisher *p, const char *target)
{
    assert_status(VC_OK, vc_runtime_new(NULL, &p->runtime));
    assert_status(
        VC_OK,
        vc_channel_open(p->runtime, target,
                        VC_CHANNEL_OPTS(.bind_address = getenv("VC_TEST_ADDR")),
                        &p->channel));
}

static void
publisher_stop(struct publisher *p)
{
    vc_channel_close(p->channel);
    vc_runtime_free(p->runtime);
}

static enum vc_status
publish(struct publisher *p, uint64_t tag)
{
    Features__Order order = features_order(tag, "");

    return features_work_tell(p->channel, &order, NULL);
}

/* --- calls ---------------------------------------------------------------- */

/* The publisher waits now and then, as UD has no flow control. */
static void
publish_slowly(struct publisher *p, struct member *m, unsigned n)
{
    for (unsigned i = 1; i <= n; i++) {
        assert_status(VC_OK, publish(p, i));
        if (i % QUIET_N != 0)
            continue;
        for (unsigned k = 0; k < MEMBERS; k++)
            fixture_await(&m[k].runs, i);
    }
    for (unsigned k = 0; k < MEMBERS; k++)
        fixture_await(&m[k].runs, n);
}

static void
every_member_runs_each_call_once(void **state)
{
    unsigned n = fixture_many(1000, 100000);
    static struct member m[MEMBERS];
    struct vc_counters c;
    struct publisher p;

    (void)state;
    for (unsigned k = 0; k < MEMBERS; k++)
        member_start(&m[k], TARGET);
    publisher_start(&p, TARGET);
    publish_slowly(&p, m, n);
    for (unsigned k = 0; k < MEMBERS; k++) {
        c = member_counts(&m[k]);
        for (unsigned i = 1; i <= n && i <= TAGS; i++)
            assert_true(atomic_load(&m[k].ran[i % TAGS]));
        assert_true(n > TAGS || atomic_load(&m[k].repeated) == 0);
        assert_int_equal(c.multicast_received, n);
        assert_int_equal(c.multicast_lost, 0);
        assert_int_equal(c.multicast_duplicates, 0);
        assert_int_equal(atomic_load(&m[k].reports), 0);
        assert_string_equal(m[k].peer, TARGET);
        member_stop(&m[k]);
    }
    c = (struct vc_counters)VC_COUNTERS_INIT;
    vc_runtime_counters(p.runtime, &c);
    assert_int_equal(c.multicast_sent, n);
    publisher_stop(&p);
}

static void
a_group_without_members_is_published_to(void **state)
{
    struct publisher p;

    (void)state;
    publisher_start(&p, "rdma+mc://239.9.9.9:7000");
    assert_status(VC_OK, vc_channel_connect(p.channel, &features_work_service));
    for (unsigned i = 0; i < 200; i++)
        assert_status(VC_OK, publish(&p, i));
    publisher_stop(&p);
}

static void
a_member_that_leaves_gets_no_more_and_the_others_do(void **state)
{
    struct member m[2];
    struct publisher p;

    (void)state;
    member_start(&m[0], TARGET);
    member_start(&m[1], TARGET);
    publisher_start(&p, TARGET);
    assert_status(VC_OK, publish(&p, 1));
    fixture_await(&m[0].runs, 1);
    fixture_await(&m[1].runs, 1);
    assert_status(VC_OK, vc_server_close(m[0].server, 5000));
    assert_status(VC_OK, publish(&p, 2));
    fixture_await(&m[1].runs, 2);
    assert_int_equal(atomic_load(&m[0].runs), 1);
    assert_int_equal(member_counts(&m[0]).multicast_received, 1);
    member_stop(&m[0]);
    member_stop(&m[1]);
    publisher_stop(&p);
}

static void
a_port_tells_two_targets_of_one_group_apart(void **state)
{
    struct member here, there;
    struct publisher p;

    (void)state;
    member_start(&here, TARGET);
    member_start(&there, "rdma+mc://239.1.2.3:7001");
    publisher_start(&p, TARGET);
    assert_status(VC_OK, publish(&p, 1));
    fixture_await(&here.runs, 1);
    assert_int_equal(member_await(&there, 1).multicast_foreign, 1);
    assert_int_equal(atomic_load(&there.runs), 0);
    publisher_stop(&p);
    member_stop(&there);
    member_stop(&here);
}

/* --- what was lost -------------------------------------------------------- */

struct lossy {
    struct member m;
    struct vc_runtime *runtime;
    struct raw_group g;
};

static void
lossy_start(struct lossy *l)
{
    member_start(&l->m, TARGET);
    assert_status(VC_OK, vc_runtime_new(NULL, &l->runtime));
    raw_group_open(&l->g, l->runtime, GROUP, PORT);
}

static void
lossy_stop(struct lossy *l)
{
    raw_group_close(&l->g);
    vc_runtime_free(l->runtime);
    member_stop(&l->m);
}

static void
numbers_that_are_left_out_are_reported_and_counted(void **state)
{
    static const uint64_t numbers[] = {10, 11, 15, 16, 116};
    struct vc_counters c;
    struct lossy l;

    (void)state;
    lossy_start(&l);
    for (unsigned i = 0; i < sizeof numbers / sizeof *numbers; i++)
        raw_group_tell(&l.g, numbers[i]);
    fixture_await(&l.m.runs, 5);
    fixture_await(&l.m.reports, 2);
    c = member_counts(&l.m);
    assert_int_equal(c.multicast_received, 5);
    assert_int_equal(c.multicast_lost, 3 + 99);
    assert_int_equal(l.m.loss.received, 5);
    assert_int_equal(l.m.loss.lost, 3 + 99);
    assert_memory_equal(l.m.loss.publisher, l.g.publisher,
                        sizeof l.g.publisher);
    assert_string_equal(l.m.group, "239.1.2.3:7000");
    lossy_stop(&l);
}

static void
a_late_one_runs_and_a_second_copy_does_not(void **state)
{
    static const uint64_t numbers[] = {1, 4, 3, 3, 4, 2, 5};
    struct vc_counters c;
    struct lossy l;

    (void)state;
    lossy_start(&l);
    for (unsigned i = 0; i < sizeof numbers / sizeof *numbers; i++)
        raw_group_tell(&l.g, numbers[i]);
    c = member_await(&l.m, 7);
    fixture_await(&l.m.runs, 5);
    assert_int_equal(atomic_load(&l.m.runs), 5);
    assert_int_equal(c.multicast_received, 5);
    assert_int_equal(c.multicast_late, 2);
    assert_int_equal(c.multicast_lost, 0);
    assert_int_equal(c.multicast_duplicates, 2);
    assert_int_equal(atomic_load(&l.m.reports), 3);
    lossy_stop(&l);
}

/* More publishers than a member remembers: none costs it a call. */
static void
very_many_publishers_are_served(void **state)
{
    struct lossy l;

    (void)state;
    lossy_start(&l);
    for (unsigned i = 1; i <= 1100; i++) {
        memcpy(l.g.publisher, &i, sizeof i);
        raw_group_tell(&l.g, i);
        if (i % QUIET_N == 0)
            fixture_await(&l.m.runs, i);
    }
    fixture_await(&l.m.runs, 1100);
    assert_int_equal(member_counts(&l.m).multicast_lost, 0);
    lossy_stop(&l);
}

/* --- bad input ------------------------------------------------------------ */

/* Each is dropped and counted, and the next good one runs. */
static void
what_is_no_datagram_of_ours_is_dropped_and_counted(void **state)
{
    uint8_t good[RAW_GROUP_ROOM];
    struct vc_counters c;
    struct lossy l;
    size_t len;

    (void)state;
    lossy_start(&l);
    len = raw_group_datagram(&l.g, 1, &features_work_service, TELL, 1, good);
    for (size_t i = 0; i < len; i++)
        raw_group_send(&l.g, good, i);
    c = member_await(&l.m, len);
    assert_int_equal(c.multicast_foreign, len);
    for (size_t i = 0; i < 8; i++) { /* the magic, the version, the port */
        good[i] ^= 0x40;
        raw_group_send(&l.g, good, len);
        good[i] ^= 0x40;
    }
    c = member_await(&l.m, len + 8);
    assert_int_equal(c.multicast_foreign, len + 8);
    assert_int_equal(c.multicast_received, 0);
    raw_group_send(&l.g, good, len);
    fixture_await(&l.m.runs, 1);
    lossy_stop(&l);
}

static void
what_the_server_does_not_serve_is_dropped_and_counted(void **state)
{
    uint8_t bytes[RAW_GROUP_ROOM];
    struct vc_counters c;
    struct lossy l;
    size_t len;

    (void)state;
    lossy_start(&l);
    len = raw_group_datagram(&l.g, 1, &suite_probe_service, 0, 1, bytes);
    raw_group_send(&l.g, bytes, len);
    len = raw_group_datagram(&l.g, 2, &features_work_service, 0, 1, bytes);
    raw_group_send(&l.g, bytes, len); /* Once has a reply */
    len = raw_group_datagram(&l.g, 3, &features_work_service, TELL, 1, bytes);
    bytes[40] ^= 1; /* the hash of the method */
    raw_group_send(&l.g, bytes, len);
    raw_group_tell(&l.g, 4);
    fixture_await(&l.m.runs, 1);
    c = member_counts(&l.m);
    assert_int_equal(c.multicast_unknown, 3);
    assert_int_equal(c.multicast_received, 4);
    lossy_stop(&l);
}

static void
a_message_that_cannot_be_unpacked_runs_nothing(void **state)
{
    uint8_t bytes[RAW_GROUP_ROOM];
    struct lossy l;
    size_t len;

    (void)state;
    lossy_start(&l);
    len = raw_group_datagram(&l.g, 1, &features_work_service, TELL, 300, bytes);
    bytes[len - 1] = 0x80; /* a varint without an end */
    raw_group_send(&l.g, bytes, len);
    raw_group_tell(&l.g, 2);
    fixture_await(&l.m.runs, 1);
    assert_int_equal(atomic_load(&l.m.last), 2);
    assert_int_equal(member_counts(&l.m).multicast_received, 2);
    lossy_stop(&l);
}

/* --- limits --------------------------------------------------------------- */

/* A publisher without pause, and connected calls to the same server: these are
 * served meanwhile. */
static void
a_flood_does_not_starve_connected_calls(void **state)
{
    struct vc_counters c;
    struct fixture f;
    struct lossy l;

    (void)state;
    fixture_start(&f, 1,
                  VC_SERVER_OPTS(.multicast_address = getenv("VC_TEST_ADDR")),
                  NULL);
    assert_status(VC_OK, vc_server_listen(f.server, TARGET));
    assert_status(VC_OK, vc_runtime_new(NULL, &l.runtime));
    raw_group_open(&l.g, l.runtime, GROUP, PORT);
    for (unsigned i = 1; i <= 100; i++) {
        for (unsigned k = 0; k < 100; k++)
            raw_group_tell(&l.g, (i - 1) * 100 + k + 1);
        assert_status(VC_OK, fixture_echo(f.channel, 10, i));
    }
    c = (struct vc_counters)VC_COUNTERS_INIT;
    vc_runtime_counters(f.server_runtime, &c);
    assert_true(c.multicast_unknown > 0);
    raw_group_close(&l.g);
    vc_runtime_free(l.runtime);
    fixture_stop(&f);
}

static void
a_server_that_drains_takes_no_more(void **state)
{
    struct lossy l;

    (void)state;
    lossy_start(&l);
    raw_group_tell(&l.g, 1);
    fixture_await(&l.m.runs, 1);
    assert_status(VC_OK, vc_server_drain(l.m.server, NULL, 1000));
    raw_group_tell(&l.g, 2);
    while (member_counts(&l.m).multicast_refused == 0)
        continue;
    assert_int_equal(atomic_load(&l.m.runs), 1);
    lossy_stop(&l);
}

/* --- what a publisher refuses --------------------------------------------- */

static void
says(const char *words)
{
    if (strstr(vc_error(), words) == NULL)
        fail_msg("\"%s\" is not in \"%s\"", words, vc_error());
}

static void
only_blocking_calls_of_one_way_methods_are_published(void **state)
{
    Features__Order order = features_order(1, "");
    struct vc_counters c = VC_COUNTERS_INIT;
    struct features_flow_talk_client_stream *talk;
    struct features_end end = {0};
    Features__Report *report;
    struct vc_async *call;
    struct publisher p;

    (void)state;
    publisher_start(&p, TARGET);
    assert_status(VC_UNIMPLEMENTED,
                  features_work_once(p.channel, &order, NULL, &report));
    says("features.Work.Once: the method has a reply");
    says("one_way");
    assert_status(VC_UNIMPLEMENTED,
                  features_work_once_async(p.channel, &order, NULL,
                                           features_done, &end, &call));
    says("an asynchronous call cannot be sent to a multicast group");
    assert_status(VC_UNIMPLEMENTED, features_flow_talk(p.channel, NULL, &talk));
    says("features.Flow.Talk: a stream cannot be sent to a multicast group");
    vc_runtime_counters(p.runtime, &c);
    assert_int_equal(c.multicast_sent, 0);
    publisher_stop(&p);
}

static void
a_call_has_no_options_that_a_datagram_cannot_carry(void **state)
{
    static const struct vc_metadata metadata = {"a-key", "value", 5};
    Features__Order order = features_order(1, "");
    struct publisher p;

    (void)state;
    publisher_start(&p, TARGET);
    assert_status(VC_INVALID_ARGUMENT,
                  features_work_tell(
                      p.channel, &order,
                      VC_CALL_OPTS(.metadata = &metadata, .n_metadata = 1)));
    says("vc_call_opts.metadata: ");
    assert_status(
        VC_INVALID_ARGUMENT,
        features_work_tell(p.channel, &order,
                           VC_CALL_OPTS(.priority = VC_PRIORITY_CRITICAL)));
    says("vc_call_opts.priority: ");
    publisher_stop(&p);
}

/* The longest message fits, one byte more does not, and the text has the
 * limit. */
static void
a_message_is_no_longer_than_a_datagram(void **state)
{
    static char text[5000];
    struct member m;
    struct publisher p;
    Features__Order order;
    unsigned max;

    (void)state;
    memset(text, 'x', sizeof text - 1);
    member_start(&m, TARGET);
    publisher_start(&p, TARGET);
    order = features_order(1, text);
    assert_status(VC_RESOURCE_EXHAUSTED,
                  features_work_tell(p.channel, &order, NULL));
    says("a datagram of this multicast group takes ");
    max = (unsigned)atoi(strstr(vc_error(), " takes ") + 7);
    print_message("%u bytes\n", max);
    /* tag: 2 bytes; text: 1 byte, and its length in 2 */
    text[max - 5] = '\0';
    assert_status(VC_OK, features_work_tell(p.channel, &order, NULL));
    fixture_await(&m.runs, 1);
    text[max - 5] = 'x';
    text[max - 4] = '\0';
    assert_status(VC_RESOURCE_EXHAUSTED,
                  features_work_tell(p.channel, &order, NULL));
    publisher_stop(&p);
    member_stop(&m);
}

static void
open_fails(struct vc_runtime *runtime, const char *target,
           const struct vc_channel_opts *opts, const char *words)
{
    struct vc_channel *channel;

    assert_status(VC_INVALID_ARGUMENT,
                  vc_channel_open(runtime, target, opts, &channel));
    says(words);
}

static void
a_target_that_is_no_group_is_refused(void **state)
{
    struct vc_runtime *runtime;
    struct vc_server *server;

    (void)state;
    assert_status(VC_OK, vc_runtime_new(NULL, &runtime));
    assert_status(VC_OK, vc_server_new(runtime, NULL, &server));
    open_fails(runtime, "rdma+mc://10.9.0.1:7000", NULL,
               "needs a multicast group");
    open_fails(runtime, "rdma+mc://239.1.2.3:0", NULL,
               "needs a multicast group with a port");
    open_fails(runtime, "rdma+mc://group.example:7000", NULL,
               "a multicast group is a numeric address");
    open_fails(runtime, TARGET, VC_CHANNEL_OPTS(.policy = "round_robin"),
               "vc_channel_opts.policy: ");
    assert_status(VC_INVALID_ARGUMENT,
                  vc_server_listen(server, "rdma+mc://10.9.0.1:7000"));
    says("needs a multicast group");
    assert_status(VC_INVALID_ARGUMENT,
                  vc_server_listen(server, "rdma+mc://[fd09::1]:7000"));
    says("needs a multicast group");
    vc_server_free(server);
    vc_runtime_free(runtime);
}

/* The guest has no default route, so none to a group; a machine with one is not
 * tested. */
static void
without_a_route_the_text_says_what_to_do(void **state)
{
    struct vc_runtime *runtime;
    struct vc_channel *channel;
    enum vc_status status;

    (void)state;
    assert_status(VC_OK, vc_runtime_new(NULL, &runtime));
    status = vc_channel_open(runtime, TARGET, NULL, &channel);
    if (status == VC_OK) {
        vc_channel_close(channel);
        vc_runtime_free(runtime);
        skip();
    }
    assert_int_equal(VC_UNAVAILABLE, status);
    says("ip route add GROUP dev INTERFACE");
    says("vc_channel_opts.bind_address");
    vc_runtime_free(runtime);
}

/* An IPv6 address of the device, which the guest has. */
static void
a_group_of_ipv6_is_refused_over_roce_v2(void **state)
{
    struct vc_runtime *runtime;
    struct vc_channel *channel;
    enum vc_status status;

    (void)state;
    assert_status(VC_OK, vc_runtime_new(NULL, &runtime));
    status =
        vc_channel_open(runtime, "rdma+mc://[ff15::77]:7000",
                        VC_CHANNEL_OPTS(.bind_address = "fd09::1"), &channel);
    print_message("%s\n", vc_error());
    assert_int_equal(VC_UNAVAILABLE, status);
    if (strcmp(getenv("VC_TEST_ADDR"), "10.9.0.1") == 0)
        says("Linux joins no IPv6 group over RoCE v2");
    vc_runtime_free(runtime);
}

static void
the_callback_is_set_before_the_server_listens(void **state)
{
    struct member m;

    (void)state;
    member_start(&m, TARGET);
    assert_status(VC_FAILED_PRECONDITION,
                  vc_server_on_multicast_lost(m.server, NULL, NULL));
    member_stop(&m);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_member_runs_each_call_once),
        cmocka_unit_test(a_group_without_members_is_published_to),
        cmocka_unit_test(a_member_that_leaves_gets_no_more_and_the_others_do),
        cmocka_unit_test(a_port_tells_two_targets_of_one_group_apart),
        cmocka_unit_test(numbers_that_are_left_out_are_reported_and_counted),
        cmocka_unit_test(a_late_one_runs_and_a_second_copy_does_not),
        cmocka_unit_test(very_many_publishers_are_served),
        cmocka_unit_test(what_is_no_datagram_of_ours_is_dropped_and_counted),
        cmocka_unit_test(what_the_server_does_not_serve_is_dropped_and_counted),
        cmocka_unit_test(a_message_that_cannot_be_unpacked_runs_nothing),
        cmocka_unit_test(a_flood_does_not_starve_connected_calls),
        cmocka_unit_test(a_server_that_drains_takes_no_more),
        cmocka_unit_test(only_blocking_calls_of_one_way_methods_are_published),
        cmocka_unit_test(a_call_has_no_options_that_a_datagram_cannot_carry),
        cmocka_unit_test(a_message_is_no_longer_than_a_datagram),
        cmocka_unit_test(a_target_that_is_no_group_is_refused),
        cmocka_unit_test(without_a_route_the_text_says_what_to_do),
        cmocka_unit_test(a_group_of_ipv6_is_refused_over_roce_v2),
        cmocka_unit_test(the_callback_is_set_before_the_server_listens),
    };

    return fixture_main(tests);
}
