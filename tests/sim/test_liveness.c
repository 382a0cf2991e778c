/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * After a storm the faults of some hosts, the core, are ended; those of the
 * other hosts are permanent. Each call of the core ends, its new calls succeed,
 * and its clients can close, all within a time limit. One seed alone, with its
 * trace: test_liveness SEED; others than the first: test_liveness SEED
 * COUNT. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/sim/mischief.h"

#define SEEDS    sim_share(300u)
#define THREADS  3u
#define TAIL     3u /* calls after the first good one; all must succeed */
#define MS       UINT64_C(1000) /* us */
#define SECOND   (1000 * MS)
#define STORM_US (3 * SECOND)

/* Time limits after the healing, by the clock of the world: until all calls
 * under way have ended, until a call has succeeded, and until a client has
 * closed. */
#define END_US   (15 * SECOND)
#define GOOD_US  (10 * SECOND)
#define CLOSE_US (20 * SECOND)

static uint64_t only; /* this seed */
static uint64_t first = 1, count;
static const char *program;
static uint64_t running;
static unsigned good, bad;                       /* calls in storms */
static uint64_t most_end, most_good, most_close; /* us, over all worlds */

struct world;

struct caller {
    struct world *world;
    struct vc_channel *channel;
    struct dice dice;
    pthread_t thread;
    bool of_core;          /* both its client and its server are */
    uint64_t ended_us;     /* when its last call from the storm ended */
    uint64_t good_us;      /* when a call had succeeded again */
    unsigned stormy[2];    /* calls in the storm: failed, good */
    unsigned bad;          /* failures after the first good call */
    enum vc_status status; /* of the last call */
};

struct client {
    struct world *world;
    bool core;
    unsigned n_callers;
    uint64_t closed_us;
    const char *wrong; /* with the counters; or NULL */
    struct caller callers[THREADS];
};

struct world {
    struct cast cast;
    bool core_servers[CAST_SERVERS];
    struct client clients[CAST_CLIENTS];
    atomic_bool healed;
    uint64_t healed_us;
    atomic_uint next_tag;
};

/* --- clients ----------------------------------------------------------- */

static enum vc_status
call(struct caller *c, uint32_t timeout_ms)
{
    static const size_t sizes[] = {0, 64, 300, 8200, 40000};
    unsigned tag = atomic_fetch_add(&c->world->next_tag, 1) % SIM_TAGS;

    return sim_echo(c->channel, sizes[roll(&c->dice, 5)], tag, timeout_ms,
                    NULL);
}

/* Half of the calls have no deadline. If the server does not answer any more,
 * such a call ends by keepalive. */
static void
calls_in_storm(struct caller *c)
{
    while (!atomic_load(&c->world->healed)) {
        uint32_t ms =
            roll(&c->dice, 2) == 0 ? 0 : 1 + (uint32_t)roll(&c->dice, 100);

        c->stormy[call(c, ms) == VC_OK]++;
        fake_sleep_us(roll(&c->dice, 30 * MS));
    }
    c->ended_us = fake_now_us();
}

static void
calls_in_calm(struct caller *c)
{
    uint64_t until = c->world->healed_us + GOOD_US;

    do {
        c->status = call(c, 0);
        if (c->status != VC_OK)
            fake_sleep_us(MS);
    } while (c->status != VC_OK && fake_now_us() < until);
    c->good_us = fake_now_us();
    for (unsigned i = 0; i < TAIL && c->bad == 0; i++) {
        c->status = call(c, 0);
        c->bad += c->status != VC_OK;
    }
}

static void *
caller_main(void *arg)
{
    struct caller *c = arg;

    calls_in_storm(c);
    if (c->of_core)
        calls_in_calm(c);
    return NULL;
}

/* Each caller has one server. A random choice decides whether it shares its
 * links with others. */
static void
callers_run(struct client *c, struct vc_runtime *runtime)
{
    struct world *w = c->world;
    unsigned n = 0;

    for (; n < c->n_callers; n++) {
        struct vc_channel_opts opts = VC_CHANNEL_OPTS_INIT;
        struct caller *caller = &c->callers[n];
        unsigned server = n % w->cast.n_servers;

        opts.call_timeout_ms = VC_NO_DEADLINE;
        opts.max_links = 1 + (unsigned)roll(&caller->dice, 2);
        opts.max_attempts = 1 + (unsigned)roll(&caller->dice, 3);
        caller->of_core = c->core && w->core_servers[server];
        if (vc_channel_open(runtime, w->cast.servers[server].target, &opts,
                            &caller->channel) != VC_OK)
            break;
        if (pthread_create(&caller->thread, NULL, caller_main, caller) == 0)
            continue;
        vc_channel_close(caller->channel);
        break;
    }
    for (unsigned i = 0; i < n; i++)
        pthread_join(c->callers[i].thread, NULL);
    for (unsigned i = 0; i < n; i++)
        vc_channel_close(c->callers[i].channel);
    c->n_callers = n;
}

