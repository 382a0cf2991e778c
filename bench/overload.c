/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * More calls than a server can serve: run
 *     overload TARGET NAME METHOD RUN_US LONG_US DEADLINE_MS FLOODS GROUP
 * against a pool_server of that process group. METHOD is burn or wait. Every
 * hundredth call takes LONG_US, unless that is 0.
 *
 * The program measures the rate of a closed loop. Then it offers half, twice,
 * and ten times that rate, steadily and without retries, and measures how many
 * calls are answered in time. The speed of the machine varies within seconds:
 * so each load and the closed loop are run in turn several times, and the sums
 * of both are compared.
 *
 * If FLOODS is not 0, it also measures three cases. Critical calls are
 * offered among sheddable ones, at ten times the rate. Half the rate is
 * offered while the server is stopped for a while. A polite client calls
 * beside FLOODS processes that offer ten times the rate. It prints lines
 * whose names begin with NAME. */
#include <inttypes.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <verbcall/async.h>

#include "bench.vc.h"
#include "bench/bench.h"
#include "examples/kv/number.h"

#define LOOP_CALLS  16u /* under way in a closed loop */
#define LOOP_US     1e6
#define OFFERED_US  2e6
#define TURNS       4u      /* of a load and a closed loop */
#define REST_US     500000u /* between a load and a closed loop */
#define PATIENCE_US 120e6
#define POLITE      4u  /* it asks for such a part of its equal share */
#define CRITICAL    50u /* one of so many calls is critical */
#define HALT_US     200000u
#define BACK_US     100000u /* time to recover after the halt */
#define FLOODS_MOST 8u
#define UNDER_WAY   65536u /* limit of a process's calls under way */

struct plan {
    const char *target, *name;
    bool waits;
    uint64_t run_us, long_us, deadline_ms, floods, group;
};

/* How calls ended. */
struct tally {
    uint64_t asked, good, expired, refused, other;
};

/* Shared with the flood processes and the process that stops the server, which
 * are forked before a runtime exists. `rate`: calls a second of each flood,
 * which starts when it is not 0. `halt`: the server is to be stopped. `end`:
 * all processes are to end. */
static struct shared {
    atomic_uint rate;
    atomic_bool halt, end;
    atomic_uint ready;
    struct tally tallies[FLOODS_MOST];
} * shared;

struct client {
    const struct plan *plan;
    struct vc_runtime *runtime;
    struct vc_channel *channel;
    struct vc_completions *queue;
    struct tally tally;
    uint64_t under_way;
    bool mixes; /* most calls are sheddable, some critical */
    uint64_t critical, critical_good, critical_refused; /* of these */
};

static int
failed(const char *what)
{
    fprintf(stderr, "overload: %s: %s\n", what, vc_error());
    return 1;
}

static bool
client_open(struct client *c, const struct plan *p)
{
    memset(c, 0, sizeof *c);
    c->plan = p;
    return vc_runtime_new(NULL, &c->runtime) == VC_OK &&
           vc_channel_open(c->runtime, p->target, NULL, &c->channel) == VC_OK &&
           vc_completions_new(c->runtime, &c->queue) == VC_OK &&
           vc_channel_connect(c->channel, &bench_load_service) == VC_OK;
}

static void
client_close(struct client *c)
{
    vc_completions_free(c->queue);
    vc_channel_close(c->channel);
    vc_runtime_free(c->runtime);
}

/* The indexes of the methods in their service. */
enum {
    BURN,
    BURN_LONG,
    WAIT
};

static void
ask(struct client *c)
{
    Bench__LoadRequest request = BENCH__LOAD_REQUEST__INIT;
    struct vc_call_opts opts = VC_CALL_OPTS_INIT;
    bool is_long = c->plan->long_us > 0 && c->tally.asked % 100 == 99;
    bool is_critical = c->mixes && c->tally.asked % CRITICAL == 0;
    unsigned method = c->plan->waits ? WAIT : is_long ? BURN_LONG : BURN;

    opts.timeout_ms = (uint32_t)c->plan->deadline_ms;
    opts.flags = VC_CALL_NO_RETRY;
    if (c->mixes)
        opts.priority =
            is_critical ? VC_PRIORITY_CRITICAL : VC_PRIORITY_SHEDDABLE;
    c->critical += is_critical;
    request.us = (uint32_t)(is_long ? c->plan->long_us : c->plan->run_us);
    c->tally.asked++;
    if (vc_channel_call_queued(c->channel, &bench_load_service, method,
                               &request, &opts, c->queue,
                               is_critical ? c : NULL, NULL) == VC_OK)
        c->under_way++;
    else
        c->tally.other++;
}

