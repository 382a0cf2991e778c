/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * What a process asks of a device, and what it gives back: connections up to
 * memory_limit, and RDMA READs up to the limits of both devices. When a peer is
 * refused for lack of memory, nothing of it is left. */
#include <errno.h>
#include <rdma/rdma_cma.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include <verbcall/counters.h>
#include <verbcall/status.h>

#include "cm/pool/pool.h"
#include "rpc/client/channel.h"
#include "rpc/server/server.h"
#include "rpc/server/server_link.h"
#include "tests/sim/sim.h"
#include "tests/suite/rdma_links.h"
#include "transport/rdma/device.h"
#include "transport/rdma/device_queues.h"

#define SEEDS    4u
#define MEMORY   ((size_t)1 << 20)
#define RECEIVES 28u /* of one peer */

struct rig {
    struct vc__engine engine;
    struct ibv_context **verbs;
    struct vc__device *device;
};

static void
rig_begin(struct rig *r, uint64_t seed)
{
    sim_begin(seed, 0, true);
    r->verbs = rdma_get_devices(NULL);
    assert_non_null(r->verbs);
    assert_int_equal(vc__engine_init(&r->engine, 0), 0);
    assert_int_equal(
        vc__device_new(&r->engine, r->verbs[0], MEMORY, 4, &r->device), VC_OK);
}

static void
rig_end(struct rig *r)
{
    vc__device_free(r->device);
    vc__engine_fini(&r->engine);
    rdma_free_devices(r->verbs);
    assert_int_equal(fake_end(), 0);
}

static void
peer_is_refused(struct vc__device *d)
{
    unsigned granted = d->granted, posted = d->posted;

    assert_int_equal(vc__device_grant(d, RECEIVES), VC_RESOURCE_EXHAUSTED);
    assert_int_equal(d->granted, granted);
    assert_int_equal(d->posted, posted);
}

/* A peer is refused more often than a completion queue has entries. */
static void
a_peer_refused_for_want_of_memory_keeps_no_room_for_completions(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct rig r;
        unsigned n = 0;

        rig_begin(&r, seed);
        while (vc__device_grant(r.device, RECEIVES) == VC_OK)
            n++;
        for (int i = 0; i < r.device->attr.max_cqe; i++)
            peer_is_refused(r.device);
        assert_int_equal(r.device->cq_need, r.device->posted);
        /* The next peer gets the receives that are already posted. */
        vc__device_ungrant(r.device, RECEIVES);
        assert_int_equal(vc__device_grant(r.device, RECEIVES), VC_OK);
        vc__device_ungrant(r.device, n * RECEIVES);
        rig_end(&r);
    }
}

static void
memory_that_cannot_be_registered_leaves_no_trace(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct rig r;

        rig_begin(&r, seed);
        fake_fail(NULL, "ibv_reg_mr", 1, ENOMEM);
        peer_is_refused(r.device);
        assert_int_equal(fake_failed(), 1);
        assert_int_equal(r.device->cq_need, 0);
        for (unsigned nth = 1; nth <= 2; nth++) { /* the slab, its pages */
            fake_fail_memory(NULL, nth);
            peer_is_refused(r.device);
            assert_int_equal(fake_failed(), 1 + nth);
            assert_int_equal(r.device->cq_need, 0);
        }
        assert_int_equal(vc__device_grant(r.device, RECEIVES), VC_OK);
        assert_int_equal(r.device->cq_need, r.device->posted);
        vc__device_ungrant(r.device, RECEIVES);
        rig_end(&r);
    }
}

/* --- two ends, each with a device ------------------------------------------ */

#define LEAST    ((size_t)384 << 10) /* the least memory_limit */
#define SOME     ((size_t)4 << 20)
#define CHANNELS 64u

struct ends {
    struct sim_server server;
    struct vc_runtime *runtime;
    struct vc_channel *channels[CHANNELS];
};

static void
ends_begin(struct ends *e, uint64_t seed)
{
    memset(e, 0, sizeof *e);
    sim_begin(seed, 0, true);
    sim_target("10.9.0.2", e->server.target);
    e->server.host = fake_host_new("there", "10.9.0.2");
}

