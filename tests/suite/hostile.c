/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See tests/suite/hostile.h. */
#include "tests/suite/hostile.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <verbcall/counters.h>

#include "rpc/server/server_link.h"

#define PATIENT_MS 20000

/* --- tests ------------------------------------------------------------- */

struct hostile_state {
    struct fixture f; /* first: a test's *state is used as a struct fixture */
    const struct hostile_body *body;
};

int
hostile_setup(void **state)
{
    struct hostile_state *s = calloc(1, sizeof *s);
    struct vc_server_opts opts = VC_SERVER_OPTS_INIT;

    s->body = *state;
    opts.handshake_timeout_ms = PATIENT_MS;
    fixture_start(&s->f, 1, &opts, NULL);
    assert_status(VC_OK, fixture_echo(s->f.channel, 100, 1));
    *state = s;
    return 0;
}

void
hostile_run(void **state)
{
    struct hostile_state *s = *state;

    s->body->run(state);
    hostile_no_harm(&s->f, "all of the test");
}

int
hostile_teardown(void **state)
{
    struct hostile_state *s = *state;

    fixture_stop(&s->f);
    free(s);
    return 0;
}

/* --- why the server ends a link ---------------------------------------- */

/* The error text with which the last raw client's link ended. */
static char ended[VC__ERROR_TEXT];
static pthread_mutex_t ended_lock = PTHREAD_MUTEX_INITIALIZER;

/* The callbacks of the server's links, and the callbacks that replace them for
 * the links of raw clients. */
static const struct vc__link_ops *server_ops;
static struct vc__link_ops watched_ops;

static void
watched_down(struct vc__link *link)
{
    pthread_mutex_lock(&ended_lock);
    memcpy(ended, link->error.text, sizeof ended);
    pthread_mutex_unlock(&ended_lock);
    server_ops->down(link);
}

/* A task on an engine that visits each link of a raw client there. */
struct visit {
    struct vc__task task;
    struct vc__waiter waiter;
    struct vc__server_part *part;
    void (*visit)(struct vc__link *link, void *arg);
    void *arg;
};

static bool
is_raw(const struct vc__link *link)
{
    const struct vc__hello of_raw = raw_hello(&suite_probe_service);

    return memcmp(link->hello.instance, of_raw.instance, VC__ID_SIZE) == 0;
}

static void
visit_run(struct vc__task *task)
{
    struct visit *v = caa_container_of(task, struct visit, task);
    struct vc__server_link *sl;

    cds_list_for_each_entry (sl, &v->part->links, node) {
        if (is_raw(&sl->link))
            v->visit(&sl->link, v->arg);
    }
    vc__waiter_done(&v->waiter);
}

void
hostile_links_visit(struct fixture *f,
                    void (*visit)(struct vc__link *link, void *arg), void *arg)
{
    for (unsigned i = 0; i < f->server_runtime->n; i++) {
        struct visit v = {.task.run = visit_run,
                          .part = &f->server->parts[i],
                          .visit = visit,
                          .arg = arg};

        vc__waiter_init(&v.waiter);
        vc__engine_post(&v.part->progress->engine, &v.task);
        vc__waiter_await(&v.waiter);
    }
}

static void
link_watch(struct vc__link *link, void *arg)
{
    (void)arg;
    if (link->ops == &watched_ops)
        return;
    server_ops = link->ops;
    watched_ops = *server_ops;
    watched_ops.down = watched_down;
    link->ops = &watched_ops;
}

/* Records from now on the error with which links of raw clients end. */
static void
links_watch(struct fixture *f)
{
    pthread_mutex_lock(&ended_lock);
    ended[0] = '\0';
    pthread_mutex_unlock(&ended_lock);
    hostile_links_visit(f, link_watch, NULL);
}

static void
ended_because(const char *why, const char *after)
{
    bool good;

    pthread_mutex_lock(&ended_lock);
    good = strstr(ended, why) != NULL;
    pthread_mutex_unlock(&ended_lock);
    if (!good)
        fail_msg("after %s the link ended, but for \"%s\", not \"%s\"", after,
                 ended, why);
}

/* --- others ------------------------------------------------------------ */

void
hostile_others_served(struct fixture *f, const char *after)
{
    struct vc_channel *fresh;

    if (fixture_echo(f->channel, 100, 2) != VC_OK)
        fail_msg("after %s, on an old channel: %s", after, vc_error());
    assert_status(VC_OK, fixture_open_alone(f->runtime, f->target, &fresh));
    if (fixture_echo(fresh, 10000, 3) != VC_OK)
        fail_msg("after %s, on a new channel: %s", after, vc_error());
    vc_channel_close(fresh);
}

