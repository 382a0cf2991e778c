/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Each reason for which a server rejects a client has a counter of its own. A
 * rejection increments that counter by one, and no other. The test makes the
 * hellos itself. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <rdma/rdma_cma.h>
#include <string.h>

#include "cm/connect/hello.h"
#include "cm/link/listener.h"
#include "rpc/runtime.h"
#include "tests/sim/logbook.h"
#include "tests/sim/scene.h"
#include "transport/core/engine.h"
#include "transport/rdma/rdma.h"

#define THERE       "10.9.0.2"
#define HERE        "10.9.0.3"
#define OTHER_PORT  7472
#define RESOLVE_MS  1000
#define DRAIN_MS    100u
#define PATIENCE    10000000u /* us */
#define REASONS     11u
#define OF_TOMORROW (REASONS + 1)

/* --- a client without the library ---------------------------------------- */

static struct vc__hello
hello_good(void)
{
    return (struct vc__hello){.version_min = VC__VERSION_MIN,
                              .version_max = VC__VERSION_MAX,
                              .credits = 8,
                              .log2_eager = 13,
                              .log2_message = 22,
                              .service = suite_probe_service.id,
                              .fingerprint = suite_probe_service.fingerprint,
                              .instance = {1}};
}

static struct rdma_cm_event *
event_await(struct rdma_event_channel *channel, enum rdma_cm_event_type type)
{
    struct rdma_cm_event *ev;

    assert_int_equal(0, rdma_get_cm_event(channel, &ev));
    assert_string_equal(rdma_event_str(ev->event), rdma_event_str(type));
    return ev;
}

static void
resolve(struct rdma_event_channel *channel, struct rdma_cm_id *id,
        const char *addr, uint16_t port)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(port)};

    inet_pton(AF_INET, addr, &to.sin_addr);
    assert_int_equal(
        0, rdma_resolve_addr(id, NULL, (struct sockaddr *)&to, RESOLVE_MS));
    rdma_ack_cm_event(event_await(channel, RDMA_CM_EVENT_ADDR_RESOLVED));
    assert_int_equal(0, rdma_resolve_route(id, RESOLVE_MS));
    rdma_ack_cm_event(event_await(channel, RDMA_CM_EVENT_ROUTE_RESOLVED));
}

/* Sends these bytes as a hello to this address; returns the reject. */
static struct vc__reject
refused(const char *addr, uint16_t port, const void *data, size_t len)
{
    struct rdma_conn_param param = {
        .private_data = data, .private_data_len = (uint8_t)len, .qp_num = 99};
    struct rdma_event_channel *channel = rdma_create_event_channel();
    struct rdma_cm_event *ev;
    struct rdma_cm_id *id;
    struct vc__reject reject;

    assert_int_equal(0, rdma_create_id(channel, &id, NULL, RDMA_PS_TCP));
    resolve(channel, id, addr, port);
    assert_int_equal(0, rdma_connect(id, &param));
    ev = event_await(channel, RDMA_CM_EVENT_REJECTED);
    assert_int_equal(VC__SAID_OK,
                     vc__reject_get(&reject, ev->param.conn.private_data,
                                    ev->param.conn.private_data_len));
    rdma_ack_cm_event(ev);
    rdma_destroy_id(id);
    rdma_destroy_event_channel(channel);
    return reject;
}

static struct vc__reject
hello_refused(const struct vc__hello *hello)
{
    uint8_t bytes[VC__HELLO_SIZE];

    vc__hello_put(bytes, hello);
    return refused(THERE, SIM_PORT, bytes, sizeof bytes);
}

/* --- what is counted ----------------------------------------------------- */

/* Copies the counters of all reasons, from reason 1 on, and rejects_got. */
static void
rejects_get(const struct vc_counters *c, uint64_t out[REASONS + 1])
{
    const uint64_t all[REASONS + 1] = {
        c->rejects_version, c->rejects_service,  c->rejects_schema,
        c->rejects_busy,    c->rejects_limit,    c->rejects_draining,
        c->rejects_moved,   c->rejects_security, c->rejects_malformed,
        c->rejects_pool,    c->rejects_unable,   c->rejects_got};

    memcpy(out, all, sizeof all);
}

/* Since *before, the counter of this reason has risen by one, and no other
 * counter. Sets *before to *now. */
static void
expect_counted(struct vc_counters *before, const struct vc_counters *now,
               unsigned reason)
{
    uint64_t was[REASONS + 1], is[REASONS + 1];

    rejects_get(before, was);
    rejects_get(now, is);
    for (unsigned i = 0; i <= REASONS; i++) {
        if (is[i] - was[i] != (i < REASONS && i + 1 == reason))
            fail_msg("reason %u: the counter of reason %u rose by %u", reason,
                     i + 1, (unsigned)(is[i] - was[i]));
    }
    *before = *now;
}

