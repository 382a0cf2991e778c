/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See tests/sim/alive_scene.h. */
#include "tests/sim/alive_scene.h"

/* --- the client -------------------------------------------------------- */

static enum vc_status
channel_open(struct alive_scene *w, struct vc_runtime *runtime,
             struct vc_channel **channel)
{
    struct vc_channel_opts opts = VC_CHANNEL_OPTS_INIT;

    opts.keepalive_ms = w->keepalive_ms;
    return vc_channel_open(runtime, w->target, &opts, channel);
}

static void
client_main(void *arg)
{
    struct alive_scene *w = arg;
    struct vc_runtime *runtime;
    struct vc_channel *channel;

    assert_int_equal(sim_runtime(&runtime, 1), VC_OK);
    if (w->serves_itself)
        assert_int_equal(vc_runtime_start(runtime), VC_OK);
    assert_int_equal(channel_open(w, runtime, &channel), VC_OK);
    if (w->waits)
        assert_int_equal(vc_channel_connect(channel, &suite_probe_service),
                         VC_OK);
    else
        assert_int_equal(sim_echo(channel, 64, 0, 0, NULL), VC_OK);
    fake_sleep_us(w->phase_us);
    for (unsigned i = 0; i < w->chats; i++) {
        assert_int_equal(sim_echo(channel, 64, 0, 0, NULL), VC_OK);
        fake_sleep_us(100 * MS);
    }
    w->first = sim_echo(channel, 64, FIRST, CALL_MS, NULL);
    w->first_ended = fake_now_us();
    atomic_store(&w->called, true);
    sim_await(&w->again, PATIENCE);
    w->second = sim_echo(channel, 64, LATER, CALL_MS, NULL);
    vc_channel_close(channel);
    vc_runtime_free(runtime);
}

/* --- what the test sees ------------------------------------------------ */

static void
on_down(void *arg)
{
    struct alive_scene *w = arg;

    if (w->down == 0)
        w->down = fake_now_us();
}

void
alive_count(void *arg)
{
    ++*(unsigned *)arg;
}

void
alive_begin(struct alive_scene *w, uint64_t seed, unsigned handler_us)
{
    sim_begin(seed, 0, true);
    sim_target("10.9.0.2", w->s.target);
    sim_target("10.9.0.2", w->target);
    w->s.sleep_us = handler_us;
    sim_server_start(&w->s, fake_host_new("there", "10.9.0.2"), 1);
    assert_true(sim_server_await(&w->s));
    w->here = fake_host_new("here", "10.9.0.3");
    fake_when("client: REQ ->", 0, alive_count, &w->requests);
    fake_when(A_PING, 0, alive_count, &w->pings);
    fake_when(": WRITE 0 B", 0, alive_count, &w->probes);
    fake_when("client: DREQ ->", 1, on_down, w);
    fake_when("client: event DISCONNECTED", 1, on_down, w);
    w->client = fake_process_start(w->here, "client", client_main, w);
}

void
alive_await_ran(unsigned tag)
{
    uint64_t until = fake_now_us() + PATIENCE;

    while (atomic_load(&sim_ran[tag]) == 0 && fake_now_us() < until)
        fake_sleep_us(LOOK_US);
    assert_int_not_equal(atomic_load(&sim_ran[tag]), 0);
}

void
alive_await_called(struct alive_scene *w)
{
    uint64_t until = fake_now_us() + PATIENCE;

    while (!atomic_load(&w->called) && fake_now_us() < until)
        fake_sleep_us(LOOK_US);
    if (!atomic_load(&w->called))
        fail_msg("%s\nthe call does not end", fake_trace());
}

void
alive_strike(struct alive_scene *w, enum blow blow)
{
    if (blow == FROZEN)
        fake_process_freeze(w->s.process);
    else if (blow == PORT_DOWN)
        fake_port_set(w->s.host, false);
    else if (blow == WIRE_CUT)
        fake_wire_cut(w->here, w->s.host, true);
    else if (blow == CUT_TO_SERVER)
        fake_path_cut(w->here, w->s.host, true);
    else
        fake_path_cut(w->s.host, w->here, true);
}

void
alive_mend(struct alive_scene *w)
{
    fake_process_thaw(w->s.process);
    fake_port_set(w->s.host, true);
    fake_wire_cut(w->here, w->s.host, false);
}

void
alive_end(struct alive_scene *w)
{
    sim_tell(&w->again);
    if (!fake_process_wait(w->client, PATIENCE))
        fail_msg("%s\nthe client does not end", fake_trace());
    assert_true(sim_server_stop(&w->s));
    assert_int_equal(fake_end(), 0);
}

void
alive_between(uint64_t us, uint64_t least, uint64_t most)
{
    if (us < least || us > most)
        fail_msg("%s\nafter %llu ms", fake_trace(),
                 (unsigned long long)(us / MS));
}
