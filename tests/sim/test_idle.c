/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A call that begins at the very moment at which its link is closed for being
 * idle. The test stops that moment by the link's lock, which closing needs. */
#include <string.h>

#include <verbcall/counters.h>
#include <verbcall/stream.h>

#include "rpc/channel.h"
#include "tests/sim/caller.h"

#define SEEDS   4u
#define MS      1000u
#define CALLERS 20u /* more than a link has without asking for another */

struct rig {
    struct sim_server server;
    struct vc_runtime *runtime;
    struct vc_channel *busy, *channel; /* they share their links */
    struct caller callers[CALLERS];
};

static enum vc_status
talk(struct vc_call *call, struct vc_stream *stream, void *arg)
{
    Suite__EchoRequest *request;
    enum vc_status status;

    (void)call;
    (void)arg;
    while ((status = vc_stream_receive(stream, (void **)&request)) == VC_OK &&
           request != NULL)
        vc_reply_free(request);
    return status;
}

static enum vc_status
streams_add(struct vc_server *server, struct sim_server *s)
{
    static const struct suite_streams_methods methods = {.talk = talk};

    return suite_streams_add(server, &methods, s);
}

static struct vc_channel *
channel_open(struct rig *r)
{
    struct vc_channel_opts opts = VC_CHANNEL_OPTS_INIT;
    struct vc_channel *c;

    opts.max_links = 2;
    opts.idle_timeout_ms = 400;
    opts.keepalive_ms = VC_KEEPALIVE_OFF;
    assert_int_equal(vc_channel_open(r->runtime, r->server.target, &opts, &c),
                     VC_OK);
    return c;
}

static void
rig_begin(struct rig *r, uint64_t seed)
{
    memset(r, 0, sizeof *r);
    r->server.add = streams_add;
    r->server.sleep_us = 50 * MS;
    r->server.long_us = 3000 * MS;
    sim_begin(seed, 0, true);
    sim_target("10.9.0.2", r->server.target);
    sim_server_start(&r->server, fake_host_new("there", "10.9.0.2"), 1);
    assert_true(sim_server_await(&r->server));
    assert_int_equal(sim_runtime(&r->runtime, 1), VC_OK);
    r->busy = channel_open(r);
    r->channel = channel_open(r);
}

static void
rig_end(struct rig *r)
{
    vc_channel_close(r->channel);
    vc_channel_close(r->busy);
    vc_runtime_free(r->runtime);
    assert_true(sim_server_stop(&r->server));
    assert_int_equal(fake_end(), 0);
}

static struct vc_counters
counters(const struct rig *r)
{
    struct vc_counters c = VC_COUNTERS_INIT;

    vc_runtime_counters(r->runtime, &c);
    return c;
}

/* Two links: on one a call that runs for long, on the other none any more. */
static void
links_make(struct rig *r, bool bound)
{
    for (unsigned i = 0; i < CALLERS; i++) {
        r->callers[i] =
            (struct caller){.channel = r->busy, .tag = i == 0 ? 0 : 1};
        caller_begin(&r->callers[i]);
    }
    while (counters(r).links_up < 2)
        fake_sleep_us(MS);
    if (bound)
        assert_int_equal(sim_echo(r->channel, 64, 1, 0, NULL), VC_OK);
    for (unsigned i = 1; i < CALLERS; i++)
        caller_join(&r->callers[i]);
}

static struct vc__link *
idle_link(struct rig *r)
{
    struct vc__pool *p = r->channel->pool;
    struct vc__pool_link *pl;
    struct vc__link *link = NULL;

    pthread_mutex_lock(&p->lock);
    cds_list_for_each_entry (pl, &p->peer->links, node) {
        if (pl->n_busy == 0)
            link = &pl->link;
    }
    pthread_mutex_unlock(&p->lock);
    assert_non_null(link);
    return link;
}

static void *
stream_open(void *arg)
{
    struct vc_stream *stream = NULL;

    suite_streams_talk(arg, NULL, &stream);
    return stream;
}

/* When the link is about to be closed, and what was appended has gone. */
static struct vc_stream *
stream_begin_meanwhile(struct rig *r, struct vc__link *link)
{
    pthread_t thread;
    void *stream;

    pthread_mutex_lock(&link->lock);
    while (counters(r).links_leaving == 0)
        fake_sleep_us(MS);
    assert_int_equal(pthread_create(&thread, NULL, stream_open, r->channel), 0);
    pthread_join(thread, &stream);
    vc__link_flush(link);
    pthread_mutex_unlock(&link->lock);
    assert_non_null(stream);
    return stream;
}

static void
play(uint64_t seed, bool bound)
{
    struct vc_stream *stream;
    struct rig r;

    rig_begin(&r, seed);
    links_make(&r, bound);
    stream = stream_begin_meanwhile(&r, idle_link(&r));
    if (vc_stream_finish(stream, NULL) != VC_OK)
        fail_msg("%s", vc_error());
    vc_stream_close(stream);
    caller_join(&r.callers[0]);
    assert_int_equal(r.callers[0].status, VC_OK);
    assert_int_equal(counters(&r).links_up, 1);
    rig_end(&r);
}

static void
a_stream_that_begins_goes_by_no_link_that_is_closed_for_being_idle(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++)
        play(seed, false);
}

static void
a_session_leaves_the_link_that_is_closed_for_being_idle(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++)
        play(seed, true);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            a_stream_that_begins_goes_by_no_link_that_is_closed_for_being_idle),
        cmocka_unit_test(
            a_session_leaves_the_link_that_is_closed_for_being_idle),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