/* --- by a server ---------------------------------------------------------- */

static void
expect_refused(struct scene *s, struct vc_counters *before,
               struct vc__reject got, unsigned reason)
{
    struct vc_counters now = scene_server(s);

    assert_int_equal(got.reason, reason);
    expect_counted(before, &now, reason);
}

static void
is_refused_for_what_it_says(struct scene *s)
{
    struct vc_counters before = scene_server(s);
    struct vc__hello h = hello_good();

    h.version_min = h.version_max = VC__VERSION_MAX + 1;
    expect_refused(s, &before, hello_refused(&h), VC__REJECT_VERSION);
    h = hello_good();
    h.service ^= 1;
    expect_refused(s, &before, hello_refused(&h), VC__REJECT_SERVICE);
    h = hello_good();
    h.flags = VC__HELLO_DATAGRAM;
    expect_refused(s, &before, hello_refused(&h), VC__REJECT_LIMIT);
    h = hello_good();
    h.security = 1;
    expect_refused(s, &before, hello_refused(&h), VC__REJECT_SECURITY);
    h = hello_good();
    h.flags = VC__HELLO_POOL;
    h.pool_token = 12345;
    h.service = 0;
    expect_refused(s, &before, hello_refused(&h), VC__REJECT_POOL);
    expect_refused(s, &before, refused(THERE, SIM_PORT, "who are you?", 13),
                   VC__REJECT_MALFORMED);
    h = hello_good();
    h.credits = 0;
    expect_refused(s, &before, hello_refused(&h), VC__REJECT_MALFORMED);
    scene_call(s, 64, 1);
    h = hello_good(); /* a second link; max_links is 1 */
    expect_refused(s, &before, hello_refused(&h), VC__REJECT_BUSY);
}

static void
a_server_counts_what_it_refuses_by_its_reason(void **state)
{
    struct vc_server_opts opts = VC_SERVER_OPTS_INIT;

    (void)state;
    opts.max_links = 1;
    scene_play(is_refused_for_what_it_says, &opts);
}

static void
is_sent_elsewhere(struct scene *s)
{
    struct vc_counters before = scene_server(s);
    struct vc__hello h = hello_good();

    struct vc__reject moved = hello_refused(&h);

    expect_refused(s, &before, moved, VC__REJECT_MOVED);
    assert_int_equal(moved.n_addrs, 1);
    assert_int_equal(moved.addrs[0].weight, 1);
    assert_int_equal(moved.addrs[0].family, 4);
    assert_int_equal(moved.addrs[0].port, 7471);
    assert_memory_equal(moved.addrs[0].addr, "\x0a\x09\x00\x09", 4);
}

static void
a_server_counts_whom_it_sends_elsewhere(void **state)
{
    struct vc_server_opts opts = VC_SERVER_OPTS_INIT;

    (void)state;
    opts.redirect[0] = "rdma://10.9.0.9:7471";
    scene_play(is_sent_elsewhere, &opts);
}

#define ALLOCATIONS 2u /* of a server for a link, before accepting */

static void
comes_to_one_without_memory(struct scene *s)
{
    struct vc_counters before = scene_server(s);
    struct vc__hello h = hello_good();

    for (unsigned nth = 1; nth <= ALLOCATIONS; nth++) {
        struct vc__reject busy;

        fake_fail_memory(s->server.process, nth);
        busy = hello_refused(&h);
        assert_int_equal(fake_failed(), nth);
        expect_refused(s, &before, busy, VC__REJECT_BUSY);
        assert_string_equal(busy.text, "out of memory");
        assert_int_equal(busy.retry_ms, 1000);
    }
}

static void
a_server_without_memory_says_when_to_come_again(void **state)
{
    (void)state;
    scene_play(comes_to_one_without_memory, NULL);
}

/* The server's process has a thread that drains it. */
static struct {
    pthread_t thread;
    atomic_uint begin, drained;
    atomic_bool over;
} drain;

static void *
drain_main(void *arg)
{
    struct sim_server *s = arg;

    sim_await(&drain.begin, PATIENCE);
    if (!atomic_load(&drain.over))
        vc_server_drain(s->server, NULL, DRAIN_MS);
    sim_tell(&drain.drained);
    return NULL;
}

static void
drain_begin(struct sim_server *s)
{
    memset(&drain, 0, sizeof drain);
    assert_int_equal(0, pthread_create(&drain.thread, NULL, drain_main, s));
}

static void
drain_end(struct sim_server *s)
{
    (void)s;
    atomic_store(&drain.over, true);
    sim_tell(&drain.begin);
    pthread_join(drain.thread, NULL);
}

