/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Calls between two processes of one machine, against a pool_server: run
 *     local [-n] TARGET NAME call|asleep|rate|upload|beside
 *     local TARGET NAME idle LINKS
 * The program prints lines whose names begin with NAME:
 * - call: the time of a blocking call of 64 bytes
 * - asleep: the same when both ends sleep between the calls
 * - rate: asynchronous calls a second, with 64 under way
 * - upload: bytes a microsecond of requests of 1 MiB, with 4 under way
 * - beside: the time of a call beside two uploads of 64 MiB on the same link,
 *   over its time alone
 * - idle: the time of a call beside LINKS idle links, over its time alone, and
 *   the memory and processor time of these links
 * -n: the client never spins. And
 *     local bare
 * prints the speed of the machine without Verbcall. Two processes pass a line
 * of flags and one of 64 bytes to and fro, or wake each other by eventfds in
 * epoll; and memory is copied. */
#define _GNU_SOURCE /* sched_setaffinity() */
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <verbcall/async.h>

#include "bench.vc.h"
#include "bench/bench.h"
#include "examples/kv/number.h"

#define CALLS     100000u
#define WARM_UP   5000u
#define ASLEEP    2000u
#define BETWEEN   500u /* us: longer than either end polls with -n */
#define UNDER_WAY 64u
#define RATE_US   1e6
#define PIECE     ((size_t)1 << 20)
#define PIECES    512u
#define PIECES_AT 4u
#define LONG      ((size_t)64 << 20)
#define BESIDE    2000u
#define IDLE_US   10000000u
#define LINKS     1024u
#define COPIED    ((size_t)256 << 20)
#define LINE      64u

static struct {
    struct vc_runtime *runtime;
    struct vc_channel *channel;
    struct vc_completions *queue;
    const char *target, *name;
    bool never_spins;
} local;

static int
failed(const char *what)
{
    fprintf(stderr, "local: %s: %s\n", what, vc_error());
    return 1;
}

static bool
local_open(void)
{
    struct vc_runtime_opts runtime_opts = VC_RUNTIME_OPTS_INIT;
    struct vc_channel_opts opts = VC_CHANNEL_OPTS_INIT;

    if (local.never_spins)
        runtime_opts.spin_us = VC_SPIN_NEVER;
    opts.max_message = LONG + 4096;
    opts.max_links = 1;
    return vc_runtime_new(&runtime_opts, &local.runtime) == VC_OK &&
           vc_channel_open(local.runtime, local.target, &opts,
                           &local.channel) == VC_OK &&
           vc_completions_new(local.runtime, &local.queue) == VC_OK;
}

static void
local_close(void)
{
    vc_completions_free(local.queue);
    vc_channel_close(local.channel);
    vc_runtime_free(local.runtime);
}

/* --- calls ---------------------------------------------------------------- */

static bool
call(void)
{
    Bench__Payload request = BENCH__PAYLOAD__INIT, *reply;
    uint8_t data[64] = {0};

    request.data.data = data;
    request.data.len = sizeof data;
    if (bench_echo_call(local.channel, &request, NULL, &reply) != VC_OK)
        return false;
    vc_message_free(reply);
    return true;
}

/* Makes n calls; returns their times, sorted. NULL: one has failed. */
static const double *
calls(unsigned n, unsigned between_us)
{
    static double us[CALLS];

    for (unsigned i = 0; i < n; i++) {
        double began;

        if (between_us > 0)
            usleep(between_us);
        began = now_us();
        if (!call())
            return NULL;
        us[i] = now_us() - began;
    }
    median(us, n);
    return us;
}

static int
measure_call(const char *what, unsigned n, unsigned between_us)
{
    const double *us = calls(n < WARM_UP ? n : WARM_UP, between_us);

    us = us == NULL ? NULL : calls(n, between_us);
    if (us == NULL)
        return failed(what);
    printf("%s_%s_us %.3f\n", local.name, what, us[n / 2]);
    printf("%s_%s_p99_us %.3f\n", local.name, what, us[n - n / 100]);
    return 0;
}

/* Queues a call of len bytes; Drop has an empty reply. */
static bool
ask(bool drops, void *data, size_t len)
{
    Bench__Payload request = BENCH__PAYLOAD__INIT;

    request.data.data = data;
    request.data.len = len;
    return vc_channel_call_queued(
               local.channel, drops ? &bench_host_service : &bench_echo_service,
               0, &request, NULL, local.queue, NULL, NULL) == VC_OK;
}

static bool
take(void)
{
    struct vc_completion end;

    if (vc_completions_next(local.queue, 10000, &end) != VC_OK ||
        end.status != VC_OK)
        return false;
    vc_message_free(end.reply);
    return true;
}

