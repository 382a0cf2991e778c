/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * What can happen to either end at each moment of a connection's life. The
 * moments are lines of the fake's trace; each stands for one pair of states
 * that the two ends can be in together. Whatever happens: the client's call
 * ends within its deadline, with a status that doc/architecture.md lists for
 * it; when the world is mended the next call works; the end that survives
 * gives everything back. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "tests/sim/sim.h"

#define CALL_MS  3000u
#define GRACE_MS 50u
/* A call may be the one that finds out that the link is dead: nothing tells
 * an end whose peer gave up while the wire was cut. The next one works. */
#define FINDS_OUT  2
#define LOOK_US    2000u
#define HANDLER_US 1000u
#define MEND_US    (2 * CALL_MS * 1000u)
/* A connect that was cut may take the kernel this long to let go of: it asks
 * 15 times. */
#define PATIENCE 200000000u /* us */

static const char *const moments[] = {
    "client: event ADDR_RESOLVED",
    "client: event ROUTE_RESOLVED",
    "client: REQ ->",
    "server: event CONNECT_REQUEST",
    "server: REP ->",
    "client: event CONNECT_RESPONSE",
    "client: RTU ->",
    "server: event ESTABLISHED",
    ": SEND",
    "server qp",
    "client qp",
    "client: DREQ ->",
    "server: event DISCONNECTED",
    "server: DREP ->",
    "server: DREQ ->",
};

#define N_MOMENTS (sizeof moments / sizeof moments[0])

enum blow {
    KILLED,
    FROZEN,
    CLOSED,
    PORT_DOWN,
    REMOVED,
    N_BLOWS
};

static const char *const blow_names[N_BLOWS] = {
    "is killed", "is frozen", "closes", "loses its port", "loses its device"};

struct client {
    char target[80];
    struct fake_process *process;
    struct fake_host *host;
    atomic_bool closes;        /* a thread of it closes the channel when told */
    atomic_uint close;         /* now */
    atomic_bool mended;        /* the second call may be made */
    atomic_bool again;         /* it is to be made */
    atomic_uint expected;      /* what it should come to */
    atomic_uint first, second; /* their statuses; +1 */
    atomic_uint first_ms, second_ms;
};

static void
timed_call(struct vc_channel *channel, unsigned ms, atomic_uint *status,
           atomic_uint *took)
{
    uint64_t start = fake_now_us();
    enum vc_status got = sim_echo(channel, 64, 1, ms, NULL);

    atomic_store(took, (unsigned)((fake_now_us() - start) / 1000));
    atomic_store(status, (unsigned)got + 1);
}

struct closer {
    struct client *client;
    struct vc_channel *channel;
};

static void *
closer_main(void *arg)
{
    struct closer *closer = arg;

    sim_await(&closer->client->close, PATIENCE);
    vc_channel_close(closer->channel);
    return NULL;
}

/* One call, and the channel is closed while it runs, or after it. */
static void
client_closes(struct client *c, struct vc_channel *channel)
{
    struct closer closer = {c, channel};
    pthread_t thread;

    pthread_create(&thread, NULL, closer_main, &closer);
    timed_call(channel, CALL_MS, &c->first, &c->first_ms);
    sim_tell(&c->close);
    pthread_join(thread, NULL);
}

static void
client_calls(struct client *c, struct vc_channel *channel)
{
    timed_call(channel, CALL_MS, &c->first, &c->first_ms);
    while (atomic_load(&c->again) && !atomic_load(&c->mended))
        fake_sleep_us(1000);
    for (unsigned i = 0; i < FINDS_OUT && atomic_load(&c->again) &&
                         atomic_load(&c->second) != VC_OK + 1;
         i++)
        timed_call(channel, CALL_MS, &c->second, &c->second_ms);
    vc_channel_close(channel);
}

static void
client_main(void *arg)
{
    struct client *c = arg;
    struct vc_runtime *runtime;
    struct vc_channel *channel;

    if (sim_runtime(&runtime, 1) != VC_OK)
        return;
    if (vc_channel_open(runtime, c->target, NULL, &channel) == VC_OK)
        (atomic_load(&c->closes) ? client_closes : client_calls)(c, channel);
    vc_runtime_free(runtime);
}

/* One cell of the matrix. */
struct cell {
    const char *moment;
    bool server; /* the blow is on it, else on the client */
    enum blow blow;
    struct sim_server s;
    struct client c;
    atomic_bool struck;
};

static void
strike(void *arg)
{
    struct cell *cell = arg;
    struct fake_process *p = cell->server ? cell->s.process : cell->c.process;
    struct fake_host *host = cell->server ? cell->s.host : cell->c.host;

    atomic_store(&cell->struck, true);
    switch (cell->blow) {
    case KILLED:
        fake_process_kill(p);
        break;
    case FROZEN:
        fake_process_freeze(p);
        break;
    case CLOSED:
        if (cell->server)
            sim_server_close(&cell->s);
        else
            sim_tell(&cell->c.close);
        break;
    case PORT_DOWN:
        fake_port_set(host, false);
        break;
    case REMOVED:
        fake_device_remove(host);
        break;
    case N_BLOWS:
        break;
    }
}

/* All is well again, as far as it can be. */
static void
mend(struct cell *cell)
{
    struct sim_server *s = &cell->s;
    struct client *c = &cell->c;

    fake_process_thaw(s->process);
    fake_process_thaw(c->process);
    fake_port_set(s->host, true);
    fake_port_set(c->host, true);
    if (fake_process_ended(s->process)) {
        sim_server_start(s, s->host, 1);
        assert_true(sim_server_await(s));
    }
}

/* What the second call comes to after the blow: a device does not come back,
 * and nobody listens where a server has closed. */
