/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * How soon a dead peer is detected, and that no live peer is taken for dead,
 * also while a network holds packets or delivers them twice. */
#include <stdio.h>
#include <string.h>

#include "tests/sim/sim.h"

/* At the end of a scene: a CLOSE, and the answer, are as long as a PING. */
#define CLOSING  2
#define S        UINT64_C(1000000) /* us */
#define MS       UINT64_C(1000)
#define PATIENCE (300 * S)
#define LOOK_US  1000u
#define PHASES   9u
#define CALL_MS  5000u
#define FIRST    1u /* tags of calls */
#define LATER    2u

/* The packet of a PING, by its length: no request or reply here has 36
 * bytes. */
#define A_PING ": SEND 36 B"

enum blow {
    FROZEN, /* of the server */
    PORT_DOWN,
    WIRE_CUT,
    CUT_TO_CLIENT, /* in this direction only */
    CUT_TO_SERVER,
    BLOWS
};

struct scene {
    struct sim_server s;
    char target[80];
    struct fake_host *here;
    struct fake_process *client;
    uint32_t keepalive_ms; /* the client's */
    bool serves_itself;    /* a library thread advances the client */
    bool waits;            /* it connects, but makes no call before phase_us */
    uint64_t phase_us;     /* from connecting to the first call */
    unsigned chats;        /* calls before that, 100 ms apart */

    atomic_bool called; /* the first call has ended */
    enum vc_status first, second;
    uint64_t first_ended, down;
    atomic_uint again; /* set: the client makes the second call */
    unsigned requests, pings, probes;
};

/* --- the client -------------------------------------------------------- */

static enum vc_status
channel_open(struct scene *w, struct vc_runtime *runtime,
             struct vc_channel **channel)
{
    struct vc_channel_opts opts = VC_CHANNEL_OPTS_INIT;

    opts.keepalive_ms = w->keepalive_ms;
    return vc_channel_open(runtime, w->target, &opts, channel);
}

static void
client_main(void *arg)
{
    struct scene *w = arg;
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
    struct scene *w = arg;

    if (w->down == 0)
        w->down = fake_now_us();
}

static void
count(void *arg)
{
    ++*(unsigned *)arg;
}

/* The handlers take handler_us microseconds. */
static void
scene_begin(struct scene *w, uint64_t seed, unsigned handler_us)
{
    sim_begin(seed, 0, true);
    sim_target("10.9.0.2", w->s.target);
    sim_target("10.9.0.2", w->target);
    w->s.sleep_us = handler_us;
    sim_server_start(&w->s, fake_host_new("there", "10.9.0.2"), 1);
    assert_true(sim_server_await(&w->s));
    w->here = fake_host_new("here", "10.9.0.3");
    fake_when("client: REQ ->", 0, count, &w->requests);
    fake_when(A_PING, 0, count, &w->pings);
    fake_when(": WRITE 0 B", 0, count, &w->probes);
    fake_when("client: DREQ ->", 1, on_down, w);
    fake_when("client: event DISCONNECTED", 1, on_down, w);
    w->client = fake_process_start(w->here, "client", client_main, w);
}

static void
await_ran(unsigned tag)
{
    uint64_t until = fake_now_us() + PATIENCE;

    while (atomic_load(&sim_ran[tag]) == 0 && fake_now_us() < until)
        fake_sleep_us(LOOK_US);
    assert_int_not_equal(atomic_load(&sim_ran[tag]), 0);
}

static void
await_called(struct scene *w)
{
    uint64_t until = fake_now_us() + PATIENCE;

    while (!atomic_load(&w->called) && fake_now_us() < until)
        fake_sleep_us(LOOK_US);
    if (!atomic_load(&w->called))
        fail_msg("%s\nthe call does not end", fake_trace());
}

static void
strike(struct scene *w, enum blow blow)
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

static void
mend(struct scene *w)
{
    fake_process_thaw(w->s.process);
    fake_port_set(w->s.host, true);
    fake_wire_cut(w->here, w->s.host, false);
}

/* Has the second call made, and ends the world. */
static void
scene_end(struct scene *w)
{
    sim_tell(&w->again);
    if (!fake_process_wait(w->client, PATIENCE))
        fail_msg("%s\nthe client does not end", fake_trace());
    assert_true(sim_server_stop(&w->s));
    assert_int_equal(fake_end(), 0);
}

static void
expect_between(uint64_t us, uint64_t least, uint64_t most)
{
    if (us < least || us > most)
        fail_msg("%s\nafter %llu ms", fake_trace(),
                 (unsigned long long)(us / MS));
}

