/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Links fail during calls on a real kernel, at either end, hundreds of times,
 * because their QP or socket fails. Every call succeeds, and its handler runs
 * once. */
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cm/pool/pool.h"
#include "rpc/client/channel.h"
#include "rpc/runtime.h"
#include "rpc/server/server.h"
#include "rpc/server/server_link.h"
#include "tests/suite/fixture.h"
#include "tests/suite/link_break.h"

#define ERRORS     250u /* four times as many in a long run */
#define CALLERS    4u
#define CHANNELS   3u
#define LINKS      2u
#define SIZES      20001u
#define TAGS       (1u << 22)
#define OF_CALLER  (TAGS / CALLERS)
#define CALL_MS    30000u
#define CONNECT_MS 8000u /* less than a server keeps a lost client */
/* One of this many handlers takes long enough that its call is in progress when
 * its link fails. */
#define SLOW_EACH 8u
#define SLOW_MS   1u
#define LOOK_US   200u
#define LOOK_MS   20000u

/* How often the handler ran with each tag. */
static atomic_uchar runs[TAGS];

static unsigned errors; /* number of errors to make */

static uint8_t noise[SIZES + 251];

static uint32_t
roll(uint32_t *dice, uint32_t n)
{
    *dice ^= *dice << 13;
    *dice ^= *dice >> 17;
    *dice ^= *dice << 5;
    return *dice % n;
}

static void
noise_fill(void)
{
    uint32_t dice = 2463534242u;

    for (size_t i = 0; i < sizeof noise; i++)
        noise[i] = (uint8_t)roll(&dice, 256);
}

/* --- the server -------------------------------------------------------- */

static enum vc_status
count_echo(struct vc_call *call, const Suite__EchoRequest *request,
           Suite__EchoReply *reply, void *arg)
{
    (void)arg;
    if (request->tag >= TAGS)
        return vc_call_fail(call, VC_INVALID_ARGUMENT, "no such tag");
    atomic_fetch_add(&runs[request->tag], 1);
    if (request->tag % SLOW_EACH == 0)
        usleep(SLOW_MS * 1000);
    reply->tag = request->tag;
    reply->payload = request->payload;
    return VC_OK;
}

static const struct suite_probe_methods methods = {.echo = count_echo};

static void
server_start(struct fixture *f)
{
    uint16_t number = fixture_free_number();

    assert_status(VC_OK, vc_runtime_new(NULL, &f->server_runtime));
    assert_status(VC_OK, vc_server_new(f->server_runtime, NULL, &f->server));
    assert_status(VC_OK, suite_probe_add(f->server, &methods, NULL));
    assert_status(
        VC_OK, vc_server_listen(f->server, fixture_target(number, f->target)));
    if (!fixture_has_names())
        fixture_target(vc_server_port(f->server), f->target);
}

/* --- callers ----------------------------------------------------------- */

struct caller {
    struct vc_channel *channel;
    pthread_t thread;
    unsigned first; /* first of its tags */
    unsigned calls, bad;
    uint64_t longest_ms;
    char text[256]; /* of the first call that failed */
};

/* A pool gives up after three links in a row without a reply. So a call
 * must begin and succeed between any two errors. */
static atomic_uint made;               /* errors */
static atomic_uint good;               /* those that such a call has followed,
                                       * and one for the start */
static atomic_uint claimed = UINT_MAX; /* the last of them */
static atomic_bool enough;

struct bench {
    struct fixture f;
    struct vc_channel *channels[CHANNELS];
    struct caller callers[CALLERS];
};

static bool
reply_good(const Suite__EchoReply *reply, const Suite__EchoRequest *request)
{
    return reply->tag == request->tag &&
           reply->payload.len == request->payload.len &&
           (reply->payload.len == 0 ||
            memcmp(reply->payload.data, request->payload.data,
                   reply->payload.len) == 0);
}

static bool
call_once(struct caller *c, uint32_t tag, uint32_t size)
{
    Suite__EchoRequest request = SUITE__ECHO_REQUEST__INIT;
    Suite__EchoReply *reply;
    bool same;

    request.tag = tag;
    request.payload.data = noise + tag % 251;
    request.payload.len = size;
    if (suite_probe_echo(c->channel, &request, NULL, &reply) != VC_OK) {
        if (c->bad++ == 0)
            snprintf(c->text, sizeof c->text, "tag %u, %u bytes: %s", tag, size,
                     vc_error());
        return false;
    }
    same = reply_good(reply, &request);
    if (!same && c->bad++ == 0)
        snprintf(c->text, sizeof c->text, "tag %u, %u bytes: another reply",
                 tag, size);
    vc_message_free(reply);
    return same;
}

