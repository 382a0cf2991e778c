/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Worlds generated from seeds, with one or two servers and up to three clients
 * with up to three threads each. The clients' channels may share links, and are
 * closed while other threads call. Some calls are cancelled, and some are ended
 * by another thread than their handler's. Faults occur at random moments. Every
 * call ends once with a true outcome, and nothing is left. One seed alone, with
 * its trace: test_random SEED; others than the first thousand: test_random SEED
 * COUNT. Some seeds are run again, here and in another process, and must give
 * the same trace; test_random --fingerprints SEED COUNT is for that. */
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/sim/later.h"
#include "tests/sim/mischief.h"

#define SEEDS        sim_share(1000u)
#define SAME         sim_share(25u) /* seeds that are run again */
#define STEPS        1000u          /* of each world, at least */
#define SERVERS      CAST_SERVERS
#define CLIENTS      CAST_CLIENTS
#define THREADS      3u
#define CALLS        6u
#define CHANNELS     3u         /* of a client */
#define PATIENCE     400000000u /* us */
#define REPRODUCTION "again, with its trace: %s %llu\n"

#define LATER_ONE_IN 5 /* one call in this many is ended by a thread */
#define LATER_US     200u

static uint64_t only; /* this seed */
static bool traced;
static uint64_t first = 1, count;
static unsigned good, bad; /* successful and failed calls */
/* Packets and messages that a clog held; that were dropped, as they came
 * twice. */
static unsigned held, dropped;
static const char *program;
static uint64_t running;

/* --- servers ----------------------------------------------------------- */

static enum vc_status
server_finish(struct sim_server *s, struct vc_call *call, uint64_t tag)
{
    struct later *l = s->arg;

    return l->works && tag % LATER_ONE_IN == 0 ? later_take(l, call) : VC_OK;
}

/* --- clients ----------------------------------------------------------- */

struct world;

/* How a call ended. */
struct ending {
    atomic_uint ends; /* how often */
    enum vc_status status;
    enum vc_outcome outcome;
};

struct caller {
    struct world *world;
    struct vc_channel *channel;
    struct dice dice;
    pthread_t thread;
};

struct client {
    struct world *world;
    struct dice dice;
    unsigned server, n_callers, links;
    const char *wrong; /* with the counters; or NULL */
    struct caller callers[THREADS];
};

struct world {
    struct cast cast;
    struct later later[SERVERS];
    struct client clients[CLIENTS];
    atomic_uint next_tag;
    struct ending endings[SIM_TAGS];
};

static size_t
some_size(struct dice *d)
{
    static const size_t sizes[] = {0, 1, 64, 200, 300, 4000, 8100, 8200, 40000};

    return sizes[roll(d, sizeof sizes / sizeof sizes[0])];
}

/* Cancels a call at a random moment. */
struct impatience {
    struct vc_canceller *canceller;
    uint64_t us;
    pthread_t thread;
};

static void *
impatience_main(void *arg)
{
    struct impatience *i = arg;

    fake_sleep_us(i->us);
    vc_cancel(i->canceller);
    return NULL;
}

static bool
impatience_begin(struct impatience *i, struct dice *d)
{
    i->us = roll(d, 3000);
    if (vc_canceller_new(&i->canceller) != VC_OK)
        return false;
    if (pthread_create(&i->thread, NULL, impatience_main, i) == 0)
        return true;
    vc_canceller_free(i->canceller);
    return false;
}

static void
impatience_end(struct impatience *i)
{
    pthread_join(i->thread, NULL);
    vc_canceller_free(i->canceller);
}

static void
call_once(struct caller *c)
{
    struct vc_call_opts opts = VC_CALL_OPTS_INIT;
    struct impatience impatience;
    bool impatient =
        roll(&c->dice, 8) == 0 && impatience_begin(&impatience, &c->dice);
    unsigned tag = atomic_fetch_add(&c->world->next_tag, 1);
    struct ending *e = &c->world->endings[tag];
    size_t size = some_size(&c->dice);

    if (roll(&c->dice, 3) == 0)
        opts.timeout_ms = 1 + (unsigned)roll(&c->dice, 30);
    if (impatient)
        opts.canceller = impatience.canceller;
    e->status = sim_echo_opts(c->channel, size, tag, &opts, &e->outcome);
    atomic_fetch_add(&e->ends, 1);
    if (impatient)
        impatience_end(&impatience);
}