static int
measure_rate(void)
{
    uint8_t data[64] = {0};
    unsigned n = 0, under_way = 0;
    double began = now_us(), us;

    while ((us = now_us() - began) < 2 * RATE_US) {
        if (us < RATE_US) /* the warm-up is not counted */
            n = 0;
        for (unsigned i = 0; i < 256; i++) {
            while (under_way < UNDER_WAY && ask(false, data, sizeof data))
                under_way++;
            if (!take())
                return failed("rate");
            under_way--;
            n++;
        }
    }
    printf("%s_calls_per_s %.0f\n", local.name, n * 1e6 / (us - RATE_US));
    while (under_way-- > 0)
        take();
    return 0;
}

static int
measure_upload(void)
{
    uint8_t *data = calloc(1, PIECE);
    unsigned under_way = 0, n = 0;
    double began = 0;

    while (data != NULL && n < 2 * PIECES) {
        while (under_way < PIECES_AT && ask(true, data, PIECE))
            under_way++;
        if (!take())
            return failed("upload");
        under_way--;
        if (++n == PIECES)
            began = now_us();
    }
    printf("%s_1mib_mb_per_s %.0f\n", local.name,
           (double)PIECES * (double)PIECE / (now_us() - began));
    while (under_way-- > 0)
        take();
    free(data);
    return 0;
}

static int
measure_beside(void)
{
    uint8_t *data = calloc(1, LONG);
    const double *us = calls(WARM_UP, 0);
    double alone, beside;
    unsigned n = 0;

    us = us == NULL ? NULL : calls(BESIDE, 0);
    if (us == NULL || data == NULL)
        return failed("beside");
    alone = us[BESIDE - BESIDE / 100];
    while (n < 2 && ask(true, data, LONG))
        n++;
    us = calls(BESIDE, 0);
    if (us == NULL)
        return failed("beside");
    beside = us[BESIDE - BESIDE / 100];
    while (n-- > 0)
        if (!take())
            return failed("an upload");
    printf("%s_call_64_beside_64mib_p99_over_alone %.2f\n", local.name,
           beside / alone);
    free(data);
    return 0;
}

static double
cpu_us(void)
{
    struct rusage r;

    getrusage(RUSAGE_SELF, &r);
    return (double)(r.ru_utime.tv_sec + r.ru_stime.tv_sec) * 1e6 +
           (double)(r.ru_utime.tv_usec + r.ru_stime.tv_usec);
}

/* Opens channels that share no link: no two have the same options. */
static unsigned
links_open(struct vc_channel **channels, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        struct vc_channel_opts opts = VC_CHANNEL_OPTS_INIT;

        opts.idle_timeout_ms = 600000 + i;
        if (vc_channel_open(local.runtime, local.target, &opts, &channels[i]) !=
                VC_OK ||
            vc_channel_connect(channels[i], &bench_echo_service) != VC_OK)
            return i;
    }
    return n;
}

/* Resident KiB of the server ([0]) and of this process ([1]). */
static bool
resident_kib(double kib[2])
{
    Bench__Payload request = BENCH__PAYLOAD__INIT;
    Bench__MemoryReply *reply;
    unsigned long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");

    if (file == NULL || fscanf(file, "%*u %lu", &pages) != 1 ||
        bench_host_memory(local.channel, &request, NULL, &reply) != VC_OK)
        return false;
    fclose(file);
    kib[0] = (double)reply->resident / 1024;
    kib[1] = (double)pages * 4;
    vc_message_free(reply);
    return true;
}

static int
measure_idle(unsigned n)
{
    static struct vc_channel *channels[LINKS];
    const double *us = calls(WARM_UP, 0);
    double alone, began, before[2], after[2];

    us = us == NULL ? NULL : calls(CALLS, 0);
    if (us == NULL)
        return failed("idle");
    alone = us[CALLS / 2];
    if (!resident_kib(before) || links_open(channels, n) != n ||
        !resident_kib(after))
        return failed("idle links");
    for (unsigned i = 0; i < 2; i++)
        printf("%s_idle_link_kib_%s %.1f\n", local.name,
               i == 0 ? "server" : "client", (after[i] - before[i]) / n);
    us = calls(CALLS, 0);
    if (us == NULL)
        return failed("idle");
    printf("%s_call_64_beside_%u_idle_over_alone %.3f\n", local.name, n,
           us[CALLS / 2] / alone);
    if (vc_runtime_start(local.runtime) != VC_OK)
        return failed("a thread");
    usleep(IDLE_US / 5);
    began = cpu_us();
    usleep(IDLE_US);
    printf("%s_idle_%u_cpu_percent %.2f\n", local.name, n,
           (cpu_us() - began) * 100 / IDLE_US);
    for (unsigned i = 0; i < n; i++)
        vc_channel_close(channels[i]);
    return 0;
}

/* --- the machine ---------------------------------------------------------- */

struct lines {
    _Alignas(128) atomic_uint flag[2][32];
    _Alignas(128) uint8_t data[2][128];
};

static void
pin(unsigned cpu)
{
    cpu_set_t set;

    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    sched_setaffinity(0, sizeof set, &set);
}

