/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Scenarios of tests/fake/faithful.c: synchronous ids, which have no channel of
 * the program, and the limits of RDMA READs. A thread is the server. */
#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/fake/faithful.h"
#include "tests/fake/scenarios.h"

struct server {
    struct pair p; /* only its server end is used */
    struct rdma_cm_id *listener;
    struct sockaddr_in addr;
    bool rejects;
    pthread_t thread;
    char text[4][80]; /* what its calls returned */
};

static void
keep(char text[80], const char *call, int result, const struct rdma_cm_id *id)
{
    const char *err = outcome(result);
    const char *event =
        id->event == NULL ? "no event" : rdma_event_str(id->event->event);

    strcpy(text, call);
    strcat(strcat(text, ": "), err);
    strcat(strcat(text, ", "), event);
}

static void *
serve(void *arg)
{
    struct server *s = arg;
    struct rdma_conn_param param = {.rnr_retry_count = 6};
    struct end *e = &s->p.server;

    if (rdma_get_request(s->listener, &e->id) != 0)
        return NULL;
    keep(s->text[0], "server: request", 0, e->id);
    if (s->rejects) {
        keep(s->text[1], "server: reject", rdma_reject(e->id, "no", 3), e->id);
        return NULL;
    }
    if (!end_make(&s->p, e))
        return NULL;
    keep(s->text[1], "server: accept", rdma_accept(e->id, &param), e->id);
    keep(s->text[2], "server: disconnect", rdma_disconnect(e->id), e->id);
    return NULL;
}

static bool
server_start(struct server *s, bool rejects)
{
    memset(s, 0, sizeof *s);
    s->rejects = rejects;
    s->addr.sin_family = AF_INET;
    inet_pton(AF_INET, getenv("VC_TEST_ADDR"), &s->addr.sin_addr);
    if (rdma_create_id(NULL, &s->listener, NULL, RDMA_PS_TCP) != 0 ||
        rdma_bind_addr(s->listener, (struct sockaddr *)&s->addr) != 0 ||
        rdma_listen(s->listener, 0) != 0)
        return false;
    s->addr.sin_port = rdma_get_src_port(s->listener);
    return pthread_create(&s->thread, NULL, serve, s) == 0;
}

static void
server_end(struct server *s)
{
    pthread_join(s->thread, NULL);
    for (int i = 0; i < 4; i++) {
        if (s->text[i][0] != '\0')
            say("  %s", s->text[i]);
    }
    end_free(&s->p.server);
    rdma_destroy_id(s->listener);
}

static void
say_call(const char *call, int result, const struct rdma_cm_id *id)
{
    char text[80];

    keep(text, call, result, id);
    say("  %s", text);
}

/* Goes up to the QP. */
static bool
client_start(struct pair *p, const struct server *s)
{
    struct sockaddr_in addr = s->addr;
    struct rdma_cm_id *id;
    int result;

    memset(p, 0, sizeof *p);
    if (rdma_create_id(NULL, &id, NULL, RDMA_PS_TCP) != 0)
        return false;
    p->client.id = id;
    say("  channel: %s; event: %s", id->channel != NULL ? "its own" : "none",
        id->event != NULL ? "one" : "none");
    result = rdma_resolve_addr(id, NULL, (struct sockaddr *)&addr, 2000);
    say_call("address", result, id);
    say_call("route", rdma_resolve_route(id, 2000), id);
    return end_make(p, &p->client);
}

static void
synchronous_ids_connect(void)
{
    struct rdma_conn_param param = {.retry_count = 6, .rnr_retry_count = 6};
    struct server s;
    struct pair p;

    if (server_start(&s, false) && client_start(&p, &s)) {
        say_call("connect", rdma_connect(p.client.id, &param), p.client.id);
        say("  %s", state_text(&p.client));
        say_call("disconnect", rdma_disconnect(p.client.id), p.client.id);
        say("  %s", state_text(&p.client));
        end_free(&p.client);
    }
    server_end(&s);
}

static void
a_synchronous_connect_is_rejected(void)
{
    struct rdma_conn_param param = {.retry_count = 6};
    struct server s;
    struct pair p;

    if (server_start(&s, true) && client_start(&p, &s)) {
        struct rdma_cm_id *id = p.client.id;

        say_call("connect", rdma_connect(id, &param), id);
        say("  status %d, %u bytes: %s", id->event->status,
            id->event->param.conn.private_data_len,
            (const char *)id->event->param.conn.private_data);
        end_free(&p.client);
    }
    server_end(&s);
}