static void *
caller_main(void *arg)
{
    struct caller *c = arg;

    for (unsigned i = 0; i < CALLS; i++) {
        call_once(c);
        if (roll(&c->dice, 4) == 0)
            fake_sleep_us(roll(&c->dice, 3000));
    }
    return NULL;
}

/* Opens a channel with up to three links. A random choice decides whether it
 * shares them with others. */
static enum vc_status
channel_open(struct client *c, struct vc_runtime *runtime,
             struct vc_channel **channel)
{
    struct vc_channel_opts opts = VC_CHANNEL_OPTS_INIT;

    opts.min_links = opts.max_links = c->links;
    if (roll(&c->dice, 4) == 0)
        opts.max_links++;
    if (roll(&c->dice, 4) == 0)
        opts.quota = 5000;
    *channel = NULL;
    return vc_channel_open(runtime, c->world->cast.servers[c->server].target,
                           &opts, channel);
}

/* Opens, uses and closes own channels, one after another, while other threads
 * use theirs. */
static void
channels_come_and_go(struct client *c, struct vc_runtime *runtime)
{
    struct caller own = {c->world, NULL, {roll(&c->dice, UINT64_MAX)}, 0};
    unsigned n = (unsigned)roll(&c->dice, 4);

    for (unsigned i = 0; i < n; i++) {
        if (channel_open(c, runtime, &own.channel) != VC_OK)
            continue;
        if (roll(&c->dice, 4) > 0)
            call_once(&own);
        vc_channel_close(own.channel);
    }
}

static void
callers_run(struct client *c, struct vc_runtime *runtime,
            struct vc_channel *const *channels)
{
    unsigned started = 0;

    for (unsigned i = 0; i < c->n_callers; i++) {
        struct vc_channel *channel = channels[i % CHANNELS];

        c->callers[i] =
            (struct caller){c->world, channel, {roll(&c->dice, UINT64_MAX)}, 0};
        if (channel == NULL)
            break;
        if (pthread_create(&c->callers[i].thread, NULL, caller_main,
                           &c->callers[i]) != 0)
            break;
        started++;
    }
    channels_come_and_go(c, runtime);
    while (started > 0)
        pthread_join(c->callers[--started].thread, NULL);
}

static void
client_main(void *arg)
{
    struct client *c = arg;
    struct vc_counters counters = VC_COUNTERS_INIT;
    struct vc_runtime *runtime = NULL;
    struct vc_channel *channels[CHANNELS] = {NULL};

    if (sim_runtime(&runtime, 1) == VC_OK) {
        for (unsigned i = 0; i < CHANNELS; i++)
            channel_open(c, runtime, &channels[i]);
        callers_run(c, runtime, channels);
    }
    for (unsigned i = 0; i < CHANNELS; i++)
        vc_channel_close(channels[i]);
    if (runtime != NULL)
        vc_runtime_counters(runtime, &counters);
    c->wrong = sim_counters_fault(&counters);
    vc_runtime_free(runtime);
}

/* --- a world ----------------------------------------------------------- */

static bool
clients_ended(const struct world *w)
{
    for (unsigned i = 0; i < w->cast.n_clients; i++)
        if (!fake_process_ended(w->cast.clients[i].process))
            return false;
    return true;
}

static void
servers_start(struct world *w)
{
    for (unsigned i = 0; i < w->cast.n_servers; i++) {
        char addr[32], name[32];

        snprintf(addr, sizeof addr, "10.9.0.%u", 10 + i);
        snprintf(name, sizeof name, "there%u", i);
        w->cast.server_hosts[i] = fake_host_new(name, addr);
        sim_target(addr, w->cast.servers[i].target);
        w->cast.servers[i].sleep_us = (unsigned)roll(&w->cast.dice, 3) * 700;
        if (roll(&w->cast.dice, 2) == 0) /* then engines are taken over */
            w->cast.servers[i].long_us =
                5000 + (unsigned)roll(&w->cast.dice, 1495000);
        w->cast.servers[i].finish = server_finish;
        later_serve(&w->later[i], &w->cast.servers[i], LATER_US);
        sim_server_start(&w->cast.servers[i], w->cast.server_hosts[i],
                         1 + (unsigned)roll(&w->cast.dice, 2));
    }
}

