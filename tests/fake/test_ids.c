/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Ids of rdma_cm: synchronous ones, and the RDMA READs that a connection may
 * have within the limits of both devices. */
#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "fake/fake.h"
#include "tests/fake/scenarios.h"

static const struct wish from_here = {.from = "10.9.0.1"};

static struct fake_host *here, *there; /* devices of client and server */

static void
world(void)
{
    fake_begin(&(struct fake_opts){.seed = 1, .trace = true});
    here = fake_host_local();
    there = fake_device_new(here, "10.9.0.5");
    setenv("VC_TEST_ADDR", "10.9.0.5", 1);
}

static void
end(struct pair *p)
{
    pair_close(p);
    assert_int_equal(fake_end(), 0);
}

/* --- READs ------------------------------------------------------------- */

static void
connect_fails(struct pair *p, const struct rdma_conn_param *param)
{
    struct rdma_conn_param copy;

    if (param != NULL)
        copy = *param;
    errno = 0;
    assert_int_equal(rdma_connect(p->client.id, param == NULL ? NULL : &copy),
                     -1);
    assert_int_equal(errno, EINVAL);
}

static void
a_connect_asks_for_no_more_than_its_device_can(void **state)
{
    struct rdma_conn_param param = {.responder_resources = 5,
                                    .initiator_depth = 2};
    struct pair p;

    (void)state;
    world();
    fake_device_reads(here, 4, 2);
    pair_open(&p, &from_here);
    assert_true(pair_resolve(&p));
    connect_fails(&p, NULL); /* there is no QP */
    assert_true(end_make(&p, &p.client));
    connect_fails(&p, &param);
    param = (struct rdma_conn_param){.responder_resources = 4,
                                     .initiator_depth = 3};
    connect_fails(&p, &param);
    assert_false(event_next(&p, 10));

    param.responder_resources = RDMA_MAX_RESP_RES;
    param.initiator_depth = RDMA_MAX_INIT_DEPTH;
    assert_int_equal(rdma_connect(p.client.id, &param), 0);
    assert_true(event_expect(&p, RDMA_CM_EVENT_CONNECT_REQUEST));
    p.server.id = p.last.id;
    assert_int_equal(p.last.param.conn.responder_resources, 2);
    assert_int_equal(p.last.param.conn.initiator_depth, 4);
    end(&p);
}

static struct ibv_qp_attr
query(const struct end *e)
{
    struct ibv_qp_init_attr init;
    struct ibv_qp_attr attr;

    assert_int_equal(ibv_query_qp(e->id->qp, &attr, 0, &init), 0);
    return attr;
}

/* The client asks for 1 from and 4 to the server, as pair_ask() does. Checks
 * what both ends have after this answer; NULL: the default. */
static void
accepted(unsigned in, unsigned out, struct rdma_conn_param *param,
         unsigned to_server, unsigned to_client)
{
    struct pair p;

    world();
    fake_device_reads(there, in, out);
    pair_open(&p, &from_here);
    assert_true(pair_resolve(&p) && pair_ask(&p, NULL, 0) &&
                end_make(&p, &p.server));
    assert_int_equal(rdma_accept(p.server.id, param), 0);
    for (int i = 0; i < 2; i++)
        assert_true(event_expect(&p, RDMA_CM_EVENT_ESTABLISHED));
    assert_int_equal(query(&p.server).max_dest_rd_atomic, to_server);
    assert_int_equal(query(&p.client).max_rd_atomic, to_server);
    assert_int_equal(query(&p.server).max_rd_atomic, to_client);
    assert_int_equal(query(&p.client).max_dest_rd_atomic, to_client);
    end(&p);
}

static void
an_accept_grants_no_more_than_asked_and_its_device_can(void **state)
{
    struct rdma_conn_param most = {.responder_resources = RDMA_MAX_RESP_RES,
                                   .initiator_depth = RDMA_MAX_INIT_DEPTH};
    struct rdma_conn_param more = {.responder_resources = 6,
                                   .initiator_depth = 3};

    (void)state;
    accepted(128, 128, NULL, 4, 1);
    accepted(2, 128, NULL, 2, 1);
    accepted(3, 0, &most, 3, 0);
    accepted(6, 3, &more, 6, 3); /* the values of the answer count */
}

static void
an_accept_beyond_its_device_fails_and_the_peer_hears_nothing(void **state)
{
    struct rdma_conn_param param = {.responder_resources = 3};
    struct pair p;

    (void)state;
    world();
    fake_device_reads(there, 2, 2);
    pair_open(&p, &from_here);
    assert_true(pair_resolve(&p) && pair_ask(&p, NULL, 0) &&
                end_make(&p, &p.server));
    assert_int_equal(rdma_accept(p.server.id, &param), -1);
    assert_int_equal(errno, EINVAL);
    assert_false(event_next(&p, 100));
    param.responder_resources = 2;
    assert_int_equal(rdma_accept(p.server.id, &param), 0);
    assert_true(event_expect(&p, RDMA_CM_EVENT_ESTABLISHED));
    end(&p);
}

/* --- synchronous ids --------------------------------------------------- */

struct sync_server {
    struct pair p; /* only its server end */
    struct rdma_cm_id *listener;
    bool rejects;
    pthread_t thread;
    int got, answered, left; /* what the calls returned */
    enum rdma_cm_event_type asked, established, disconnected;
};

