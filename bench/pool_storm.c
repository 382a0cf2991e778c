/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Many clients that connect to one pool_server at once, in a few processes,
 * each client with a pool of its own. `pool_storm all TARGET CLIENTS`: all
 * clients stay until the last is served. `pool_storm refused TARGET CLIENTS`:
 * the server has low limits, each client leaves when it was served, and a
 * refused client retries. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.vc.h"
#include "bench/bench.h"
#include "examples/kv/number.h"

#define PROCESSES   4u
#define CLIENTS_MAX 4000u
#define STACK       ((size_t)256 << 10)
/* Channels with the same connect timeout share a pool: each client has its
 * own timeout. */
#define STAY_MS  60000u
#define LEAVE_MS 2000u
/* A refused client retries for at most this time. */
#define PATIENCE_US 60e6

struct storm {
    const char *target;
    unsigned clients;
    bool stay;
    pthread_barrier_t ready, served, leave; /* of all clients, and main */
    struct outcome {
        double us; /* time until it was served; 0: never */
        unsigned refused;
        char error[160];
    } outcomes[CLIENTS_MAX];
};

struct client {
    struct storm *storm;
    struct vc_runtime *runtime;
    unsigned i;
};

static bool
say(const char *what)
{
    fprintf(stderr, "pool_storm: %s\n", what);
    return false;
}

/* --- a client -------------------------------------------------------------- */

static bool
call_check(struct vc_channel *channel, unsigned i, struct outcome *out)
{
    Bench__Payload request = BENCH__PAYLOAD__INIT;
    Bench__Payload *reply;
    char text[32];
    bool good;

    snprintf(text, sizeof text, "client %u", i);
    request.data.data = (uint8_t *)text;
    request.data.len = strlen(text);
    if (bench_echo_call(channel, &request, NULL, &reply) != VC_OK) {
        snprintf(out->error, sizeof out->error, "%s", vc_error());
        return false;
    }
    good = reply->data.len == request.data.len &&
           memcmp(reply->data.data, text, request.data.len) == 0;
    if (!good)
        snprintf(out->error, sizeof out->error, "a reply was wrong");
    vc_message_free(reply);
    return good;
}

static enum vc_status
connect_once(struct vc_channel *channel, struct outcome *out)
{
    enum vc_status status = vc_channel_connect(channel, &bench_echo_service);

    if (status == VC_OK)
        return status;
    snprintf(out->error, sizeof out->error, "%s", vc_error());
    out->refused += strstr(out->error, "busy") != NULL;
    return status;
}

/* Tries until the client is served, or until PATIENCE_US has passed. */
static void
client_try(struct client *c, struct vc_channel *channel, struct outcome *out)
{
    double start = now_us();

    while (connect_once(channel, out) != VC_OK)
        if (c->storm->stay || now_us() - start > PATIENCE_US)
            return;
    if (call_check(channel, c->i, out))
        out->us = now_us() - start;
}

static void *
client_run(void *arg)
{
    struct client *c = arg;
    struct storm *s = c->storm;
    struct outcome *out = &s->outcomes[c->i];
    struct vc_channel_opts opts = VC_CHANNEL_OPTS_INIT;
    struct vc_channel *channel = NULL;

    opts.max_links = 1;
    opts.connect_timeout_ms = (s->stay ? STAY_MS : LEAVE_MS) + c->i;
    if (vc_channel_open(c->runtime, s->target, &opts, &channel) != VC_OK)
        snprintf(out->error, sizeof out->error, "%s", vc_error());
    pthread_barrier_wait(&s->ready);
    if (channel != NULL)
        client_try(c, channel, out);
    if (!s->stay) {
        vc_channel_close(channel);
        channel = NULL;
    }
    pthread_barrier_wait(&s->served);
    pthread_barrier_wait(&s->leave);
    vc_channel_close(channel);
    return NULL;
}

/* --- a process ------------------------------------------------------------- */

/* Runs clients from..to-1, each on a thread of its own. */
static bool
clients_run(struct storm *s, struct vc_runtime *runtime, unsigned from,
            unsigned to)
{
    static struct client clients[CLIENTS_MAX];
    static pthread_t threads[CLIENTS_MAX];
    pthread_attr_t attr;

    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, STACK);
    for (unsigned i = from; i < to; i++) {
        clients[i] = (struct client){.storm = s, .runtime = runtime, .i = i};
        /* The barriers would block the others for ever: the process ends. */
        if (pthread_create(&threads[i], &attr, client_run, &clients[i]) != 0)
            return say("no thread");
    }
    pthread_attr_destroy(&attr);
    for (unsigned i = from; i < to; i++)
        pthread_join(threads[i], NULL);
    return true;
}