/* --- dead peers -------------------------------------------------------- */

static void
a_dead_server_is_found_within_a_second_of_a_call(void **state)
{
    static const uint64_t least[] = {
        [FROZEN] = 600 * MS,        [PORT_DOWN] = 400 * MS,
        [WIRE_CUT] = 400 * MS,      [CUT_TO_CLIENT] = 400 * MS,
        [CUT_TO_SERVER] = 100 * MS,
    };

    (void)state;
    for (enum blow blow = FROZEN; blow < BLOWS; blow++) {
        for (unsigned phase = 0; phase < PHASES; phase++) {
            struct scene w = {.serves_itself = phase % 3 == 0,
                              .phase_us = phase * 77 * MS};
            uint64_t struck;

            scene_begin(&w, phase + 1, 200 * MS);
            /* Not where the reply shall arrive: the server's probe may end the
             * link before. */
            fake_device_drops_empty(w.here,
                                    phase % 2 == 0 && blow != CUT_TO_SERVER);
            await_ran(FIRST);
            struck = fake_now_us();
            strike(&w, blow);
            await_called(&w);

            /* A reply arrives that is not acknowledged. */
            assert_int_equal(w.first,
                             blow == CUT_TO_SERVER ? VC_OK : VC_UNAVAILABLE);
            expect_between(w.first_ended - struck, least[blow],
                           blow == FROZEN ? 1200 * MS : 2000 * MS);
            mend(&w);
            scene_end(&w);
            assert_int_equal(w.second, VC_OK);
            assert_int_equal(atomic_load(&sim_ran[FIRST]), 1);
        }
    }
}

static void
a_dead_server_is_found_within_three_seconds_without_calls(void **state)
{
    static const uint64_t least[] = {
        [FROZEN] = 950 * MS,        [PORT_DOWN] = 400 * MS,
        [WIRE_CUT] = 400 * MS,      [CUT_TO_SERVER] = 400 * MS,
        [CUT_TO_CLIENT] = 400 * MS,
    };

    (void)state;
    for (enum blow blow = FROZEN; blow < BLOWS; blow++) {
        for (unsigned phase = 0; phase < PHASES; phase++) {
            struct scene w = {.serves_itself = true};
            uint64_t struck;

            scene_begin(&w, phase + 1, 0);
            await_called(&w);
            fake_sleep_us(2 * S + phase * 177 * MS);
            struck = fake_now_us();
            assert_int_equal(w.down, 0);
            strike(&w, blow);
            fake_sleep_us(4 * S);

            expect_between(w.down - struck, least[blow], 3 * S + 50 * MS);
            mend(&w);
            scene_end(&w);
            assert_int_equal(w.second, VC_OK);
        }
    }
}

/* The client has no call under way; the server's adapter probes the
 * client's. */
static void
a_server_finds_a_client_that_the_network_lost(void **state)
{
    struct scene w = {.serves_itself = false};
    uint64_t until;
    unsigned left = 0;

    (void)state;
    scene_begin(&w, 3, 0);
    await_called(&w);
    fake_when("server: DREQ ->", 1, count, &left);
    fake_wire_cut(w.here, w.s.host, true);
    until = fake_now_us() + 3 * S;
    while (left == 0 && fake_now_us() < until)
        fake_sleep_us(LOOK_US);
    assert_int_equal(left, 1);
    mend(&w);
    scene_end(&w);
}

/* --- live peers -------------------------------------------------------- */

static void
a_client_that_does_not_poll_is_not_thrown_out(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed < 5; seed++) {
        struct scene w = {.serves_itself = false};

        scene_begin(&w, seed, 0);
        await_called(&w);
        fake_sleep_us(60 * S);
        scene_end(&w);
        assert_int_equal(w.second, VC_OK);
        assert_int_equal(w.requests, 1);
        assert_in_range(w.probes, 20, 120);
        assert_int_equal(w.pings, CLOSING);
    }
}

static void
an_idle_link_lives_as_long_as_both_ends(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed < 5; seed++) {
        struct scene w = {.serves_itself = true};

        scene_begin(&w, seed, 0);
        await_called(&w);
        fake_sleep_us(60 * S);
        scene_end(&w);
        assert_int_equal(w.second, VC_OK);
        assert_int_equal(w.requests, 1);
        assert_in_range(w.pings, 30, 130); /* with their answers */
    }
}

