/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * fleet-client TARGET POLICY SECONDS: calls the servers that a file or a list
 * names from four threads, prints each second how many calls each has answered,
 * and at the end, or at SIGINT or SIGTERM, how many calls went on to another
 * server, and all failures. A call to a server that was killed may have run
 * there: it is reported as such (its outcome is unknown), and not made again,
 * as it must not be done twice. Any other failure makes the exit status 1. */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <verbcall/status.h>

#include "fleet.vc.h"

#define THREADS 4
#define WORKERS 8u

struct client {
    struct vc_channel *channel;
    atomic_bool enough;
    atomic_ullong number;
    atomic_ulong unknown, failed; /* calls that did not succeed */
    pthread_mutex_t lock;
    struct {
        char name[32]; /* "": free */
        unsigned long calls;
    } workers[WORKERS]; /* lock */
    char why[2][200];   /* lock; of the last unknown one, of the first other */
};

static void
worker_count(struct client *c, const char *name)
{
    pthread_mutex_lock(&c->lock);
    for (unsigned i = 0; i < WORKERS; i++) {
        if (c->workers[i].name[0] == '\0')
            snprintf(c->workers[i].name, sizeof c->workers[i].name, "%s", name);
        if (strcmp(c->workers[i].name, name) == 0) {
            c->workers[i].calls++;
            break;
        }
    }
    pthread_mutex_unlock(&c->lock);
}

static void
failure_count(struct client *c, enum vc_status status)
{
    bool unknown = vc_error_outcome() == VC_OUTCOME_UNKNOWN;

    atomic_fetch_add(unknown ? &c->unknown : &c->failed, 1);
    pthread_mutex_lock(&c->lock);
    snprintf(c->why[!unknown], sizeof c->why[0], "%s: %.150s",
             vc_status_name(status), vc_error());
    pthread_mutex_unlock(&c->lock);
}

static void *
thread_main(void *arg)
{
    struct client *c = arg;

    while (!atomic_load(&c->enough)) {
        Fleet__WorkRequest request = FLEET__WORK_REQUEST__INIT;
        Fleet__WorkReply *reply = NULL;
        enum vc_status status;

        request.number = atomic_fetch_add(&c->number, 1);
        status = fleet_worker_work(c->channel, &request, NULL, &reply);
        if (status == VC_OK)
            worker_count(c, reply->worker);
        else
            failure_count(c, status);
        vc_message_free(reply);
    }
    return NULL;
}

/* Prints what each server has answered since the last time. */
static void
shares_print(struct client *c)
{
    pthread_mutex_lock(&c->lock);
    for (unsigned i = 0; i < WORKERS && c->workers[i].name[0] != '\0'; i++) {
        printf("%s%s %lu", i > 0 ? ", " : "", c->workers[i].name,
               c->workers[i].calls);
        c->workers[i].calls = 0;
    }
    pthread_mutex_unlock(&c->lock);
    printf(" calls\n");
    fflush(stdout);
}

/* Prints how many calls another server got, as the first could not be sent
 * them. */
static void
moves_print(struct vc_runtime *runtime)
{
    struct vc_counters counters = VC_COUNTERS_INIT;

    if (vc_runtime_counters(runtime, &counters) == VC_OK)
        printf("%llu calls went to another server\n",
               (unsigned long long)counters.calls_retried);
}

static int
failures_print(const struct client *c)
{
    unsigned long unknown = atomic_load(&c->unknown);
    unsigned long failed = atomic_load(&c->failed);

    if (unknown > 0)
        printf("%lu calls may have been executed or not: %s\n", unknown,
               c->why[0]);
    printf("%lu other failures%s%s\n", failed, failed > 0 ? ": " : "",
           c->why[1]);
    return failed > 0;
}

static int
run(struct client *c, int seconds)
{
    const struct timespec second = {.tv_sec = 1};
    pthread_t threads[THREADS];
    bool ended = false;
    sigset_t ends;
    int n = 0;

    sigemptyset(&ends);
    sigaddset(&ends, SIGINT);
    sigaddset(&ends, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &ends, NULL); /* before threads are started */
    while (n < THREADS &&
           pthread_create(&threads[n], NULL, thread_main, c) == 0)
        n++;
    for (int i = 0; n == THREADS && i < seconds && !ended; i++) {
        ended = sigtimedwait(&ends, NULL, &second) > 0;
        shares_print(c);
    }
    atomic_store(&c->enough, true);
    for (int i = 0; i < n; i++)
        pthread_join(threads[i], NULL);
    return n < THREADS ? 1 : failures_print(c);
}

int
main(int argc, char **argv)
{
    static struct client client = {.lock = PTHREAD_MUTEX_INITIALIZER};
    struct vc_runtime *runtime = NULL;
    int result = 1;

    if (argc != 4) {
        fprintf(stderr, "usage: fleet-client file:PATH POLICY SECONDS\n"
                        "   or: fleet-client list:TARGET,TARGET,... POLICY "
                        "SECONDS\n");
        return 2;
    }
    if (vc_runtime_new(NULL, &runtime) != VC_OK ||
        vc_channel_open(runtime, argv[1], VC_CHANNEL_OPTS(.policy = argv[2]),
                        &client.channel) != VC_OK)
        fprintf(stderr, "fleet-client: %s\n", vc_error());
    else
        result = run(&client, atoi(argv[3]));
    if (client.channel != NULL)
        moves_print(runtime);
    vc_channel_close(client.channel);
    vc_runtime_free(runtime);
    return result;
}
