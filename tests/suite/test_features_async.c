/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Asynchronous calls: their callbacks, completion queues, and programs with an
 * event loop of their own and no thread of the library. */
#include "tests/suite/feature.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#define CALLS    20u
#define AWAIT_MS 30000
#define IDLE_MS  300u
/* Wakes of an idle loop that are allowed: remaining work of the last call. */
#define IDLE_WAKES 10u

static void
call_start(struct fixture *f, uint64_t tag, uint32_t holds,
           const struct vc_call_opts *opts, struct features_end *end,
           struct vc_async **call)
{
    Features__Order order = features_order(tag, "async");

    order.holds = holds;
    memset(end, 0, sizeof *end);
    assert_status(VC_OK, features_work_once_async(f->channel, &order, opts,
                                                  features_done, end, call));
}

static void
assert_done(const struct features_end *end, uint64_t tag)
{
    assert_int_equal(1, atomic_load(&end->ends));
    assert_status(VC_OK, end->status);
    assert_int_equal(tag, end->tag);
    assert_string_equal("async by first", end->text);
}

/* --- callbacks --------------------------------------------------------- */

static void
asynchronous_calls_run_at_a_time_and_end_once_each(void **state)
{
    struct fixture *f = *state;
    static struct features_end ends[CALLS];
    struct vc_async *calls[CALLS];

    for (unsigned i = 0; i < CALLS; i++)
        call_start(f, i, 1, NULL, &ends[i], &calls[i]);
    fixture_await(&features_seen.begun, CALLS);
    assert_int_equal(0, atomic_load(&features_seen.ended));
    for (unsigned i = 0; i < CALLS; i++)
        assert_int_equal(0, atomic_load(&ends[i].ends));

    features_gate_open();

    for (unsigned i = 0; i < CALLS; i++) {
        fixture_await(&ends[i].ends, 1);
        vc_async_free(calls[i]);
    }
    vc_runtime_stop(f->runtime); /* no callback runs any more */
    for (unsigned i = 0; i < CALLS; i++)
        assert_done(&ends[i], i);
    assert_int_equal(CALLS, atomic_load(&features_seen.begun));
}

static void
a_cancelled_call_ends_and_its_handler_is_notified(void **state)
{
    struct fixture *f = *state;
    static struct features_end held, other;
    struct vc_async *call;

    call_start(f, 1, 1, NULL, &held, &call);
    call_start(f, 2, 1, NULL, &other, NULL);
    fixture_await(&features_seen.begun, 2);

    vc_async_cancel(call);

    fixture_await(&held.ends, 1);
    assert_status(VC_CANCELLED, held.status);
    assert_int_equal(VC_OUTCOME_UNKNOWN, held.outcome);
    fixture_await(&features_seen.cancelled, 1);
    vc_async_cancel(call); /* too late: no effect */
    vc_async_free(call);
    assert_int_equal(0, atomic_load(&other.ends));
    features_gate_open();
    fixture_await(&other.ends, 1);
    assert_done(&other, 2);
    assert_int_equal(1, atomic_load(&held.ends));
    assert_int_equal(1, atomic_load(&features_seen.cancelled));
}

/* --- completion queues ------------------------------------------------- */

static void
queue_call(struct fixture *f, struct vc_completions *queue, uint64_t tag,
           uint32_t failures, void *what)
{
    Features__Order order = features_order(tag, "queued");
    struct vc_async *call;

    order.failures = failures;
    order.status = VC_NOT_FOUND;
    assert_status(VC_OK,
                  vc_channel_call_queued(f->channel, &features_work_service, 0,
                                         &order, NULL, queue, what, &call));
    vc_async_free(call);
}

static int
readable(int fd, int ms)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};

    return poll(&p, 1, ms);
}

static void
assert_good_end(const struct vc_completion *end, uint64_t tag)
{
    const Features__Report *report = end->reply;

    assert_status(VC_OK, end->status);
    assert_int_equal(tag, report->tag);
    assert_string_equal("", end->text);
    vc_message_free(end->reply);
}