static bool
process_run(struct storm *s, unsigned from, unsigned to)
{
    struct vc_runtime *runtime = NULL;
    bool good;

    if (vc_runtime_new(NULL, &runtime) != VC_OK)
        return say(vc_error());
    good = clients_run(s, runtime, from, to);
    if (good)
        vc_runtime_free(runtime);
    return good;
}

/* --- all of them ----------------------------------------------------------- */

static bool
barriers_init(struct storm *s)
{
    pthread_barrierattr_t shared;
    bool good;

    pthread_barrierattr_init(&shared);
    pthread_barrierattr_setpshared(&shared, PTHREAD_PROCESS_SHARED);
    good = pthread_barrier_init(&s->ready, &shared, s->clients + 1) == 0 &&
           pthread_barrier_init(&s->served, &shared, s->clients + 1) == 0 &&
           pthread_barrier_init(&s->leave, &shared, s->clients + 1) == 0;
    pthread_barrierattr_destroy(&shared);
    return good;
}

/* Prints what the server has pinned while all clients are connected. */
static bool
pinned_print(struct vc_channel *channel)
{
    Bench__Payload request = BENCH__PAYLOAD__INIT;
    Bench__MemoryReply *reply;

    if (bench_host_memory(channel, &request, NULL, &reply) != VC_OK)
        return say(vc_error());
    printf("storm_server_pinned_mib %.1f\n", (double)reply->pinned / 1048576);
    vc_message_free(reply);
    return true;
}

static void
outcomes_print(const struct storm *s)
{
    unsigned served = 0, refused = 0, later = 0, failed = 0;
    double slowest = 0;

    for (unsigned i = 0; i < s->clients; i++) {
        const struct outcome *out = &s->outcomes[i];

        served += out->us > 0;
        refused += out->refused > 0;
        later += out->refused > 0 && out->us > 0;
        if (out->us > slowest)
            slowest = out->us;
        if (out->us == 0 && failed++ < 3)
            fprintf(stderr, "pool_storm: client %u: %s\n", i, out->error);
    }
    if (s->stay)
        printf("storm_served %u\nstorm_served_share %.4f\n"
               "storm_slowest_ms %.0f\n",
               served, (double)served / s->clients, slowest / 1e3);
    else
        printf("storm_refused %u\nstorm_later_served %u\n"
               "storm_limited_served %u\nstorm_limited_slowest_ms %.0f\n",
               refused, later, served, slowest / 1e3);
}

static bool
children_wait(const pid_t *children, unsigned n)
{
    bool good = true;
    int status;

    while (n-- > 0) {
        if (waitpid(children[n], &status, 0) < 0 || status != 0)
            good = say("a client's process failed");
    }
    return good;
}

static bool
storm_watch(struct storm *s)
{
    struct vc_runtime *runtime = NULL;
    struct vc_channel *channel = NULL;
    bool good = true;

    pthread_barrier_wait(&s->ready);
    pthread_barrier_wait(&s->served);
    if (s->stay) {
        good = (vc_runtime_new(NULL, &runtime) == VC_OK &&
                vc_channel_open(runtime, s->target, NULL, &channel) == VC_OK) ||
               say(vc_error());
        good = good && pinned_print(channel);
        vc_channel_close(channel);
        vc_runtime_free(runtime);
    }
    pthread_barrier_wait(&s->leave);
    return good;
}

static bool
storm_run(struct storm *s)
{
    pid_t children[PROCESSES];
    bool good;

    for (unsigned n = 0; n < PROCESSES; n++) {
        unsigned from = s->clients * n / PROCESSES;
        unsigned to = s->clients * (n + 1) / PROCESSES;

        children[n] = fork();
        if (children[n] < 0)
            return say("no process");
        if (children[n] == 0)
            _exit(process_run(s, from, to) ? 0 : 1);
    }
    good = storm_watch(s);
    good = children_wait(children, PROCESSES) && good;
    outcomes_print(s);
    return good;
}

int
main(int argc, char **argv)
{
    struct storm *s = mmap(NULL, sizeof *s, PROT_READ | PROT_WRITE,
                           MAP_SHARED | MAP_ANONYMOUS, -1, 0); /* zeroed */
    uint64_t clients;

    if (argc != 4 ||
        (strcmp(argv[1], "all") != 0 && strcmp(argv[1], "refused") != 0) ||
        !number_parse(argv[3], 1, CLIENTS_MAX, &clients)) {
        fprintf(stderr, "usage: pool_storm all TARGET CLIENTS\n"
                        "       pool_storm refused TARGET CLIENTS\n");
        return 2;
    }
    if (s == MAP_FAILED)
        return say("no memory") ? 0 : 1;
    s->target = argv[2];
    s->clients = (unsigned)clients;
    s->stay = strcmp(argv[1], "all") == 0;
    return barriers_init(s) && storm_run(s) ? 0 : 1;
}
