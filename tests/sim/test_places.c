/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Which of several links a session uses, and that it leaves nothing on
 * its former link. */
#include <stdio.h>

#include "cm/pool/peer.h"
#include "cm/pool/pool.h"
#include "rpc/client/channel.h"
#include "tests/sim/caller.h"
#include "tests/sim/scene.h"
#include "tests/suite/rdma_links.h"

#define MS       UINT64_C(1000)
#define PATIENCE (10000 * MS)
#define STUCK    (3000 * MS)
#define LONG     ((size_t)1 << 20) /* more than any window of credits */
#define QUICK    10u
#define HELD     2u /* calls with a lower tag wait for `go` */

static struct held {
    atomic_uint begun, go;
} held[HELD];

static enum vc_status
handle(struct sim_server *s, struct vc_call *call,
       const Suite__EchoRequest *request, Suite__EchoReply *reply)
{
    (void)s;
    (void)call;
    reply->tag = request->tag;
    reply->payload = request->payload;
    if (request->tag < HELD) {
        sim_tell(&held[request->tag].begun);
        assert_true(sim_await(&held[request->tag].go, PATIENCE));
    }
    return VC_OK;
}

static struct vc_channel *
channel_open(struct scene *s)
{
    struct vc_channel *channel;

    assert_int_equal(
        vc_channel_open(s->runtime, s->server.target, &s->opts, &channel),
        VC_OK);
    return channel;
}

static struct vc__pool_link *
link_of(struct vc_channel *c)
{
    struct vc__pool_link *pl;

    vc__lock_take(&c->servers.only->pool->lock);
    pl = atomic_load(&c->servers.only->clients)->session->link;
    vc__lock_give(&c->servers.only->pool->lock);
    return pl;
}

/* Completions of receives on this link come much later, so the client gets no
 * credits for it. */
static void
link_stick(struct vc__pool_link *pl)
{
    char line[64];

    snprintf(line, sizeof line, "client qp %u: completion RECV",
             (unsigned)link_qp(&pl->link)->qp->qp_num);
    fake_rule(line, 0, FAKE_DELAY, STUCK);
}

static void
call_start(struct caller *c, struct vc_channel *channel, unsigned tag,
           size_t size)
{
    *c = (struct caller){.channel = channel, .tag = tag, .size = size};
    caller_begin(c);
}

static void
call_good(struct caller *c)
{
    caller_join(c);
    assert_int_equal(c->status, VC_OK);
}

/* Starts two calls of this channel, on the less loaded link. */
static void
calls_hold(struct caller c[HELD], struct vc_channel *channel)
{
    for (unsigned i = 0; i < HELD; i++) {
        call_start(&c[i], channel, i, 8);
        assert_true(sim_await(&held[i].begun, PATIENCE));
    }
}

static void
calls_let_go(struct caller c[HELD])
{
    for (unsigned i = 0; i < HELD; i++) {
        sim_tell(&held[i].go);
        call_good(&c[i]);
    }
}

/* The first link is stuck in the middle of a long request. A session gets this
 * link, and its only call times out. Then the link has so many calls that the
 * session moves to the other link. */
static void
moves_before_it_is_open(struct scene *s)
{
    struct vc_channel *stuck = s->channel, *busy = channel_open(s);
    struct vc_channel *moves = channel_open(s);
    struct caller first, more[VC__LINK_BUSY], two[HELD];
    struct vc__pool_link *old;

    scene_call(s, 8, QUICK);
    while (scene_client(s).links_up < 2)
        scene_call(s, 8, QUICK);
    old = link_of(stuck);
    link_stick(old);
    call_start(&first, stuck, QUICK, LONG);
    fake_sleep_us(100 * MS);
    calls_hold(two, busy);
    assert_ptr_not_equal(link_of(busy), old);
    assert_int_equal(sim_echo(moves, 8, QUICK, 50, NULL), VC_DEADLINE_EXCEEDED);
    assert_ptr_equal(link_of(moves), old);
    calls_let_go(two);
    for (unsigned i = 0; i < VC__LINK_BUSY; i++)
        call_start(&more[i], stuck, QUICK, 8);
    fake_sleep_us(10 * MS);
    if (sim_echo(moves, 8, QUICK, 500, NULL) != VC_OK)
        fail_msg("%s", vc_error());
    assert_ptr_not_equal(link_of(moves), old);
    assert_int_equal(scene_client(s).calls_ended,
                     scene_client(s).calls_started - 1 - VC__LINK_BUSY);
    fake_no_rules();
    call_good(&first);
    for (unsigned i = 0; i < VC__LINK_BUSY; i++)
        call_good(&more[i]);
    vc_channel_close(moves);
    vc_channel_close(busy);
}

static void
a_session_takes_its_opening_along_to_another_link(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 4; seed++) {
        struct scene s = {.opts = VC_CHANNEL_OPTS_INIT,
                          .act = moves_before_it_is_open};

        for (unsigned i = 0; i < HELD; i++)
            held[i] = (struct held){.begun = 0};
        s.opts.min_links = s.opts.max_links = 2;
        s.opts.keepalive_ms = VC_KEEPALIVE_OFF;
        s.server.handle = handle;
        scene_run(&s, seed);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_session_takes_its_opening_along_to_another_link),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