/* Starts servers again that were killed or stopped, if they have a device. */
static void
servers_renew(struct world *w)
{
    for (unsigned i = 0; i < w->cast.n_servers; i++)
        if (fake_process_ended(w->cast.servers[i].process) &&
            w->cast.server_hosts[i] != w->cast.removed)
            sim_server_start(&w->cast.servers[i], w->cast.server_hosts[i], 1);
}

static void
clients_start(struct world *w)
{
    for (unsigned i = 0; i < w->cast.n_clients; i++) {
        struct client *c = &w->clients[i];
        char addr[32], name[32];

        snprintf(addr, sizeof addr, "10.9.0.%u", 20 + i);
        snprintf(name, sizeof name, "here%u", i);
        c->world = w;
        w->cast.clients[i].host = fake_host_new(name, addr);
        c->dice.state = roll(&w->cast.dice, UINT64_MAX);
        c->server = (unsigned)roll(&w->cast.dice, w->cast.n_servers);
        c->links = 1 + (unsigned)roll(&w->cast.dice, 3);
        c->n_callers = 1 + (unsigned)roll(&w->cast.dice, THREADS);
        snprintf(name, sizeof name, "client%u", i);
        w->cast.clients[i].process =
            fake_process_start(w->cast.clients[i].host, name, client_main, c);
    }
}

/* Returns the steps until every client has ended. */
static uint64_t
world_live(struct world *w)
{
    uint64_t until = fake_now_us() + PATIENCE;
    unsigned pranks = (unsigned)roll(&w->cast.dice, 8);

    servers_start(w);
    clients_start(w);
    while (!clients_ended(w) && fake_now_us() < until) {
        fake_sleep_us(roll(&w->cast.dice, 4000));
        if (pranks > 0) {
            pranks--;
            mischief(&w->cast);
        } else {
            fake_fail_no_more();
            fake_no_rules();
        }
        servers_renew(w);
    }
    return fake_steps();
}

/* Returns NULL, or what is wrong. */
static const char *
ending_check(const struct ending *e, unsigned ran)
{
    if (atomic_load(&e->ends) == 0)
        return ran > 1 ? "a call ran twice" : NULL; /* its client was killed */
    if (atomic_load(&e->ends) > 1)
        return "a call ended twice";
    good += e->status == VC_OK;
    bad += e->status != VC_OK;
    if (e->status == VC_DATA_LOSS)
        return "a call had a wrong reply";
    if (e->status == VC_OK && ran != 1)
        return "a call is good and did not run once";
    if (e->outcome == VC_OUTCOME_NOT_EXECUTED && ran != 0)
        return "a call ran, and is said not to have";
    if (ran > 1)
        return "a call ran twice";
    return NULL;
}

static const char *
world_check(struct world *w)
{
    if (!clients_ended(w))
        return "a client does not end";
    for (unsigned tag = 0; tag < atomic_load(&w->next_tag); tag++) {
        const char *wrong =
            ending_check(&w->endings[tag], atomic_load(&sim_ran[tag]));

        if (wrong != NULL)
            return wrong;
    }
    for (unsigned i = 0; i < w->cast.n_clients; i++)
        if (w->clients[i].wrong != NULL)
            return w->clients[i].wrong;
    for (unsigned i = 0; i < w->cast.n_servers; i++)
        if (!sim_server_stop(&w->cast.servers[i]))
            return "a server does not end";
    for (unsigned i = 0; i < w->cast.n_servers; i++)
        if (sim_counters_fault(&w->cast.servers[i].last) != NULL)
            return sim_counters_fault(&w->cast.servers[i].last);
    return NULL;
}

static void
path_add(const struct fake_host *from, const struct fake_host *to)
{
    struct fake_path_counts c;

    fake_path_count(from, to, &c);
    held += c.held;
    dropped += c.dropped;
}

static void
paths_add(const struct cast *c)
{
    for (unsigned i = 0; i < c->n_clients; i++) {
        for (unsigned k = 0; k < c->n_servers; k++) {
            path_add(c->clients[i].host, c->server_hosts[k]);
            path_add(c->server_hosts[k], c->clients[i].host);
        }
    }
}

