/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Handlers that take long: others are served meanwhile, their clients do not
 * take the server for dead, and it ends in order whenever it ends. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "tests/sim/sim.h"

#define MS       UINT64_C(1000)
#define S        UINT64_C(1000000)
#define PATIENCE (100 * S)
#define LOOK_US  200u
#define SLEEP    2u /* the number of the method */
#define MANY     40u
#define MOST     400u
/* What a handler may delay others by (include/verbcall/server.h), and what a
 * call takes beside that, connecting included. */
#define SOON_US  100u
#define DELAY_US 1000u
#define CALL_US  300u
/* Where threads are left standing for up to 2 ms, now and then. */
#define STALLS_US 5000u
/* From one look at the handlers to the next. */
#define LOOKS_US 1000u
#define PHASES   25u
/* More than that the runtime does not start: include/verbcall/runtime.h */
#define SPARES 256u
/* One of them is left for quick handlers; and a client has seven times as many
 * as are left, at most. */
#define SHARE_FIRST  223u /* of the first client */
#define SHARE_SECOND 28u
#define SHARE_THIRD  3u
#define SHARE_FOURTH 1u
#define SHARE_OF_TWO 118u /* of each of two, at least */

/* The server; its handlers find it by arg. */
struct house {
    unsigned engines, threads;
    bool stops_first; /* the threads end before the server does */
    bool nests_at_home;
    char target[80];
    struct fake_process *process;
    struct vc_runtime *runtime;
    struct vc_channel *behind; /* what the handler of Count calls */
    char behind_target[80];
    atomic_bool serves;
    atomic_uint end;
    atomic_uint begun, ended; /* handlers of Sleep */
    uint64_t begun_at[2];     /* the first of them */
};

static enum vc_status
on_echo(struct vc_call *call, const Suite__EchoRequest *request,
        Suite__EchoReply *reply, void *arg)
{
    (void)call;
    (void)arg;
    atomic_fetch_add(&sim_ran[request->tag % SIM_TAGS], 1);
    reply->tag = request->tag;
    reply->payload = request->payload;
    return VC_OK;
}

/* Uses the call on both sides of the taking over. */
static enum vc_status
on_sleep(struct vc_call *call, const Suite__SleepRequest *request,
         Suite__SleepReply *reply, void *arg)
{
    struct house *h = arg;
    char *text = vc_call_sprintf(call, "%u ms", request->milliseconds);
    unsigned n = atomic_fetch_add(&h->begun, 1);

    if (n < 2)
        h->begun_at[n] = fake_now_us();
    fake_sleep_us(request->milliseconds * MS);
    atomic_fetch_add(&h->ended, 1);
    reply->deadline_us = vc_call_deadline_us(call);
    if (request->milliseconds % 2 != 0)
        return vc_call_fail(call, VC_ABORTED, "slept %s", text);
    return VC_OK;
}

/* Blocks, and then calls another server, or this one. */
static enum vc_status
on_count(struct vc_call *call, const Suite__Empty *request,
         Suite__CountReply *reply, void *arg)
{
    struct house *h = arg;

    (void)call;
    (void)request;
    for (unsigned i = 0; i < 4; i++) {
        if (sim_echo(h->behind, 64, 7, 0, NULL) != VC_OK)
            return VC_INTERNAL;
        fake_sleep_us(i % 2 * 5 * MS);
    }
    reply->calls = 4;
    return VC_OK;
}

static void
house_main(void *arg)
{
    const struct suite_probe_methods methods = {
        .echo = on_echo, .sleep = on_sleep, .count = on_count};
    struct house *h = arg;
    struct vc_server *server;

    assert_int_equal(sim_runtime(&h->runtime, h->engines), VC_OK);
    assert_int_equal(
        vc_channel_open(h->runtime, h->behind_target, NULL, &h->behind), VC_OK);
    assert_int_equal(vc_server_new(h->runtime, NULL, &server), VC_OK);
    assert_int_equal(suite_probe_add(server, &methods, h), VC_OK);
    assert_int_equal(vc_server_listen(server, h->target), VC_OK);
    assert_int_equal(vc_runtime_start(h->runtime, h->threads), VC_OK);
    atomic_store(&h->serves, true);
    sim_await(&h->end, PATIENCE);
    if (h->stops_first)
        vc_runtime_stop(h->runtime);
    vc_server_close(server);
    vc_channel_close(h->behind);
    vc_runtime_free(h->runtime);
}