/* A call has succeeded that began after so many errors. */
static void
good_tell(unsigned after)
{
    unsigned last = after - 1;

    if (atomic_compare_exchange_strong(&claimed, &last, after))
        fixture_tell(&good);
}

static void *
caller_run(void *arg)
{
    struct caller *c = arg;
    uint32_t dice = 88675123u + c->first;

    while (!atomic_load(&enough) && c->calls < OF_CALLER) {
        uint64_t began = fixture_ms(), took;
        unsigned after = atomic_load(&made);

        if (call_once(c, c->first + c->calls++, roll(&dice, SIZES)))
            good_tell(after);
        took = fixture_ms() - began;
        if (took > c->longest_ms)
            c->longest_ms = took;
    }
    return NULL;
}

/* --- errors ------------------------------------------------------------ */

/* Runs on the engine that holds the links, so that no link is freed
 * meanwhile. */
struct error {
    struct vc__task task;
    const struct bench *bench;
    bool of_server;
    uint32_t dice;
    const struct vc__link *chosen; /* the choice among n usable links */
    unsigned n;
    bool made;
    atomic_uint done;
};

static void
link_consider(struct error *e, const struct vc__link *link)
{
    if (link_is_whole(link) && roll(&e->dice, ++e->n) == 0)
        e->chosen = link;
}

static void
server_links_consider(struct error *e)
{
    struct vc__server_link *sl;

    cds_list_for_each_entry (sl, &e->bench->f.server->parts[0].links, node)
        link_consider(e, &sl->link);
}

/* All channels share one pool, as they have the same target and options. */
static void
client_links_consider(struct error *e)
{
    struct vc__pool *pool = e->bench->channels[0]->servers.only->pool;
    struct vc__pool_link *pl;

    vc__lock_take(&pool->lock);
    if (pool->peer != NULL)
        cds_list_for_each_entry (pl, &pool->peer->links, node)
            link_consider(e, &pl->link);
    vc__lock_give(&pool->lock);
}

static void
error_run(struct vc__task *task)
{
    struct error *e = caa_container_of(task, struct error, task);

    e->chosen = NULL;
    e->n = 0;
    if (e->of_server)
        server_links_consider(e);
    else
        client_links_consider(e);
    e->made = e->chosen != NULL && link_break(e->chosen);
    fixture_tell(&e->done);
}

/* False when no link there is usable. */
static bool
error_make(struct error *e)
{
    const struct fixture *f = &e->bench->f;
    struct vc_runtime *r = e->of_server ? f->server_runtime : f->runtime;

    e->task.run = error_run;
    atomic_store(&e->done, 0);
    vc__engine_post(&r->progress[0].engine, &e->task);
    fixture_await(&e->done, 1);
    return e->made;
}

/* Makes an error at a random end. */
static void
error_somewhere(struct error *e)
{
    uint64_t due = fixture_ms() + LOOK_MS;

    for (;;) {
        e->of_server = roll(&e->dice, 2);
        if (error_make(e))
            return;
        if (fixture_ms() >= due)
            fail_msg("no link came up for %u ms", LOOK_MS);
        usleep(LOOK_US);
    }
}

/* Returns how many of the errors were at the server's links. */
static unsigned
errors_make(const struct bench *b)
{
    struct error e = {.bench = b, .dice = 521288629u};
    unsigned of_server = 0;

    for (unsigned i = 0; i < errors; i++) {
        fixture_await(&good, i + 1);
        error_somewhere(&e);
        atomic_store(&made, i + 1);
        of_server += e.of_server;
    }
    fixture_await(&good, errors + 1);
    return of_server;
}

/* --- the checks -------------------------------------------------------- */

static void
tags_check(const struct caller *c)
{
    for (unsigned i = 0; i < c->calls; i++) {
        if (atomic_load(&runs[c->first + i]) != 1)
            fail_msg("the handler ran %u times for tag %u of %u",
                     atomic_load(&runs[c->first + i]), c->first + i, c->calls);
    }
}

