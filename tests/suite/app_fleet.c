/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See tests/suite/app_fleet.h. */
#include "tests/suite/app_fleet.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <verbcall/call.h>
#include <verbcall/counters.h>

#define TEXT 8192

struct vc_endpoint app_endpoints[SERVERS];
struct app_server app_servers[SERVERS];
const struct vc_server_opts *app_server_opts;
void (*app_add)(struct vc_server *server, unsigned i);

static unsigned n_added; /* servers that were made */
/* Calls that hang: they end with the fleet. */
#define HUNG 4096u
static struct vc_call *hung[HUNG];
static atomic_uint n_hung;

/* --- the resolver ---------------------------------------------------------- */

static struct vc_resolver *app_resolver; /* of the last channel */

static enum vc_status
app_open(struct vc_resolver *r, const char *target, void **state)
{
    (void)target;
    *state = app_resolver = r;
    return vc_resolver_set(r, app_endpoints, SERVERS);
}

static void
app_close(void *state)
{
    (void)state;
}

static const struct vc_resolver_type app = {
    .size = sizeof app,
    .scheme = "app",
    .open = app_open,
    .close = app_close,
};

void
app_only(unsigned i)
{
    assert_status(VC_OK, vc_resolver_set(app_resolver, &app_endpoints[i], 1));
}

/* --- servers and clients ---------------------------------------------------- */

/* Takes no thread, and does not answer, also not when it is cancelled. */
static enum vc_status
hang(struct vc_call *call)
{
    unsigned n = atomic_fetch_add(&n_hung, 1);

    assert_true(n < HUNG);
    hung[n] = call;
    return vc_call_later(call);
}

static enum vc_status
nothing(struct vc_call *call, const Suite__Empty *request, Suite__Empty *reply,
        void *arg)
{
    struct app_server *s = arg;
    unsigned n = atomic_fetch_add(&s->calls, 1);

    (void)request;
    (void)reply;
    switch (atomic_load(&s->manner)) {
    case HALF_FAIL:
        return n % 2 == 0 ? VC_OK : vc_call_fail(call, VC_INTERNAL, "broken");
    case HANGS:
        return hang(call);
    case SLOW:
        usleep(20000);
        return VC_OK;
    default:
        return VC_OK;
    }
}

static void
absent_add(struct vc_server *server)
{
    static const struct suite_absent_methods methods = {.nothing = nothing};

    unsigned i = n_added++ % SERVERS;

    assert_status(VC_OK, suite_absent_add(server, &methods, &app_servers[i]));
    if (app_add != NULL)
        app_add(server, i);
}

void
app_server_start(struct app_fleet *f, unsigned i)
{
    n_added = i;
    fixture_add = absent_add;
    fixture_start_server_at(&f->servers[i], f->servers[i].port, 1,
                            app_server_opts);
    fixture_add = NULL;
    app_endpoints[i].target = f->servers[i].target;
}

void
app_server_stop(struct app_fleet *f, unsigned i)
{
    if (f->servers[i].server != NULL)
        fixture_stop_server(&f->servers[i]);
}

/* Notes when a server is ejected and when it is back. */
static void
ejections_seen(enum vc_log_level level, const char *line, void *arg)
{
    struct app_fleet *f = arg;
    unsigned now = (unsigned)(fixture_ms() - f->begun);

    if (level != VC_LOG_WARNING)
        return;
    if (strstr(line, " is ejected for ") != NULL) {
        snprintf(f->ejected, sizeof f->ejected, "%s", line);
        atomic_store(&f->ejected_ms, now);
    }
    if (strstr(line, " gets calls again") != NULL) {
        snprintf(f->back, sizeof f->back, "%s", line);
        atomic_store(&f->back_ms, now);
    }
}

