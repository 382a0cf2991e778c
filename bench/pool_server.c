/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The server of most benchmarks: run `pool_server TARGET`, or `pool_server
 * TARGET MAX_LINKS MAX_HALF_OPEN CONNECTS_PER_SECOND` for one with low limits.
 * Options come first:
 * -e THREADS  the number of library threads
 * -n          never spin
 * -m MIB      max_memory
 * -k          no keepalive
 * -c SEATS    how many handlers of Wait run at a time
 * -a LIMIT    adaptive_limit
 * The server prints its port, and reports its memory and work when asked. */
#include <inttypes.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <verbcall/counters.h>

#include "bench.vc.h"
#include "bench/bench.h"
#include "examples/kv/number.h"

static enum vc_status
echo(struct vc_call *call, const Bench__Payload *request, Bench__Payload *reply,
     void *arg)
{
    (void)call;
    (void)arg;
    reply->data = request->data; /* both live until the reply is packed */
    return VC_OK;
}

static enum vc_status
drop(struct vc_call *call, const Bench__Payload *request, Bench__Payload *reply,
     void *arg)
{
    (void)call;
    (void)request;
    (void)reply;
    (void)arg;
    return VC_OK;
}

/* Reads the process's memory from /proc/self/status; false on an error. */
static bool
system_bytes(Bench__MemoryReply *reply)
{
    FILE *status = fopen("/proc/self/status", "r");
    unsigned found = 0;
    char line[128];

    if (status == NULL)
        return false;
    while (fgets(line, sizeof line, status) != NULL) {
        found += sscanf(line, "VmPin: %" SCNu64, &reply->pinned) == 1;
        found += sscanf(line, "VmRSS: %" SCNu64, &reply->resident) == 1;
        found += sscanf(line, "VmHWM: %" SCNu64, &reply->peak) == 1;
    }
    fclose(status);
    reply->pinned *= 1024;
    reply->resident *= 1024;
    reply->peak *= 1024;
    return found == 3;
}

static enum vc_status
memory(struct vc_call *call, const Bench__Payload *request,
       Bench__MemoryReply *reply, void *arg)
{
    (void)request;
    (void)arg;
    if (!system_bytes(reply))
        return vc_call_fail(call, VC_UNAVAILABLE,
                            "/proc/self/status has no VmPin, VmRSS and VmHWM");
    reply->heap = heap_bytes();
    return VC_OK;
}

static enum vc_status
work(struct vc_call *call, const Bench__Payload *request,
     Bench__WorkReply *reply, void *arg)
{
    struct vc_counters c = VC_COUNTERS_INIT;
    struct timespec t;

    (void)call;
    (void)request;
    vc_runtime_counters(arg, &c);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    reply->cpu_us = (uint64_t)t.tv_sec * 1000000u + (uint64_t)t.tv_nsec / 1000;
    reply->wakeups = c.wakeups_event + c.wakeups_told + c.wakeups_timer;
    return VC_OK;
}

static double
processor_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static enum vc_status
burn(struct vc_call *call, const Bench__LoadRequest *request,
     Bench__Payload *reply, void *arg)
{
    double until = processor_us() + request->us;

    (void)call;
    (void)reply;
    (void)arg;
    while (processor_us() < until)
        continue;
    return VC_OK;
}

/* The resource that handlers of Wait need; its count is SEATS. */
static sem_t seats;

static enum vc_status
wait_long(struct vc_call *call, const Bench__LoadRequest *request,
          Bench__Payload *reply, void *arg)
{
    (void)call;
    (void)reply;
    (void)arg;
    while (sem_wait(&seats) != 0)
        continue; /* interrupted by a signal */
    usleep(request->us);
    sem_post(&seats);
    return VC_OK;
}

static enum vc_status
up(struct vc_call *call, struct bench_flow_up_server_stream *stream,
   Bench__FlowReply *reply, void *arg)
{
    Bench__Payload *message = NULL;
    enum vc_status status;

    (void)call;
    (void)arg;
    while ((status = bench_flow_up_server_receive(stream, &message)) == VC_OK &&
           message != NULL) {
        reply->messages++;
        vc_message_free(message);
    }
    return status;
}

#define FLOW_BYTES 65536u

static enum vc_status
down(struct vc_call *call, const Bench__FlowRequest *request,
     struct bench_flow_down_server_stream *stream, void *arg)
{
    static uint8_t zeros[FLOW_BYTES];
    Bench__Payload message = BENCH__PAYLOAD__INIT;
    enum vc_status status = VC_OK;

