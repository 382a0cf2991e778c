/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Scenarios of the program faithful, about accepts: what both ends learn from
 * the answer, and what becomes of their QPs. */
#include "tests/fake/scenarios.h"

void
accepted_with_words(void)
{
    struct pair p;

    pair_open(&p, NULL);
    if (pair_resolve(&p) && pair_ask(&p, "hello", 5) &&
        pair_accept(&p, "welcome", 7)) {
        for (int i = 0; i < 2; i++) {
            if (!event_expect(&p, RDMA_CM_EVENT_ESTABLISHED))
                break;
            if (p.last.id == p.client.id)
                say("  client: %u bytes: %s; depths %u %u", p.said_len,
                    (char *)p.said, p.last.param.conn.responder_resources,
                    p.last.param.conn.initiator_depth);
        }
        say("  %s %s", state_text(&p.client), state_text(&p.server));
    }
    pair_close(&p);
}

/* Compares with what the device can, as devices differ. */
static void
depths_say(const char *who, unsigned in, unsigned out,
           const struct ibv_device_attr *can)
{
    say("  %s: %u%s %u%s", who, in,
        in == (unsigned)can->max_qp_rd_atom ? ", all" : "", out,
        out == (unsigned)can->max_qp_init_rd_atom ? ", all" : "");
}

static void
qps_say(struct pair *p, const struct ibv_device_attr *can)
{
    unsigned in, out;

    if (end_depths(&p->client, &in, &out))
        depths_say("QP of the client", in, out, can);
    if (end_depths(&p->server, &in, &out))
        depths_say("QP of the server", in, out, can);
    say("  %s %s", state_text(&p->client), state_text(&p->server));
}

/* The server answers a request for these depths. */
static void
bare_answer(const struct wish *wish)
{
    const struct rdma_conn_param *said;
    struct ibv_device_attr can;
    struct pair p;

    pair_open(&p, wish);
    said = &p.last.param.conn;
    if (pair_resolve(&p) && pair_ask(&p, NULL, 0) &&
        ibv_query_device(p.client.id->verbs, &can) == 0) {
        depths_say("request", said->responder_resources, said->initiator_depth,
                   &can);
        if (pair_accept(&p, NULL, 0)) {
            for (int i = 0; i < 2; i++) {
                if (event_expect(&p, RDMA_CM_EVENT_ESTABLISHED) &&
                    p.last.id == p.client.id) {
                    depths_say("answer", said->responder_resources,
                               said->initiator_depth, &can);
                    say("  %u bytes; RNR retries %u", p.said_len,
                        said->rnr_retry_count);
                }
            }
            qps_say(&p, &can);
        }
    }
    pair_close(&p);
}

/* Only with a QP of the id: without one, librdmacm 44 reads the parameters that
 * are not there. */
void
accepted_without_parameters(void)
{
    bare_answer(&(struct wish){.bare = true});
    bare_answer(&(struct wish){.bare = true, .most = true});
}