/* A limit of 0 is the default. */
static void
ends_meet(struct ends *e, size_t client_memory, size_t server_memory)
{
    e->server.memory_limit = server_memory;
    sim_server_start(&e->server, e->server.host, 1);
    assert_true(sim_server_await(&e->server));
    assert_int_equal(sim_runtime_of(&e->runtime, 1, client_memory), VC_OK);
}

static void
ends_end(struct ends *e)
{
    for (unsigned i = 0; i < CHANNELS; i++)
        vc_channel_close(e->channels[i]);
    vc_runtime_free(e->runtime);
    assert_true(sim_server_stop(&e->server));
    assert_int_equal(fake_end(), 0);
}

/* Opens a channel that does not share links; it connects when it is used. */
static void
channel_open(struct ends *e, unsigned i)
{
    struct vc_channel_opts opts = VC_CHANNEL_OPTS_INIT;

    opts.max_links = 1;
    opts.max_attempts = 1;
    opts.idle_timeout_ms = 60000 + i; /* as no other channel has it */
    assert_int_equal(
        vc_channel_open(e->runtime, e->server.target, &opts, &e->channels[i]),
        VC_OK);
}

static void
channel_close(struct ends *e, unsigned i)
{
    vc_channel_close(e->channels[i]);
    e->channels[i] = NULL;
}

static void
call_is_good(struct ends *e, unsigned i)
{
    if (sim_echo(e->channels[i], 20000, 1, 0, NULL) != VC_OK)
        fail_msg("channel %u: %s", i, vc_error());
}

static struct vc_counters
counters(struct vc_runtime *runtime)
{
    struct vc_counters c = VC_COUNTERS_INIT;

    vc_runtime_counters(runtime, &c);
    return c;
}

/* --- memory_limit ------------------------------------------------------------ */

static void
is_within(struct vc_runtime *runtime, size_t limit)
{
    struct vc_counters c = counters(runtime);

    assert_int_equal(c.memory_receive_limit + c.memory_send_limit, limit);
    assert_in_range(c.memory_receive, 1, c.memory_receive_limit);
    assert_in_range(c.memory_send, 1, c.memory_send_limit);
}

static void
the_least_memory_limit_is_enough_for_a_connection_at_either_end(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct ends e;

        ends_begin(&e, seed);
        ends_meet(&e, LEAST, LEAST);
        channel_open(&e, 0);
        call_is_good(&e, 0);
        is_within(e.runtime, LEAST);
        is_within(atomic_load(&e.server.runtime), LEAST);
        ends_end(&e);
    }
}

/* The error names the option, and other channels keep their links. */
static void
a_client_connects_as_often_as_its_memory_limit_allows(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        enum vc_outcome outcome;
        struct ends e;
        unsigned n = 0;

        ends_begin(&e, seed);
        ends_meet(&e, SOME, 0);
        do {
            assert_true(n < CHANNELS);
            channel_open(&e, n);
        } while (sim_echo(e.channels[n++], 20000, 1, 0, &outcome) == VC_OK);
        assert_int_equal(vc_error_status(), VC_RESOURCE_EXHAUSTED);
        assert_int_equal(outcome, VC_OUTCOME_NOT_EXECUTED);
        assert_non_null(strstr(vc_error(), "memory_limit"));
        is_within(e.runtime, SOME);
        assert_int_equal(counters(e.runtime).links_up, n - 1);
        for (unsigned i = 0; i < n - 1; i++)
            call_is_good(&e, i);
        channel_close(&e, 0);
        call_is_good(&e, n - 1);
        is_within(e.runtime, SOME);
        ends_end(&e);
    }
}

static void
a_server_over_its_memory_limit_is_busy_until_a_client_leaves(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct vc_runtime *server;
        struct ends e;

        ends_begin(&e, seed);
        ends_meet(&e, 0, LEAST);
        server = atomic_load(&e.server.runtime);
        channel_open(&e, 0);
        call_is_good(&e, 0);
        channel_open(&e, 1);
        assert_int_equal(sim_echo(e.channels[1], 1, 1, 0, NULL),
                         VC_UNAVAILABLE);
        assert_non_null(strstr(vc_error(),
                               "busy for another connection: other connections "
                               "use all memory that the server may pin"));
        assert_true(counters(server).rejects_busy > 0);
        assert_int_equal(counters(server).links_up, 1);
        is_within(server, LEAST);
        call_is_good(&e, 0);
        channel_close(&e, 0);
        call_is_good(&e, 1);
        ends_end(&e);
    }
}

