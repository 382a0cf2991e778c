/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * How long connecting takes with QPs made anew and with QPs used again: run
 * `recycle server TARGET`, which tells of two ports, and `recycle client FRESH
 * RECYCLED COUNT` with the targets of these. The two kinds take turns, each
 * with a runtime of its own on either side. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench.vc.h"
#include "examples/kv/number.h"

#define MAX_COUNT 100000
/* Connections before those that count: devices are opened, caches fill. */
#define WARM_UP 5

enum kind {
    FRESH,    /* no QP is kept */
    RECYCLED, /* as a program has it that sets nothing */
    KINDS
};

static int
fail(void)
{
    fprintf(stderr, "recycle: %s\n", vc_error());
    return 1;
}

static enum vc_status
runtime_new(enum kind kind, struct vc_runtime **runtime)
{
    struct vc_runtime_opts opts = VC_RUNTIME_OPTS_INIT;

    if (kind == FRESH)
        opts.warm_qps = VC_WARM_NONE;
    return vc_runtime_new(&opts, runtime);
}

/* --- server -------------------------------------------------------------- */

static enum vc_status
echo(struct vc_call *call, const Bench__Payload *request, Bench__Payload *reply,
     void *arg)
{
    (void)call;
    (void)arg;
    reply->data = request->data;
    return VC_OK;
}

struct end {
    struct vc_runtime *runtime;
    struct vc_server *server;
};

static enum vc_status
end_open(struct end *end, enum kind kind, const char *target)
{
    const struct bench_echo_methods methods = {.call = echo};
    enum vc_status status = runtime_new(kind, &end->runtime);

    if (status == VC_OK)
        status = vc_server_new(end->runtime, NULL, &end->server);
    if (status == VC_OK)
        status = bench_echo_add(end->server, &methods, NULL);
    if (status == VC_OK)
        status = vc_server_listen(end->server, target);
    if (status == VC_OK)
        status = vc_runtime_start(end->runtime, 1);
    return status;
}

static int
serve(const char *target)
{
    struct end ends[KINDS] = {{NULL, NULL}};
    int result = 0, signal;
    sigset_t signals;

    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    sigprocmask(SIG_BLOCK, &signals, NULL); /* before threads are started */
    for (int kind = 0; kind < KINDS && result == 0; kind++)
        if (end_open(&ends[kind], kind, target) != VC_OK)
            result = fail();
    if (result == 0) {
        printf("fresh %d, recycled on port %d\n",
               vc_server_port(ends[FRESH].server),
               vc_server_port(ends[RECYCLED].server));
        fflush(stdout);
        sigwait(&signals, &signal);
    }
    for (int kind = 0; kind < KINDS; kind++) {
        vc_server_close(ends[kind].server);
        vc_runtime_free(ends[kind].runtime);
    }
    return result;
}

/* --- client -------------------------------------------------------------- */

static double
now_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static int
by_size(const void *a, const void *b)
{
    const double *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

static double
median(double *values, size_t n)
{
    qsort(values, n, sizeof *values, by_size);
    return n % 2 != 0 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

/* Connects once, and says how long that took. */
static enum vc_status
connect_once(struct vc_runtime *runtime, const char *target, double *us)
{
    struct vc_channel *channel = NULL;
    enum vc_status status = vc_channel_open(runtime, target, NULL, &channel);
    double start = now_us();

    if (status == VC_OK)
        status = vc_channel_connect(channel, &bench_echo_service);
    *us = now_us() - start;
    vc_channel_close(channel);
    return status;
}

static enum vc_status
connect_all(struct vc_runtime *const *runtimes, const char *const *targets,
            size_t count, double **times)
{
    double ignored;

    for (size_t i = 0; i < WARM_UP + count; i++) {
        for (int kind = 0; kind < KINDS; kind++) {
            enum vc_status status = connect_once(
                runtimes[kind], targets[kind],
                i < WARM_UP ? &ignored : &times[kind][i - WARM_UP]);

            if (status != VC_OK)
                return status;
        }
    }
    return VC_OK;
}

static void
connects_print(double **times, size_t count)
{
    double fresh = median(times[FRESH], count);
    double recycled = median(times[RECYCLED], count);

    printf("connect_fresh_us %.1f\nconnect_recycled_us %.1f\n"
           "recycled_connect_over_fresh %.3f\n",
           fresh, recycled, fresh / recycled);
}

static int
run_client(const char *const *targets, size_t count)
{
    struct vc_runtime *runtimes[KINDS] = {NULL, NULL};
    double *times[KINDS];
    int result = 0;

    for (int kind = 0; kind < KINDS; kind++) {
        times[kind] = calloc(count, sizeof *times[kind]);
        if (times[kind] == NULL || runtime_new(kind, &runtimes[kind]) != VC_OK)
            result = fail();
    }
    if (result == 0 && connect_all(runtimes, targets, count, times) != VC_OK)
        result = fail();
    if (result == 0)
        connects_print(times, count);
    for (int kind = 0; kind < KINDS; kind++) {
        vc_runtime_free(runtimes[kind]);
        free(times[kind]);
    }
    return result;
}

int
main(int argc, char **argv)
{
    uint64_t count;

    if (argc == 3 && strcmp(argv[1], "server") == 0)
        return serve(argv[2]);
    if (argc == 5 && strcmp(argv[1], "client") == 0 &&
        number_parse(argv[4], 1, MAX_COUNT, &count))
        return run_client((const char *const *)argv + 2, count);
    fprintf(stderr, "usage: recycle server TARGET\n"
                    "       recycle client FRESH RECYCLED COUNT\n");
    return 2;
}
