/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See tests/sim/outcomes.h. */
#include "tests/sim/outcomes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ECHO      0u
#define SEEDS     2u /* one for each kind of device */
#define LATE_US   (10 * MS)
#define PATIENCE  (100 * S)
#define ROWS_MAX  128u
#define DRAIN_MS  2000u
#define SETTLE_US (10 * MS) /* until both ends are idle */
#define SIZE_MAX_ ((size_t)1 << 20)

static const uint8_t zeros[SIZE_MAX_];

/* --- the server -------------------------------------------------------- */

/* The play of the current world. */
static struct play *playing;

static void
hold(struct play *p)
{
    sim_tell(&p->begun);
    assert_true(sim_await(&p->go, PATIENCE));
}

static void *
helper_main(void *call)
{
    fake_sleep_us(10 * MS);
    vc_call_end(call, playing->handler_status);
    return NULL;
}

static enum vc_status
handle_play(struct play *p, struct vc_call *call, Suite__EchoReply *reply)
{
    atomic_fetch_add(&p->runs, 1);
    if (p->reply_size > 0) {
        reply->payload.len = p->reply_size;
        reply->payload.data = (uint8_t *)zeros;
    }
    if (p->holds)
        hold(p);
    if (p->slow_once && atomic_load(&p->runs) == 1)
        fake_sleep_us(200 * MS);
    if (p->inside != NULL)
        p->inside(p, reply);
    if (p->handler_status != VC_OK && p->pushback_ms != 0)
        vc_call_pushback(call, p->pushback_ms);
    if (!p->answers_later)
        return p->handler_status;
    pthread_create(&p->helper, NULL, helper_main, call);
    return vc_call_later(call);
}

static enum vc_status
handle(struct sim_server *s, struct vc_call *call,
       const Suite__EchoRequest *request, Suite__EchoReply *reply)
{
    (void)s;
    reply->tag = request->tag;
    reply->payload = request->payload;
    if (request->tag == PLAY_TAG)
        return handle_play(playing, call, reply);
    if (request->tag == PLAY_OTHER)
        hold(playing);
    return VC_OK;
}

/* In the server's process: drains the server when play_drain() asks for it,
 * unless the server is already closing. */
static void *
drainer_main(void *arg)
{
    struct play *p = arg;

    assert_true(sim_await(&p->drain, PATIENCE));
    if (atomic_load(&p->over) != 0)
        return NULL;
    sim_tell(&p->drains);
    vc_server_drain(p->server.server, NULL, DRAIN_MS);
    sim_tell(&p->drained);
    return NULL;
}

static void
on_begin(struct sim_server *s)
{
    (void)s;
    pthread_create(&playing->drainer, NULL, drainer_main, playing);
}

/* Runs after the server was closed. */
static void
on_end(struct sim_server *s)
{
    (void)s;
    atomic_store(&playing->over, 1);
    sim_tell(&playing->drain);
    pthread_join(playing->drainer, NULL);
    if (playing->helper != 0)
        pthread_join(playing->helper, NULL);
}

void
play_drain(struct play *p)
{
    sim_tell(&p->drain);
    assert_true(sim_await(&p->drains, PATIENCE));
    fake_sleep_us(10 * MS);
}

void
play_serve(struct play *p)
{
    p->server.handle = handle;
    p->server.begin = on_begin;
    p->server.end = on_end;
    p->server.opts = &p->server_opts;
    sim_server_start(&p->server, p->there, 1);
    assert_true(sim_server_await(&p->server));
}

void
play_await_handler(struct play *p)
{
    if (!sim_await(&p->begun, PATIENCE))
        fail_msg("no handler has begun: %s", fake_trace());
}

/* --- the client -------------------------------------------------------- */

void
play_open(struct play *p)
{
    sim_log_opts(&p->runtime_opts);
    assert_int_equal(VC_OK, vc_runtime_new(&p->runtime_opts, &p->runtime));
    assert_int_equal(VC_OK, vc_channel_open(p->runtime, p->target,
                                            &p->channel_opts, &p->channel));
    assert_int_equal(VC_OK, vc_completions_new(p->runtime, &p->queue));
    if (p->kind == PLAY_FUNCTION)
        assert_int_equal(VC_OK, vc_runtime_start(p->runtime));
    if (p->kind == PLAY_LOOP)
        loop_start(&p->loop, p->runtime);
}

void
play_connect(struct play *p)
{
    play_serve(p);
    play_open(p);
    if (vc_channel_connect(p->channel, &suite_probe_service) != VC_OK)
        fail_msg("%s", vc_error());
    fake_sleep_us(SETTLE_US);
}

void
play_meet(struct play *p)
{
    play_connect(p);
    if (sim_echo(p->channel, 64, PLAY_WARM, 0, NULL) != VC_OK)
        fail_msg("%s", vc_error());
    fake_sleep_us(SETTLE_US);
}