/* --- RDMA READs -------------------------------------------------------------- */

/* What the devices take and send at a time, and what the QPs of a connection
 * are then set to. The library asks for 16. */
static const struct reads {
    unsigned client_in, client_out, server_in, server_out;
    uint8_t to_client, to_server;
} reads[] = {
    {128, 128, 128, 128, 16, 16}, {4, 128, 128, 128, 4, 16},
    {128, 4, 128, 128, 16, 4},    {128, 128, 4, 128, 16, 4},
    {128, 128, 128, 4, 4, 16},    {8, 6, 5, 7, 7, 5},
    {1, 2, 3, 4, 1, 2},           {0, 128, 128, 128, 0, 16},
    {128, 128, 0, 0, 0, 0},
};

static struct ibv_qp_attr
query(struct ibv_qp *qp)
{
    struct ibv_qp_init_attr init;
    struct ibv_qp_attr attr;

    assert_int_equal(
        ibv_query_qp(qp, &attr,
                     IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_MAX_DEST_RD_ATOMIC,
                     &init),
        0);
    return attr;
}

static struct ibv_qp_attr
client_qp(struct ends *e)
{
    struct cds_list_head *links =
        &e->channels[0]->servers.only->pool->peer->links;

    return query(
        link_qp(&cds_list_entry(links->next, struct vc__pool_link, node)->link)
            ->qp);
}

static struct ibv_qp_attr
server_qp(struct ends *e)
{
    struct cds_list_head *links = &e->server.server->parts[0].links;

    return query(
        link_qp(
            &cds_list_entry(links->next, struct vc__server_link, node)->link)
            ->qp);
}

static void
reads_meet(const struct reads *r, uint64_t seed)
{
    struct ibv_qp_attr client, server;
    struct ends e;

    ends_begin(&e, seed);
    fake_device_reads(fake_host_local(), r->client_in, r->client_out);
    fake_device_reads(e.server.host, r->server_in, r->server_out);
    ends_meet(&e, 0, 0);
    channel_open(&e, 0);
    call_is_good(&e, 0);
    client = client_qp(&e);
    server = server_qp(&e);
    assert_int_equal(client.max_dest_rd_atomic, r->to_client);
    assert_int_equal(server.max_rd_atomic, r->to_client);
    assert_int_equal(server.max_dest_rd_atomic, r->to_server);
    assert_int_equal(client.max_rd_atomic, r->to_server);
    ends_end(&e);
}

static void
no_more_reads_are_agreed_upon_than_both_devices_can(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        for (size_t i = 0; i < sizeof reads / sizeof reads[0]; i++)
            reads_meet(&reads[i], seed);
    }
}

/* --- inline data ------------------------------------------------------------- */

/* The most inline data that an adapter supports, and what the library asks for
 * in the end. */
static const struct inlines {
    unsigned has, asked;
} inlines[] = {{512, 256}, {256, 256}, {255, 220}, {220, 220},
               {219, 124}, {124, 124}, {92, 92},   {60, 60},
               {28, 28},   {27, 0},    {0, 0}};

/* Soft-RoCE grants up to 16 bytes more than requested. */
static void
inline_is_granted(const struct inlines *n)
{
    unsigned most = n->has < 256 ? n->has : 256;
    char text[512], words[64];
    const struct vc__qp *qp;
    struct vc__pool *pool;
    struct ends e;

    ends_begin(&e, 1);
    fake_device_inline(fake_host_local(), n->has);
    ends_meet(&e, 0, 0);
    channel_open(&e, 0);
    call_is_good(&e, 0);
    pool = e.channels[0]->servers.only->pool;
    qp = link_qp(
        &cds_list_entry(pool->peer->links.next, struct vc__pool_link, node)
             ->link);
    assert_in_range(qp->max_inline, n->asked,
                    n->asked + 16 < most ? n->asked + 16 : most);
    snprintf(words, sizeof words, ", %u bytes inline)",
             (unsigned)qp->max_inline);
    vc_channel_describe(e.channels[0], text, sizeof text);
    if (strstr(text, words) == NULL)
        fail_msg("\"%s\" is not in \"%s\"", words, text);
    ends_end(&e);
}

