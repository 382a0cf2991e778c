/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Clients that take more than their share, against a pool_server: run
 *     hogs TARGET streams|endless|half
 * It prints how long another client's quick calls take, alone and beside one
 * greedy client. That client has 300 streams that it does not read (streams),
 * or 300 calls to a handler that does not end (endless), or was stopped with
 * 1,000 long requests under way (half). Or run
 *     hogs TARGET memory CLIENTS
 * It prints how 200 requests of 4 MiB end, from so many clients at once, and
 * the server's memory. */
#include <inttypes.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <verbcall/async.h>

#include "bench.vc.h"
#include "bench/bench.h"
#include "examples/kv/number.h"

#define STREAMS     300u
#define ENDLESS     300u
#define ENDLESS_US  8000000u /* longer than the measurement */
#define HALF        1000u
#define HALF_BYTES  (1u << 20)
#define A_SESSION   250u /* calls of a channel: a session has 256 slots */
#define CHANNELS    4u
#define CALLS       4000u
#define REQUESTS    200u
#define BYTES       ((4u << 20) - 100u)
#define HANDLER_US  900000u
#define PATIENCE_MS 60000u
#define PATIENCE_US (1e3 * PATIENCE_MS)
#define HOGS_MOST   20u
#define HALT_US     700000u
#define SETTLE_US   2000000u
/* Between two looks at what is awaited: 20 processes that looked each
 * millisecond would take the processors from the server. */
#define LOOK_US 20000u
#define MIB     1048576.0

/* Shared by all processes, which are forked before a runtime exists. */
static struct shared {
    atomic_uint ready;
    atomic_bool begin, end;
    atomic_uint good, shed, other;
} * shared;

struct client {
    struct vc_runtime *runtime;
    struct vc_channel *channels[CHANNELS];
};

static int
failed(const char *what)
{
    fprintf(stderr, "hogs: %s: %s\n", what, vc_error());
    return 1;
}

static bool
client_open(struct client *c, const char *target, unsigned channels)
{
    memset(c, 0, sizeof *c);
    if (vc_runtime_new(NULL, &c->runtime) != VC_OK ||
        vc_runtime_start(c->runtime) != VC_OK)
        return false;
    for (unsigned i = 0; i < channels; i++)
        if (vc_channel_open(c->runtime, target, NULL, &c->channels[i]) != VC_OK)
            return false;
    return true;
}

static void
client_close(struct client *c)
{
    for (unsigned i = 0; i < CHANNELS; i++)
        vc_channel_close(c->channels[i]);
    vc_runtime_free(c->runtime);
}

/* --- processes, and waiting for them -------------------------------------- */

/* As fork(2), but the child is killed when its parent ends. */
static pid_t
child_fork(void)
{
    pid_t parent = getpid(), pid = fork();

    if (pid < 0)
        perror("hogs: fork");
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent) /* the parent has ended already */
            _exit(1);
    }
    return pid;
}

static bool
has_begun(unsigned n)
{
    (void)n;
    return atomic_load(&shared->begin) || atomic_load(&shared->end);
}

static bool
has_ended(unsigned n)
{
    (void)n;
    return atomic_load(&shared->end);
}

static bool
are_ready(unsigned n)
{
    return atomic_load(&shared->ready) >= n;
}

static unsigned
ended(void)
{
    return atomic_load(&shared->good) + atomic_load(&shared->shed) +
           atomic_load(&shared->other);
}

static bool
have_ended(unsigned n)
{
    return ended() >= n;
}

static bool child_failed;

/* Reaps children that have ended. True when no child is left. */
static bool
children_reap(unsigned n)
{
    int status;
    pid_t pid;

    (void)n;
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
        child_failed |= status != 0;
    return pid < 0;
}

/* Waits until is_so(n). Returns false after the timeout `us`, or when a child
 * of this process fails; it has then printed `what`. */
static bool
await(bool (*is_so)(unsigned n), unsigned n, double us, const char *what)
{
    double until = now_us() + us;

    while (!is_so(n)) {
        children_reap(0);
        if (child_failed || now_us() > until) {
            fprintf(stderr, "hogs: %s: %s\n", what,
                    child_failed ? "a child process has failed"
                                 : "not in time");
            return false;
        }
        usleep(LOOK_US);
    }
    return true;
}

/* Used in a child: waits longer than the parent does before the end. */
static bool
await_end(void)
{
    return await(has_ended, 0, 3 * PATIENCE_US, "the end");
}

