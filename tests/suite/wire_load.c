/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See tests/suite/wire_load.h. */
#include "tests/suite/wire_load.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/suite/noise.h"

#define GRACE_MS 2000  /* two guests share few cores */
#define PACE_US  20000 /* a thread waits this long after a failed call */

/* For a request to the server, the loss of a link included. */
#define DOES_MS 15000

/* Successful calls that a thread makes before a cut and after it. */
#define SOME 20

/* --- one call ---------------------------------------------------------- */

/* How the call of each tag ended. */
static struct ending {
    enum vc_status status;
    enum vc_outcome outcome;
    uint64_t took_ms;
    char error[256]; /* of a call that failed */
} endings[WIRE_TAGS];
static atomic_uint next_tag;

static const size_t sizes[] = {0, 40, 700, 1500, 9000, 40000};
#define SIZE_MOST 40000
#define SIZES     (sizeof sizes / sizeof sizes[0])
static uint8_t noise[SIZE_MOST + WIRE_TAGS];

/* A wrong reply gives VC_DATA_LOSS, which the library itself never returns. */
static enum vc_status
reply_check(const Suite__EchoRequest *request, const Suite__EchoReply *reply)
{
    bool good = reply->tag == request->tag &&
                reply->payload.len == request->payload.len &&
                (reply->payload.len == 0 ||
                 memcmp(reply->payload.data, request->payload.data,
                        reply->payload.len) == 0);

    return good ? VC_OK : VC_DATA_LOSS;
}

static void
call(unsigned tag, const struct load_opts *l)
{
    struct vc_call_opts opts = VC_CALL_OPTS_INIT;
    Suite__EchoRequest request = SUITE__ECHO_REQUEST__INIT;
    struct ending *e = &endings[tag];
    uint64_t began = fixture_ms();
    Suite__EchoReply *reply;

    opts.timeout_ms = l->timeout_ms;
    request.tag = tag;
    request.reply_size = l->handler_ms;
    request.payload.data = noise + tag;
    request.payload.len = sizes[tag % SIZES];
    e->status = suite_probe_echo(l->channel, &request, &opts, &reply);
    e->took_ms = fixture_ms() - began;
    if (e->status != VC_OK) {
        e->outcome = vc_error_outcome();
        snprintf(e->error, sizeof e->error, "%s", vc_error());
        return;
    }
    e->status = reply_check(&request, reply);
    vc_message_free(reply);
}

/* --- threads ----------------------------------------------------------- */

/* Counts of each thread's calls, on the board. */
#define GOOD(thread)   (&fixture_board->words[thread])
#define FAILED(thread) (&fixture_board->words[LOAD_THREADS + (thread)])

static struct load {
    struct load_opts opts;
    pthread_t threads[LOAD_THREADS];
    unsigned n; /* running threads */
    atomic_bool stop;
    unsigned limit;   /* the first tag that is not used */
    atomic_uint good; /* successful calls of all threads */
} load;

static void *
load_run(void *arg)
{
    unsigned thread = (unsigned)(uintptr_t)arg;

    while (!atomic_load(&load.stop)) {
        unsigned tag = atomic_fetch_add(&next_tag, 1);

        if (tag >= load.limit) {
            atomic_fetch_sub(&next_tag, 1);
            break;
        }
        call(tag, &load.opts);
        if (endings[tag].status == VC_OK) {
            fixture_tell(&load.good);
            fixture_tell(GOOD(thread));
        } else {
            fixture_tell(FAILED(thread));
            usleep(PACE_US);
        }
    }
    return NULL;
}

void
load_start(const struct load_opts *opts)
{
    unsigned first = load_next_tag();

    noise_make(noise, sizeof noise);
    fixture_board_make();
    atomic_store(&load.stop, false);
    atomic_store(&load.good, 0);
    load.opts = *opts;
    load.limit = opts->calls != 0 ? first + opts->calls : WIRE_TAGS;
    assert_in_range(load.limit, first, WIRE_TAGS);
    for (load.n = 0; load.n < LOAD_THREADS; load.n++)
        assert_int_equal(0,
                         pthread_create(&load.threads[load.n], NULL, load_run,
                                        (void *)(uintptr_t)load.n));
}

void
load_join(void)
{
    while (load.n > 0)
        pthread_join(load.threads[--load.n], NULL);
}

void
load_stop(void)
{
    atomic_store(&load.stop, true);
    load_join();
}

unsigned
load_good(void)
{
    return atomic_load(&load.good);
}

unsigned
load_next_tag(void)
{
    return atomic_load(&next_tag);
}