static void
house_begin(struct house *h, uint64_t seed, unsigned switch_every)
{
    struct fake_host *host;

    sim_begin(seed, switch_every, false);
    host = fake_host_new("there", "10.9.0.2");
    if (h->engines == 0)
        h->engines = h->threads = 1;
    sim_target("10.9.0.2", h->target);
    sim_target(h->nests_at_home ? "10.9.0.2" : "10.9.0.9", h->behind_target);
    h->process = fake_process_start(host, "server", house_main, h);
    while (!atomic_load(&h->serves))
        fake_sleep_us(LOOK_US);
}

static void
house_end(struct house *h)
{
    sim_tell(&h->end);
    assert_true(fake_process_wait(h->process, PATIENCE));
}

/* --- clients ----------------------------------------------------------- */

/* A client of n threads, which call as soon as it has connected. */
struct guest {
    struct house *house;
    struct vc_channel *channel;
    struct fake_process *process;
    unsigned n, block_ms;
    bool counts;       /* calls Count */
    uint32_t phase_us; /* from a call that wakes the server to the others */
    atomic_uint next;
    enum vc_status status[MOST];
    uint64_t took[MOST];
};

static enum vc_status
guest_call(struct guest *g)
{
    struct vc_call_opts opts = VC_CALL_OPTS_INIT;
    Suite__SleepRequest request = SUITE__SLEEP_REQUEST__INIT;
    Suite__Empty nothing = SUITE__EMPTY__INIT;
    void *reply = NULL;
    enum vc_status status;

    opts.timeout_ms = 60000;
    request.milliseconds = g->block_ms;
    if (g->counts)
        status = suite_probe_count(g->channel, &nothing, &opts,
                                   (Suite__CountReply **)&reply);
    else
        status = suite_probe_sleep(g->channel, &request, &opts,
                                   (Suite__SleepReply **)&reply);
    vc_reply_free(reply);
    return status;
}

static void *
guest_thread(void *arg)
{
    struct guest *g = arg;
    unsigned i = atomic_fetch_add(&g->next, 1);
    uint64_t start = fake_now_us();

    g->status[i] = guest_call(g);
    g->took[i] = fake_now_us() - start;
    return NULL;
}

static void
guest_main(void *arg)
{
    struct guest *g = arg;
    struct vc_runtime *runtime;
    pthread_t threads[MOST];

    assert_int_equal(sim_runtime(&runtime, 1), VC_OK);
    assert_int_equal(
        vc_channel_open(runtime, g->house->target, NULL, &g->channel), VC_OK);
    if (g->phase_us > 0) {
        assert_int_equal(sim_echo(g->channel, 64, 1, 0, NULL), VC_OK);
        fake_sleep_us(g->phase_us);
    }
    for (unsigned i = 0; i < g->n; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, guest_thread, g), 0);
    for (unsigned i = 0; i < g->n; i++)
        pthread_join(threads[i], NULL);
    vc_channel_close(g->channel);
    vc_runtime_free(runtime);
}

static void
guest_begin(struct guest *g, struct house *h, const char *addr)
{
    g->house = h;
    g->process =
        fake_process_start(fake_host_new(addr, addr), "client", guest_main, g);
}

static void
guest_end(struct guest *g)
{
    assert_true(fake_process_wait(g->process, PATIENCE));
}

static void
expect_all(const struct guest *g, enum vc_status status)
{
    for (unsigned i = 0; i < g->n; i++)
        assert_int_equal(g->status[i], status);
}

static void
await_begun(struct house *h, unsigned n)
{
    uint64_t until = fake_now_us() + PATIENCE;

    while (atomic_load(&h->begun) < n && fake_now_us() < until)
        fake_sleep_us(LOOK_US);
    assert_int_equal(atomic_load(&h->begun), n);
}

/* n quick calls from here, of which none takes longer than us. */
static void
call_quickly(struct house *h, unsigned n, uint64_t us)
{
    struct vc_runtime *runtime;
    struct vc_channel *channel;

    assert_int_equal(sim_runtime(&runtime, 1), VC_OK);
    assert_int_equal(vc_channel_open(runtime, h->target, NULL, &channel),
                     VC_OK);
    assert_int_equal(vc_channel_connect(channel, &suite_probe_service), VC_OK);
    for (unsigned i = 0; i < n; i++) {
        uint64_t start = fake_now_us();

        assert_int_equal(sim_echo(channel, 64, 1, 0, NULL), VC_OK);
        assert_in_range(fake_now_us() - start, 0, us);
        fake_sleep_us(7 * MS);
    }
    vc_channel_close(channel);
    vc_runtime_free(runtime);
}

/* --- what is expected -------------------------------------------------- */

