/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * How promptly calls end after a deadline or a cancel, and what a sleeping
 * handler costs other calls: run `prompt server TARGET` and `prompt client
 * TARGET [short]`. All options have their defaults. */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include <verbcall/cancel.h>

#include "bench.vc.h"
#include "bench/bench.h"

#define CALLERS    4u
#define MOST_CALLS 1000000u

/* The size of a measurement. */
struct extent {
    unsigned calls; /* of each caller */
    unsigned cancels;
    unsigned sleep_ms;
};

static const struct extent whole = {500, 500, 5000}, brief = {100, 100, 1000};
static const struct extent *extent = &whole;
#define MOST 500u /* calls or cancels of any extent */

/* --- server -------------------------------------------------------------- */

static void
sleep_us(double us)
{
    struct timespec t = {.tv_sec = (time_t)(us / 1e6)};

    t.tv_nsec = (long)((us - (double)t.tv_sec * 1e6) * 1e3);
    nanosleep(&t, NULL);
}

static enum vc_status
patience_sleep(struct vc_call *call, const Bench__SleepRequest *request,
               Bench__Payload *reply, void *arg)
{
    (void)call;
    (void)reply;
    (void)arg;
    sleep_us(request->ms * 1e3);
    return VC_OK;
}

static void
given_up(struct vc_call *call, void *arg)
{
    (void)arg;
    vc_call_end(call, VC_CANCELLED);
}

static enum vc_status
patience_hold(struct vc_call *call, const Bench__Payload *request,
              Bench__Payload *reply, void *arg)
{
    enum vc_status status;

    (void)request;
    (void)reply;
    (void)arg;
    status = vc_call_later(call);
    vc_call_on_cancel(call, given_up, NULL);
    return status;
}

static enum vc_status
patience_echo(struct vc_call *call, const Bench__Payload *request,
              Bench__Payload *reply, void *arg)
{
    (void)call;
    (void)arg;
    reply->data = request->data; /* both live until the reply is packed */
    return VC_OK;
}

static int
fail(void)
{
    fprintf(stderr, "prompt: %s\n", vc_error());
    return 1;
}

