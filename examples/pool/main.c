/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * verbcall_pool: many sessions on few connections. Each channel has a session
 * of its own, and all channels to one target share its links, so that thousands
 * of them cost little more than one. Restart the server meanwhile to see how
 * the sessions move to the new one. */
#include <getopt.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "../kv/number.h"
#include "pool.vc.h"
#include "serve.h"

#define MAX_THREADS  256u
#define MAX_SESSIONS 16384u
#define MAX_LINKS    1024u
#define MAX_SIZE     ((size_t)1 << 20)

struct options {
    uint64_t sessions, threads, links, calls, size, seconds;
};

struct session {
    struct vc_channel *channel;
    uint64_t instance; /* of the server, in its last reply; 0: no reply yet */
    bool failing;      /* its last call failed */
};

/* Counted by any thread. */
struct counts {
    atomic_ullong calls, wrong, failed;
    atomic_ullong open;    /* sessions that got a reply */
    atomic_ullong resumed; /* sessions that worked again after a failure */
    atomic_ullong moved;   /* times that a restarted server answered */
    atomic_ullong failing; /* sessions that fail now */
    atomic_uint running;   /* threads that run */
};

struct client {
    struct options options;
    const char *target;
    struct vc_runtime *runtime;
    struct session *sessions;
    struct counts counts;
    pthread_mutex_t lock;
    char error[256]; /* lock: of the last call that failed */
    double until;
};

struct worker {
    struct client *client;
    uint64_t first; /* first session; then every threads-th */
    pthread_t thread;
};

static const char help[] =
    "usage: verbcall_pool server [TARGET]\n"
    "       verbcall_pool [OPTION...] TARGET\n"
    "Opens many sessions to a server over few connections, calls in each in\n"
    "turn, checks the replies, and shows each second how it goes.\n"
    "\n"
    "  --sessions N  sessions, 1..16384 (default 1000)\n"
    "  --threads N   threads that call, 1..256 (default 4)\n"
    "  --links N     connections at most, 1..1024 (default 4)\n"
    "  --calls N     calls in each session (default 10)\n"
    "  --size N      bytes of each request and reply, to 1 MiB (default 64)\n"
    "  --seconds N   call for so long instead of --calls\n"
    "\n"
    "Exit status: 0 all is well in the end, 1 a reply was wrong or a session\n"
    "does not work, 2 wrong usage.\n";

static double
now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* --- a call --------------------------------------------------------------- */

static void
session_works(struct client *c, struct session *s, uint64_t instance)
{
    if (s->instance == 0)
        atomic_fetch_add(&c->counts.open, 1);
    else if (s->instance != instance)
        atomic_fetch_add(&c->counts.moved, 1);
    if (s->failing) {
        atomic_fetch_add(&c->counts.resumed, 1);
        atomic_fetch_sub(&c->counts.failing, 1);
    }
    s->failing = false;
    s->instance = instance;
}

static void
session_fails(struct client *c, struct session *s)
{
    atomic_fetch_add(&c->counts.failed, 1);
    if (!s->failing)
        atomic_fetch_add(&c->counts.failing, 1);
    s->failing = true;
    pthread_mutex_lock(&c->lock);
    snprintf(c->error, sizeof c->error, "%s", vc_error());
    pthread_mutex_unlock(&c->lock);
}

static void
session_call(struct client *c, uint64_t i, uint64_t number, uint8_t *data)
{
    Pool__EchoRequest request = POOL__ECHO_REQUEST__INIT;
    struct session *s = &c->sessions[i];
    Pool__EchoReply *reply;

    memset(data, (int)(i + number), c->options.size);
    request.session = i;
    request.number = number;
    request.data.data = data;
    request.data.len = c->options.size;
    if (pool_pool_echo(s->channel, &request, NULL, &reply) != VC_OK) {
        session_fails(c, s);
        return;
    }
    atomic_fetch_add(&c->counts.calls, 1);
    if (reply->session != i || reply->number != number ||
        reply->data.len != c->options.size ||
        (c->options.size > 0 &&
         memcmp(reply->data.data, data, c->options.size) != 0))
        atomic_fetch_add(&c->counts.wrong, 1);
    session_works(c, s, reply->instance);
    vc_message_free(reply);
}

static bool
is_over(const struct client *c, uint64_t number)
{
    return c->options.seconds > 0 ? now() >= c->until
                                  : number >= c->options.calls;
}

static void *
worker_run(void *arg)
{
    struct worker *w = arg;
    struct client *c = w->client;
    uint8_t *data = malloc(c->options.size + 1);

    for (uint64_t number = 0; data != NULL && !is_over(c, number); number++)
        for (uint64_t i = w->first; i < c->options.sessions;
             i += c->options.threads)
            session_call(c, i, number, data);
    if (data == NULL)
        atomic_fetch_add(&c->counts.failing, 1);
    free(data);
    atomic_fetch_sub(&c->counts.running, 1);
    return NULL;
}

/* --- what is shown -------------------------------------------------------- */

/* Prints the counters of the runtime. */
static void
counters_print(struct vc_runtime *runtime)
{
    char text[8192];

    vc_runtime_counters_text(runtime, text, sizeof text);
    fputs(text, stdout);
}

static void
line_print(const struct client *c, double per_second)
{
    const struct counts *n = &c->counts;

    printf("%9.0f calls/s   %llu sessions on at most %" PRIu64
           " links   %llu failing   %llu resumed   %llu moved\n",
           per_second, atomic_load(&n->open), c->options.links,
           atomic_load(&n->failing), atomic_load(&n->resumed),
           atomic_load(&n->moved));
    fflush(stdout);
}