/* Servers, without weights and the like, and no channel yet. */
void
app_fleet_begin(struct app_fleet *f)
{
    struct vc_runtime_opts opts = VC_RUNTIME_OPTS_INIT;

    memset(f, 0, sizeof *f);
    memset(app_servers, 0, sizeof app_servers);
    atomic_store(&n_hung, 0);
    for (unsigned i = 0; i < SERVERS; i++) {
        app_endpoints[i] = (struct vc_endpoint)VC_ENDPOINT_INIT;
        app_server_start(f, i);
    }
    f->begun = fixture_ms() - 1;
    opts.log_level = VC_LOG_WARNING;
    opts.log = ejections_seen;
    opts.log_arg = f;
    assert_status(VC_OK, vc_runtime_new(&opts, &f->runtime));
    assert_status(VC_OK, vc_runtime_start(f->runtime));
}

void
app_fleet_open(struct app_fleet *f, const struct vc_channel_opts *opts)
{
    assert_status(VC_OK,
                  vc_channel_open(f->runtime, "app:", opts, &f->channel));
}

void
app_fleet_end(struct app_fleet *f)
{
    vc_channel_close(f->channel);
    for (unsigned i = 0; i < atomic_load(&n_hung); i++)
        vc_call_end(hung[i], VC_CANCELLED);
    vc_runtime_free(f->runtime);
    for (unsigned i = 0; i < SERVERS; i++)
        app_server_stop(f, i);
}

/* 0 of one that was stopped. */
uint64_t
app_served_by(const struct app_fleet *f, unsigned i)
{
    struct vc_counters c = VC_COUNTERS_INIT;

    if (f->servers[i].server != NULL)
        vc_runtime_counters(f->servers[i].server_runtime, &c);
    return c.handlers_started;
}

const char *
app_described(const struct app_fleet *f)
{
    static char text[TEXT];

    vc_channel_describe(f->channel, text, sizeof text);
    return text;
}

/* Makes calls until n servers are connected. */
/* How many servers are ready. */
static unsigned
ready_of(struct app_fleet *f)
{
    const char *at = app_described(f);
    unsigned ready = 0;

    while ((at = strstr(at, ": ready,")) != NULL) {
        at++;
        ready++;
    }
    return ready;
}

void
app_ready_await(struct app_fleet *f, unsigned n)
{
    uint64_t due = fixture_ms() + AWAIT_MS;

    do {
        assert_true(fixture_ms() < due);
        assert_status(VC_OK, fixture_echo(f->channel, 10, 1));
    } while (ready_of(f) != n);
}

void
app_server_lose(struct app_fleet *f, unsigned i)
{
    uint64_t due = fixture_ms() + AWAIT_MS;
    unsigned ready = ready_of(f);

    app_server_stop(f, i);
    while (ready_of(f) == ready) {
        assert_true(fixture_ms() < due);
        if (fixture_echo(f->channel, 10, 1) != VC_OK)
            assert_int_equal(VC_OUTCOME_UNKNOWN, vc_error_outcome());
    }
}

void
app_echo(struct app_fleet *f, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        assert_status(VC_OK, fixture_echo(f->channel, 10, i));
}

/* Calls until this server has got one more. */
void
app_served_await(struct app_fleet *f, unsigned i)
{
    uint64_t before = app_served_by(f, i), due = fixture_ms() + AWAIT_MS;

    while (app_served_by(f, i) == before) {
        assert_true(fixture_ms() < due);
        assert_status(VC_OK, fixture_echo(f->channel, 10, 1));
    }
}

enum vc_status
app_nothing(struct app_fleet *f, uint32_t ms)
{
    Suite__Empty request = SUITE__EMPTY__INIT, *reply = NULL;
    struct vc_call_opts opts = VC_CALL_OPTS_INIT;
    enum vc_status status;

    opts.timeout_ms = ms;
    status = suite_absent_nothing(f->channel, &request, &opts, &reply);
    if (status == VC_OK)
        vc_message_free(reply);
    return status;
}

bool
app_register(void)
{
    if (vc_resolver_register(&app) == VC_OK)
        return true;
    fprintf(stderr, "%s\n", vc_error());
    return false;
}
