/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Latency of a blocking call whose request and reply have the same size: run
 * `call_lat server TARGET` and `call_lat client TARGET SIZE COUNT`. All options
 * have their defaults.
 *
 * `call_lat turns TARGET SIZE COUNT [NS]` has both ends in one thread. It makes
 * COUNT calls for each line that it reads, so that two programs can take turns
 * (bench/compare.sh). With NS, an empty loop makes each call so many
 * nanoseconds longer: a slowdown of known size. */
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench.vc.h"
#include "examples/kv/histogram.h"
#include "examples/kv/number.h"

#define MAX_SIZE  ((size_t)4000000)
#define MAX_COUNT 100000000
/* Calls before those that are measured: caches, credits and polling settle. */
#define WARM_UP 1000
/* The same, in a process that has made calls before. */
#define TURN_WARM_UP 200
/* Attempts to connect: under valgrind in an emulator the first may take longer
 * than the library's timeout, as every function is translated first. */
#define CONNECTS 30
/* The pace of the empty loop is measured by PROBES tries of PROBE_TURNS turns;
 * some of them are not interrupted. */
#define PROBES      200
#define PROBE_TURNS 10000

static int
fail(void)
{
    fprintf(stderr, "call_lat: %s\n", vc_error());
    return 1;
}

/* --- server -------------------------------------------------------------- */

static enum vc_status
echo(struct vc_call *call, const Bench__Payload *request, Bench__Payload *reply,
     void *arg)
{
    (void)call;
    (void)arg;
    reply->data = request->data; /* both live until the reply is packed */
    return VC_OK;
}

/* Creates a server on this runtime, and listens. */
static enum vc_status
server_open(struct vc_runtime *runtime, const char *target,
            struct vc_server **server)
{
    static const struct bench_echo_methods methods = {.call = echo};
    enum vc_status status = vc_server_new(runtime, NULL, server);

    if (status == VC_OK)
        status = bench_echo_add(*server, &methods, NULL);
    if (status == VC_OK)
        status = vc_server_listen(*server, target);
    return status;
}

static int
serve(const char *target)
{
    struct vc_runtime *runtime = NULL;
    struct vc_server *server = NULL;
    int result = 0, signal;
    sigset_t ends;

    sigemptyset(&ends);
    sigaddset(&ends, SIGINT);
    sigaddset(&ends, SIGTERM);
    sigprocmask(SIG_BLOCK, &ends, NULL); /* before threads are started */
    if (vc_runtime_new(NULL, &runtime) != VC_OK ||
        server_open(runtime, target, &server) != VC_OK) {
        result = fail();
    } else {
        printf("listening on port %d\n", vc_server_port(server));
        fflush(stdout);
        sigwait(&ends, &signal);
    }
    vc_server_free(server);
    vc_runtime_free(runtime);
    return result;
}

/* --- client -------------------------------------------------------------- */

static uint64_t
now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* What the client sends. */
struct load {
    struct vc_channel *channel;
    Bench__Payload request;
    uint64_t spin; /* turns of the empty loop before each call */
};

static void
spin(uint64_t turns)
{
    for (volatile uint64_t turn = 0; turn < turns; turn++)
        continue;
}

/* Returns how many turns take ns nanoseconds, by the fastest of
 * several tries. */
static uint64_t
turns_of(uint64_t ns)
{
    uint64_t best = UINT64_MAX;

    if (ns == 0)
        return 0;
    for (unsigned i = 0; i < PROBES; i++) {
        uint64_t start = now_ns(), took;

        spin(PROBE_TURNS);
        took = now_ns() - start;
        if (took < best)
            best = took;
    }
    return ns * PROBE_TURNS / (best > 0 ? best : 1);
}

/* Makes count calls and records how long each took. */
static enum vc_status
measure(const struct load *load, uint64_t count, struct histogram *times)
{
    for (uint64_t i = 0; i < count; i++) {
        uint64_t start = now_ns();
        Bench__Payload *reply;
        enum vc_status status;

        spin(load->spin);
        status = bench_echo_call(load->channel, &load->request, NULL, &reply);
        if (status != VC_OK)
            return status;
        vc_message_free(reply); /* freeing the reply is part of a call */
        histogram_record(times, now_ns() - start);
    }
    return VC_OK;
}

static enum vc_status
connect_channel(struct vc_channel *channel)
{
    enum vc_status status = VC_UNAVAILABLE;

    for (unsigned i = 0; i < CONNECTS && status != VC_OK; i++)
        status = vc_channel_connect(channel, &bench_echo_service);
    return status;
}

/* Makes count calls that are measured, after warm_up others. */
static enum vc_status
connect_and_measure(struct load *load, uint64_t warm_up, uint64_t count,
                    struct histogram *times)
{
    static struct histogram ignored;
    enum vc_status status = connect_channel(load->channel);