/* Plays n turns of one side: side 1 writes first, side 0 answers. */
static void
lines_pass(struct lines *l, unsigned side, unsigned n)
{
    uint8_t copy[LINE];

    for (unsigned i = 1; i <= n; i++) {
        if (side == 1) {
            memset(l->data[1], (int)i, LINE);
            atomic_store_explicit(&l->flag[1][0], i, memory_order_release);
        }
        while (atomic_load_explicit(&l->flag[1 - side][0],
                                    memory_order_acquire) != i)
            continue;
        memcpy(copy, l->data[1 - side], LINE);
        if (side == 0) {
            memcpy(l->data[0], copy, LINE);
            atomic_store_explicit(&l->flag[0][0], i, memory_order_release);
        }
    }
}

/* Plays the n turns of the side that answers. */
static void
events_answer(const int *fds, int epoll, unsigned n)
{
    struct epoll_event event;
    uint64_t one = 1;

    while (n > 0) {
        if (epoll_wait(epoll, &event, 1, -1) != 1 ||
            read(fds[0], &one, sizeof one) < 0)
            continue;
        one = 1;
        if (write(fds[1], &one, sizeof one) > 0)
            n--;
    }
}

/* Plays the n turns of the side that asks; returns the median time. */
static double
events_ask(const int *fds, int epoll, unsigned n)
{
    static double us[ASLEEP];
    struct epoll_event event;

    for (unsigned i = 0; i < n; i++) {
        uint64_t one = 1;
        double began;

        usleep(BETWEEN);
        began = now_us();
        if (write(fds[0], &one, sizeof one) < 0)
            continue;
        while (epoll_wait(epoll, &event, 1, -1) != 1 ||
               read(fds[1], &one, sizeof one) < 0)
            continue;
        us[i] = now_us() - began;
    }
    return median(us, n);
}

static int
epoll_of(int fd)
{
    int epoll = epoll_create1(0);
    struct epoll_event event = {.events = EPOLLIN};

    epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event);
    return epoll;
}

static double
copy_speed(void)
{
    uint8_t *from = malloc(COPIED), *to = malloc(COPIED);
    double began, us;

    if (from == NULL || to == NULL)
        return 0;
    memset(from, 1, COPIED);
    memset(to, 2, COPIED);
    began = now_us();
    for (size_t at = 0; at < COPIED; at += PIECE)
        memcpy(to + at, from + at, PIECE);
    us = now_us() - began;
    us += to[COPIED - 1] == 7; /* keeps the compiler from dropping the copy */
    free(from);
    free(to);
    return (double)COPIED / us;
}

static int
bare(void)
{
    struct lines *l = mmap(NULL, sizeof *l, PROT_READ | PROT_WRITE,
                           MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    const int fds[2] = {eventfd(0, EFD_NONBLOCK), eventfd(0, EFD_NONBLOCK)};
    double began;
    pid_t pid;

    if (l == MAP_FAILED || fds[0] < 0 || fds[1] < 0)
        return failed("bare");
    pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        pin(0);
        lines_pass(l, 0, CALLS * 10);
        events_answer(fds, epoll_of(fds[0]), ASLEEP);
        _exit(0);
    }
    pin(1);
    began = now_us();
    lines_pass(l, 1, CALLS * 10);
    printf("bare_us %.3f\n", (now_us() - began) / (CALLS * 10));
    printf("bare_asleep_us %.3f\n", events_ask(fds, epoll_of(fds[1]), ASLEEP));
    waitpid(pid, NULL, 0);
    printf("bare_memcpy_mb_per_s %.0f\n", copy_speed());
    return 0;
}

static int
measure(const char *what, unsigned links)
{
    if (strcmp(what, "call") == 0)
        return measure_call("call_64", CALLS, 0);
    if (strcmp(what, "asleep") == 0)
        return measure_call("asleep", ASLEEP, BETWEEN);
    if (strcmp(what, "rate") == 0)
        return measure_rate();
    if (strcmp(what, "upload") == 0)
        return measure_upload();
    if (strcmp(what, "beside") == 0)
        return measure_beside();
    if (links > 0)
        return measure_idle(links);
    return 2;
}

int
main(int argc, char **argv)
{
    uint64_t links = 0;
    int bad;

    if (argc == 2 && strcmp(argv[1], "bare") == 0)
        return bare();
    if (argc > 1 && strcmp(argv[1], "-n") == 0) {
        local.never_spins = true;
        argv++;
        argc--;
    }
    if (argc < 4 || (argc > 4 && !number_parse(argv[4], 1, LINKS, &links))) {
        fprintf(stderr, "usage: local [-n] TARGET NAME "
                        "call|asleep|rate|upload|beside\n"
                        "       local TARGET NAME idle LINKS\n"
                        "       local bare\n");
        return 2;
    }
    local.target = argv[1];
    local.name = argv[2];
    if (!local_open())
        return failed("no client");
    bad = measure(argv[3], (unsigned)links);
    local_close();
    return bad;
}