static void
a_long_handler_keeps_its_client_and_delays_no_other(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 10; seed++) {
        struct house h = {.engines = 1 + (unsigned)seed % 2,
                          .threads = 1 + (unsigned)seed % 3};
        struct guest g = {.n = 1, .block_ms = 5000};

        h.threads = h.threads < h.engines ? h.engines : h.threads;
        house_begin(&h, seed, 0);
        guest_begin(&g, &h, "10.9.0.3");
        await_begun(&h, 1);
        call_quickly(&h, 20, DELAY_US);
        assert_int_equal(atomic_load(&h.ended), 0);
        guest_end(&g);
        expect_all(&g, VC_OK);
        assert_in_range(g.took[0], 5000 * MS, 5000 * MS + DELAY_US + CALL_US);
        house_end(&h);
        assert_int_equal(fake_end(), 0);
    }
}

/* How long the second of two calls that come together waits for the first. */
static uint64_t
delay_of(unsigned phase)
{
    struct house h = {0};
    struct guest g = {.n = 2,
                      .block_ms = 30,
                      .phase_us = LOOKS_US + phase * LOOKS_US / PHASES};

    house_begin(&h, phase + 1, 0);
    guest_begin(&g, &h, "10.9.0.3");
    await_begun(&h, 2);
    assert_int_equal(atomic_load(&h.ended), 0);
    guest_end(&g);
    expect_all(&g, VC_OK);
    assert_in_range(g.took[0], 30 * MS, 30 * MS + DELAY_US + CALL_US);
    assert_in_range(g.took[1], 30 * MS, 30 * MS + DELAY_US + CALL_US);
    house_end(&h);
    assert_int_equal(fake_end(), 0);
    return h.begun_at[1] - h.begun_at[0];
}

/* At whatever moment between two looks it comes. */
static void
a_call_that_is_there_when_a_handler_begins_waits_a_millisecond(void **state)
{
    uint64_t least = UINT64_MAX, most = 0;

    (void)state;
    for (unsigned phase = 0; phase < PHASES; phase++) {
        uint64_t us = delay_of(phase);

        assert_in_range(us, SOON_US, DELAY_US);
        least = us < least ? us : least;
        most = us > most ? us : most;
    }
    /* Just before a look, and just behind it. */
    assert_in_range(least, SOON_US, SOON_US + 2 * LOOKS_US / PHASES);
    assert_in_range(most, DELAY_US - 2 * LOOKS_US / PHASES, DELAY_US);
}

static void
many_handlers_block_at_once(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 6; seed++) {
        struct house h = {.engines = 2, .threads = 2};
        struct guest a = {.n = MANY, .block_ms = 2000};
        struct guest b = {.n = MANY, .block_ms = 1001};

        house_begin(&h, seed, seed % 2 == 0 ? 4 : 0);
        guest_begin(&a, &h, "10.9.0.3");
        guest_begin(&b, &h, "10.9.0.4");
        await_begun(&h, 2 * MANY);
        guest_end(&a);
        guest_end(&b);
        expect_all(&a, VC_OK);
        expect_all(&b, VC_ABORTED);
        house_end(&h);
        assert_int_equal(fake_end(), 0);
    }
}

/* From the first takeover on they begin at once: all have slept at once when
 * little more time has passed than one takes. */
static void
handlers_that_block_begin_at_once(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 6; seed++) {
        struct house h = {.engines = 1 + (unsigned)seed % 2,
                          .threads = 1 + (unsigned)seed % 2};
        struct guest g = {.n = MANY, .block_ms = 20};

        house_begin(&h, seed, 0);
        guest_begin(&g, &h, "10.9.0.3");
        guest_end(&g);
        expect_all(&g, VC_OK);
        for (unsigned i = 0; i < MANY; i++)
            assert_in_range(g.took[i], 20 * MS, 20 * MS + 5 * DELAY_US);
        house_end(&h);
        assert_int_equal(fake_end(), 0);
    }
}

/* Beside many that block a quick one waits for none of them. */
static void
a_quick_call_beside_handlers_that_block_is_not_delayed(void **state)
{
    struct house h = {0};
    struct guest g = {.n = MANY, .block_ms = 400};

    (void)state;
    house_begin(&h, 1, 0);
    guest_begin(&g, &h, "10.9.0.3");
    await_begun(&h, MANY);
    call_quickly(&h, 20, CALL_US);
    assert_int_equal(0, atomic_load(&h.ended));
    guest_end(&g);
    expect_all(&g, VC_OK);
    house_end(&h);
    assert_int_equal(fake_end(), 0);
}