static void
an_adapter_is_asked_for_less_inline_data_until_it_agrees(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof inlines / sizeof inlines[0]; i++)
        inline_is_granted(&inlines[i]);
}

/* Librdmacm connects them in another way. The client does not wait until its
 * time is over. */
static void
an_iwarp_adapter_is_refused_at_once_by_name(void **state)
{
    struct ends e;

    (void)state;
    ends_begin(&e, 1);
    fake_device_iwarp(fake_host_local());
    ends_meet(&e, 0, 0);
    channel_open(&e, 0);
    assert_int_equal(VC_UNAVAILABLE, sim_echo(e.channels[0], 100, 1, 0, NULL));
    assert_non_null(strstr(vc_error(), "rxe0 is an iWARP adapter"));
    assert_int_equal(VC_OUTCOME_NOT_EXECUTED, vc_error_outcome());
    ends_end(&e);
}

/* The result does not depend on the former value of errno. */
static void
refused_with(struct vc__device *d, int err, enum vc_status status,
             const char *says)
{
    fake_fail(NULL, "ibv_reg_mr", 1, err);
    errno = err == ENOMEM ? EPERM : ENOMEM;
    assert_int_equal(vc__device_grant(d, RECEIVES), status);
    if (strstr(vc_error(), says) == NULL)
        fail_msg("%s", vc_error());
}

static void
a_refused_registration_says_what_stands_in_the_way(void **state)
{
    struct rlimit limit, low;
    struct rig r;

    (void)state;
    assert_int_equal(getrlimit(RLIMIT_MEMLOCK, &limit), 0);
    low = (struct rlimit){.rlim_cur = 65536, .rlim_max = limit.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_MEMLOCK, &low), 0);
    rig_begin(&r, 1);
    refused_with(r.device, ENOMEM, VC_RESOURCE_EXHAUSTED,
                 "limit of locked memory is 64 KiB");
    assert_true(vc__lack_lasts(vc__error_last()->lack));
    refused_with(r.device, EPERM, VC_PERMISSION_DENIED, strerror(EPERM));
    assert_false(vc__lack_lasts(vc__error_last()->lack));
    assert_int_equal(setrlimit(RLIMIT_MEMLOCK, &limit), 0);
    if (limit.rlim_cur == RLIM_INFINITY)
        refused_with(r.device, ENOMEM, VC_RESOURCE_EXHAUSTED, strerror(ENOMEM));
    rig_end(&r);
}

static void
a_device_that_does_not_say_its_limits_is_refused_with_the_reason(void **state)
{
    struct ibv_device *device;
    struct rig r;

    (void)state;
    rig_begin(&r, 1);
    device = r.device->verbs->device;
    fake_fail(NULL, "ibv_query_device", 1, EACCES);
    errno = ENOMEM;
    assert_int_equal(vc__device_try(device), VC_PERMISSION_DENIED);
    if (strstr(vc_error(), strerror(EACCES)) == NULL)
        fail_msg("%s", vc_error());
    rig_end(&r);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            a_peer_refused_for_want_of_memory_keeps_no_room_for_completions),
        cmocka_unit_test(memory_that_cannot_be_registered_leaves_no_trace),
        cmocka_unit_test(
            the_least_memory_limit_is_enough_for_a_connection_at_either_end),
        cmocka_unit_test(a_client_connects_as_often_as_its_memory_limit_allows),
        cmocka_unit_test(
            a_server_over_its_memory_limit_is_busy_until_a_client_leaves),
        cmocka_unit_test(no_more_reads_are_agreed_upon_than_both_devices_can),
        cmocka_unit_test(
            an_adapter_is_asked_for_less_inline_data_until_it_agrees),
        cmocka_unit_test(an_iwarp_adapter_is_refused_at_once_by_name),
        cmocka_unit_test(a_refused_registration_says_what_stands_in_the_way),
        cmocka_unit_test(
            a_device_that_does_not_say_its_limits_is_refused_with_the_reason),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