/* Takes one completion; returns false if none came within ms. */
static bool
take(struct client *c, uint32_t ms)
{
    struct vc_completion end;

    if (c->under_way == 0 || vc_completions_next(c->queue, ms, &end) != VC_OK)
        return false;
    c->under_way--;
    c->tally.good += end.status == VC_OK;
    c->critical_good += end.status == VC_OK && end.tag != NULL;
    c->critical_refused +=
        end.status == VC_RESOURCE_EXHAUSTED && end.tag != NULL;
    c->tally.expired += end.status == VC_DEADLINE_EXCEEDED;
    c->tally.refused += end.status == VC_RESOURCE_EXHAUSTED;
    c->tally.other += end.status != VC_OK &&
                      end.status != VC_DEADLINE_EXCEEDED &&
                      end.status != VC_RESOURCE_EXHAUSTED;
    if (end.status == VC_OK)
        vc_message_free(end.reply);
    return true;
}

static void
take_all(struct client *c)
{
    while (c->under_way > 0)
        take(c, 10000);
}

/* Returns the calls a second that succeed with LOOP_CALLS always under way. */
static double
closed_loop(struct client *c)
{
    double began = now_us(), us;

    c->tally = (struct tally){0};
    while ((us = now_us() - began) < LOOP_US) {
        while (c->under_way < LOOP_CALLS)
            ask(c);
        take(c, 1000);
    }
    us = (double)c->tally.good * 1e6 / us;
    take_all(c);
    return us;
}

/* Offers `rate` calls a second for `us`, or until *end is set. */
static void
offer(struct client *c, double rate, double us, atomic_bool *end)
{
    double began = now_us(), now;
    uint64_t n = 0;

    c->tally = (struct tally){0};
    while ((now = now_us() - began) < us &&
           (end == NULL || !atomic_load(end))) {
        for (; (double)n < now * rate / 1e6 && c->under_way < UNDER_WAY; n++)
            ask(c);
        if (!take(c, 0))
            take(c, 1);
        while (take(c, 0) && (double)n >= (now_us() - began) * rate / 1e6)
            continue;
    }
    take_all(c);
}

static void
tally_add(struct tally *sum, const struct tally *t)
{
    sum->asked += t->asked;
    sum->good += t->good;
    sum->expired += t->expired;
    sum->refused += t->refused;
    sum->other += t->other;
}

static void
tell(const struct plan *p, const char *what, const struct tally *t,
     double seconds, double capacity)
{
    printf("%s_%s_per_second %.0f\n", p->name, what, (double)t->good / seconds);
    printf("%s_%s_asked %.0f\n", p->name, what, (double)t->asked / seconds);
    printf("%s_%s_expired %.0f\n", p->name, what, (double)t->expired / seconds);
    printf("%s_%s_refused %.0f\n", p->name, what, (double)t->refused / seconds);
    if (t->other > 0)
        printf("%s_%s_other %.0f\n", p->name, what, (double)t->other / seconds);
    if (capacity > 0)
        printf("%s_goodput_%s_over_capacity %.3f\n", p->name, what,
               (double)t->good / seconds / capacity);
}

static int
flood(const struct plan *p, struct tally *tally)
{
    double until = now_us() + PATIENCE_US;
    struct client c;

    while (atomic_load(&shared->rate) == 0 && !atomic_load(&shared->end) &&
           now_us() < until)
        usleep(10000);
    if (atomic_load(&shared->rate) == 0)
        return 0; /* not needed, or the parent has failed */
    if (!client_open(&c, p))
        return failed("no flood");
    atomic_fetch_add(&shared->ready, 1);
    offer(&c, atomic_load(&shared->rate), 60e6, &shared->end);
    *tally = c.tally;
    client_close(&c);
    return 0;
}

/* Stops the server's whole process group for HALT_US, once `halt` is set. */
static int
halter(const struct plan *p)
{
    double until = now_us() + PATIENCE_US;

    while (!atomic_load(&shared->halt) && !atomic_load(&shared->end) &&
           now_us() < until)
        usleep(1000);
    if (!atomic_load(&shared->halt))
        return 0;
    kill(-(pid_t)p->group, SIGSTOP);
    usleep(HALT_US);
    kill(-(pid_t)p->group, SIGCONT);
    return 0;
}

static void
floods_begin(const struct plan *p)
{
    for (uint64_t i = 0; i < p->floods; i++)
        if (fork() == 0)
            _exit(flood(p, &shared->tallies[i]));
    if (p->floods > 0 && fork() == 0)
        _exit(halter(p));
}

static int
floods_end(void)
{
    int bad = 0, status;

    atomic_store(&shared->end, true);
    while (wait(&status) > 0)
        if (status != 0)
            bad = 1;
    return bad;
}