static void
without_threads_left_handlers_wait_and_the_server_lives(void **state)
{
    struct house h = {0};
    struct guest a = {.n = MOST / 2, .block_ms = 3000};
    struct guest b = {.n = MOST / 2, .block_ms = 3000};

    (void)state;
    house_begin(&h, 1, 0);
    guest_begin(&a, &h, "10.9.0.3");
    guest_begin(&b, &h, "10.9.0.4");
    fake_sleep_us(2 * S);
    assert_in_range(atomic_load(&h.begun), 2 * SHARE_OF_TWO, SPARES - 1);
    call_quickly(&h, 5, DELAY_US);
    guest_end(&a);
    guest_end(&b);
    expect_all(&a, VC_OK);
    expect_all(&b, VC_OK);
    assert_int_equal(atomic_load(&h.ended), MOST);
    house_end(&h);
    assert_int_equal(fake_end(), 0);
}

/* n calls of Sleep from here, for which there is no thread: they are shed long
 * before their deadline, or cancelled. */
static void
give_up_behind(struct guest *g, unsigned n, uint32_t timeout_ms)
{
    Suite__SleepRequest request = SUITE__SLEEP_REQUEST__INIT;
    struct vc_call_opts opts = VC_CALL_OPTS_INIT;
    struct vc_completions *queue;
    struct vc_async *calls[MANY];
    struct vc_channel *channel;
    struct vc_runtime *runtime;
    struct vc_completion end;

    opts.timeout_ms = timeout_ms;
    opts.flags = VC_CALL_NO_RETRY;
    assert_int_equal(sim_runtime(&runtime, 1), VC_OK);
    assert_int_equal(vc_runtime_start(runtime, 1), VC_OK);
    assert_int_equal(vc_channel_open(runtime, g->house->target, NULL, &channel),
                     VC_OK);
    assert_int_equal(vc_completions_new(runtime, &queue), VC_OK);
    for (unsigned i = 0; i < n; i++)
        assert_int_equal(vc_channel_call_queued(channel, &suite_probe_service,
                                                SLEEP, &request, &opts, queue,
                                                NULL, &calls[i]),
                         VC_OK);
    fake_sleep_us(S);
    for (unsigned i = 0; i < n; i++) {
        vc_async_cancel(calls[i]); /* does nothing when it has ended */
        vc_async_free(calls[i]);
    }
    for (unsigned i = 0; i < n; i++) {
        assert_int_equal(vc_completions_next(queue, 10000, &end), VC_OK);
        assert_int_equal(end.status, timeout_ms == VC_NO_DEADLINE
                                         ? VC_CANCELLED
                                         : VC_RESOURCE_EXHAUSTED);
        if (end.status == VC_RESOURCE_EXHAUSTED)
            assert_int_equal(end.outcome, VC_OUTCOME_NOT_EXECUTED);
    }
    fake_sleep_us(S); /* the CANCELs arrive */
    vc_completions_free(queue);
    vc_channel_close(channel);
    vc_runtime_free(runtime);
}

/* Four clients take all threads. */
static void
fill(struct house *h, struct guest *g)
{
    static const char *const addrs[] = {"10.9.0.3", "10.9.0.4", "10.9.0.5",
                                        "10.9.0.6"};
    unsigned begun = 0;

    for (unsigned k = 0; k < 4; k++) {
        guest_begin(&g[k], h, addrs[k]);
        await_begun(h, begun += g[k].n);
    }
    assert_int_equal(begun, SPARES - 1);
}

static void
handlers_that_wait_for_a_thread_and_are_given_up_do_not_run(void **state)
{
    static const uint32_t timeouts[] = {500, VC_NO_DEADLINE};

    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        struct house h = {0};
        struct guest g[] = {{.n = SHARE_FIRST, .block_ms = 8000},
                            {.n = SHARE_SECOND, .block_ms = 8000},
                            {.n = SHARE_THIRD, .block_ms = 8000},
                            {.n = SHARE_FOURTH, .block_ms = 8000}};

        house_begin(&h, 1, 0);
        fill(&h, g);
        give_up_behind(g, MANY, timeouts[i]);
        for (unsigned k = 0; k < 4; k++) {
            guest_end(&g[k]);
            expect_all(&g[k], VC_OK);
        }
        call_quickly(&h, 5, DELAY_US);
        assert_int_equal(atomic_load(&h.begun), SPARES - 1);
        house_end(&h);
        assert_int_equal(fake_end(), 0);
    }
}

/* A client whose handlers never end leaves threads to others: theirs that block
 * begin at once. */