static enum vc_status
second_expected(const struct cell *cell)
{
    return cell->blow == REMOVED || cell->blow == CLOSED ? VC_UNAVAILABLE
                                                         : VC_OK;
}

static bool
may_call_again(const struct cell *cell)
{
    return cell->server || cell->blow == FROZEN || cell->blow == PORT_DOWN ||
           cell->blow == REMOVED;
}

/* NULL, or what is wrong with the call's end. */
static const char *
first_fault(struct cell *cell)
{
    unsigned status = atomic_load(&cell->c.first);

    if (!cell->server && cell->blow == KILLED)
        return NULL;
    if (status == 0)
        return "the call never ended";
    status--;
    if (status != VC_OK && status != VC_UNAVAILABLE &&
        status != VC_DEADLINE_EXCEEDED &&
        !(atomic_load(&cell->c.closes) && status == VC_CANCELLED))
        return vc_status_name((enum vc_status)status);
    if (cell->server && cell->blow == FROZEN && status == VC_DEADLINE_EXCEEDED)
        return "nobody saw that the server was frozen";
    if ((cell->blow != FROZEN || cell->server) &&
        atomic_load(&cell->c.first_ms) > CALL_MS + GRACE_MS)
        return "the call ended too late";
    return NULL;
}

/* The same for the second call. */
static const char *
second_fault(struct cell *cell)
{
    unsigned expected = atomic_load(&cell->c.expected);

    if (!may_call_again(cell) || atomic_load(&cell->c.second) == expected + 1)
        return NULL;
    return expected == VC_OK ? "the next call does not work"
                             : "the next call is not UNAVAILABLE";
}

static void
expect(const struct cell *cell, const char *fault)
{
    if (fault == NULL)
        return;
    print_error("%s\nat \"%s\" the %s %s: %s (calls: %u after %u ms, %u "
                "after %u ms)\n",
                fake_trace(), cell->moment, cell->server ? "server" : "client",
                blow_names[cell->blow], fault, atomic_load(&cell->c.first),
                atomic_load(&cell->c.first_ms), atomic_load(&cell->c.second),
                atomic_load(&cell->c.second_ms));
    fail();
}

static void
cell_setup(struct cell *cell, uint64_t seed)
{
    struct client *c = &cell->c;

    sim_begin(seed, 0, true);
    sim_target("10.9.0.2", cell->s.target);
    sim_target("10.9.0.2", c->target);
    cell->s.sleep_us = HANDLER_US;
    sim_server_start(&cell->s, fake_host_new("there", "10.9.0.2"), 1);
    assert_true(sim_server_await(&cell->s));
    c->host = fake_host_new("here", "10.9.0.3");
    atomic_store(&c->closes, cell->blow == CLOSED && !cell->server);
    atomic_store(&c->again, may_call_again(cell));
    c->process = fake_process_start(c->host, "client", client_main, c);
    fake_when(cell->moment, 1, strike, cell);
}

/* Lets it happen, mends the world a while later, and waits for the client's
 * end. */
static bool
cell_watch(struct cell *cell)
{
    struct client *c = &cell->c;
    uint64_t until = fake_now_us() + PATIENCE, struck = 0;
    bool mended = false;

    while (!fake_process_ended(c->process) && fake_now_us() < until) {
        fake_sleep_us(LOOK_US);
        if (struck == 0 && atomic_load(&cell->struck))
            struck = fake_now_us();
        if (struck != 0 && !mended && fake_now_us() - struck > MEND_US) {
            mend(cell);
            mended = true;
        }
        if (atomic_load(&c->mended) || atomic_load(&c->first) == 0 ||
            (struck != 0 && !mended))
            continue;
        if (struck != 0)
            atomic_store(&c->expected, second_expected(cell));
        atomic_store(&c->mended, true);
    }
    if (struck != 0 && !mended)
        mend(cell);
    return fake_process_ended(c->process);
}

static void
cell_run(struct cell *cell, uint64_t seed)
{
    bool ended;

    cell_setup(cell, seed);
    ended = cell_watch(cell);
    expect(cell, first_fault(cell));
    expect(cell, ended ? NULL : "the client does not end");
    expect(cell, second_fault(cell));
    expect(cell, sim_server_stop(&cell->s) ? NULL : "the server does not end");
    assert_int_equal(fake_end(), 0);
}

static const char *
status_name(atomic_uint *status)
{
    unsigned s = atomic_load(status);

    return s == 0 ? "no end" : vc_status_name((enum vc_status)(s - 1));
}

static void
everything_that_can_happen_at_every_moment_ends_well(void **state)
{
    unsigned n = 0, struck = 0;

    (void)state;
    for (unsigned m = 0; m < N_MOMENTS; m++) {
        for (unsigned b = 0; b < 2 * N_BLOWS; b++) {
            static struct cell cell;

            memset(&cell, 0, sizeof cell);
            cell.moment = moments[m];
            cell.server = b >= N_BLOWS;
            cell.blow = (enum blow)(b % N_BLOWS);
            print_message("at \"%s\" the %s %s\n", cell.moment,
                          cell.server ? "server" : "client",
                          blow_names[cell.blow]);
            cell_run(&cell, ++n);
            struck += atomic_load(&cell.struck);
            print_message("  %s after %u ms%s\n", status_name(&cell.c.first),
                          atomic_load(&cell.c.first_ms),
                          atomic_load(&cell.struck) ? ""
                                                    : " (it did not come "
                                                      "to that)");
        }
    }
    print_message("%u of %u struck\n", struck, n);
    assert_in_range(struck, n / 2, n);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_that_can_happen_at_every_moment_ends_well),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
