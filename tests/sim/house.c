/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See tests/sim/house.h. */
#include "tests/sim/house.h"

#include <pthread.h>

#define PATIENCE (100 * S)
#define LOOK_US  200u

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

/* Uses the call before and after the takeover of its engine. */
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

/* Calls another server, or this one, and blocks, in turns. */
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

    assert_int_equal(sim_runtime(&h->runtime, h->threads), VC_OK);
    assert_int_equal(
        vc_channel_open(h->runtime, h->behind_target, NULL, &h->behind), VC_OK);
    assert_int_equal(vc_server_new(h->runtime, NULL, &server), VC_OK);
    assert_int_equal(suite_probe_add(server, &methods, h), VC_OK);
    assert_int_equal(vc_server_listen(server, h->target), VC_OK);
    atomic_store(&h->serves, true);
    sim_await(&h->end, PATIENCE);
    if (h->stops_first)
        vc_runtime_stop(h->runtime);
    vc_server_free(server);
    vc_channel_close(h->behind);
    vc_runtime_free(h->runtime);
}

void
house_begin(struct house *h, uint64_t seed, unsigned switch_every)
{
    struct fake_host *host;

    sim_begin(seed, switch_every, false);
    host = fake_host_new("there", "10.9.0.2");
    if (h->threads == 0)
        h->threads = 1;
    sim_target("10.9.0.2", h->target);
    sim_target(h->nests_at_home ? "10.9.0.2" : "10.9.0.9", h->behind_target);
    h->process = fake_process_start(host, "server", house_main, h);
    while (!atomic_load(&h->serves))
        fake_sleep_us(LOOK_US);
}

void
house_end(struct house *h)
{
    sim_tell(&h->end);
    assert_true(fake_process_wait(h->process, PATIENCE));
}

/* --- clients ----------------------------------------------------------- */

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
    vc_message_free(reply);
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
    pthread_t threads[GUEST_MOST];

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

void
guest_begin(struct guest *g, struct house *h, const char *addr)
{
    g->house = h;
    g->process =
        fake_process_start(fake_host_new(addr, addr), "client", guest_main, g);
}

void
guest_end(struct guest *g)
{
    assert_true(fake_process_wait(g->process, PATIENCE));
}

void
guest_expect_all(const struct guest *g, enum vc_status status)
{
    for (unsigned i = 0; i < g->n; i++)
        assert_int_equal(g->status[i], status);
}

void
house_await_begun(struct house *h, unsigned n)
{
    uint64_t until = fake_now_us() + PATIENCE;

    while (atomic_load(&h->begun) < n && fake_now_us() < until)
        fake_sleep_us(LOOK_US);
    assert_int_equal(atomic_load(&h->begun), n);
}

void
house_call_quickly(struct house *h, unsigned n, uint64_t us)
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