static void
a_client_with_all_that_it_may_leaves_threads_to_others(void **state)
{
    struct house h = {0};
    struct guest hog = {.n = SPARES + 44, .block_ms = 12000};
    struct guest polite = {.n = 20, .block_ms = 20};

    (void)state;
    house_begin(&h, 1, 0);
    guest_begin(&hog, &h, "10.9.0.3");
    await_begun(&h, SHARE_FIRST);
    guest_begin(&polite, &h, "10.9.0.4");
    guest_end(&polite);
    expect_all(&polite, VC_OK);
    for (unsigned i = 0; i < polite.n; i++)
        assert_in_range(polite.took[i], 20 * MS, 20 * MS + DELAY_US + CALL_US);
    assert_int_equal(atomic_load(&h.begun), SHARE_FIRST + polite.n);
    assert_int_equal(atomic_load(&h.ended), polite.n);
    guest_end(&hog);
    house_end(&h);
    assert_int_equal(fake_end(), 0);
}

static void
a_server_is_closed_while_handlers_block(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct house h = {.engines = 1 + (unsigned)seed % 2,
                          .threads = 2,
                          .stops_first = seed % 4 > 1};
        struct guest g = {.n = 3, .block_ms = 3000};

        house_begin(&h, seed, seed % 3 == 0 ? 8 : 0);
        guest_begin(&g, &h, "10.9.0.3");
        await_begun(&h, 3);
        fake_sleep_us(seed * 37); /* before and after they are taken over */
        house_end(&h);
        assert_int_equal(atomic_load(&h.ended), 3);
        guest_end(&g);
        assert_int_equal(fake_end(), 0);
    }
}

static void
a_client_is_killed_while_handlers_block(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct house h = {0};
        struct guest g = {.n = 3, .block_ms = seed % 2 == 0 ? 3000 : 15000};

        house_begin(&h, seed, seed % 3 == 0 ? 8 : 0);
        guest_begin(&g, &h, "10.9.0.3");
        await_begun(&h, 3);
        fake_process_kill(g.process);
        call_quickly(&h, 5, seed % 3 == 0 ? STALLS_US : DELAY_US);
        if (seed % 4 < 2)
            fake_sleep_us(16 * S); /* the peer is forgotten meanwhile */
        house_end(&h);
        assert_int_equal(atomic_load(&h.ended), 3);
        assert_int_equal(fake_end(), 0);
    }
}

static void
a_handler_calls_before_and_after_it_was_taken_over(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        struct house h = {.engines = 1 + (unsigned)seed % 2,
                          .threads = 2,
                          .nests_at_home = seed % 4 > 1};
        struct sim_server behind = {.sleep_us = seed % 3 == 0 ? 3000 : 0};
        struct guest g = {.n = 5, .counts = true};

        house_begin(&h, seed, seed % 3 == 0 ? 8 : 0);
        sim_target("10.9.0.9", behind.target);
        sim_server_start(&behind, fake_host_new("behind", "10.9.0.9"), 1);
        assert_true(sim_server_await(&behind));
        guest_begin(&g, &h, "10.9.0.3");
        guest_end(&g);
        expect_all(&g, VC_OK);
        house_end(&h);
        assert_true(sim_server_stop(&behind));
        assert_int_equal(fake_end(), 0);
    }
}

/* The watcher rests: an hour of nothing has no steps. */
static void
an_idle_server_does_nothing(void **state)
{
    struct house h = {0};
    uint64_t steps;

    (void)state;
    house_begin(&h, 1, 0);
    call_quickly(&h, 2, DELAY_US);
    fake_sleep_us(S);
    steps = fake_steps();
    fake_sleep_us(60 * S);
    assert_in_range(fake_steps() - steps, 0, 100);
    house_end(&h);
    assert_int_equal(fake_end(), 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_long_handler_keeps_its_client_and_delays_no_other),
        cmocka_unit_test(
            a_call_that_is_there_when_a_handler_begins_waits_a_millisecond),
        cmocka_unit_test(many_handlers_block_at_once),
        cmocka_unit_test(handlers_that_block_begin_at_once),
        cmocka_unit_test(
            a_quick_call_beside_handlers_that_block_is_not_delayed),
        cmocka_unit_test(
            without_threads_left_handlers_wait_and_the_server_lives),
        cmocka_unit_test(
            handlers_that_wait_for_a_thread_and_are_given_up_do_not_run),
        cmocka_unit_test(
            a_client_with_all_that_it_may_leaves_threads_to_others),
        cmocka_unit_test(a_server_is_closed_while_handlers_block),
        cmocka_unit_test(a_client_is_killed_while_handlers_block),
        cmocka_unit_test(a_handler_calls_before_and_after_it_was_taken_over),
        cmocka_unit_test(an_idle_server_does_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