struct vc_method *
play_method(struct play *p, unsigned method)
{
    static struct vc_service service;
    static struct vc_method methods[16];

    service = *p->service;
    assert_true(service.n_methods <= 16);
    memcpy(methods, p->service->methods, service.n_methods * sizeof methods[0]);
    service.methods = methods;
    p->service = &service;
    p->method = method;
    return &methods[method];
}

/* --- the call ---------------------------------------------------------- */

static void
text_keep(struct play *p, const char *text)
{
    snprintf(p->text, sizeof p->text, "%s", text);
}

void
play_ended(struct play *p, enum vc_status status)
{
    p->status = status;
    p->outcome = status == VC_OK ? VC_OUTCOME_EXECUTED : vc_error_outcome();
    text_keep(p, status == VC_OK ? "" : vc_error());
}

static void
on_done(enum vc_status status, void *reply, void *arg)
{
    struct play *p = arg;

    play_ended(p, status);
    vc_message_free(reply);
    sim_tell(&p->ended);
}

static void
call_blocking(struct play *p, const void *request)
{
    void *reply = NULL;
    enum vc_status status = vc_channel_call(p->channel, p->service, p->method,
                                            request, &p->opts, &reply);

    play_ended(p, status);
    vc_message_free(reply);
}

static void
call_function(struct play *p, const void *request)
{
    enum vc_status status =
        vc_channel_call_async(p->channel, p->service, p->method, request,
                              &p->opts, on_done, p, &p->handle);

    if (status != VC_OK)
        play_ended(p, status);
    else if (!sim_await(&p->ended, PATIENCE))
        fail_msg("the call does not end: %s", fake_trace());
}

static void
call_queued(struct play *p, const void *request)
{
    struct vc_completion end;
    enum vc_status status =
        vc_channel_call_queued(p->channel, p->service, p->method, request,
                               &p->opts, p->queue, p, &p->handle);

    if (status != VC_OK) {
        play_ended(p, status);
        return;
    }
    assert_int_equal(VC_OK,
                     vc_completions_next(p->queue, VC_NO_DEADLINE, &end));
    assert_ptr_equal(p, end.tag);
    p->status = end.status;
    p->outcome = end.outcome;
    text_keep(p, end.text);
    vc_message_free(end.reply);
}

static void *
caller_main(void *arg)
{
    static void (*const kinds[PLAY_KINDS])(struct play *, const void *) = {
        call_blocking, call_function, call_function, call_queued};
    struct play *p = arg;
    Suite__EchoRequest request = SUITE__ECHO_REQUEST__INIT;
    uint64_t began = fake_now_us();

    request.tag = PLAY_TAG;
    request.payload.len = p->size;
    request.payload.data = (uint8_t *)zeros;
    kinds[p->kind](p, p->request != NULL ? p->request : &request);
    p->took_us = fake_now_us() - began;
    return NULL;
}

void
play_begin(struct play *p)
{
    assert_int_equal(0, pthread_create(&p->thread, NULL, caller_main, p));
}

void
play_finish(struct play *p)
{
    pthread_join(p->thread, NULL);
    assert_in_range(p->took_us, 0, p->opts.timeout_ms * MS + LATE_US);
    assert_int_equal(p->status, p->result.status);
    if (p->status != VC_OK)
        assert_int_equal(p->outcome, p->result.outcome);
}

void
play_call(struct play *p)
{
    play_begin(p);
    play_finish(p);
}

/* --- the concurrent call ----------------------------------------------- */

static void *
other_main(void *arg)
{
    struct play *p = arg;
    Suite__EchoRequest request = SUITE__ECHO_REQUEST__INIT;
    struct vc_call_opts opts = VC_CALL_OPTS_INIT;
    void *reply = NULL;

    opts.flags = VC_CALL_NO_RETRY;
    opts.timeout_ms = PLAY_MS;
    request.tag = PLAY_OTHER;
    request.payload.len = p->other_size;
    request.payload.data = (uint8_t *)zeros;
    p->other_status =
        vc_channel_call(p->channel, p->service, ECHO, &request, &opts, &reply);
    vc_message_free(reply);
    return NULL;
}

void
play_other_begin(struct play *p)
{
    pthread_create(&p->other, NULL, other_main, p);
}

void
play_other_end(struct play *p)
{
    sim_tell(&p->go);
    pthread_join(p->other, NULL);
}

/* --- faults ------------------------------------------------------------ */

void
play_cancellable(struct play *p)
{
    assert_int_equal(VC_OK, vc_canceller_new(&p->opts.canceller));
}

void
play_cancel(struct play *p)
{
    vc_cancel(p->opts.canceller);
}

void
play_close_channel(struct play *p)
{
    vc_channel_close(p->channel);
    p->channel = NULL;
}

