/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The cost of idle links: run
 *     idle TARGET LINKS SECONDS THREADS KEEPALIVE_MS
 * against a pool_server. The program opens LINKS links and lets them idle for
 * SECONDS. It prints the processor time and the wake-ups of the server and, if
 * THREADS (library threads) is not 0, its own. KEEPALIVE_MS 0 turns the
 * keepalive off. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <verbcall/counters.h>

#include "bench.vc.h"
#include "bench/bench.h"
#include "examples/kv/number.h"

#define CONNECT_US 60e6 /* for all links, at most */

struct plan {
    uint64_t links, seconds, threads, keepalive_ms;
};

struct work {
    uint64_t cpu_us, wakeups;
};

static int
failed(const char *what)
{
    fprintf(stderr, "idle: %s: %s\n", what, vc_error());
    return 1;
}

static struct vc_counters
counters_of(struct vc_runtime *runtime)
{
    struct vc_counters c = VC_COUNTERS_INIT;

    vc_runtime_counters(runtime, &c);
    return c;
}

static struct work
own_work(struct vc_runtime *runtime)
{
    struct vc_counters c = counters_of(runtime);
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (struct work){
        .cpu_us = (uint64_t)t.tv_sec * 1000000u + (uint64_t)t.tv_nsec / 1000,
        .wakeups = c.wakeups_event + c.wakeups_told + c.wakeups_timer};
}

static enum vc_status
servers_work(struct vc_channel *channel, struct work *work)
{
    Bench__Payload request = BENCH__PAYLOAD__INIT;
    Bench__WorkReply *reply;
    enum vc_status status = bench_host_work(channel, &request, NULL, &reply);

    if (status == VC_OK) {
        work->cpu_us = reply->cpu_us;
        work->wakeups = reply->wakeups;
        vc_message_free(reply);
    }
    return status;
}

/* Makes calls until all links are up: without a library thread only calls
 * advance the runtime. */
static enum vc_status
links_make(struct vc_runtime *runtime, struct vc_channel *channel,
           uint64_t links)
{
    double due = now_us() + CONNECT_US;
    struct work work;

    while (counters_of(runtime).links_up < links) {
        enum vc_status status = servers_work(channel, &work);

        if (status != VC_OK)
            return status;
        if (now_us() > due)
            return VC_DEADLINE_EXCEEDED;
    }
    return VC_OK;
}

static void
nap(double us)
{
    double due = now_us() + us, left;

    while ((left = due - now_us()) > 0) {
        struct timespec t = {
            .tv_sec = (time_t)(left / 1e6),
            .tv_nsec =
                (long)(left - (double)(time_t)(left / 1e6) * 1e6) * 1000};

        nanosleep(&t, NULL);
    }
}

static void
tell(const struct plan *p, const char *who, const struct work *from,
     const struct work *to)
{
    const char *off = p->keepalive_ms == 0 ? "_keepalive_off" : "";
    double seconds = (double)p->seconds;

    printf("idle_%" PRIu64 "_links%s_cpu_percent_%s %.2f\n", p->links, off, who,
           (double)(to->cpu_us - from->cpu_us) / seconds / 1e4);
    printf("idle_%" PRIu64 "_links%s_wakeups_%s %.1f\n", p->links, off, who,
           (double)(to->wakeups - from->wakeups) / seconds);
}

static int
measure(struct vc_runtime *runtime, struct vc_channel *channel,
        const struct plan *p)
{
    struct work here, there, here_then, there_then;

    if (links_make(runtime, channel, p->links) != VC_OK)
        return failed("the links do not come up");
    nap(2e6); /* the work of connecting has ended */
    if (servers_work(channel, &there) != VC_OK)
        return failed("the server does not answer");
    nap(1e6);
    here = own_work(runtime);
    nap((double)p->seconds * 1e6);
    here_then = own_work(runtime);
    if (servers_work(channel, &there_then) != VC_OK)
        return failed("the server does not answer any more");
    /* The server's interval is one second longer (the nap before the start). */
    there_then.cpu_us = there.cpu_us + (there_then.cpu_us - there.cpu_us) *
                                           p->seconds / (p->seconds + 1);
    there_then.wakeups = there.wakeups + (there_then.wakeups - there.wakeups) *
                                             p->seconds / (p->seconds + 1);
    tell(p, p->threads != 0 ? "asked_server" : "server", &there, &there_then);
    if (p->threads != 0)
        tell(p, "client", &here, &here_then);
    return 0;
}

static int
run(const char *target, const struct plan *p)
{
    struct vc_channel_opts opts = VC_CHANNEL_OPTS_INIT;
    struct vc_runtime_opts runtime_opts = VC_RUNTIME_OPTS_INIT;
    struct vc_runtime *runtime = NULL;
    struct vc_channel *channel = NULL;
    int result;

    runtime_opts.threads = (unsigned)p->threads;
    opts.min_links = opts.max_links = (unsigned)p->links;
    opts.keepalive_ms =
        p->keepalive_ms != 0 ? (uint32_t)p->keepalive_ms : VC_KEEPALIVE_OFF;
    if (vc_runtime_new(&runtime_opts, &runtime) != VC_OK ||
        (p->threads != 0 && vc_runtime_start(runtime) != VC_OK) ||
        vc_channel_open(runtime, target, &opts, &channel) != VC_OK)
        result = failed("no channel");
    else
        result = measure(runtime, channel, p);
    vc_channel_close(channel);
    vc_runtime_free(runtime);
    return result;
}

int
main(int argc, char **argv)
{
    struct plan p;

    if (argc == 6 && number_parse(argv[2], 1, 1024, &p.links) &&
        number_parse(argv[3], 1, 600, &p.seconds) &&
        number_parse(argv[4], 0, 64, &p.threads) &&
        number_parse(argv[5], 0, 600000, &p.keepalive_ms))
        return run(argv[1], &p);
    fprintf(stderr, "usage: idle TARGET LINKS SECONDS THREADS KEEPALIVE_MS\n");
    return 2;
}