/* The client's clock has jumped, with or without a PING in flight. */
static void
a_client_that_was_stopped_does_not_take_its_server_for_dead(void **state)
{
    (void)state;
    for (unsigned phase = 0; phase < PHASES; phase++) {
        struct scene w = {.serves_itself = phase % 2 == 0};

        scene_begin(&w, phase + 1, 700 * MS);
        await_ran(FIRST);
        fake_sleep_us(phase * 77 * MS);
        fake_process_freeze(w.client);
        fake_sleep_us(4 * S);
        fake_process_thaw(w.client);
        await_called(&w);

        assert_int_equal(w.first, VC_OK);
        scene_end(&w);
        assert_int_equal(w.second, VC_OK);
        assert_int_equal(w.requests, 1);
    }
}

/* Both machines were suspended, so the time that passed says nothing about
 * either peer. */
static void
two_ends_that_were_stopped_live_on(void **state)
{
    (void)state;
    for (unsigned phase = 0; phase < PHASES; phase++) {
        struct scene w = {.serves_itself = phase % 2 == 0};

        scene_begin(&w, phase + 1, 10 * MS);
        await_ran(FIRST);
        fake_process_freeze(w.s.process);
        fake_sleep_us(phase * 77 * MS); /* until a PING is in flight */
        fake_process_freeze(w.client);
        fake_sleep_us(3 * S);
        fake_process_thaw(w.client);
        fake_sleep_us(20 * MS);
        fake_process_thaw(w.s.process);
        await_called(&w);

        assert_int_equal(w.first, VC_OK);
        scene_end(&w);
        assert_int_equal(w.second, VC_OK);
        assert_int_equal(w.requests, 1);
    }
}

/* The server's process gets no PING, and the client's adapter no probe by the
 * server: each packet shows that both are alive. */
static void
who_is_heard_of_is_not_asked(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed < 5; seed++) {
        struct scene w = {.serves_itself = true, .chats = 100};

        scene_begin(&w, seed, 0);
        await_called(&w);
        assert_int_equal(w.first, VC_OK);
        assert_int_equal(w.pings, 0);
        assert_int_equal(w.probes, 0);
        scene_end(&w);
        assert_int_equal(w.second, VC_OK);
    }
}

/* The first packet of a link is sent this long after connecting at most. */
#define GREETING_US (10 * MS)

/* The first packet is a PING. Without it the server would close the link after
 * 2 s, and the call would need another link. */
static void
a_link_without_a_call_yet_is_greeted_and_asked_as_others(void **state)
{
    (void)state;
    for (unsigned phase = 0; phase < PHASES; phase++) {
        struct scene w = {.serves_itself = true,
                          .waits = true,
                          .phase_us = 5500 * MS + phase * 177 * MS};
        uint64_t until;

        scene_begin(&w, phase + 1, 0);
        until = fake_now_us() + PATIENCE;
        while (w.requests == 0 && fake_now_us() < until)
            fake_sleep_us(LOOK_US);
        fake_sleep_us(GREETING_US);
        assert_int_equal(w.pings, 2); /* with its answer */
        await_called(&w);
        assert_int_equal(w.first, VC_OK);
        assert_in_range(w.pings, 2 + 2 * 2, 2 + 2 * 4);
        scene_end(&w);
        assert_int_equal(w.second, VC_OK);
        assert_int_equal(w.requests, 1);
    }
}

/* --- poor networks ----------------------------------------------------- */

/* Adapters try for longer than 300 ms. */
static void
a_short_clog_costs_time_and_nothing_else(void **state)
{
    (void)state;
    for (unsigned phase = 0; phase < 2 * PHASES; phase++) {
        struct scene w = {.serves_itself = phase % 3 == 0,
                          .chats = 10,
                          .phase_us = phase * 7 * MS};
        struct fake_host *from, *to;
        struct fake_path_counts c;

        scene_begin(&w, phase + 1, 20 * MS);
        from = phase % 2 == 0 ? w.here : w.s.host;
        to = phase % 2 == 0 ? w.s.host : w.here;
        await_ran(0);
        fake_sleep_us(phase * 11 * MS);
        fake_path_clog(from, to, true);
        fake_sleep_us(300 * MS);
        fake_path_clog(from, to, false);
        await_called(&w);
        assert_int_equal(w.first, VC_OK);
        fake_path_count(from, to, &c);
        assert_in_range(c.held, 1, 100);
        scene_end(&w);
        assert_int_equal(w.second, VC_OK);
        assert_int_equal(w.requests, 1);
        assert_int_equal(atomic_load(&sim_ran[0]), 1 + w.chats);
        assert_int_equal(atomic_load(&sim_ran[FIRST]), 1);
    }
}