    if (status == VC_OK)
        status = measure(load, warm_up, &ignored);
    if (status == VC_OK)
        status = measure(load, count, times);
    return status;
}

/* Returns the time of an undisturbed call, the 10th percentile: on a host with
 * other load it varies less than the median. */
static double
fast_us(const struct histogram *times)
{
    return (double)histogram_quantile(times, 100) / 1e3;
}

static int
run_client(const char *target, struct load *load, uint64_t count)
{
    static struct histogram times;
    struct vc_runtime *runtime = NULL;
    int result = 0;

    if (vc_runtime_new(NULL, &runtime) != VC_OK ||
        vc_channel_open(runtime, target, NULL, &load->channel) != VC_OK ||
        connect_and_measure(load, WARM_UP, count, &times) != VC_OK)
        result = fail();
    else
        printf("median_us %.2f\np99_us %.2f\nmin_us %.2f\nfast_us %.3f\n",
               (double)histogram_quantile(&times, 500) / 1e3,
               (double)histogram_quantile(&times, 990) / 1e3,
               (double)times.min / 1e3, fast_us(&times));
    vc_channel_close(load->channel);
    vc_runtime_free(runtime);
    return result;
}

/* --- both ends in one thread --------------------------------------------- */

/* A target with port 0 gets any free port; an inproc target is
 * used as it is. */
static enum vc_status
open_both(struct vc_runtime *runtime, const char *target,
          struct vc_server **server, struct vc_channel **channel)
{
    enum vc_status status = server_open(runtime, target, server);
    size_t len = strlen(target);
    char to[256];

    if (status != VC_OK)
        return status;
    if (strncmp(target, "inproc:", 7) == 0)
        return vc_channel_open(runtime, target, NULL, channel);
    snprintf(to, sizeof to, "%.*s%d", (int)len - 1, target,
             vc_server_port(*server));
    return vc_channel_open(runtime, to, NULL, channel);
}

/* Each turn has a runtime and a connection of its own: the place of the buffers
 * in memory makes one some percent faster or slower than another. */
static int
run_turn(const char *target, struct load *load, uint64_t count)
{
    const struct vc_runtime_opts *opts =
        VC_RUNTIME_OPTS(.threads = VC_THREADS_NONE);
    struct vc_runtime *runtime = NULL;
    struct vc_server *server = NULL;
    struct histogram times = {0};
    int result = 0;

    if (vc_runtime_new(opts, &runtime) != VC_OK ||
        open_both(runtime, target, &server, &load->channel) != VC_OK ||
        connect_and_measure(load, TURN_WARM_UP, count, &times) != VC_OK)
        result = fail();
    else
        printf("%.3f\n", fast_us(&times));
    fflush(stdout);
    vc_channel_close(load->channel);
    load->channel = NULL;
    vc_server_free(server);
    vc_runtime_free(runtime);
    return result;
}

static int
run_turns(const char *target, struct load *load, uint64_t count)
{
    int result = 0;
    char line[80];

    while (result == 0 && fgets(line, sizeof line, stdin) != NULL)
        result = run_turn(target, load, count);
    return result;
}

/* --- arguments ----------------------------------------------------------- */

static int
run_load(bool turns, const char *target, size_t size, uint64_t count,
         uint64_t ns)
{
    struct load load = {.request = BENCH__PAYLOAD__INIT, .spin = turns_of(ns)};
    int result;

    load.request.data.len = size;
    load.request.data.data = calloc(1, size);
    if (load.request.data.data == NULL) {
        fprintf(stderr, "call_lat: no memory for %zu bytes\n", size);
        return 1;
    }
    result = turns ? run_turns(target, &load, count)
                   : run_client(target, &load, count);
    free(load.request.data.data);
    return result;
}

int
main(int argc, char **argv)
{
    bool turns = argc > 1 && strcmp(argv[1], "turns") == 0;
    uint64_t size, count, ns = 0;

    if (argc == 3 && strcmp(argv[1], "server") == 0)
        return serve(argv[2]);
    if ((argc == 5 || (turns && argc == 6)) &&
        (turns || strcmp(argv[1], "client") == 0) &&
        number_parse(argv[3], 1, MAX_SIZE, &size) &&
        number_parse(argv[4], 1, MAX_COUNT, &count) &&
        (argc == 5 || number_parse(argv[5], 0, MAX_COUNT, &ns)))
        return run_load(turns, argv[2], size, count, ns);
    fprintf(stderr, "usage: call_lat server TARGET\n"
                    "       call_lat client TARGET SIZE COUNT\n"
                    "       call_lat turns TARGET SIZE COUNT [NS]\n");
    return 2;
}