    (void)arg;
    if (request->bytes > sizeof zeros)
        return vc_call_fail(call, VC_INVALID_ARGUMENT,
                            "bytes: %u is not in 0..%u",
                            (unsigned)request->bytes, FLOW_BYTES);
    message.data.data = zeros;
    message.data.len = request->bytes;
    for (uint32_t i = 0; i < request->messages && status == VC_OK; i++)
        status = bench_flow_down_server_send(stream, &message);
    return status;
}

static enum vc_status
server_open(struct vc_runtime *runtime, struct vc_server **server,
            const struct vc_server_opts *opts, const char *target)
{
    const struct bench_echo_methods echoes = {.call = echo};
    const struct bench_host_methods host = {
        .drop = drop, .memory = memory, .work = work};
    const struct bench_load_methods load = {
        .burn = burn, .burn_long = burn, .wait = wait_long};
    const struct bench_flow_methods flow = {.up = up, .down = down};
    enum vc_status status = vc_server_new(runtime, opts, server);

    if (status == VC_OK)
        status = bench_echo_add(*server, &echoes, NULL);
    if (status == VC_OK)
        status = bench_host_add(*server, &host, runtime);
    if (status == VC_OK)
        status = bench_load_add(*server, &load, NULL);
    if (status == VC_OK)
        status = bench_flow_add(*server, &flow, NULL);
    if (status == VC_OK)
        status = vc_server_listen(*server, target);
    return status;
}

static int
serve(const char *target, const struct vc_runtime_opts *runtime_opts,
      const struct vc_server_opts *opts)
{
    struct vc_runtime *runtime = NULL;
    struct vc_server *server = NULL;
    int result = 0, signal;
    sigset_t ends;

    sigemptyset(&ends);
    sigaddset(&ends, SIGINT);
    sigaddset(&ends, SIGTERM);
    sigprocmask(SIG_BLOCK, &ends, NULL); /* before threads are started */
    if (vc_runtime_new(runtime_opts, &runtime) != VC_OK ||
        server_open(runtime, &server, opts, target) != VC_OK) {
        fprintf(stderr, "pool_server: %s\n", vc_error());
        result = 1;
    } else {
        printf("listening on port %d\n", vc_server_port(server));
        fflush(stdout);
        sigwait(&ends, &signal);
    }
    vc_server_free(server);
    vc_runtime_free(runtime);
    return result;
}

int
main(int argc, char **argv)
{
    struct vc_runtime_opts runtime = VC_RUNTIME_OPTS_INIT;
    struct vc_server_opts opts = VC_SERVER_OPTS_INIT;
    uint64_t links = 0, half_open = 0, per_second = 0, threads = 1, mib = 0,
             n_seats = 65536, limit = 0;
    bool fine = true;
    int c;

    while ((c = getopt(argc, argv, "a:c:e:km:n")) != -1) {
        if (c == 'n')
            runtime.spin_us = VC_SPIN_NEVER;
        if (c == 'k')
            opts.keepalive_ms = VC_KEEPALIVE_OFF;
        fine =
            fine && (c == 'n' || c == 'k' ||
                     (c == 'e' && number_parse(optarg, 1, 64, &threads)) ||
                     (c == 'a' && number_parse(optarg, 3, 65536, &limit)) ||
                     (c == 'c' && number_parse(optarg, 1, 65536, &n_seats)) ||
                     (c == 'm' && number_parse(optarg, 16, 65536, &mib)));
    }
    argv += optind - 1;
    argc -= optind - 1;
    runtime.threads = (unsigned)threads;
    opts.max_memory = (size_t)mib << 20;
    opts.adaptive_limit = (uint32_t)limit;
    sem_init(&seats, 0, (unsigned)n_seats);
    if (fine &&
        (argc == 2 || (argc == 5 && number_parse(argv[2], 1, 65536, &links) &&
                       number_parse(argv[3], 1, 65536, &half_open) &&
                       number_parse(argv[4], 1, 1000000, &per_second)))) {
        opts.max_links = (unsigned)links;
        opts.max_half_open = (unsigned)half_open;
        opts.connects_per_second = (uint32_t)per_second;
        return serve(argv[1], &runtime, &opts);
    }
    fprintf(stderr, "usage: pool_server [-a LIMIT] [-c SEATS] [-e ENGINES] "
                    "[-k] [-m MIB] [-n] TARGET "
                    "[MAX_LINKS MAX_HALF_OPEN CONNECTS_PER_SECOND]\n");
    return 2;
}
