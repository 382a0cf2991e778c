/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See tests/suite/health_cases.h. */
#include "tests/suite/health_cases.h"

#include <pthread.h>
#include <sched.h>
#include <time.h>

#include <verbcall/counters.h>
#include <verbcall/health.h>
#include <verbcall/interceptor.h>

#include "grpc/health/v1/health.vc.h"
#include "tests/suite/feature.h"

#define WATCH_MS 60000u

typedef struct grpc_health_v1_health_watch_client_stream watch_stream;

#define SERVING GRPC__HEALTH__V1__HEALTH_CHECK_RESPONSE__SERVING_STATUS__SERVING
#define NOT_SERVING                                                            \
    GRPC__HEALTH__V1__HEALTH_CHECK_RESPONSE__SERVING_STATUS__NOT_SERVING
#define SERVICE_UNKNOWN                                                        \
    GRPC__HEALTH__V1__HEALTH_CHECK_RESPONSE__SERVING_STATUS__SERVICE_UNKNOWN

static struct vc_health *health;

static void
add_health(struct vc_server *server)
{
    features_add(server, "first");
    assert_status(VC_OK, vc_health_new(server, &health));
}

static void
start_with_health(struct fixture *f)
{
    fixture_add = add_health;
    features_start(f, NULL, NULL);
}

static void
stop_with_health(struct fixture *f)
{
    features_stop(f);
    vc_health_free(health);
}

static enum vc_status
check(struct fixture *f, const char *service, int *status)
{
    Grpc__Health__V1__HealthCheckRequest request =
        GRPC__HEALTH__V1__HEALTH_CHECK_REQUEST__INIT;
    Grpc__Health__V1__HealthCheckResponse *reply;
    enum vc_status ended;

    request.service = (char *)service;
    ended = grpc_health_v1_health_check(f->channel, &request, NULL, &reply);
    if (ended == VC_OK) {
        *status = (int)reply->status;
        vc_message_free(reply);
    }
    return ended;
}

static void
assert_health(struct fixture *f, const char *service, int expected)
{
    int status;

    assert_status(VC_OK, check(f, service, &status));
    assert_int_equal(expected, status);
}

void
a_health_check_tells_what_the_server_has_set(void **state)
{
    struct fixture f;
    int status;

    (void)state;
    start_with_health(&f);
    assert_health(&f, "", SERVING);
    assert_status(VC_NOT_FOUND, check(&f, "features.Work", &status));

    assert_status(VC_OK, vc_health_set(health, "features.Work", true));
    assert_health(&f, "features.Work", SERVING);
    assert_status(VC_OK, vc_health_set(health, "features.Work", false));
    assert_health(&f, "features.Work", NOT_SERVING);
    assert_health(&f, "", SERVING);
    assert_status(VC_OK, vc_health_remove(health, "features.Work"));
    assert_status(VC_NOT_FOUND, check(&f, "features.Work", &status));
    assert_status(VC_NOT_FOUND, vc_health_remove(health, "features.Work"));
    stop_with_health(&f);
}

/* --- Watch ------------------------------------------------------------- */

static watch_stream *
watch(struct vc_channel *channel, const char *service)
{
    Grpc__Health__V1__HealthCheckRequest request =
        GRPC__HEALTH__V1__HEALTH_CHECK_REQUEST__INIT;
    watch_stream *stream;

    request.service = (char *)service;
    assert_status(VC_OK, grpc_health_v1_health_watch(
                             channel, &request,
                             VC_CALL_OPTS(.timeout_ms = WATCH_MS), &stream));
    return stream;
}

/* Returns the next state. */
static int
watched(watch_stream *stream)
{
    Grpc__Health__V1__HealthCheckResponse *message = NULL;
    int word;

    assert_status(VC_OK, grpc_health_v1_health_watch_receive(stream, &message));
    assert_non_null(message);
    word = (int)message->status;
    vc_message_free(message);
    return word;
}

static void
assert_watched(watch_stream *stream, int expected)
{
    assert_int_equal(expected, watched(stream));
}

/* The watch ends as vc_health_stop() has it. */
static void
assert_watch_stops(watch_stream *stream)
{
    Grpc__Health__V1__HealthCheckResponse *message;

    assert_status(VC_UNAVAILABLE,
                  grpc_health_v1_health_watch_receive(stream, &message));
    grpc_health_v1_health_watch_close(stream);
}

