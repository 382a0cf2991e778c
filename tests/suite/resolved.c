/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See tests/suite/resolved.h. */
#include "tests/suite/resolved.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct app app;

/* Of resolved_start(): for open(). */
static struct resolved *resolved_now;

/* --- the resolver ------------------------------------------------------- */

static enum vc_status
app_open(struct vc_resolver *r, const char *target, void **state)
{
    app.resolver = r;
    *state = &app;
    snprintf(app.target, sizeof app.target, "%s", target);
    if (app.why != NULL)
        vc_resolver_fail(r, app.why);
    if (app.first != NULL)
        assert_status(VC_OK, resolved_set(resolved_now, app.first));
    atomic_fetch_add(&app.opens, 1);
    return app.refuses;
}

static void
app_again(void *state)
{
    struct app *a = state;

    if (a->on_again != NULL)
        a->on_again();
    fixture_tell(&a->agains);
}

static void
app_close(void *state)
{
    struct app *a = state;

    if (a->on_close != NULL)
        a->on_close();
    fixture_tell(&a->closes);
}

const struct vc_resolver_type app_type = {
    .size = sizeof app_type,
    .scheme = "app",
    .open = app_open,
    .again = app_again,
    .close = app_close,
};

/* --- servers and channel ------------------------------------------------ */

const struct vc_server_opts *resolved_server_opts;

static char names[RESOLVED_SERVERS][2] = {"0", "1", "2"};
static unsigned starting; /* the server that resolved_add() adds to */

static void
resolved_add(struct vc_server *server)
{
    features_add(server, names[starting]);
}

void
resolved_server_start(struct resolved *w, unsigned i)
{
    starting = i;
    fixture_add = resolved_add;
    fixture_start_server_at(&w->servers[i], w->servers[i].port, 1,
                            resolved_server_opts);
    fixture_add = NULL;
}

void
resolved_server_stop(struct resolved *w, unsigned i)
{
    if (w->servers[i].server != NULL)
        fixture_stop_server(&w->servers[i]);
}

void
resolved_start_servers(struct resolved *w)
{
    memset(w, 0, sizeof *w);
    memset(&app, 0, sizeof app);
    features_reset();
    resolved_now = w;
    assert_status(VC_OK, vc_resolver_register(&app_type));
    for (unsigned i = 0; i < RESOLVED_SERVERS; i++)
        resolved_server_start(w, i);
    assert_status(VC_OK, vc_runtime_new(NULL, &w->runtime));
    assert_status(VC_OK, vc_runtime_start(w->runtime));
}

void
resolved_open(struct resolved *w, const char *policy)
{
    struct vc_channel_opts opts = VC_CHANNEL_OPTS_INIT;

    opts.policy = policy;
    opts.call_timeout_ms = RESOLVED_MS;
    opts.connect_timeout_ms = opts.keepalive_ms = 8000; /* it may be stalled */
    opts.retry_backoff_ms = 5;
    assert_status(VC_OK,
                  vc_channel_open(w->runtime, "app:it", &opts, &w->channel));
}

void
resolved_start(struct resolved *w, const char *policy)
{
    resolved_start_servers(w);
    resolved_open(w, policy);
}

void
resolved_stop(struct resolved *w)
{
    features_gate_open();
    assert_status(VC_OK, vc_channel_close(w->channel));
    vc_runtime_free(w->runtime);
    for (unsigned i = 0; i < RESOLVED_SERVERS; i++)
        resolved_server_stop(w, i);
    assert_int_equal(atomic_load(&app.opens), atomic_load(&app.closes));
}

enum vc_status
resolved_set(struct resolved *w, const char *servers)
{
    struct vc_endpoint endpoints[8];
    unsigned n = (unsigned)strlen(servers);

    assert_in_range(n, 1, 8);
    for (unsigned i = 0; i < n; i++) {
        endpoints[i] = (struct vc_endpoint)VC_ENDPOINT_INIT;
        endpoints[i].target = w->servers[servers[i] - '0'].target;
    }
    return vc_resolver_set(app.resolver, endpoints, n);
}

/* --- states ------------------------------------------------------------- */

struct vc_counters
resolved_counters(const struct resolved *w)
{
    struct vc_counters c = VC_COUNTERS_INIT;

    vc_runtime_counters(w->runtime, &c);
    return c;
}

uint64_t
resolved_served(const struct resolved *w, unsigned i)
{
    struct vc_counters c = VC_COUNTERS_INIT;

    vc_runtime_counters(w->servers[i].server_runtime, &c);
    return c.handlers_started;
}

/* One look of a loop that waits for a state. */
static void
look_again(uint64_t due, const char *what)
{
    if (fixture_ms() >= due)
        fail_msg("%s after %u ms", what, RESOLVED_MS);
    sched_yield();
}

void
resolved_await_unused(const struct resolved *w, unsigned i)
{
    uint64_t due = fixture_ms() + RESOLVED_MS;
    struct vc_counters c = VC_COUNTERS_INIT;

    for (;;) {
        vc_runtime_counters(w->servers[i].server_runtime, &c);
        /* A session whose link was lost is kept for some seconds. */
        if (c.links_up + c.links_connecting + c.streams_server +
                c.handlers_running ==
            0)
            return;
        look_again(due, "a dropped server still has clients");
    }
}

void
resolved_await_waiting(const struct resolved *w, unsigned n)
{
    uint64_t due = fixture_ms() + RESOLVED_MS;

    while (resolved_counters(w).calls_waiting != n)
        look_again(due, "calls do not wait");
}

enum vc_status
resolved_call(struct resolved *w, const struct vc_call_opts *opts, unsigned *by)
{
    Features__Order order = features_order(1, "done");
    Features__Report *report;
    enum vc_status status =
        features_work_once(w->channel, &order, opts, &report);

    if (status != VC_OK)
        return status;
    assert_non_null(strstr(report->text, "done by "));
    if (by != NULL)
        *by = (unsigned)(report->text[strlen("done by ")] - '0');
    vc_message_free(report);
    return VC_OK;
}

void
resolved_await_ready(struct resolved *w, unsigned n)
{
    uint64_t due = fixture_ms() + RESOLVED_MS;
    unsigned ready = 0;

    while (ready != n) {
        static char text[RESOLVED_TEXT];
        const char *at = text;

        assert_status(VC_OK, resolved_call(w, NULL, NULL));
        vc_channel_describe(w->channel, text, sizeof text);
        for (ready = 0; (at = strstr(at, ": ready,")) != NULL; at++)
            ready++;
        look_again(due, "the servers are not all ready");
    }
}

static void
has_text(const char *whole, const char *part)
{
    if (strstr(whole, part) == NULL)
        fail_msg("\"%s\" is not in: %s", part, whole);
}

void
resolved_described(const struct resolved *w, const char *text)
{
    static char all[RESOLVED_TEXT];

    vc_channel_describe(w->channel, all, sizeof all);
    has_text(all, text);
}

void
resolved_await_described(const struct resolved *w, const char *part)
{
    uint64_t due = fixture_ms() + RESOLVED_MS;
    static char all[RESOLVED_TEXT];

    while (vc_channel_describe(w->channel, all, sizeof all),
           strstr(all, part) == NULL)
        look_again(due, all);
}

void
resolved_says(const char *text)
{
    has_text(vc_error(), text);
}