/* The request reaches the server after its client has given the link up. */
static void
a_request_held_for_too_long_runs_once_at_most(void **state)
{
    unsigned late = 0;

    (void)state;
    for (unsigned phase = 0; phase < PHASES; phase++) {
        struct scene w = {.serves_itself = phase % 3 == 0,
                          .phase_us = 300 * MS + phase * 77 * MS};

        scene_begin(&w, phase + 1, 0);
        await_ran(0);
        fake_sleep_us(250 * MS);
        fake_path_clog(w.here, w.s.host, true);
        fake_rule("client: DREQ ->", 1, FAKE_LOSE, 0);
        await_called(&w);
        assert_int_equal(w.first, VC_UNAVAILABLE);
        assert_int_equal(atomic_load(&sim_ran[FIRST]), 0);
        fake_path_clog(w.here, w.s.host, false);
        scene_end(&w);
        assert_int_equal(w.second, VC_OK);
        assert_in_range(atomic_load(&sim_ran[FIRST]), 0, 1);
        late += atomic_load(&sim_ran[FIRST]);
    }
    assert_in_range(late, 1, PHASES);
}

static void
packets_that_arrive_twice_are_handled_once(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= PHASES; seed++) {
        struct scene w = {.serves_itself = seed % 2 == 0, .chats = 20};
        struct fake_path_counts c;

        scene_begin(&w, seed, 0);
        fake_path_duplicate(w.here, w.s.host, 1 + (unsigned)seed % 3);
        fake_path_duplicate(w.s.host, w.here, 1 + (unsigned)seed % 2);
        await_called(&w);
        assert_int_equal(w.first, VC_OK);
        scene_end(&w);
        assert_int_equal(w.second, VC_OK);
        assert_int_equal(w.requests, 1);
        assert_int_equal(atomic_load(&sim_ran[0]), 1 + w.chats);
        assert_int_equal(atomic_load(&sim_ran[FIRST]), 1);
        assert_int_equal(atomic_load(&sim_ran[LATER]), 1);
        fake_path_count(w.here, w.s.host, &c);
        assert_in_range(c.duplicated, 3, 100);
    }
}

/* --- paths that drop packets without bytes ------------------------------ */

static struct vc_counters
server_counters(struct scene *w)
{
    struct vc_counters c = VC_COUNTERS_INIT;

    assert_int_equal(vc_runtime_counters(atomic_load(&w->s.runtime), &c),
                     VC_OK);
    return c;
}

/* The server is late with its answer to a PING, but in time. */
static void
a_path_without_empty_packets_costs_a_client_that_asks_no_link(void **state)
{
    (void)state;
    for (unsigned phase = 0; phase < PHASES; phase++) {
        struct scene w = {.serves_itself = phase % 2 == 0,
                          .phase_us = phase * 77 * MS};

        scene_begin(&w, phase + 1, 10 * MS);
        fake_device_drops_empty(w.s.host, true);
        await_ran(FIRST);
        fake_process_freeze(w.s.process);
        fake_sleep_us(580 * MS);
        fake_process_thaw(w.s.process);
        await_called(&w);

        assert_int_equal(w.first, VC_OK);
        fake_sleep_us(S);
        assert_int_equal(w.down, 0);
        assert_int_equal(w.probes, 0);
        scene_end(&w);
        assert_int_equal(w.second, VC_OK);
        assert_int_equal(w.requests, 1);
    }
}

/* The client sleeps between its calls, so the server probes its adapter: once
 * by an empty packet, then by others as long as there are credits. */
static void
a_path_without_empty_packets_costs_a_client_that_sleeps_one_link(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed < 5; seed++) {
        struct scene w = {.phase_us = 20 * S};
        struct vc_counters c;

        scene_begin(&w, seed, 0);
        fake_device_drops_empty(w.here, true);
        await_called(&w);
        assert_int_equal(w.first, VC_OK);
        assert_int_equal(w.requests, 2);
        fake_sleep_us(200 * S);
        c = server_counters(&w);
        assert_int_equal(c.keepalive_empties_lost, 1);
        assert_in_range(c.keepalive_packets, 3, 64);
        assert_in_range(c.keepalive_left_out, 100, 700);
        scene_end(&w);
        assert_int_equal(w.second, VC_OK);
        assert_int_equal(w.requests, 2);
    }
}

static void
a_lost_client_is_found_where_empty_packets_are_dropped(void **state)
{
    struct scene w = {.phase_us = 5 * S};
    unsigned left = 0;

    (void)state;
    scene_begin(&w, 3, 0);
    fake_device_drops_empty(w.here, true);
    await_called(&w);
    fake_when("server: DREQ ->", 1, count, &left);
    fake_sleep_us(5 * S); /* it is probed, and lives */
    assert_int_equal(left, 0);
    fake_wire_cut(w.here, w.s.host, true);
    fake_sleep_us(3 * S);
    assert_int_equal(left, 1);
    mend(&w);
    scene_end(&w);
}