static uint64_t
world_run(uint64_t seed)
{
    struct world *w;
    const char *wrong;
    uint64_t steps;
    unsigned left;

    running = seed;
    sim_begin(seed, 1 + (unsigned)(seed % 16) * 4, traced);
    w = calloc(1, sizeof *w);
    assert_non_null(w);
    w->cast.dice.state = seed;
    w->cast.n_servers = 1 + (unsigned)roll(&w->cast.dice, SERVERS);
    w->cast.n_clients = 1 + (unsigned)roll(&w->cast.dice, CLIENTS);
    steps = world_live(w);
    wrong = world_check(w);
    paths_add(&w->cast);
    if (only != 0)
        fputs(fake_trace(), stdout);
    left = fake_end();
    free(w);
    if (wrong != NULL || left > 0) {
        print_error(REPRODUCTION, program, (unsigned long long)seed);
        fail_msg("seed %llu: %s", (unsigned long long)seed,
                 wrong != NULL ? wrong : "a call left something behind");
    }
    return steps;
}

static void
every_call_of_a_thousand_worlds_ends_once_and_truly(void **state)
{
    uint64_t steps = 0;

    (void)state;
    if (only != 0) {
        world_run(only);
        return;
    }
    for (uint64_t i = 0; i < count; i++)
        steps += world_run(first + i);
    print_message("%llu steps, %u calls good, %u not, %u packets and messages "
                  "held, %u dropped\n",
                  (unsigned long long)steps, good, bad, held, dropped);
    assert_in_range(held, count / 10, UINT_MAX);
    assert_in_range(dropped, count / 10, UINT_MAX);
    assert_in_range(steps, count * STEPS, UINT64_MAX);
    /* Some calls must fail, but not most. */
    assert_in_range(bad, good / 20, good);
}

/* --- seeds and nothing else -------------------------------------------- */

static uint64_t
fingerprint(uint64_t seed)
{
    traced = true;
    world_run(seed);
    traced = false;
    return fake_fingerprint();
}

static void
fingerprints_print(void)
{
    for (uint64_t i = 0; i < count; i++)
        printf("%llu\n", (unsigned long long)fingerprint(first + i));
}

/* The run does not depend on addresses, the machine's clock, the scheduling of
 * its threads, or earlier runs. */
static void
a_seed_is_the_same_run_again_and_in_another_process(void **state)
{
    char command[4096];
    FILE *other;

    (void)state;
    if (only != 0)
        skip();
    snprintf(command, sizeof command, "exec '%s' --fingerprints %llu %u",
             program, (unsigned long long)first, SAME);
    other = popen(command, "r");
    assert_non_null(other);
    for (uint64_t seed = first; seed < first + SAME; seed++) {
        uint64_t once = fingerprint(seed), again = fingerprint(seed);
        unsigned long long elsewhere = 0;

        if (once != again)
            fail_msg("seed %llu: another run", (unsigned long long)seed);
        if (fscanf(other, "%llu", &elsewhere) != 1 || elsewhere != once)
            fail_msg("seed %llu: another run in another process",
                     (unsigned long long)seed);
    }
    assert_int_equal(pclose(other), 0);
}

/* --- when the test is killed ------------------------------------------- */

void __sanitizer_set_death_callback(void (*callback)(void))
    __attribute__((weak));

static void
say_seed(void)
{
    char text[300];
    int len = snprintf(text, sizeof text, REPRODUCTION, program,
                       (unsigned long long)running);

    if (write(2, text, (size_t)len) < 0)
        return;
}

static void
on_signal(int number)
{
    say_seed();
    signal(number, SIG_DFL);
    raise(number);
}

int
main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_seed_is_the_same_run_again_and_in_another_process),
        cmocka_unit_test(every_call_of_a_thousand_worlds_ends_once_and_truly),
    };

    program = argv[0];
    count = sim_many(SEEDS);
    if (argc == 2)
        only = strtoull(argv[1], NULL, 0);
    traced = only != 0;
    if (argc >= 3) {
        first = strtoull(argv[argc - 2], NULL, 0);
        count = strtoull(argv[argc - 1], NULL, 0);
    }
    if (__sanitizer_set_death_callback != NULL)
        __sanitizer_set_death_callback(say_seed);
    signal(SIGABRT, on_signal);
    if (argc == 4) {
        fingerprints_print();
        return 0;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