static void
client_main(void *arg)
{
    struct client *c = arg;
    struct vc_counters counters = VC_COUNTERS_INIT;
    struct vc_runtime *runtime = NULL;

    if (sim_runtime(&runtime, 1) == VC_OK)
        callers_run(c, runtime);
    else
        c->n_callers = 0;
    if (runtime != NULL)
        vc_runtime_counters(runtime, &counters);
    c->wrong = sim_counters_fault(&counters);
    vc_runtime_free(runtime);
    c->closed_us = fake_now_us();
}

/* Also starts a client again that was killed or could not begin. */
static void
client_start(struct world *w, unsigned i)
{
    struct client *c = &w->clients[i];
    bool core = c->core;
    char name[32];

    snprintf(name, sizeof name, "client%u", i);
    memset(c, 0, sizeof *c);
    c->world = w;
    c->core = core;
    c->n_callers = 1 + (unsigned)roll(&w->cast.dice, THREADS);
    for (unsigned k = 0; k < THREADS; k++)
        c->callers[k] = (struct caller){
            .world = w, .dice = {roll(&w->cast.dice, UINT64_MAX)}};
    w->cast.clients[i].process =
        fake_process_start(w->cast.clients[i].host, name, client_main, c);
}

/* --- the hosts --------------------------------------------------------- */

static void
world_start(struct world *w)
{
    struct cast *cast = &w->cast;
    char addr[32], name[32];

    for (unsigned i = 0; i < cast->n_servers; i++) {
        snprintf(addr, sizeof addr, "10.9.0.%u", 10 + i);
        snprintf(name, sizeof name, "there%u", i);
        cast->server_hosts[i] = fake_host_new(name, addr);
        sim_target(addr, cast->servers[i].target);
        cast->servers[i].sleep_us = (unsigned)roll(&cast->dice, 3) * 700;
        sim_server_start(&cast->servers[i], cast->server_hosts[i],
                         1 + (unsigned)roll(&cast->dice, 2));
        w->core_servers[i] = i == 0 || roll(&cast->dice, 2) == 0;
    }
    for (unsigned i = 0; i < cast->n_clients; i++) {
        snprintf(addr, sizeof addr, "10.9.0.%u", 20 + i);
        snprintf(name, sizeof name, "here%u", i);
        cast->clients[i].host = fake_host_new(name, addr);
        w->clients[i].core = i == 0 || roll(&cast->dice, 2) == 0;
        client_start(w, i);
    }
}

/* A device that is removed does not come back, so core hosts keep theirs. */
static void
storm(struct world *w)
{
    unsigned pranks = 1 + (unsigned)roll(&w->cast.dice, 12);
    uint64_t until = fake_now_us() + STORM_US;

    w->cast.removed = fake_host_local();
    while (pranks-- > 0 && fake_now_us() < until) {
        fake_sleep_us(roll(&w->cast.dice, 100 * MS));
        mischief(&w->cast);
    }
}

/* --- permanent faults -------------------------------------------------- */

static void
host_spoil(struct world *w, struct fake_host *host, struct fake_process *p)
{
    switch (roll(&w->cast.dice, 5)) {
    case 0:
        fake_process_kill(p);
        break;
    case 1:
        fake_process_freeze(p);
        break;
    case 2:
        fake_port_set(host, false);
        break;
    case 3:
        fake_device_remove(host);
        break;
    default:
        for (unsigned i = 0; i < w->cast.n_servers; i++)
            fake_wire_cut(host, w->cast.server_hosts[i], true);
        for (unsigned i = 0; i < w->cast.n_clients; i++)
            fake_wire_cut(host, w->cast.clients[i].host, true);
        break;
    }
}