static int
beside_floods(const struct plan *p, struct client *c, double capacity)
{
    struct tally all = {0};
    double began, until = now_us() + 10e6;
    int bad;

    atomic_store(&shared->rate,
                 (unsigned)(10 * capacity / (double)p->floods) + 1);
    while (atomic_load(&shared->ready) < p->floods && now_us() < until)
        usleep(1000);
    began = now_us();
    usleep(300000);
    offer(c, capacity / (double)(POLITE * (p->floods + 1)), TURNS * OFFERED_US,
          NULL);
    bad = floods_end();
    for (uint64_t i = 0; i < p->floods; i++)
        tally_add(&all, &shared->tallies[i]);
    printf("%s_polite_share_beside_%" PRIu64 "_floods %.3f\n", p->name,
           p->floods, (double)c->tally.good / (double)c->tally.asked);
    tell(p, "polite", &c->tally, TURNS * OFFERED_US / 1e6, 0);
    tell(p, "floods", &all, (now_us() - began) / 1e6, 0);
    return bad;
}

static void
critical_beside_sheddable(const struct plan *p, struct client *c,
                          double capacity)
{
    c->mixes = true;
    c->critical = c->critical_good = c->critical_refused = 0;
    usleep(REST_US);
    offer(c, 10 * capacity, OFFERED_US, NULL);
    c->mixes = false;
    printf("%s_critical_share_beside_sheddable %.3f\n", p->name,
           (double)c->critical_good / (double)c->critical);
    printf("%s_critical_refused %.0f\n", p->name,
           (double)c->critical_refused / (OFFERED_US / 1e6));
    tell(p, "mixed", &c->tally, OFFERED_US / 1e6, 0);
}

/* Offers half the capacity. */
static void
halted(const struct plan *p, struct client *c, double capacity)
{
    usleep(REST_US);
    offer(c, capacity / 2, 1e6, NULL);
    atomic_store(&shared->halt, true);
    offer(c, capacity / 2, HALT_US + BACK_US, NULL);
    tell(p, "halted", &c->tally, (HALT_US + BACK_US) / 1e6, 0);
    offer(c, capacity / 2, 1e6, NULL);
    printf("%s_share_after_halt %.3f\n", p->name,
           (double)c->tally.good / (double)c->tally.asked);
}

/* Offers so many times what the closed loop reached just before, TURNS times,
 * and measures the closed loop after each. `before` is what it reached last;
 * returns what it reaches at the end. */
static double
beside_closed_loops(struct client *c, double times, const char *name,
                    double before)
{
    struct tally sum = {0};
    double capacity = 0;

    for (unsigned i = 0; i < TURNS; i++) {
        capacity += before / (2 * TURNS);
        usleep(REST_US);
        offer(c, times * before, OFFERED_US, NULL);
        tally_add(&sum, &c->tally);
        usleep(REST_US);
        before = closed_loop(c);
        capacity += before / (2 * TURNS);
    }
    tell(c->plan, name, &sum, TURNS * OFFERED_US / 1e6, capacity);
    return before;
}

static int
measure(const struct plan *p)
{
    static const double times[] = {0.5, 2, 10};
    static const char *names[] = {"half", "2x", "10x"};
    struct client c;
    double capacity;
    int bad = 0;

    floods_begin(p);
    if (!client_open(&c, p)) {
        floods_end();
        return failed("no client");
    }
    closed_loop(&c);
    capacity = closed_loop(&c);
    printf("%s_capacity %.0f\n", p->name, capacity);
    for (unsigned i = 0; i < 3; i++)
        capacity = beside_closed_loops(&c, times[i], names[i], capacity);
    offer(&c, 10 * capacity, 1e6, NULL);
    offer(&c, 0.2 * capacity, 1e6, NULL);
    tell(p, "recovery", &c.tally, 1, 0);
    offer(&c, 0.2 * capacity, 1e6, NULL);
    tell(p, "after", &c.tally, 1, 0);
    if (p->floods > 0) {
        critical_beside_sheddable(p, &c, capacity);
        halted(p, &c, capacity);
        bad = beside_floods(p, &c, capacity);
    }
    client_close(&c);
    return bad;
}

int
main(int argc, char **argv)
{
    struct plan p;

    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE,
                  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (argc == 9 && shared != MAP_FAILED &&
        number_parse(argv[4], 1, 10000000, &p.run_us) &&
        number_parse(argv[5], 0, 10000000, &p.long_us) &&
        number_parse(argv[6], 1, 60000, &p.deadline_ms) &&
        number_parse(argv[7], 0, FLOODS_MOST, &p.floods) &&
        number_parse(argv[8], 1, INT32_MAX, &p.group)) {
        p.target = argv[1];
        p.name = argv[2];
        p.waits = strcmp(argv[3], "wait") == 0;
        return measure(&p);
    }
    fprintf(stderr, "usage: overload TARGET NAME burn|wait RUN_US LONG_US "
                    "DEADLINE_MS FLOODS GROUP\n");
    return 2;
}