void
a_health_watch_sees_each_change_until_the_server_stops(void **state)
{
    watch_stream *stream;
    struct fixture f;

    (void)state;
    start_with_health(&f);
    stream = watch(f.channel, "features.Work");
    assert_watched(stream, SERVICE_UNKNOWN);
    assert_status(VC_OK, vc_health_set(health, "features.Work", false));
    assert_watched(stream, NOT_SERVING);
    assert_status(VC_OK, vc_health_set(health, "features.Work", true));
    assert_watched(stream, SERVING);

    vc_health_stop(health);

    assert_watched(stream, NOT_SERVING);
    assert_watch_stops(stream);
    assert_health(&f, "", NOT_SERVING);
    stop_with_health(&f);
}

#define WATCHES 300u

/* By two channels, as a session has 256 slots. */
static void
all_watch(struct fixture *f, struct vc_channel *second,
          watch_stream *streams[WATCHES])
{
    for (unsigned i = 0; i < WATCHES; i++) {
        streams[i] = watch(i % 2 == 0 ? f->channel : second, "");
        assert_watched(streams[i], SERVING);
    }
}

/* One handler blocks meanwhile, and one more thread is all there is. */
void
three_hundred_watches_hold_no_thread_of_handlers(void **state)
{
    static watch_stream *streams[WATCHES];
    Features__Order order = features_order(1, "held");
    struct features_end end = {.ends = 0};
    struct vc_channel *second;
    struct fixture f;

    (void)state;
    fixture_handler_threads = 2;
    start_with_health(&f);
    fixture_handler_threads = 0;
    assert_status(VC_OK, vc_runtime_start(f.runtime));
    order.holds = 1;
    assert_status(VC_OK, features_work_once_async(f.channel, &order, NULL,
                                                  features_done, &end, NULL));
    fixture_await(&features_seen.begun, 1);

    assert_status(VC_OK, vc_channel_open(f.runtime, f.target, NULL, &second));
    all_watch(&f, second, streams);
    assert_status(VC_OK, vc_health_set(health, "", false));
    for (unsigned i = 0; i < WATCHES; i++)
        assert_watched(streams[i], NOT_SERVING);
    assert_health(&f, "", NOT_SERVING);
    vc_health_stop(health);
    for (unsigned i = 0; i < WATCHES; i++)
        assert_watch_stops(streams[i]);

    features_gate_open();
    fixture_await(&end.ends, 1);
    assert_status(VC_OK, end.status);
    vc_channel_close(second);
    stop_with_health(&f);
}

static struct vc_runtime *_Atomic slow_runtime; /* NULL: calls are not slow */

static uint64_t
handlers_left(void)
{
    struct vc_counters counters = VC_COUNTERS_INIT;

    vc_runtime_counters(slow_runtime, &counters);
    return counters.handlers_left;
}

/* Sleeps on the handler's thread until another thread has its engine. */
static enum vc_status
slow_start(struct vc_interception *call, void **state, void *arg)
{
    const struct timespec pause = {.tv_nsec = 1000000};

    (void)call;
    (void)state;
    (void)arg;
    while (slow_runtime != NULL && handlers_left() == 0)
        nanosleep(&pause, NULL);
    return VC_OK;
}

static void
add_slow_health(struct vc_server *server)
{
    struct vc_interceptor slow = VC_INTERCEPTOR_INIT;

    slow.start = slow_start;
    add_health(server);
    assert_status(VC_OK, vc_server_intercept(server, &slow));
}

/* As when its thread was not on a processor for a while: the method must not
 * count as one that blocks, whose handlers wait for a thread. */
void
a_health_check_that_was_slow_once_keeps_no_later_one_waiting(void **state)
{
    Features__Order order = features_order(1, "held");
    struct features_end end = {.ends = 0};
    struct fixture f;

    (void)state;
    fixture_add = add_slow_health;
    fixture_handler_threads = 2;
    features_start(&f, NULL, NULL);
    fixture_handler_threads = 0;
    assert_status(VC_OK, vc_runtime_start(f.runtime));
    slow_runtime = f.server_runtime;
    assert_health(&f, "", SERVING);
    slow_runtime = NULL;
    order.holds = 1;
    assert_status(VC_OK, features_work_once_async(f.channel, &order, NULL,
                                                  features_done, &end, NULL));
    fixture_await(&features_seen.begun, 1);

    assert_health(&f, "", SERVING);

    features_gate_open();
    fixture_await(&end.ends, 1);
    assert_status(VC_OK, end.status);
    stop_with_health(&f);
}

/* Far more changes than a window has room for. */
#define CHANGES 6000u