static void
nobody_listens_to_a_synchronous_id(void)
{
    struct rdma_conn_param param = {.retry_count = 6};
    struct server s = {.addr = {.sin_family = AF_INET, .sin_port = htons(9)}};
    struct pair p;

    inet_pton(AF_INET, getenv("VC_TEST_ADDR"), &s.addr.sin_addr);
    if (client_start(&p, &s)) {
        say_call("connect", rdma_connect(p.client.id, &param), p.client.id);
        say("  status %d", p.client.id->event->status);
        end_free(&p.client);
    }
}

static void
an_id_with_a_channel_gets_no_request(void)
{
    struct rdma_cm_id *id;
    struct pair p;

    pair_open(&p, NULL);
    say("  %s", outcome(rdma_get_request(p.listener, &id)));
    pair_close(&p);
}

static void
an_id_migrates(void)
{
    struct pair p;

    pair_open(&p, NULL);
    if (pair_resolve(&p)) {
        say("  to none: %s", outcome(rdma_migrate_id(p.client.id, NULL)));
        say("  another channel: %s",
            p.client.id->channel != p.channel ? "yes" : "no");
        say("  back: %s", outcome(rdma_migrate_id(p.client.id, p.channel)));
        if (pair_ask(&p, NULL, 0))
            say("  its events are back");
    }
    pair_close(&p);
}

/* --- READs ------------------------------------------------------------- */

static void
say_depths(const char *who, struct end *e)
{
    struct ibv_qp_init_attr init;
    struct ibv_qp_attr attr;

    if (ibv_query_qp(e->id->qp, &attr,
                     IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_MAX_DEST_RD_ATOMIC,
                     &init) == 0)
        say("  %s: %u out, %u in", who, attr.max_rd_atomic,
            attr.max_dest_rd_atomic);
}

static void
a_connect_without_parameters(void)
{
    struct pair p;

    pair_open(&p, NULL);
    if (pair_resolve(&p)) {
        say("  without a QP: %s", outcome(rdma_connect(p.client.id, NULL)));
        if (end_make(&p, &p.client) && rdma_connect(p.client.id, NULL) == 0 &&
            event_expect(&p, RDMA_CM_EVENT_CONNECT_REQUEST))
            say("  retries %u %u", p.last.param.conn.retry_count,
                p.last.param.conn.rnr_retry_count);
        p.server.id = p.last.id;
    }
    pair_close(&p);
}

static void
an_accept_without_parameters(void)
{
    struct pair p;

    pair_open(&p, NULL);
    if (pair_resolve(&p) && pair_ask(&p, NULL, 0) && end_make(&p, &p.server)) {
        say("  %s", outcome(rdma_accept(p.server.id, NULL)));
        if (event_expect(&p, RDMA_CM_EVENT_ESTABLISHED) &&
            event_expect(&p, RDMA_CM_EVENT_ESTABLISHED)) {
            say_depths("client", &p.client);
            say_depths("server", &p.server);
        }
    }
    pair_close(&p);
}

static void
an_accept_beyond_the_device(void)
{
    struct rdma_conn_param param = {.responder_resources = 129};
    struct pair p;

    pair_open(&p, NULL);
    if (pair_resolve(&p) && pair_ask(&p, NULL, 0) && end_make(&p, &p.server)) {
        say("  %s", outcome(rdma_accept(p.server.id, &param)));
        say("  event: %s", event_next(&p, 100) ? "one" : "none");
        say("  %s", state_text(&p.server));
    }
    pair_close(&p);
}

const struct scenario faithful_sync[] = {
    {"synchronous ids connect", synchronous_ids_connect},
    {"a synchronous connect is rejected", a_synchronous_connect_is_rejected},
    {"nobody listens to a synchronous id", nobody_listens_to_a_synchronous_id},
    {"an id with a channel gets no request",
     an_id_with_a_channel_gets_no_request},
    {"an id migrates", an_id_migrates},
    {"a connect without parameters", a_connect_without_parameters},
    {"an accept without parameters", an_accept_without_parameters},
    {"an accept beyond the device", an_accept_beyond_the_device},
    {NULL, NULL},
};
