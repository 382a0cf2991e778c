/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * How long a blocking call takes, request and reply being of one size: run
 * `call_lat server TARGET` and `call_lat client TARGET SIZE COUNT [NS]`. All
 * settings are the library's defaults, as a program that sets none has them.
 * With NS an empty loop makes each call so many nanoseconds longer, a slowdown
 * of known size: bench/compare.sh --plant must find it. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench.vc.h"
#include "examples/kv/histogram.h"
#include "examples/kv/number.h"

#define MAX_SIZE  ((size_t)4000000)
#define MAX_COUNT 100000000
/* Calls before those that count: caches, credits and polling settle. */
#define WARM_UP 1000
/* Under valgrind in an emulator connecting may take longer than the library's
 * timeout the first time, as every function is translated. */
#define CONNECTS 30
/* The empty loop's pace is measured by so many tries of so many turns: some
 * are not interrupted. */
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

static int
serve(const char *target)
{
    const struct bench_echo_methods methods = {.call = echo};
    struct vc_runtime *runtime = NULL;
    struct vc_server *server = NULL;
    int result = 0, signal;
    sigset_t ends;

    sigemptyset(&ends);
    sigaddset(&ends, SIGINT);
    sigaddset(&ends, SIGTERM);
    sigprocmask(SIG_BLOCK, &ends, NULL); /* before threads are started */
    if (vc_runtime_new(NULL, &runtime) != VC_OK ||
        vc_server_new(runtime, NULL, &server) != VC_OK ||
        bench_echo_add(server, &methods, NULL) != VC_OK ||
        vc_server_listen(server, target) != VC_OK ||
        vc_runtime_start(runtime, 1) != VC_OK) {
        result = fail();
    } else {
        printf("listening on port %d\n", vc_server_port(server));
        fflush(stdout);
        sigwait(&ends, &signal);
    }
    vc_server_close(server);
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

/* What the client sends, and how. */
struct load {
    struct vc_channel *channel;
    Bench__Payload request;
    uint64_t spin; /* turns of an empty loop before each call */
};

static void
spin(uint64_t turns)
{
    for (volatile uint64_t turn = 0; turn < turns; turn++)
        continue;
}

/* How many turns take that long, by the fastest of several tries. */
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
        vc_reply_free(reply); /* belongs to a call as the call does */
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

/* fast_us is the time of a call that nothing disturbed: on a host with other
 * work it moves less than the median. */
static int
call(const struct load *load, uint64_t count)
{
    static struct histogram warm_up, times;

    if (connect_channel(load->channel) != VC_OK ||
        measure(load, WARM_UP, &warm_up) != VC_OK ||
        measure(load, count, &times) != VC_OK)
        return fail();
    printf("median_us %.2f\np99_us %.2f\nmin_us %.2f\nfast_us %.3f\n",
           (double)histogram_quantile(&times, 500) / 1e3,
           (double)histogram_quantile(&times, 990) / 1e3,
           (double)times.min / 1e3,
           (double)histogram_quantile(&times, 100) / 1e3);
    return 0;
}

static int
run_client(const char *target, size_t size, uint64_t count, uint64_t ns)
{
    struct load load = {.request = BENCH__PAYLOAD__INIT, .spin = turns_of(ns)};
    struct vc_runtime *runtime = NULL;
    int result;

    load.request.data.len = size;
    load.request.data.data = calloc(1, size);
    if (load.request.data.data == NULL) {
        fprintf(stderr, "call_lat: no memory for %zu bytes\n", size);
        return 1;
    }
    if (vc_runtime_new(NULL, &runtime) != VC_OK ||
        vc_channel_open(runtime, target, NULL, &load.channel) != VC_OK)
        result = fail();
    else
        result = call(&load, count);
    vc_channel_close(load.channel);
    vc_runtime_free(runtime);
    free(load.request.data.data);
    return result;
}

int
main(int argc, char **argv)
{
    uint64_t size, count, ns = 0;

    if (argc == 3 && strcmp(argv[1], "server") == 0)
        return serve(argv[2]);
    if ((argc == 5 || argc == 6) && strcmp(argv[1], "client") == 0 &&
        number_parse(argv[3], 1, MAX_SIZE, &size) &&
        number_parse(argv[4], 1, MAX_COUNT, &count) &&
        (argc == 5 || number_parse(argv[5], 0, MAX_COUNT, &ns)))
        return run_client(argv[2], size, count, ns);
    fprintf(stderr, "usage: call_lat server TARGET\n"
                    "       call_lat client TARGET SIZE COUNT [NS]\n");
    return 2;
}
