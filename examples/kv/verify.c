/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause */
#include "verify.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "kv.vc.h"

/* State that the workers share. */
struct verify {
    struct vc_channel *channel;
    const struct lines *lines;
    const struct vc_call_opts *opts;
    /* Relaxed: counters that order no other data. */
    atomic_size_t next; /* the first line that no worker has taken */
    atomic_uint failures;
    pthread_mutex_t lock; /* of complaint */
    char *complaint;
    size_t complaint_size;
};

/* The results of one worker; read by others after it was joined. */
struct worker {
    pthread_t thread;
    struct verify *verify;
    uint64_t calls, mismatches, failures;
    struct histogram latency;
};

static uint64_t
now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* Keeps the first complaint of all workers. */
static void __attribute__((format(printf, 2, 3)))
complain(struct verify *verify, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    pthread_mutex_lock(&verify->lock);
    if (verify->complaint[0] == '\0')
        vsnprintf(verify->complaint, verify->complaint_size, format, args);
    pthread_mutex_unlock(&verify->lock);
    va_end(args);
}

static void
compare(struct worker *worker, size_t i, const ProtobufCBinaryData *value)
{
    size_t size;
    const uint8_t *line = lines_get(worker->verify->lines, i, &size);

    if (value->len == size &&
        (size == 0 || memcmp(value->data, line, size) == 0))
        return;
    worker->mismatches++;
    complain(worker->verify,
             "line %zu of %zu bytes differs from the %zu bytes that the "
             "server has",
             i + 1, size, value->len);
}

static void
check_line(struct worker *worker, size_t i)
{
    struct verify *verify = worker->verify;
    Kv__GetRequest request = KV__GET_REQUEST__INIT;
    Kv__GetReply *reply = NULL;
    uint64_t start = now_ns();
    enum vc_status status;

    request.key = i + 1;
    status = kv_key_value_get(verify->channel, &request, verify->opts, &reply);
    worker->calls++;
    if (status == VC_OK) {
        histogram_record(&worker->latency, now_ns() - start);
        compare(worker, i, &reply->value);
    } else {
        worker->failures++;
        atomic_fetch_add_explicit(&verify->failures, 1, memory_order_relaxed);
        complain(verify, "line %zu: %s: %s", i + 1, vc_status_name(status),
                 vc_error());
    }
    vc_message_free(reply);
}

static void *
work(void *arg)
{
    struct worker *worker = arg;
    struct verify *verify = worker->verify;

    while (atomic_load_explicit(&verify->failures, memory_order_relaxed) <
           VERIFY_MAX_FAILURES) {
        size_t i =
            atomic_fetch_add_explicit(&verify->next, 1, memory_order_relaxed);

        if (i >= verify->lines->count)
            break;
        check_line(worker, i);
    }
    return NULL;
}

/* Waits for the first n workers and adds up their results. */
static void
join_workers(struct worker *workers, unsigned n, struct verify_result *result)
{
    for (unsigned i = 0; i < n; i++) {
        pthread_join(workers[i].thread, NULL);
        result->calls += workers[i].calls;
        result->mismatches += workers[i].mismatches;
        result->failures += workers[i].failures;
        histogram_merge(&result->latency, &workers[i].latency);
    }
}

int
verify_run(struct vc_channel *channel, const struct lines *lines,
           const struct vc_call_opts *opts, unsigned threads,
           struct verify_result *result)
{
    struct verify verify = {
        .channel = channel,
        .lines = lines,
        .opts = opts,
        .lock = PTHREAD_MUTEX_INITIALIZER,
        .complaint = result->complaint,
        .complaint_size = sizeof result->complaint,
    };
    struct worker *workers = calloc(threads, sizeof *workers);
    uint64_t start = now_ns();
    unsigned started = 0;
    int error = workers != NULL ? 0 : ENOMEM;

    while (error == 0 && started < threads) {
        workers[started].verify = &verify;
        error = pthread_create(&workers[started].thread, NULL, work,
                               &workers[started]);
        started += error == 0;
    }
    join_workers(workers, started, result);
    result->ns = now_ns() - start;
    result->threads = threads;
    free(workers);
    return error;
}

/* --- the result --------------------------------------------------------- */

static double
calls_per_second(const struct verify_result *result)
{
    return result->ns > 0 ? (double)result->calls * 1e9 / (double)result->ns
                          : 0;
}

static double
quantile_us(const struct verify_result *result, unsigned permille)
{
    return (double)histogram_quantile(&result->latency, permille) / 1e3;
}

static void
print_json(const struct verify_result *result)
{
    printf("{\"calls\":%" PRIu64 ",\"mismatches\":%" PRIu64
           ",\"failures\":%" PRIu64 ",\"threads\":%u",
           result->calls, result->mismatches, result->failures,
           result->threads);
    printf(",\"duration_s\":%.6f,\"calls_per_s\":%.1f",
           (double)result->ns / 1e9, calls_per_second(result));
    printf(",\"p50_us\":%.1f,\"p90_us\":%.1f,\"p99_us\":%.1f,\"p99_9_us\":%.1f"
           ",\"max_us\":%.1f}\n",
           quantile_us(result, 500), quantile_us(result, 900),
           quantile_us(result, 990), quantile_us(result, 999),
           (double)result->latency.max / 1e3);
}

static void
print_text(const struct verify_result *result)
{
    printf("threads           %12u\n", result->threads);
    printf("calls made        %12" PRIu64 "\n", result->calls);
    printf("mismatches        %12" PRIu64 "\n", result->mismatches);
    printf("failures          %12" PRIu64 "\n", result->failures);
    printf("calls per second  %12.0f\n", calls_per_second(result));
    printf("latency   50 %%    %12.1f us\n", quantile_us(result, 500));
    printf("          90 %%    %12.1f us\n", quantile_us(result, 900));
    printf("          99 %%    %12.1f us\n", quantile_us(result, 990));
    printf("          99.9 %%  %12.1f us\n", quantile_us(result, 999));
    printf("          max     %12.1f us\n", (double)result->latency.max / 1e3);
}

void
verify_print(const struct verify_result *result, bool json)
{
    if (json)
        print_json(result);
    else
        print_text(result);
}