static void
callers_check(const struct caller callers[CALLERS])
{
    for (unsigned i = 0; i < CALLERS; i++) {
        if (callers[i].bad != 0)
            fail_msg("caller %u: %u of %u calls went wrong; the first: %s", i,
                     callers[i].bad, callers[i].calls, callers[i].text);
        assert_in_range(callers[i].calls, 1, OF_CALLER - 1);
        tags_check(&callers[i]);
    }
}

/* Prints counters, and checks that sessions have moved: otherwise the test
 * would show nothing. */
static void
counters_check(const struct fixture *f)
{
    struct vc_counters c = VC_COUNTERS_INIT, s = VC_COUNTERS_INIT;

    vc_runtime_counters(f->runtime, &c);
    vc_runtime_counters(f->server_runtime, &s);
    printf("# client: %" PRIu64 " links lost, %" PRIu64
           " left, sessions moved %" PRIu64 " times, %" PRIu64
           " calls sent again\n",
           c.links_lost, c.links_left, c.sessions_client_moved,
           c.calls_sent_again);
    printf("# server: %" PRIu64 " links lost, %" PRIu64
           " left, sessions moved %" PRIu64 " times, %" PRIu64
           " calls joined, %" PRIu64 " answered again\n",
           s.links_lost, s.links_left, s.sessions_server_moved, s.calls_joined,
           s.calls_answered_again);
    assert_true(c.sessions_client_moved > errors / 2);
    assert_true(c.calls_sent_again > 0);
    assert_true(s.calls_answered_again > 0);
    assert_int_equal(c.calls_started, c.calls_ended);
}

static void
account(const struct caller callers[CALLERS], unsigned of_server, uint64_t ms)
{
    unsigned calls = 0;
    uint64_t longest = 0;

    for (unsigned i = 0; i < CALLERS; i++) {
        calls += callers[i].calls;
        if (callers[i].longest_ms > longest)
            longest = callers[i].longest_ms;
    }
    printf("# %u errors (%u of the server's links) in %" PRIu64
           " ms, %u calls, the longest took %" PRIu64 " ms\n",
           errors, of_server, ms, calls, longest);
}

/* --- clients ------------------------------------------------------------ */

static void
clients_start(struct bench *b)
{
    struct vc_channel_opts opts = VC_CHANNEL_OPTS_INIT;
    struct fixture *f = &b->f;

    opts.min_links = opts.max_links = LINKS;
    opts.call_timeout_ms = CALL_MS;
    /* Only links shall fail here, not the server, however busy the machine
     * is. */
    opts.keepalive_ms = CALL_MS;
    opts.connect_timeout_ms = CONNECT_MS;
    assert_status(VC_OK, vc_runtime_new(NULL, &f->runtime));
    for (unsigned i = 0; i < CHANNELS; i++)
        assert_status(VC_OK, vc_channel_open(f->runtime, f->target, &opts,
                                             &b->channels[i]));
    for (unsigned i = 0; i < CALLERS; i++) {
        struct caller *c = &b->callers[i];

        c->channel = b->channels[i % CHANNELS];
        c->first = i * OF_CALLER;
        assert_int_equal(0, pthread_create(&c->thread, NULL, caller_run, c));
    }
}

static void
callers_join(struct bench *b)
{
    atomic_store(&enough, true);
    for (unsigned i = 0; i < CALLERS; i++)
        assert_int_equal(0, pthread_join(b->callers[i].thread, NULL));
}

static void
no_call_is_lost_or_doubled_by_links_that_die(void **state)
{
    static struct bench b;
    uint64_t began;
    unsigned of_server;

    (void)state;
    errors = fixture_many(ERRORS, 4 * ERRORS);
    noise_fill();
    server_start(&b.f);
    clients_start(&b);
    began = fixture_ms();
    of_server = errors_make(&b);
    began = fixture_ms() - began;
    callers_join(&b);

    account(b.callers, of_server, began);
    callers_check(b.callers);
    counters_check(&b.f);
    for (unsigned i = 0; i < CHANNELS; i++)
        vc_channel_close(b.channels[i]);
    vc_runtime_free(b.f.runtime);
    fixture_stop_server(&b.f);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_call_is_lost_or_doubled_by_links_that_die),
    };

    return fixture_main(tests);
}