/* The server answers no PINGs, so the client probes its adapter. */
static void
a_server_that_may_not_answer_is_lost_once_by_an_empty_packet(void **state)
{
    struct scene w = {.s.keepalive_ms = VC_KEEPALIVE_OFF};

    (void)state;
    scene_begin(&w, 1, 3 * S);
    fake_device_drops_empty(w.s.host, true);
    await_called(&w);
    assert_int_equal(w.first, VC_OK);
    scene_end(&w);
    assert_int_equal(w.second, VC_OK);
    assert_int_equal(w.requests, 2);
}

/* --- other options ----------------------------------------------------- */

static void
without_keepalive_nothing_is_asked(void **state)
{
    struct scene w = {.serves_itself = true,
                      .s.keepalive_ms = VC_KEEPALIVE_OFF,
                      .keepalive_ms = VC_KEEPALIVE_OFF};

    (void)state;
    scene_begin(&w, 1, 200 * MS);
    await_ran(FIRST);
    fake_process_freeze(w.s.process);
    await_called(&w);
    assert_int_equal(w.first, VC_DEADLINE_EXCEEDED);
    fake_sleep_us(20 * S);
    mend(&w);
    scene_end(&w);
    assert_int_equal(w.second, VC_OK);
    assert_int_equal(w.requests, 1);
    /* As long as a PING are also the CANCEL of the first call, and the reply to
     * it. */
    assert_int_equal(w.pings, 2 + CLOSING);
    assert_int_equal(w.probes, 0);
}

static void
a_server_that_may_not_answer_is_not_asked(void **state)
{
    struct scene w = {.s.keepalive_ms = VC_KEEPALIVE_OFF};

    (void)state;
    scene_begin(&w, 1, 3 * S);
    await_called(&w);
    assert_int_equal(w.first, VC_OK);
    scene_end(&w);
    assert_int_equal(w.second, VC_OK);
    assert_int_equal(w.pings, CLOSING);
    assert_in_range(w.probes, 3, 30); /* but its adapter is probed */
}

static void
the_clients_wish_counts(void **state)
{
    static const uint64_t most[] = {3100 * MS, 150 * MS};

    (void)state;
    for (int servers = 0; servers < 2; servers++) {
        struct scene w = {.s.keepalive_ms = servers ? 3000 : 100,
                          .keepalive_ms = servers ? 100 : 3000};
        uint64_t struck;

        scene_begin(&w, 1, 20 * MS);
        await_ran(FIRST);
        struck = fake_now_us();
        fake_process_freeze(w.s.process);
        await_called(&w);
        assert_int_equal(w.first, VC_UNAVAILABLE);
        expect_between(w.down - struck, most[servers] / 2, most[servers]);
        mend(&w);
        scene_end(&w);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_dead_server_is_found_within_a_second_of_a_call),
        cmocka_unit_test(
            a_dead_server_is_found_within_three_seconds_without_calls),
        cmocka_unit_test(a_server_finds_a_client_that_the_network_lost),
        cmocka_unit_test(a_client_that_does_not_poll_is_not_thrown_out),
        cmocka_unit_test(an_idle_link_lives_as_long_as_both_ends),
        cmocka_unit_test(
            a_client_that_was_stopped_does_not_take_its_server_for_dead),
        cmocka_unit_test(two_ends_that_were_stopped_live_on),
        cmocka_unit_test(who_is_heard_of_is_not_asked),
        cmocka_unit_test(
            a_link_without_a_call_yet_is_greeted_and_asked_as_others),
        cmocka_unit_test(a_short_clog_costs_time_and_nothing_else),
        cmocka_unit_test(a_request_held_for_too_long_runs_once_at_most),
        cmocka_unit_test(packets_that_arrive_twice_are_handled_once),
        cmocka_unit_test(
            a_path_without_empty_packets_costs_a_client_that_asks_no_link),
        cmocka_unit_test(
            a_path_without_empty_packets_costs_a_client_that_sleeps_one_link),
        cmocka_unit_test(
            a_lost_client_is_found_where_empty_packets_are_dropped),
        cmocka_unit_test(
            a_server_that_may_not_answer_is_lost_once_by_an_empty_packet),
        cmocka_unit_test(without_keepalive_nothing_is_asked),
        cmocka_unit_test(a_server_that_may_not_answer_is_not_asked),
        cmocka_unit_test(the_clients_wish_counts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