static void
ends_wait_in_a_queue_whose_descriptor_is_readable(void **state)
{
    struct fixture *f = *state;
    struct vc_completions *queue;
    struct vc_completion end;
    int good, bad;

    assert_status(VC_OK, vc_completions_new(f->runtime, &queue));
    assert_true(vc_completions_fd(queue) >= 0);
    assert_int_equal(0, readable(vc_completions_fd(queue), 0));
    assert_status(VC_DEADLINE_EXCEEDED, vc_completions_next(queue, 0, &end));

    queue_call(f, queue, 5, 0, &good);
    assert_int_equal(1, readable(vc_completions_fd(queue), AWAIT_MS));
    assert_status(VC_OK, vc_completions_next(queue, 0, &end));
    assert_ptr_equal(&good, end.tag);
    assert_good_end(&end, 5);
    assert_int_equal(0, readable(vc_completions_fd(queue), 0));

    queue_call(f, queue, 6, 1, &bad);
    assert_int_equal(1, readable(vc_completions_fd(queue), AWAIT_MS));
    assert_status(VC_OK, vc_completions_next(queue, 0, &end));
    assert_ptr_equal(&bad, end.tag);
    assert_status(VC_NOT_FOUND, end.status);
    assert_int_equal(VC_OUTCOME_EXECUTED, end.outcome);
    assert_string_equal("attempt 1 failed by first", end.text);
    assert_null(end.reply);
    vc_completions_free(queue);
}

/* The client has no thread, so calls advance only in vc_completions_next(). */
static void
waiting_for_the_queue_advances_the_calls(void **state)
{
    struct vc_completions *queue;
    struct vc_completion end;
    unsigned tags[CALLS] = {0};
    struct fixture f;

    (void)state;
    features_start(&f, NULL, NULL);
    assert_status(VC_OK, vc_completions_new(f.runtime, &queue));
    for (unsigned i = 0; i < CALLS; i++)
        queue_call(&f, queue, i, 0, &tags[i]);

    for (unsigned i = 0; i < CALLS; i++) {
        assert_status(VC_OK, vc_completions_next(queue, AWAIT_MS, &end));
        assert_good_end(&end, (uint64_t)((unsigned *)end.tag - tags));
        ++*(unsigned *)end.tag;
    }

    for (unsigned i = 0; i < CALLS; i++)
        assert_int_equal(1, tags[i]);
    assert_status(VC_DEADLINE_EXCEEDED, vc_completions_next(queue, 0, &end));
    vc_completions_free(queue);
    features_stop(&f);
}

/* --- an event loop of the program -------------------------------------- */

/* An epoll of the descriptors of one or two runtimes without threads. */
struct loop {
    int epoll;
    unsigned wakes;
};

static void
loop_add(struct loop *l, struct vc_runtime *runtime)
{
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = runtime};
    int fd = vc_runtime_fd(runtime);

    assert_true(fd >= 0);
    assert_int_equal(fd, vc_runtime_fd(runtime)); /* it never changes */
    assert_int_equal(0, epoll_ctl(l->epoll, EPOLL_CTL_ADD, fd, &event));
}

static void
loop_open(struct loop *l, struct vc_runtime *runtime)
{
    l->wakes = 0;
    l->epoll = epoll_create1(EPOLL_CLOEXEC);
    assert_true(l->epoll >= 0);
    loop_add(l, runtime);
}

static void
loop_turn(struct loop *l, int ms)
{
    struct epoll_event event;
    enum vc_status status;

    if (epoll_wait(l->epoll, &event, 1, ms) < 1)
        return;
    l->wakes++;
    status = vc_runtime_poll(event.data.ptr, 0);
    assert_true(status == VC_OK || status == VC_DEADLINE_EXCEEDED);
}

/* False when the word is still below n after ms. */
static bool
loop_until(struct loop *l, atomic_uint *word, unsigned n, unsigned ms)
{
    uint64_t due = fixture_ms() + ms, now;

    while (atomic_load(word) < n && (now = fixture_ms()) < due)
        loop_turn(l, (int)(due - now));
    return atomic_load(word) >= n;
}

static void
a_loop_without_threads_makes_progress_and_sleeps(void **state)
{
    static struct features_end ends[CALLS], held;
    struct loop loop;
    struct fixture f;

    (void)state;
    features_start(&f, NULL, NULL);
    loop_open(&loop, f.runtime);
    for (unsigned i = 0; i < CALLS; i++)
        call_start(&f, i, 0, NULL, &ends[i], NULL);
    for (unsigned i = 0; i < CALLS; i++) {
        assert_true(loop_until(&loop, &ends[i].ends, 1, AWAIT_MS));
        assert_done(&ends[i], i);
    }

    call_start(&f, 7, 1, NULL, &held, NULL);
    assert_true(loop_until(&loop, &features_seen.begun, CALLS + 1, AWAIT_MS));
    loop.wakes = 0;
    assert_false(loop_until(&loop, &held.ends, 1, IDLE_MS));
    assert_in_range(loop.wakes, 0, IDLE_WAKES);

    features_gate_open();
    assert_true(loop_until(&loop, &held.ends, 1, AWAIT_MS));
    assert_done(&held, 7);
    close(loop.epoll);
    features_stop(&f);
}