static void *
serve(void *arg)
{
    struct sync_server *s = arg;
    struct rdma_conn_param param = {.retry_count = 6};
    struct end *e = &s->p.server;

    s->got = rdma_get_request(s->listener, &e->id);
    if (s->got != 0)
        return NULL;
    s->asked = e->id->event->event;
    if (s->rejects) {
        s->answered = rdma_reject(e->id, "no", 3);
        rdma_destroy_id(e->id);
        return NULL;
    }
    end_make(&s->p, e);
    s->answered = rdma_accept(e->id, &param);
    s->established = e->id->event->event;
    s->left = rdma_disconnect(e->id);
    s->disconnected = e->id->event->event;
    return NULL;
}

static struct sockaddr_in
address(const char *text, uint16_t port)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(port)};

    inet_pton(AF_INET, text, &a.sin_addr);
    return a;
}

static void
server_start(struct sync_server *s)
{
    struct sockaddr_in addr = address("10.9.0.5", 7471);

    assert_int_equal(rdma_create_id(NULL, &s->listener, NULL, RDMA_PS_TCP), 0);
    assert_int_equal(rdma_bind_addr(s->listener, (struct sockaddr *)&addr), 0);
    assert_int_equal(rdma_listen(s->listener, 0), 0);
    assert_int_equal(pthread_create(&s->thread, NULL, serve, s), 0);
}

/* Goes up to the QP. */
static void
client_start(struct pair *p)
{
    struct sockaddr_in src = address("10.9.0.1", 0);
    struct sockaddr_in dst = address("10.9.0.5", 7471);

    memset(p, 0, sizeof *p);
    assert_int_equal(rdma_create_id(NULL, &p->client.id, NULL, RDMA_PS_TCP), 0);
    assert_int_equal(rdma_resolve_addr(p->client.id, (struct sockaddr *)&src,
                                       (struct sockaddr *)&dst, 1000),
                     0);
    assert_int_equal(p->client.id->event->event, RDMA_CM_EVENT_ADDR_RESOLVED);
    assert_int_equal(rdma_resolve_route(p->client.id, 1000), 0);
    assert_true(end_make(p, &p->client));
}

static void
both_ends_of_a_connection_may_be_synchronous(void **state)
{
    struct rdma_conn_param param = {.retry_count = 6};
    struct sync_server s = {.got = -1};
    struct pair p;

    (void)state;
    world();
    server_start(&s);
    client_start(&p);
    assert_int_equal(rdma_connect(p.client.id, &param), 0);
    assert_int_equal(p.client.id->event->event, RDMA_CM_EVENT_ESTABLISHED);
    fake_sleep_us(1000);
    assert_int_equal(rdma_disconnect(p.client.id), 0);
    assert_int_equal(p.client.id->event->event, RDMA_CM_EVENT_DISCONNECTED);
    pthread_join(s.thread, NULL);
    assert_int_equal(s.got, 0);
    assert_int_equal(s.asked, RDMA_CM_EVENT_CONNECT_REQUEST);
    assert_int_equal(s.answered, 0);
    assert_int_equal(s.established, RDMA_CM_EVENT_ESTABLISHED);
    assert_int_equal(s.left, 0);
    assert_int_equal(s.disconnected, RDMA_CM_EVENT_DISCONNECTED);
    end_free(&p.client);
    end_free(&s.p.server);
    rdma_destroy_id(s.listener);
    assert_int_equal(fake_end(), 0);
}

static void
a_rejected_synchronous_connect_is_refused(void **state)
{
    struct rdma_conn_param param = {.retry_count = 6};
    struct sync_server s = {.rejects = true};
    struct pair p;

    (void)state;
    world();
    server_start(&s);
    client_start(&p);
    assert_int_equal(rdma_connect(p.client.id, &param), -1);
    assert_int_equal(errno, ECONNREFUSED);
    assert_int_equal(p.client.id->event->event, RDMA_CM_EVENT_REJECTED);
    assert_string_equal(p.client.id->event->param.conn.private_data, "no");
    pthread_join(s.thread, NULL);
    assert_int_equal(s.answered, 0);
    end_free(&p.client);
    rdma_destroy_id(s.listener);
    assert_int_equal(fake_end(), 0);
}

static void
an_id_with_a_channel_has_no_requests_to_get(void **state)
{
    struct rdma_cm_id *id;
    struct pair p;

    (void)state;
    world();
    pair_open(&p, NULL);
    assert_int_equal(rdma_get_request(p.listener, &id), -1);
    assert_int_equal(errno, EINVAL);
    end(&p);
}

/* From a channel to none, where its events are then, and back. */
static void
an_id_becomes_synchronous_and_asynchronous_again(void **state)
{
    struct pair p;

    (void)state;
    world();
    pair_open(&p, &from_here);
    assert_true(pair_resolve(&p));
    assert_int_equal(rdma_migrate_id(p.client.id, NULL), 0);
    assert_ptr_not_equal(p.client.id->channel, p.channel);
    assert_int_equal(rdma_migrate_id(p.client.id, p.channel), 0);
    assert_ptr_equal(p.client.id->channel, p.channel);
    assert_true(pair_ask(&p, NULL, 0) && pair_accept(&p, NULL, 0));
    for (int i = 0; i < 2; i++)
        assert_true(event_expect(&p, RDMA_CM_EVENT_ESTABLISHED));
    end(&p);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_connect_asks_for_no_more_than_its_device_can),
        cmocka_unit_test(
            an_accept_grants_no_more_than_asked_and_its_device_can),
        cmocka_unit_test(
            an_accept_beyond_its_device_fails_and_the_peer_hears_nothing),
        cmocka_unit_test(both_ends_of_a_connection_may_be_synchronous),
        cmocka_unit_test(a_rejected_synchronous_connect_is_refused),
        cmocka_unit_test(an_id_with_a_channel_has_no_requests_to_get),
        cmocka_unit_test(an_id_becomes_synchronous_and_asynchronous_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
