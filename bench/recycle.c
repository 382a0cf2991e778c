/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * How long connecting takes with new QPs, with QPs used again, and without
 * Verbcall. Run `recycle server ADDRESS`, which prints three ports, and
 * `recycle client ADDRESS RAW FRESH RECYCLED COUNT` with these. The kinds take
 * turns, and each has its own runtime and server. */
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.vc.h"
#include "bench/bench.h"
#include "bench/raw_connect.h"
#include "examples/kv/number.h"

#define MAX_COUNT 100000
/* Connections before those that are measured: devices are opened,
 * caches fill. */
#define WARM_UP 5
/* Time before each connection: the server releases the previous one, and the
 * thread that did so stops polling. The client does not sleep meanwhile: in a
 * virtual machine the host decides when a sleeping processor wakes up. */
#define SETTLE_US 4000

enum kind {
    RAW,      /* rdma_create_qp(), rdma_connect(), a first message */
    FRESH,    /* no QP is kept for reuse */
    RECYCLED, /* all options have their defaults */
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

static void
target_of(const char *host, const char *port, char target[128])
{
    snprintf(target, 128,
             strchr(host, ':') != NULL ? "rdma://[%s]:%s" : "rdma://%s:%s",
             host, port);
}

static struct addrinfo *
addr_of(const char *host, const char *port)
{
    const struct addrinfo hints = {.ai_flags = AI_NUMERICHOST,
                                   .ai_socktype = SOCK_STREAM};
    struct addrinfo *addr;

    if (getaddrinfo(host, port, &hints, &addr) == 0)
        return addr;
    fprintf(stderr, "recycle: %s is no address\n", host);
    return NULL;
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
    return status;
}

static int
serve(const char *host)
{
    static struct raw_end raw; /* its thread lives as long as the process */
    struct end ends[KINDS] = {{NULL, NULL}};
    struct addrinfo *addr = addr_of(host, "0");
    int result = 0, signal;
    sigset_t signals;
    char target[128];
    uint16_t port;

    if (addr == NULL)
        return 1;
    target_of(host, "0", target);

    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    sigprocmask(SIG_BLOCK, &signals, NULL); /* before threads are started */
    port = raw_serve(&raw, addr);
    freeaddrinfo(addr);
    for (int kind = FRESH; kind < KINDS && result == 0; kind++)
        if (end_open(&ends[kind], kind, target) != VC_OK)
            result = fail();
    if (result == 0) {
        printf("raw %d, fresh %d, recycled on port %d\n", port,
               vc_server_port(ends[FRESH].server),
               vc_server_port(ends[RECYCLED].server));
        fflush(stdout);
        sigwait(&signals, &signal);
    }
    for (int kind = FRESH; kind < KINDS; kind++) {
        vc_server_free(ends[kind].server);
        vc_runtime_free(ends[kind].runtime);
    }
    return result;
}

/* --- client -------------------------------------------------------------- */

struct client {
    struct raw_end raw;
    struct addrinfo *addr;
    struct vc_runtime *runtimes[KINDS]; /* RAW has none */
    char targets[KINDS][128];
    double *times[KINDS];
};

/* Connects once; *us is the time. */
static bool
connect_verbcall(struct client *c, enum kind kind, double *us)
{
    struct vc_channel *channel = NULL;
    enum vc_status status =
        vc_channel_open(c->runtimes[kind], c->targets[kind], NULL, &channel);
    double start = now_us();

    if (status == VC_OK)
        status = vc_channel_connect(channel, &bench_echo_service);
    *us = now_us() - start;
    if (status != VC_OK)
        fail();
    vc_channel_close(channel);
    return status == VC_OK;
}

static bool
connect_raw(struct client *c, double *us)
{
    double start = now_us();
    struct rdma_cm_id *id = raw_connect(&c->raw, c->addr);

    *us = now_us() - start;
    if (id == NULL) {
        perror("recycle: rdma_connect");
        return false;
    }
    raw_leave(&c->raw, id);
    return true;
}

static void
settle(void)
{
    double until = now_us() + SETTLE_US;

    while (now_us() < until)
        sched_yield();
}

static bool
connect_all(struct client *c, size_t count)
{
    double us;

    for (size_t i = 0; i < WARM_UP + count; i++) {
        for (int at = 0; at < KINDS; at++) {
            /* The order alternates, so that each kind follows each. */
            int kind = i % 2 == 0 ? at : KINDS - 1 - at;

            settle();
            if (!(kind == RAW ? connect_raw(c, &us)
                              : connect_verbcall(c, kind, &us)))
                return false;
            if (i >= WARM_UP)
                c->times[kind][i - WARM_UP] = us;
        }
    }
    return true;
}

static void
connects_print(struct client *c, size_t count)
{
    double raw = median(c->times[RAW], count);
    double fresh = median(c->times[FRESH], count);
    double recycled = median(c->times[RECYCLED], count);

    printf("connect_rdma_create_qp_us %.1f\n"
           "connect_fresh_us %.1f\nconnect_recycled_us %.1f\n"
           "recycled_connect_over_rdma_create_qp %.3f\n"
           "recycled_connect_over_fresh %.3f\n",
           raw, fresh, recycled, raw / recycled, fresh / recycled);
}

/* The QP's own part, at one end: create and destroy, or reset. */
static bool
qps_measure(struct client *c, size_t count)
{
    double *made = c->times[FRESH], *reset = c->times[RECYCLED];

    for (size_t i = 0; i < count; i++) {
        double start = now_us();
        struct ibv_qp *qp = raw_qp_new(&c->raw);
        double create = now_us() - start;
        bool good;

        if (qp == NULL || !raw_qp_init(qp)) {
            perror("recycle: a QP");
            return false;
        }
        start = now_us();
        good = raw_qp_reset(qp);
        reset[i] = now_us() - start;
        start = now_us();
        ibv_destroy_qp(qp);
        made[i] = create + now_us() - start;
        if (!good)
            return false;
    }
    printf("qp_create_destroy_us %.1f\nqp_reset_us %.1f\n", median(made, count),
           median(reset, count));
    return true;
}

static bool
client_open(struct client *c, char **args, size_t count)
{
    c->addr = addr_of(args[0], args[1]);
    if (c->addr == NULL || !raw_open(&c->raw))
        return false;
    for (int kind = 0; kind < KINDS; kind++) {
        target_of(args[0], args[1 + kind], c->targets[kind]);
        c->times[kind] = calloc(count, sizeof *c->times[kind]);
        if (c->times[kind] == NULL)
            return false;
        if (kind != RAW && runtime_new(kind, &c->runtimes[kind]) != VC_OK)
            return fail() == 0;
    }
    return true;
}

static void
client_close(struct client *c)
{
    for (int kind = 0; kind < KINDS; kind++) {
        vc_runtime_free(c->runtimes[kind]);
        free(c->times[kind]);
    }
    raw_close(&c->raw);
    if (c->addr != NULL)
        freeaddrinfo(c->addr);
}

static int
run_client(char **args, size_t count)
{
    struct client c = {.addr = NULL};
    bool good = client_open(&c, args, count) && connect_all(&c, count);

    if (good) {
        connects_print(&c, count);
        good = qps_measure(&c, count);
    }
    client_close(&c);
    return good ? 0 : 1;
}

int
main(int argc, char **argv)
{
    uint64_t count;

    if (argc == 3 && strcmp(argv[1], "server") == 0)
        return serve(argv[2]);
    if (argc == 7 && strcmp(argv[1], "client") == 0 &&
        number_parse(argv[6], 1, MAX_COUNT, &count))
        return run_client(argv + 2, count);
    fprintf(stderr, "usage: recycle server ADDRESS\n"
                    "       recycle client ADDRESS RAW FRESH RECYCLED COUNT\n");
    return 2;
}