void
play_kill_server(void *arg)
{
    fake_process_kill(((struct play *)arg)->server.process);
}

void
play_freeze_server(void *arg)
{
    fake_process_freeze(((struct play *)arg)->server.process);
}

void
play_cut_wire(void *arg)
{
    fake_wire_cut(fake_host_local(), ((struct play *)arg)->there, true);
}

/* --- a row ------------------------------------------------------------- */

void
play_setup(struct play *p, const struct row *row, enum play_kind kind,
           uint64_t seed)
{
    *p = (struct play){
        .row = row,
        .kind = kind,
        .server_opts = VC_SERVER_OPTS_INIT,
        .runtime_opts = VC_RUNTIME_OPTS_INIT,
        .channel_opts = VC_CHANNEL_OPTS_INIT,
        .opts = VC_CALL_OPTS_INIT,
        .service = &suite_probe_service,
        .method = ECHO,
        .size = 64,
        .result = VC_RESULT_INIT,
    };
    p->runtime_opts.spin_us = VC_SPIN_NEVER;
    p->opts.flags = VC_CALL_NO_RETRY;
    p->opts.timeout_ms = PLAY_MS;
    p->opts.result = &p->result;
    playing = p;
    sim_begin(seed, 0, true);
    p->here = fake_process_self();
    p->there = fake_host_new("there", "10.9.0.2");
    sim_target("10.9.0.2", p->server.target);
    sim_target("10.9.0.2", p->target);
}

/* Ends all faults, and frees everything. */
void
play_teardown(struct play *p)
{
    struct vc_counters counters = VC_COUNTERS_INIT;

    fake_fail_no_more();
    fake_no_rules();
    sim_tell(&p->go);
    fake_wire_cut(fake_host_local(), p->there, false);
    if (p->server.process != NULL)
        fake_process_thaw(p->server.process);
    vc_channel_close(p->channel);
    if (p->kind == PLAY_LOOP)
        loop_stop(&p->loop);
    vc_async_free(p->handle);
    vc_completions_free(p->queue);
    vc_canceller_free(p->opts.canceller);
    vc_result_clear(&p->result);
    if (p->runtime != NULL)
        vc_runtime_counters(p->runtime, &counters);
    if (sim_counters_fault(&counters) != NULL)
        fail_msg("%s", sim_counters_fault(&counters));
    vc_runtime_free(p->runtime);
    if (atomic_load(&p->drains) != 0)
        assert_true(sim_await(&p->drained, PATIENCE));
    if (p->server.process != NULL)
        assert_true(sim_server_stop(&p->server));
}

static const char *
outcome_name(enum vc_outcome outcome)
{
    static const char *const names[] = {"executed", "not executed", "unknown"};

    return names[outcome];
}

/* True if the reported outcome fits the handler's runs. */
static bool
outcome_is_true(const struct play *p, unsigned runs)
{
    switch (p->outcome) {
    case VC_OUTCOME_EXECUTED:
        return runs == 1;
    case VC_OUTCOME_NOT_EXECUTED:
        return runs == 0;
    default:
        return runs <= 1;
    }
}

static void
play_check(const struct play *p)
{
    unsigned runs = atomic_load(&p->runs);

    if (p->status == p->row->status && p->outcome == p->row->outcome &&
        outcome_is_true(p, runs) && (p->status == VC_OK || p->text[0] != '\0'))
        return;
    if (getenv("TRACE") != NULL)
        fputs(fake_trace(), stderr);
    fail_msg("%s: expected %s, %s; it is %s, %s, after %llu us, its handler "
             "ran %u times: %s (more: TRACE=1)",
             p->row->name, vc_status_name(p->row->status),
             outcome_name(p->row->outcome), vc_status_name(p->status),
             outcome_name(p->outcome), (unsigned long long)p->took_us, runs,
             p->text);
}

static void
row_play(void **state)
{
    const struct row *row = *state;

    for (unsigned kind = 0; kind < PLAY_KINDS; kind++) {
        for (uint64_t seed = 1; seed <= SEEDS; seed++) {
            static struct play p;

            play_setup(&p, row, (enum play_kind)kind, seed);
            row->act(&p);
            play_teardown(&p);
            play_check(&p);
            assert_int_equal(0, fake_end());
        }
    }
}

int
play_rows(const struct row *rows, unsigned n)
{
    static struct CMUnitTest tests[ROWS_MAX];
    static struct row own[ROWS_MAX]; /* cmocka needs non-const data */

    assert_true(n <= ROWS_MAX);
    for (unsigned i = 0; i < n; i++) {
        own[i] = rows[i];
        tests[i] = (struct CMUnitTest){.name = own[i].name,
                                       .test_func = row_play,
                                       .initial_state = &own[i]};
    }
    return _cmocka_run_group_tests("outcomes", tests, n, NULL, NULL);
}