/* --- the greedy client ---------------------------------------------------- */

static void
count(enum vc_status status, Bench__Payload *reply, void *arg)
{
    (void)arg;
    if (status == VC_OK)
        atomic_fetch_add(&shared->good, 1);
    else if (status == VC_RESOURCE_EXHAUSTED &&
             vc_error_outcome() == VC_OUTCOME_NOT_EXECUTED)
        atomic_fetch_add(&shared->shed, 1);
    else
        atomic_fetch_add(&shared->other, 1);
    if (status != VC_OK && atomic_load(&shared->other) == 1)
        fprintf(stderr, "hogs: %s\n", vc_error());
    vc_message_free(reply);
}

static enum vc_status
stream_open(struct vc_channel *channel)
{
    Bench__FlowRequest request = BENCH__FLOW_REQUEST__INIT;
    struct vc_call_opts opts = VC_CALL_OPTS_INIT;
    struct bench_flow_down_client_stream *stream; /* never closed */

    request.messages = 100000;
    request.bytes = 1000;
    opts.timeout_ms = VC_NO_DEADLINE;
    return bench_flow_down(channel, &request, &opts, &stream);
}

static enum vc_status
wait_begin(struct vc_channel *channel, uint32_t us, void *data, size_t len)
{
    Bench__LoadRequest request = BENCH__LOAD_REQUEST__INIT;
    struct vc_call_opts opts = VC_CALL_OPTS_INIT;

    opts.timeout_ms = PATIENCE_MS;
    request.us = us;
    request.data.data = data;
    request.data.len = len;
    return bench_load_wait_async(channel, &request, &opts, count, NULL, NULL);
}

static int
hog(const char *target, const char *what)
{
    static uint8_t data[HALF_BYTES];
    enum vc_status status = VC_OK;
    struct client c;
    bool streams = strcmp(what, "streams") == 0,
         half = strcmp(what, "half") == 0;
    unsigned n = streams ? STREAMS : half ? HALF : ENDLESS;

    if (!await(has_begun, 0, PATIENCE_US, "a hog's begin"))
        return 1;
    if (!client_open(&c, target, CHANNELS))
        return failed("no hog");
    for (unsigned i = 0; i < n && status == VC_OK; i++) {
        struct vc_channel *channel = c.channels[i / A_SESSION];

        status = streams ? stream_open(channel)
                 : half  ? wait_begin(channel, 1, data, sizeof data)
                         : wait_begin(channel, ENDLESS_US, NULL, 0);
    }
    if (status != VC_OK)
        return failed("a hog's call");
    atomic_fetch_add(&shared->ready, 1);
    return await_end() ? 0 : 1;
}

/* --- a quick client beside it ------------------------------------------- */

/* Returns the 99th percentile of quick calls; *bad counts those that failed. */
static double
quick_p99(struct client *c, unsigned *bad)
{
    static double us[CALLS];
    Bench__Payload request = BENCH__PAYLOAD__INIT, *reply;
    uint8_t data[64] = {0};

    request.data.data = data;
    request.data.len = sizeof data;
    *bad = 0;
    for (unsigned i = 0; i < CALLS; i++) {
        double began = now_us();

        if (bench_echo_call(c->channels[0], &request, NULL, &reply) == VC_OK)
            vc_message_free(reply);
        else
            ++*bad;
        us[i] = now_us() - began;
    }
    median(us, CALLS);
    return us[CALLS - CALLS / 100];
}

static int
beside(const char *target, const char *what)
{
    pid_t pid = child_fork();
    double alone, besides;
    unsigned bad[2];
    struct client c;

    if (pid == 0)
        _exit(hog(target, what));
    if (pid < 0)
        return 1;
    if (!client_open(&c, target, 1))
        return failed("no client");
    quick_p99(&c, &bad[0]);
    alone = quick_p99(&c, &bad[0]);
    if (bad[0] == CALLS)
        return failed("no quick call ends well");
    atomic_store(&shared->begin, true);
    if (strcmp(what, "half") == 0) {
        usleep(HALT_US);
        if (children_reap(0)) {
            fprintf(stderr, "hogs: the hog has ended by itself\n");
            return 1;
        }
        kill(pid, SIGSTOP); /* at any point: most calls are under way */
    } else {
        if (!await(are_ready, 1, PATIENCE_US, "the hog's calls"))
            return 1;
        usleep(SETTLE_US);
    }
    besides = quick_p99(&c, &bad[1]);
    printf("beside_%s_alone_p99_us %.0f\n", what, alone);
    printf("beside_%s_p99_us %.0f\n", what, besides);
    printf("beside_%s_p99_over_alone %.2f\n", what, besides / alone);
    printf("beside_%s_failed %u\n", what, bad[0] + bad[1]);
    atomic_store(&shared->end, true);
    kill(pid, SIGKILL); /* its calls would not end */
    waitpid(pid, NULL, 0);
    client_close(&c);
    return 0;
}

