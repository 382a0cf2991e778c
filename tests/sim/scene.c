/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See tests/sim/scene.h. */
#include "tests/sim/scene.h"

#define PATIENCE 60000000u /* us */

void
scene_sync(void)
{
    static atomic_uint turns;

    atomic_fetch_add(&turns, 1);
}

struct vc_counters
scene_counters(struct vc_runtime *runtime)
{
    struct vc_counters c = VC_COUNTERS_INIT;

    vc_runtime_counters(runtime, &c);
    return c;
}

struct vc_counters
scene_client(struct scene *s)
{
    return scene_counters(s->runtime);
}

struct vc_counters
scene_server(struct scene *s)
{
    return scene_counters(atomic_load(&s->server.runtime));
}

static void
client_main(void *arg)
{
    struct scene *s = arg;
    struct vc_counters last;

    assert_int_equal(sim_runtime(&s->runtime, 1), VC_OK);
    assert_int_equal(
        vc_channel_open(s->runtime, s->server.target, &s->opts, &s->channel),
        VC_OK);
    s->act(s);
    vc_channel_close(s->channel);
    last = scene_client(s);
    if (sim_counters_fault(&last) != NULL)
        fail_msg("client: %s", sim_counters_fault(&last));
    vc_runtime_free(s->runtime);
}

void
scene_run(struct scene *s, uint64_t seed)
{
    struct fake_process *p;

    sim_begin(seed, s->switch_every, true);
    sim_target("10.9.0.2", s->server.target);
    sim_server_start(&s->server, fake_host_new("there", "10.9.0.2"), 1);
    assert_true(sim_server_await(&s->server));
    s->here = fake_host_new("here", "10.9.0.3");
    p = fake_process_start(s->here, "client", client_main, s);
    if (!fake_process_wait(p, PATIENCE))
        fail_msg("the client does not end: %s", fake_trace());
    assert_true(sim_server_stop(&s->server));
    if (sim_counters_fault(&s->server.last) != NULL)
        fail_msg("server: %s", sim_counters_fault(&s->server.last));
    assert_int_equal(fake_end(), 0);
}

void
scene_play(void (*act)(struct scene *s), const struct vc_server_opts *opts)
{
    for (uint64_t seed = 1; seed <= 4; seed++) {
        struct scene s = {.opts = VC_CHANNEL_OPTS_INIT, .act = act};

        s.server.opts = opts;
        scene_run(&s, seed);
    }
}

void
scene_call(struct scene *s, size_t size, unsigned tag)
{
    if (sim_echo(s->channel, size, tag, 0, NULL) != VC_OK)
        fail_msg("%s", vc_error());
}

/* --- orders ------------------------------------------------------------- */

static void (*order)(void);

static void
order_obey(struct sim_server *s)
{
    (void)s;
    scene_sync();
    order();
    scene_sync();
}

void
scene_take_orders(struct sim_server *s)
{
    s->inside = order_obey;
}

void
scene_have_done(struct scene *s, void (*what)(void))
{
    scene_sync();
    order = what;
    scene_sync();
    scene_call(s, 8, 1);
}