void
load_await_good(void)
{
    unsigned seen[LOAD_THREADS];

    for (unsigned i = 0; i < LOAD_THREADS; i++)
        seen[i] = atomic_load(GOOD(i));
    for (unsigned i = 0; i < LOAD_THREADS; i++)
        fixture_await(GOOD(i), seen[i] + SOME);
}

void
load_await_failed(void)
{
    unsigned seen[LOAD_THREADS];

    for (unsigned i = 0; i < LOAD_THREADS; i++)
        seen[i] = atomic_load(FAILED(i));
    for (unsigned i = 0; i < LOAD_THREADS; i++)
        fixture_await(FAILED(i), seen[i] + 1);
}

void
load_await_good_calls(unsigned n)
{
    fixture_await(&load.good, n);
}

/* --- the checks -------------------------------------------------------- */

/* The first call may be the one that detects a dead link. */
Suite__EchoReply *
server_does(struct vc_channel *channel, uint64_t tag, unsigned n)
{
    struct vc_call_opts opts = VC_CALL_OPTS_INIT;
    Suite__EchoRequest request = SUITE__ECHO_REQUEST__INIT;
    Suite__EchoReply *reply;

    opts.flags = VC_CALL_WAIT_FOR_READY;
    opts.timeout_ms = DOES_MS;
    request.tag = tag;
    request.reply_size = n;
    if (suite_probe_echo(channel, &request, &opts, &reply) == VC_OK ||
        suite_probe_echo(channel, &request, &opts, &reply) == VC_OK)
        return reply;
    print_error("the server does not do %llu: %s\n", (unsigned long long)tag,
                vc_error());
    return NULL;
}

void
have_server_do(struct vc_channel *channel, uint64_t tag)
{
    Suite__EchoReply *reply = server_does(channel, tag, 0);

    assert_non_null(reply);
    vc_message_free(reply);
}

/* NULL, or what is wrong. */
static const char *
ending_fault(const struct ending *e, unsigned times)
{
    if (times > 1)
        return "ran twice";
    if (e->status == VC_DATA_LOSS)
        return "had a wrong reply";
    if (e->status == VC_OK && times != 1)
        return "is good and did not run";
    if (e->status != VC_OK && e->outcome == VC_OUTCOME_NOT_EXECUTED &&
        times != 0)
        return "ran, and is said not to have";
    if (e->status != VC_OK && e->outcome == VC_OUTCOME_EXECUTED && times != 1)
        return "is said to have run, and did not";
    return NULL;
}

void
assert_true_endings(struct vc_channel *channel)
{
    unsigned n = load_next_tag();
    Suite__EchoReply *reply = server_does(channel, WIRE_REPORT, n);

    assert_non_null(reply);
    assert_int_equal(n, reply->payload.len);
    for (unsigned tag = 0; tag < n; tag++) {
        const char *fault =
            ending_fault(&endings[tag], reply->payload.data[tag]);

        if (fault != NULL)
            fail_msg("call %u (%s after %llu ms) %s", tag,
                     vc_status_name(endings[tag].status),
                     (unsigned long long)endings[tag].took_ms, fault);
    }
    vc_message_free(reply);
}

unsigned
count_endings(const char *what, unsigned first, unsigned timeout_ms)
{
    unsigned n = load_next_tag(), bad = 0, not_run = 0, late = 0;
    const struct ending *worst = NULL; /* the slowest that failed */

    for (unsigned tag = first; tag < n; tag++) {
        const struct ending *e = &endings[tag];

        assert_in_range(e->took_ms, 0, timeout_ms + GRACE_MS);
        if (e->status != VC_OK &&
            (worst == NULL || e->took_ms > worst->took_ms))
            worst = e;
        bad += e->status != VC_OK;
        late += e->status == VC_DEADLINE_EXCEEDED;
        not_run += e->status != VC_OK && e->outcome == VC_OUTCOME_NOT_EXECUTED;
    }
    printf("# %s: %u calls good, %u not (%u too late; %u of them not "
           "executed)\n",
           what, n - first - bad, bad, late, not_run);
    if (worst != NULL)
        printf("# %s: one that took %llu ms: %s\n", what,
               (unsigned long long)worst->took_ms, worst->error);
    return bad;
}

unsigned
load_longest_ms(unsigned first)
{
    unsigned n = load_next_tag(), longest = 0;

    for (unsigned tag = first; tag < n; tag++)
        if (endings[tag].took_ms > longest)
            longest = (unsigned)endings[tag].took_ms;
    return longest;
}