/* --- memory ------------------------------------------------------------------ */

static int
flood(const char *target, unsigned n)
{
    static uint8_t data[BYTES];
    struct client c;

    if (!client_open(&c, target, 1) ||
        vc_channel_connect(c.channels[0], &bench_load_service) != VC_OK)
        return failed("no client");
    atomic_fetch_add(&shared->ready, 1);
    if (!await(has_begun, 0, PATIENCE_US, "a client's begin"))
        return 1;
    for (unsigned i = 0; i < n; i++)
        if (wait_begin(c.channels[0], HANDLER_US, data, sizeof data) != VC_OK)
            atomic_fetch_add(&shared->other, 1);
    if (!await_end())
        return 1;
    client_close(&c);
    return 0;
}

static bool
server_memory(struct client *c, double *now, double *peak)
{
    Bench__Payload request = BENCH__PAYLOAD__INIT;
    Bench__MemoryReply *reply;

    if (bench_host_memory(c->channels[0], &request, NULL, &reply) != VC_OK)
        return false;
    *now = (double)reply->resident / MIB;
    *peak = (double)reply->peak / MIB;
    vc_message_free(reply);
    return true;
}

static void
memory_print(unsigned clients, double before, double after, double peak)
{
    unsigned good = atomic_load(&shared->good),
             shed = atomic_load(&shared->shed);

    printf("memory_%u_clients_ok %u\n", clients, good);
    printf("memory_%u_clients_shed %u\n", clients, shed);
    printf("memory_%u_clients_other %u\n", clients, REQUESTS - good - shed);
    printf("memory_%u_clients_before_mib %.0f\n", clients, before);
    printf("memory_%u_clients_peak_mib %.0f\n", clients, peak);
    printf("memory_%u_clients_left_mib %.1f\n", clients, after - before);
}

static bool
floods_start(const char *target, unsigned clients)
{
    for (unsigned i = 0; i < clients; i++) {
        pid_t pid = child_fork();

        if (pid == 0)
            _exit(flood(target, REQUESTS / clients));
        if (pid < 0)
            return false;
    }
    return true;
}

static int
memory(const char *target, unsigned clients)
{
    double before, after, peak, began;
    struct client c;

    if (!floods_start(target, clients))
        return 1;
    if (!client_open(&c, target, 1))
        return failed("no client");
    if (!await(are_ready, clients, PATIENCE_US, "the clients"))
        return 1;
    if (!server_memory(&c, &before, &peak))
        return failed("the server's memory");
    began = now_us();
    atomic_store(&shared->begin, true);
    /* PATIENCE_US is the deadline of each call; as much again is
     * for its start. */
    if (!await(have_ended, REQUESTS, 2 * PATIENCE_US, "the calls' ends"))
        return 1;
    printf("memory_%u_clients_seconds %.1f\n", clients,
           (now_us() - began) / 1e6);
    usleep(5000000);
    if (!server_memory(&c, &after, &peak))
        return failed("the server's memory");
    memory_print(clients, before, after, peak);
    atomic_store(&shared->end, true);
    if (!await(children_reap, 0, PATIENCE_US, "the clients' ends"))
        return 1;
    client_close(&c);
    return child_failed ? 1 : 0;
}

int
main(int argc, char **argv)
{
    uint64_t clients;

    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE,
                  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        return failed("mmap");
    if (argc == 3 &&
        (strcmp(argv[2], "streams") == 0 || strcmp(argv[2], "endless") == 0 ||
         strcmp(argv[2], "half") == 0))
        return beside(argv[1], argv[2]);
    if (argc == 4 && strcmp(argv[2], "memory") == 0 &&
        number_parse(argv[3], 1, HOGS_MOST, &clients))
        return memory(argv[1], (unsigned)clients);
    fprintf(stderr, "usage: hogs TARGET streams|endless|half\n"
                    "       hogs TARGET memory CLIENTS\n");
    return 2;
}