static int
serve(const char *target)
{
    const struct bench_patience_methods methods = {
        .sleep = patience_sleep, .hold = patience_hold, .echo = patience_echo};
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
        bench_patience_add(server, &methods, NULL) != VC_OK ||
        vc_server_listen(server, target) != VC_OK) {
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

static void
print_times(const char *name, double *us, size_t n)
{
    double middle = median(us, n);

    printf("%s_p50_us %.0f\n%s_p999_us %.0f\n%s_max_us %.0f\n", name, middle,
           name, us[n - 1 - n / 1000], name, us[n - 1]);
}

static enum vc_status
hold(struct vc_channel *channel, const struct vc_call_opts *opts)
{
    Bench__Payload request = BENCH__PAYLOAD__INIT, *reply;
    enum vc_status status =
        bench_patience_hold(channel, &request, opts, &reply);

    if (status == VC_OK)
        vc_message_free(reply);
    return status;
}

/* Deadlines: the calls of each caller, with timeouts of 1 to 20 ms. */

struct caller {
    struct vc_channel *channel;
    unsigned seed;
    double late_us[MOST];
    bool good;
};

static void *
caller_main(void *arg)
{
    struct caller *c = arg;
    struct vc_call_opts opts = VC_CALL_OPTS_INIT;

    c->good = true;
    for (unsigned i = 0; i < extent->calls && c->good; i++) {
        double begun = now_us();

        opts.timeout_ms = 1 + (i * 7 + c->seed) % 20;
        c->good = hold(c->channel, &opts) == VC_DEADLINE_EXCEEDED;
        c->late_us[i] = now_us() - begun - opts.timeout_ms * 1e3;
    }
    return NULL;
}

static bool
deadlines(struct vc_channel *channel)
{
    static struct caller callers[CALLERS];
    static double late[CALLERS * MOST];
    pthread_t threads[CALLERS];
    bool good = true;

    for (unsigned i = 0; i < CALLERS; i++) {
        callers[i].channel = channel;
        callers[i].seed = i;
        if (pthread_create(&threads[i], NULL, caller_main, &callers[i]) != 0)
            abort();
    }
    for (unsigned i = 0; i < CALLERS; i++) {
        pthread_join(threads[i], NULL);
        good = good && callers[i].good;
        memcpy(late + i * extent->calls, callers[i].late_us,
               extent->calls * sizeof late[0]);
    }
    print_times("deadline_overrun", late, CALLERS * extent->calls);
    return good;
}

/* Cancelling: the time from vc_cancel() until the call has returned. */

struct cancelled {
    struct vc_channel *channel;
    struct vc_canceller *canceller;
    enum vc_status status;
    double returned_us;
};

static void *
cancelled_main(void *arg)
{
    struct cancelled *c = arg;
    struct vc_call_opts opts = VC_CALL_OPTS_INIT;

    opts.canceller = c->canceller;
    c->status = hold(c->channel, &opts);
    c->returned_us = now_us();
    return NULL;
}

static bool
cancels(struct vc_channel *channel)
{
    static double took[MOST];

    for (unsigned i = 0; i < extent->cancels; i++) {
        struct cancelled c = {.channel = channel};
        pthread_t thread;
        double begun;

        if (vc_canceller_new(&c.canceller) != VC_OK ||
            pthread_create(&thread, NULL, cancelled_main, &c) != 0)
            return false;
        sleep_us(500.0 + i * 97 % 5000);
        begun = now_us();
        vc_cancel(c.canceller);
        pthread_join(thread, NULL);
        vc_canceller_free(c.canceller);
        took[i] = c.returned_us - begun;
        if (c.status != VC_CANCELLED) {
            fprintf(stderr, "prompt: cancelled: %s\n",
                    vc_status_name(c.status));
            return false;
        }
    }
    print_times("cancel", took, extent->cancels);
    return true;
}

/* Other calls, alone and while a handler sleeps. */

struct sleeper {
    struct vc_channel *channel;
    atomic_bool ended;
    bool good;
};

static void *
sleeper_main(void *arg)
{
    struct sleeper *s = arg;
    struct vc_call_opts opts = VC_CALL_OPTS_INIT;
    Bench__SleepRequest request = BENCH__SLEEP_REQUEST__INIT;
    Bench__Payload *reply;

    opts.timeout_ms = 2 * extent->sleep_ms;
    request.ms = extent->sleep_ms;
    s->good =
        bench_patience_sleep(s->channel, &request, &opts, &reply) == VC_OK;
    if (s->good)
        vc_message_free(reply);
    s->ended = true;
    return NULL;
}

/* Times calls in turn, until sleep_ms have passed or the sleeper has ended. */
static bool
echoes(struct vc_channel *channel, const char *name, struct sleeper *sleeper)
{
    static double us[MOST_CALLS];
    double end = now_us() + extent->sleep_ms * 1e3;
    size_t n = 0;

    while (n < MOST_CALLS &&
           (sleeper == NULL ? now_us() < end : !atomic_load(&sleeper->ended))) {
        Bench__Payload request = BENCH__PAYLOAD__INIT, *reply;
        double begun = now_us();

        if (bench_patience_echo(channel, &request, NULL, &reply) != VC_OK)
            return false;
        vc_message_free(reply);
        us[n++] = now_us() - begun;
    }
    print_times(name, us, n);
    return true;
}

static bool
blocked(struct vc_channel *channel)
{
    struct sleeper s = {.channel = channel};
    pthread_t thread;
    bool good = echoes(channel, "call_alone", NULL);

    if (pthread_create(&thread, NULL, sleeper_main, &s) != 0)
        abort();
    good = good && echoes(channel, "call_beside_sleeper", &s);
    pthread_join(thread, NULL);
    return good && s.good;
}

static int
measure(const char *target)
{
    struct vc_runtime *runtime = NULL;
    struct vc_channel *channel = NULL;
    int result = 0;

    if (vc_runtime_new(NULL, &runtime) != VC_OK ||
        vc_channel_open(runtime, target, NULL, &channel) != VC_OK ||
        vc_channel_connect(channel, &bench_patience_service) != VC_OK ||
        !deadlines(channel) || !cancels(channel) || !blocked(channel))
        result = fail();
    vc_channel_close(channel);
    vc_runtime_free(runtime);
    return result;
}

int
main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "server") == 0)
        return serve(argv[2]);
    if (argc == 4 && strcmp(argv[3], "short") == 0)
        extent = &brief;
    if ((argc == 3 || extent == &brief) && strcmp(argv[1], "client") == 0)
        return measure(argv[2]);
    fprintf(stderr, "usage: prompt server TARGET\n"
                    "       prompt client TARGET [short]\n");
    return 2;
}