static void
comes_to_one_that_is_drained(struct scene *s)
{
    struct vc_counters before = scene_server(s);
    struct vc__hello h = hello_good();

    sim_tell(&drain.begin);
    assert_true(sim_await(&drain.drained, PATIENCE));
    expect_refused(s, &before, hello_refused(&h), VC__REJECT_DRAINING);
}

static void
a_server_that_drains_counts_whom_it_refuses(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 4; seed++) {
        struct scene s = {.opts = VC_CHANNEL_OPTS_INIT,
                          .act = comes_to_one_that_is_drained};

        s.server.begin = drain_begin;
        s.server.end = drain_end;
        scene_run(&s, seed);
    }
}

/* --- with any number ------------------------------------------------------ */

struct knock {
    pthread_t thread;
    unsigned got;
};

static void *
knock_main(void *arg)
{
    ((struct knock *)arg)->got = refused(HERE, OTHER_PORT, "knock", 6).reason;
    return NULL;
}

/* Rejects one client of its own for this reason. */
static void
refuse_one(struct scene *s, struct rdma_event_channel *channel, unsigned reason)
{
    struct vc__context context = {.transport = &vc__rdma};
    struct vc__incoming in = {.context = &context};
    struct knock k;
    struct rdma_cm_event *ev;
    struct rdma_cm_id *id;

    assert_int_equal(0, pthread_create(&k.thread, NULL, knock_main, &k));
    ev = event_await(channel, RDMA_CM_EVENT_CONNECT_REQUEST);
    id = ev->id;
    rdma_ack_cm_event(ev);
    in.handle = id;
    vc__listener_reject(&s->runtime->progress[0].engine, &in,
                        (enum vc__reject_reason)reason, 0, "reason %u", reason);
    pthread_join(k.thread, NULL);
    assert_int_equal(k.got, reason);
}

static void
refuses_for_each_reason(struct scene *s)
{
    struct sockaddr_in any = {.sin_family = AF_INET,
                              .sin_port = htons(OTHER_PORT)};
    struct rdma_event_channel *channel = rdma_create_event_channel();
    struct vc_counters before = scene_client(s);
    struct rdma_cm_id *id;

    assert_int_equal(0, rdma_create_id(channel, &id, NULL, RDMA_PS_TCP));
    assert_int_equal(0, rdma_bind_addr(id, (struct sockaddr *)&any));
    assert_int_equal(0, rdma_listen(id, 4));
    for (unsigned reason = 1; reason <= OF_TOMORROW; reason++) {
        struct vc_counters now;

        refuse_one(s, channel, reason);
        now = scene_client(s);
        expect_counted(&before, &now, reason);
    }
    rdma_destroy_id(id);
    rdma_destroy_event_channel(channel);
}

static void
each_reason_has_a_counter_of_its_own(void **state)
{
    (void)state;
    scene_play(refuses_for_each_reason, NULL);
}

/* --- counter-offers ------------------------------------------------------ */

/* The client connects at the second attempt, without an error. */
static void
takes_the_counter_offer(struct scene *s)
{
    struct vc_counters c;

    scene_call(s, 4000, 1);
    c = scene_server(s);
    assert_in_range(c.rejects_limit, 1, 2 * c.links_server);
    assert_in_range(scene_client(s).rejects_got, 1, 2 * c.links_server);
    assert_int_equal(VC_RESOURCE_EXHAUSTED,
                     sim_echo(s->channel, 10000, 2, 0, NULL));
}

/* The window is the power of two below. */
static void
a_client_that_offers_more_than_the_server_allows_connects_with_less(
    void **state)
{
    const char *up = "client info: link to 10.9.0.2:7471: up over rdma";
    unsigned n = 0;

    (void)state;
    logbook_begin(VC_LOG_INFO);
    scene_play(takes_the_counter_offer,
               VC_SERVER_OPTS(.client_max_message = 8192, .client_packets = 6));
    for (const char *at = logbook_lines(); (at = strstr(at, up)) != NULL; n++) {
        at = strstr(at, "window of ");
        assert_non_null(at);
        assert_memory_equal(at, "window of 4 packets", 19);
    }
    assert_true(n > 0);
    sim_log_to(NULL);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_server_counts_what_it_refuses_by_its_reason),
        cmocka_unit_test(a_server_counts_whom_it_sends_elsewhere),
        cmocka_unit_test(a_server_without_memory_says_when_to_come_again),
        cmocka_unit_test(a_server_that_drains_counts_whom_it_refuses),
        cmocka_unit_test(each_reason_has_a_counter_of_its_own),
        cmocka_unit_test(
            a_client_that_offers_more_than_the_server_allows_connects_with_less),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