/* Ends all faults of the core, and starts killed processes again. */
static void
heal(struct world *w)
{
    struct cast *c = &w->cast;

    fake_fail_no_more();
    fake_no_rules();
    for (unsigned i = 0; i < c->n_servers; i++)
        if (!w->core_servers[i])
            host_spoil(w, c->server_hosts[i], c->servers[i].process);
        else if (fake_process_ended(c->servers[i].process))
            sim_server_start(&c->servers[i], c->server_hosts[i], 1);
    for (unsigned i = 0; i < c->n_clients; i++)
        if (!w->clients[i].core)
            host_spoil(w, c->clients[i].host, c->clients[i].process);
        else if (fake_process_ended(c->clients[i].process))
            client_start(w, i);
    w->healed_us = fake_now_us();
    atomic_store(&w->healed, true);
}

/* --- checks ------------------------------------------------------------ */

static void
most(uint64_t *most_us, uint64_t us)
{
    if (us > *most_us)
        *most_us = us;
}

static const char *
caller_check(const struct caller *c, uint64_t healed_us)
{
    good += c->stormy[true];
    bad += c->stormy[false];
    most(&most_end, c->ended_us - healed_us);
    if (c->ended_us - healed_us > END_US)
        return "a call ended late";
    if (!c->of_core)
        return NULL;
    most(&most_good, c->good_us - healed_us);
    if (c->good_us - healed_us > GOOD_US)
        return "no call succeeds";
    return c->bad > 0 ? "a call failed behind one that was good" : NULL;
}

static const char *
client_check(const struct client *c, uint64_t healed_us)
{
    const char *wrong = c->wrong;

    most(&most_close, c->closed_us - healed_us);
    for (unsigned i = 0; i < c->n_callers && wrong == NULL; i++)
        wrong = caller_check(&c->callers[i], healed_us);
    return wrong;
}

static const char *
core_check(struct world *w)
{
    struct cast *c = &w->cast;
    const char *wrong = NULL;

    for (unsigned i = 0; i < c->n_clients && wrong == NULL; i++) {
        uint64_t until = w->healed_us + CLOSE_US, now = fake_now_us();

        if (!w->clients[i].core)
            continue;
        if (!fake_process_wait(c->clients[i].process,
                               until > now ? until - now : 0))
            return "a client does not end";
        wrong = client_check(&w->clients[i], w->healed_us);
    }
    for (unsigned i = 0; i < c->n_servers && wrong == NULL; i++)
        if (w->core_servers[i] && !sim_server_stop(&c->servers[i]))
            wrong = "a server does not end";
    return wrong;
}

static void
world_run(uint64_t seed)
{
    struct world *w = calloc(1, sizeof *w);
    const char *wrong;

    assert_non_null(w);
    running = seed;
    sim_begin(seed, 1 + (unsigned)(seed % 16) * 4, only != 0);
    w->cast.dice.state = seed;
    w->cast.n_servers = 1 + (unsigned)roll(&w->cast.dice, CAST_SERVERS);
    w->cast.n_clients = 1 + (unsigned)roll(&w->cast.dice, CAST_CLIENTS);
    world_start(w);
    storm(w);
    heal(w);
    wrong = core_check(w);
    if (only != 0)
        fputs(fake_trace(), stdout);
    fake_end();
    free(w);
    if (wrong != NULL)
        fail_msg("seed %llu: %s; again, with its trace: %s %llu",
                 (unsigned long long)seed, wrong, program,
                 (unsigned long long)seed);
}

static void
a_core_that_is_healed_lives_whatever_ails_the_others(void **state)
{
    (void)state;
    if (only != 0) {
        world_run(only);
        return;
    }
    for (uint64_t i = 0; i < count; i++)
        world_run(first + i);
    print_message("in storms %u calls were good, %u not\n", good, bad);
    assert_in_range(bad, good / 20,
                    good); /* some calls must fail, but not most */
    print_message("calls ended %llu ms after the healing at most, were good "
                  "after %llu ms, clients closed after %llu ms\n",
                  (unsigned long long)(most_end / MS),
                  (unsigned long long)(most_good / MS),
                  (unsigned long long)(most_close / MS));
}

static void
on_signal(int number)
{
    char text[300];
    int len = snprintf(text, sizeof text, "again, with its trace: %s %llu\n",
                       program, (unsigned long long)running);

    if (write(2, text, (size_t)len) == len)
        signal(number, SIG_DFL);
    raise(number);
}

int
main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_core_that_is_healed_lives_whatever_ails_the_others),
    };

    program = argv[0];
    count = sim_many(SEEDS);
    if (argc == 2)
        only = strtoull(argv[1], NULL, 0);
    if (argc == 3) {
        first = strtoull(argv[1], NULL, 0);
        count = strtoull(argv[2], NULL, 0);
    }
    signal(SIGABRT, on_signal);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