void
a_watcher_that_does_not_read_gets_the_newest_state_only(void **state)
{
    int word = SERVICE_UNKNOWN, next;
    watch_stream *stream;
    unsigned n = 0;
    struct fixture f;

    (void)state;
    start_with_health(&f);
    stream = watch(f.channel, "features.Work");
    assert_watched(stream, word);
    for (unsigned i = 0; i < CHANGES; i++)
        assert_status(VC_OK,
                      vc_health_set(health, "features.Work", i % 2 == 0));
    assert_status(VC_OK, vc_health_remove(health, "features.Work"));

    do {
        next = watched(stream);
        assert_int_not_equal(word, next);
        word = next;
        n++;
    } while (word != SERVICE_UNKNOWN);
    assert_in_range(n, 1, CHANGES / 2);
    assert_status(VC_OK, vc_health_set(health, "features.Work", true));
    assert_watched(stream, SERVING);

    grpc_health_v1_health_watch_close(stream);
    stop_with_health(&f);
}

/* Its window has no room for NOT_SERVING. */
void
a_watcher_that_does_not_read_delays_no_drain(void **state)
{
    Grpc__Health__V1__HealthCheckResponse *message;
    watch_stream *stream;
    enum vc_status status;
    struct fixture f;

    (void)state;
    start_with_health(&f);
    assert_status(VC_OK, vc_runtime_start(f.runtime));
    stream = watch(f.channel, "features.Work");
    assert_watched(stream, SERVICE_UNKNOWN);
    for (unsigned i = 0; i < CHANGES / 2; i++) {
        assert_status(VC_OK, vc_health_set(health, "features.Work", true));
        assert_status(VC_OK, vc_health_remove(health, "features.Work"));
    }
    assert_status(VC_OK, vc_health_set(health, "features.Work", false));
    vc_health_stop(health);

    assert_status(VC_OK, vc_server_drain(f.server, NULL, WATCH_MS / 6));

    while ((status = grpc_health_v1_health_watch_receive(stream, &message)) ==
           VC_OK)
        vc_message_free(message);
    assert_status(VC_UNAVAILABLE, status);
    grpc_health_v1_health_watch_close(stream);
    stop_with_health(&f);
}

/* A client that watches has a call there as long as it is connected. */
void
calls_of_the_health_service_leave_max_calls_to_others(void **state)
{
    Features__Order order = features_order(1, "held");
    struct features_end end = {.ends = 0};
    watch_stream *stream;
    struct fixture f;

    (void)state;
    fixture_add = add_health;
    features_start(&f, VC_SERVER_OPTS(.max_calls = 1), NULL);
    assert_status(VC_OK, vc_runtime_start(f.runtime));
    stream = watch(f.channel, "");
    assert_watched(stream, SERVING);

    assert_status(VC_OK, fixture_echo(f.channel, 1, 1));

    order.holds = 1;
    assert_status(VC_OK, features_work_once_async(f.channel, &order, NULL,
                                                  features_done, &end, NULL));
    fixture_await(&features_seen.begun, 1);
    assert_health(&f, "", SERVING);
    assert_status(VC_RESOURCE_EXHAUSTED, fixture_echo(f.channel, 1, 1));
    features_gate_open();
    fixture_await(&end.ends, 1);
    assert_status(VC_OK, end.status);
    grpc_health_v1_health_watch_close(stream);
    stop_with_health(&f);
}

static atomic_bool change_ends;

static void *
change_main(void *arg)
{
    bool serving = false;

    (void)arg;
    while (!atomic_load(&change_ends)) {
        assert_status(VC_OK, vc_health_set(health, "features.Work", serving));
        serving = !serving;
        sched_yield();
    }
    return NULL;
}

/* Some of them before their handler has run. */
void
watches_that_come_and_go_disturb_no_other(void **state)
{
    unsigned many = fixture_many(300, 3000);
    watch_stream *other, *stream;
    pthread_t thread;
    struct fixture f;

    (void)state;
    start_with_health(&f);
    assert_status(VC_OK, vc_runtime_start(f.runtime));
    atomic_store(&change_ends, false);
    other = watch(f.channel, "");
    assert_watched(other, SERVING);
    assert_int_equal(0, pthread_create(&thread, NULL, change_main, NULL));
    for (unsigned i = 0; i < many; i++) {
        stream = watch(f.channel, "features.Work");
        for (unsigned k = 0; k < i % 4; k++)
            watched(stream);
        grpc_health_v1_health_watch_close(stream);
    }
    stream = watch(f.channel, "features.Work");
    watched(stream);
    atomic_store(&change_ends, true);
    pthread_join(thread, NULL);

    assert_status(VC_OK, vc_health_set(health, "", false));
    assert_watched(other, NOT_SERVING);
    assert_status(VC_OK, vc_health_remove(health, "features.Work"));
    while (watched(stream) != SERVICE_UNKNOWN)
        continue;
    vc_health_stop(health);
    assert_watch_stops(other);
    assert_watch_stops(stream);
    stop_with_health(&f);
}