/* Nothing is received: only the library's timer can make the descriptor
 * readable. */
static void
a_deadline_wakes_the_loop(void **state)
{
    struct vc_call_opts opts = VC_CALL_OPTS_INIT;
    static struct features_end end;
    struct loop loop;
    struct fixture f;
    uint64_t begun;

    (void)state;
    features_start(&f, NULL, NULL);
    loop_open(&loop, f.runtime);
    call_start(&f, 1, 0, NULL, &end, NULL);
    assert_true(loop_until(&loop, &end.ends, 1, AWAIT_MS));
    opts.timeout_ms = IDLE_MS;
    begun = fixture_ms();

    call_start(&f, 2, 1, &opts, &end, NULL);
    while (atomic_load(&end.ends) == 0 && fixture_ms() < begun + AWAIT_MS)
        loop_turn(&loop, AWAIT_MS);

    assert_status(VC_DEADLINE_EXCEEDED, end.status);
    assert_in_range(fixture_ms() - begun, IDLE_MS, AWAIT_MS / 2);
    close(loop.epoll);
    features_stop(&f);
}

static void
serve_without_threads(struct fixture *f)
{
    features_start(f, NULL, NULL);
    vc_runtime_stop(f->server_runtime);
}

/* Handlers and callbacks run in the loop, as there is no other thread. */
static void
client_and_server_share_a_loop_of_one_thread(void **state)
{
    static struct features_end ends[CALLS];
    struct loop loop;
    struct fixture f;

    (void)state;
    serve_without_threads(&f);
    loop_open(&loop, f.runtime);
    loop_add(&loop, f.server_runtime);
    for (unsigned i = 0; i < CALLS; i++)
        call_start(&f, i, 0, NULL, &ends[i], NULL);
    assert_int_equal(0, atomic_load(&features_seen.begun));

    for (unsigned i = 0; i < CALLS; i++) {
        assert_true(loop_until(&loop, &ends[i].ends, 1, AWAIT_MS));
        assert_done(&ends[i], i);
    }

    assert_int_equal(CALLS, atomic_load(&features_seen.ended));
    close(loop.epoll);
    features_stop(&f);
}

/* --- vc_runtime_poll() without a descriptor ---------------------------- */

struct inside {
    struct vc_runtime *runtime;
    enum vc_status polled;
    atomic_uint ends;
};

static void
poll_inside(enum vc_status status, Features__Report *reply, void *arg)
{
    struct inside *i = arg;

    assert_status(VC_OK, status);
    vc_message_free(reply);
    i->polled = vc_runtime_poll(i->runtime, 0);
    fixture_tell(&i->ends);
}

static void
poll_waits_for_something_to_do(void **state)
{
    Features__Order order = features_order(1, "poll");
    static struct inside inside = {.polled = VC_OK};
    unsigned turns = 0;
    struct fixture f;
    uint64_t begun;

    (void)state;
    features_start(&f, NULL, NULL);
    inside.runtime = f.runtime;
    while (vc_runtime_poll(f.runtime, 0) == VC_OK)
        assert_true(++turns < IDLE_WAKES);
    begun = fixture_ms();
    assert_status(VC_DEADLINE_EXCEEDED, vc_runtime_poll(f.runtime, IDLE_MS));
    assert_true(fixture_ms() - begun >= IDLE_MS);

    assert_status(VC_OK, features_work_once_async(f.channel, &order, NULL,
                                                  poll_inside, &inside, NULL));
    while (atomic_load(&inside.ends) == 0)
        assert_status(VC_OK, vc_runtime_poll(f.runtime, AWAIT_MS));

    assert_status(VC_FAILED_PRECONDITION, inside.polled);
    features_stop(&f);
}

#define T(name)                                                                \
    cmocka_unit_test_setup_teardown(name, features_setup, features_teardown)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        T(asynchronous_calls_run_at_a_time_and_end_once_each),
        T(a_cancelled_call_ends_and_its_handler_is_notified),
        T(ends_wait_in_a_queue_whose_descriptor_is_readable),
        cmocka_unit_test(waiting_for_the_queue_advances_the_calls),
        cmocka_unit_test(a_loop_without_threads_makes_progress_and_sleeps),
        cmocka_unit_test(a_deadline_wakes_the_loop),
        cmocka_unit_test(client_and_server_share_a_loop_of_one_thread),
        cmocka_unit_test(poll_waits_for_something_to_do),
    };

    return fixture_main(tests);
}