/* Shows a line each second until the threads are done. */
static void
watch(struct client *c)
{
    const struct timespec tick = {.tv_nsec = 50000000};
    double then = now(), t;
    unsigned long long calls, before = 0;

    while (atomic_load(&c->counts.running) > 0) {
        nanosleep(&tick, NULL);
        t = now();
        if (t - then < 1)
            continue;
        calls = atomic_load(&c->counts.calls);
        line_print(c, (double)(calls - before) / (t - then));
        before = calls;
        then = t;
    }
}

static void
table_print(struct client *c, double seconds)
{
    const struct counts *n = &c->counts;

    printf("\nsessions         %llu\nlinks, at most   %" PRIu64
           "\ncalls            %llu\ncalls a second   %.0f\n"
           "wrong replies    %llu\nfailed calls     %llu\n"
           "resumed          %llu\nmoved            %llu\n"
           "failing now      %llu\n",
           atomic_load(&n->open), c->options.links, atomic_load(&n->calls),
           (double)atomic_load(&n->calls) / seconds, atomic_load(&n->wrong),
           atomic_load(&n->failed), atomic_load(&n->resumed),
           atomic_load(&n->moved), atomic_load(&n->failing));
    if (c->error[0] != '\0')
        printf("last failure     %s\n", c->error);
    counters_print(c->runtime);
}

/* --- the client ----------------------------------------------------------- */

static bool
fail(void)
{
    fprintf(stderr, "verbcall_pool: %s\n", vc_error());
    return false;
}

static bool
sessions_open(struct client *c)
{
    const struct vc_channel_opts *opts =
        VC_CHANNEL_OPTS(.max_links = (unsigned)c->options.links);

    for (uint64_t i = 0; i < c->options.sessions; i++)
        if (vc_channel_open(c->runtime, c->target, opts,
                            &c->sessions[i].channel) != VC_OK)
            return fail();
    /* Connect now, so that a wrong target is reported at once. */
    return vc_channel_connect(c->sessions[0].channel, &pool_pool_service) ==
               VC_OK ||
           fail();
}

static bool
workers_run(struct client *c)
{
    static struct worker workers[MAX_THREADS];
    unsigned n = 0, all = (unsigned)c->options.threads;

    while (n < all) {
        workers[n] = (struct worker){.client = c, .first = n};
        atomic_fetch_add(&c->counts.running, 1);
        if (pthread_create(&workers[n].thread, NULL, worker_run, &workers[n]) !=
            0)
            break;
        n++;
    }
    if (n < all) {
        fprintf(stderr, "verbcall_pool: cannot have %u threads\n", all);
        atomic_fetch_sub(&c->counts.running, 1);
    }
    watch(c);
    for (unsigned i = 0; i < n; i++)
        pthread_join(workers[i].thread, NULL);
    return n == all;
}

static bool
client_run(struct client *c)
{
    double start = now();
    bool good;

    c->until = start + (double)c->options.seconds;
    good = workers_run(c);
    table_print(c, now() - start);
    return good && atomic_load(&c->counts.wrong) == 0 &&
           atomic_load(&c->counts.failing) == 0 &&
           atomic_load(&c->counts.open) == c->options.sessions;
}

static int
client(const struct options *options, const char *target)
{
    static struct client c;
    bool good;

    c.options = *options;
    c.target = target;
    pthread_mutex_init(&c.lock, NULL);
    c.sessions = calloc(options->sessions, sizeof *c.sessions);
    if (c.sessions == NULL) {
        fprintf(stderr, "verbcall_pool: out of memory\n");
        return 1;
    }
    good = vc_runtime_new(NULL, &c.runtime) == VC_OK || fail();
    good = good && sessions_open(&c) && client_run(&c);
    for (uint64_t i = 0; i < options->sessions; i++)
        vc_channel_close(c.sessions[i].channel);
    vc_runtime_free(c.runtime);
    free(c.sessions);
    return good ? 0 : 1;
}

/* --- the program ---------------------------------------------------------- */

static int
usage(void)
{
    fprintf(stderr, "verbcall_pool: an option is wrong or the target is "
                    "missing; verbcall_pool --help shows more\n");
    return 2;
}

static bool
option_take(int option, struct options *o)
{
    switch (option) {
    case 's':
        return number_parse(optarg, 1, MAX_SESSIONS, &o->sessions);
    case 't':
        return number_parse(optarg, 1, MAX_THREADS, &o->threads);
    case 'l':
        return number_parse(optarg, 1, MAX_LINKS, &o->links);
    case 'c':
        return number_parse(optarg, 1, UINT32_MAX, &o->calls);
    case 'z':
        return number_parse(optarg, 0, MAX_SIZE, &o->size);
    case 'n':
        return number_parse(optarg, 1, UINT32_MAX, &o->seconds);
    default:
        return false;
    }
}

int
main(int argc, char **argv)
{
    static const struct option longs[] = {
        {"sessions", required_argument, NULL, 's'},
        {"threads", required_argument, NULL, 't'},
        {"links", required_argument, NULL, 'l'},
        {"calls", required_argument, NULL, 'c'},
        {"size", required_argument, NULL, 'z'},
        {"seconds", required_argument, NULL, 'n'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    struct options options = {1000, 4, 4, 10, 64, 0};
    int option;

    if (argc > 1 && argc < 4 && strcmp(argv[1], "server") == 0)
        return serve(argc > 2 ? argv[2] : "vc://[::]:7471");
    while ((option = getopt_long(argc, argv, "", longs, NULL)) != -1) {
        if (option == 'h')
            return fputs(help, stdout) < 0 ? 1 : 0;
        if (!option_take(option, &options))
            return usage();
    }
    if (optind != argc - 1)
        return usage();
    return client(&options, argv[optind]);
}