/* Names the server's remaining work for disconnected peers, or returns NULL. */
static const char *
handler_left(struct fixture *f)
{
    struct vc_counters s = VC_COUNTERS_INIT;

    vc_runtime_counters(f->server_runtime, &s);
    if (s.handlers_running > 0)
        return "a handler";
    if (s.streams_server > 0)
        return "a stream at the server";
    return s.requests_arriving > 0 ? "a part of a request" : NULL;
}

/* Names anything that is left at either end, or returns NULL. */
static const char *
anything_left(struct fixture *f)
{
    struct vc_counters s = VC_COUNTERS_INIT, c = VC_COUNTERS_INIT;
    const char *left = handler_left(f);

    vc_runtime_counters(f->server_runtime, &s);
    vc_runtime_counters(f->runtime, &c);
    if (left != NULL)
        return left;
    if (s.links_server != c.links_client)
        return "a link";
    if (c.streams_client > 0)
        return "a stream at the client";
    if (c.replies_arriving > 0)
        return "a part of a reply";
    return c.calls_started != c.calls_ended ? "a call" : NULL;
}

/* Makes calls until nothing is left; fails the test after RAW_MS. */
static void
await_nothing(struct fixture *f, const char *(*left_of)(struct fixture *f),
              const char *after)
{
    uint64_t until = fixture_ms() + RAW_MS;
    const char *left;

    while ((left = left_of(f)) != NULL) {
        if (fixture_ms() >= until)
            fail_msg("after %s there is still %s", after, left);
        assert_status(VC_OK, fixture_echo(f->channel, 10, 4));
    }
}

void
hostile_await_no_handler(struct fixture *f, const char *after)
{
    await_nothing(f, handler_left, after);
}

void
hostile_no_harm(struct fixture *f, const char *after)
{
    hostile_others_served(f, after);
    await_nothing(f, anything_left, after);
}

/* --- raw clients ------------------------------------------------------- */

void
hostile_open_with(struct fixture *f, struct raw *r, uint32_t features)
{
    struct vc__hello hello = raw_hello(&suite_probe_service);

    hello.features = features;
    if (!raw_open(r, f->target, &hello))
        fail_msg("a good hello with features 0x%x was not accepted",
                 (unsigned)features);
    links_watch(f);
}

void
hostile_open(struct fixture *f, struct raw *r)
{
    hostile_open_with(f, r, 0);
}

void
hostile_open_session(struct fixture *f, struct raw *r)
{
    hostile_open(f, r);
    assert_true(raw_send_open(r, 1, &suite_probe_service));
}

uint64_t
hostile_closed(struct fixture *f, struct raw *r, const char *after,
               const char *why)
{
    uint64_t start = fixture_ms();
    int event = raw_wait(r, HOSTILE_CLOSED_MS);
    uint64_t took = fixture_ms() - start;

    /* The CM sends a REJ when it ends a connection that is not established
     * yet. */
    if (event != RAW_DISCONNECTED && event != RAW_REJECTED)
        fail_msg("after %s the link lives (event %d)", after, event);
    ended_because(why, after);
    raw_close(r);
    hostile_no_harm(f, after);
    return took;
}

bool
hostile_await_frame(struct raw *r, uint8_t type, const struct vc__frame *call,
                    struct vc__frame *f)
{
    do {
        if (!raw_next_frame(r, f, RAW_MS))
            return false;
    } while (f->type != type || f->session != call->session ||
             f->slot != call->slot || f->sequence != call->sequence);
    return true;
}

void
hostile_await_handlers(struct fixture *f, uint64_t n)
{
    struct vc_counters c;
    uint64_t until = fixture_ms() + RAW_MS;

    do {
        c = (struct vc_counters)VC_COUNTERS_INIT;
        assert_status(VC_OK, fixture_echo(f->channel, 10, 4));
        vc_runtime_counters(f->server_runtime, &c);
    } while (c.handlers_running < n && fixture_ms() < until);
    assert_true(c.handlers_running >= n);
}

bool
hostile_send(struct raw *r, const struct hostile_packet *packet)
{
    struct raw_packet p = {.len = 0};

    raw_begin(r, &p);
    for (unsigned i = 0; i < packet->n; i++)
        raw_add(&p, packet->frames[i]);
    p.head.sequence += (uint32_t)packet->sequence;
    p.head.count = (uint16_t)(p.head.count + packet->count);
    p.head.word.ack += (uint32_t)packet->ack;
    p.head.word.window = (uint16_t)(p.head.word.window + packet->window);
    vc__packet_put(p.bytes, &p.head);
    return raw_send(r, p.bytes, (size_t)((int)p.len + packet->longer));
}
