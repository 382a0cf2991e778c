/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * What a resolver may ask for (verbcall/resolver.h): timers and descriptors. */
#include "tests/suite/resolved.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

/* A resolver whose first step is a timer that open() asks for. */
static struct loop {
    struct vc_resolver *resolver;
    void (*step)(void *state); /* what that timer calls */
    atomic_uint steps, closes; /* for fixture_await() */
    atomic_bool busy;          /* a function of the resolver runs */
    atomic_uint wrong;         /* two ran at a time, or one after close() */
    int pipe[2];
    uint64_t due;           /* of the timer; the holder's */
    atomic_bool taken_back; /* the timer */
    unsigned reads;         /* of ready(); the holder's, until close() */
} loop;

static void
loop_enter(void)
{
    if (atomic_exchange(&loop.busy, true) || atomic_load(&loop.closes) > 0)
        atomic_fetch_add(&loop.wrong, 1);
}

static void
loop_leave(void)
{
    atomic_store(&loop.busy, false);
    fixture_tell(&loop.steps);
}

static enum vc_status
loop_open(struct vc_resolver *r, const char *target, void **state)
{
    (void)target;
    loop.resolver = r;
    *state = &loop;
    vc_resolver_timer(r, 0, loop.step);
    return VC_OK;
}

static void loop_again(void *state);

/* Asks for what is too late. */
static void
loop_close(void *state)
{
    loop_enter();
    vc_resolver_timer(loop.resolver, 0, loop.step);
    vc_resolver_fail(loop.resolver, "it is over");
    atomic_store(&loop.busy, false);
    fixture_tell(&((struct loop *)state)->closes);
}

static const struct vc_resolver_type loop_type = {
    .size = sizeof loop_type,
    .scheme = "loop",
    .open = loop_open,
    .again = loop_again,
    .close = loop_close,
};

/* Opens a channel to it in a runtime with this many threads. */
static void
loop_start(struct vc_runtime **runtime, struct vc_channel **channel,
           bool threads, void (*step)(void *state))
{
    memset(&loop, 0, sizeof loop);
    assert_int_equal(0, pipe(loop.pipe));
    loop.step = step;
    assert_status(VC_OK, vc_resolver_register(&loop_type));
    if (threads) {
        assert_status(VC_OK, vc_runtime_new(NULL, runtime));
        assert_status(VC_OK, vc_runtime_start(*runtime));
    } else {
        fixture_runtime_without_threads(runtime);
    }
    assert_status(VC_OK, vc_channel_open(*runtime, "loop:", NULL, channel));
}

static void
loop_stop(struct vc_runtime *runtime, struct vc_channel *channel)
{
    vc_channel_close(channel);
    assert_int_equal(1, atomic_load(&loop.closes));
    vc_runtime_poll(runtime, 0); /* what was posted meanwhile */
    vc_runtime_free(runtime);
    assert_int_equal(0, atomic_load(&loop.wrong));
    close(loop.pipe[0]);
    close(loop.pipe[1]);
}

static void
step_again(void *state)
{
    (void)state;
    loop_enter();
    if (atomic_load(&loop.steps) < 9)
        vc_resolver_timer(loop.resolver, atomic_load(&loop.steps) % 3,
                          step_again);
    loop_leave();
}

static void
a_timer_fires_once_for_each_time_it_is_set(void **state)
{
    struct vc_channel *channel;
    struct vc_runtime *runtime;
    uint64_t until;

    (void)state;
    loop_start(&runtime, &channel, true, step_again);
    fixture_await(&loop.steps, 10);
    until = fixture_ms() + 20;
    while (fixture_ms() < until)
        continue;
    assert_int_equal(10, atomic_load(&loop.steps));
    loop_stop(runtime, channel);
}

/* Must not be called once it was taken back. */
static void
step_late(void *state)
{
    (void)state;
    loop_enter();
    if (atomic_load(&loop.taken_back))
        atomic_fetch_add(&loop.wrong, 1);
    loop_leave();
}

static void
step_soon(void *state)
{
    (void)state;
    loop_enter();
    loop.due = fixture_ms() + 100;
    vc_resolver_timer(loop.resolver, 100, step_late);
    loop_leave();
}

/* Waits until the timer is due, which the engine has not seen yet, and takes it
 * back. */
static void
loop_again(void *state)
{
    (void)state;
    loop_enter();
    while (fixture_ms() < loop.due + 2)
        continue;
    vc_resolver_timer(loop.resolver, 0, NULL);
    atomic_store(&loop.taken_back, true);
    loop_leave();
}

static void
a_timer_that_was_taken_back_does_not_fire(void **state)
{
    struct vc_channel *channel;
    struct vc_runtime *runtime;

    (void)state;
    loop_start(&runtime, &channel, true, step_soon);
    fixture_await(&loop.steps, 1);
    vc_resolver_fail(loop.resolver, "no one");
    assert_status(VC_UNAVAILABLE, fixture_echo(channel, 1, 1));
    fixture_await(&loop.steps, 2);
    vc_runtime_poll(runtime, 5);
    loop_stop(runtime, channel);
}

/* --- descriptors ------------------------------------------------------------ */

/* Reads a byte: 'f' has the descriptor forgotten. */
static void
pipe_ready(void *state, int fd)
{
    struct loop *l = state;
    char byte = 0;

    loop_enter();
    assert_int_equal(l->pipe[0], fd);
    assert_int_equal(1, read(fd, &byte, 1));
    l->reads++;
    if (byte == 'f') {
        vc_resolver_forget(l->resolver, fd);
        vc_resolver_forget(l->resolver, fd); /* no effect */
        vc_resolver_timer(l->resolver, 0, l->step);
    }
    loop_leave();
}

/* The write end has room: says so, and is then watched for reading only. */
static void
pipe_has_room(void *state, int fd)
{
    struct loop *l = state;

    loop_enter();
    assert_int_equal(l->pipe[1], fd);
    l->reads += 100;
    assert_status(VC_OK,
                  vc_resolver_watch(l->resolver, fd, false, pipe_has_room));
    loop_leave();
}

static void
step_watches_both(void *state)
{
    struct loop *l = state;

    loop_enter();
    if (atomic_load(&l->steps) == 0) {
        assert_status(VC_OK, vc_resolver_watch(l->resolver, l->pipe[0], false,
                                               pipe_ready));
        assert_status(VC_OK, vc_resolver_watch(l->resolver, l->pipe[1], true,
                                               pipe_has_room));
    }
    loop_leave();
}

static void
pipe_write(const char *text)
{
    assert_int_equal(strlen(text), write(loop.pipe[1], text, strlen(text)));
}

static void
a_descriptor_is_watched_until_it_is_forgotten(void **state)
{
    struct vc_channel *channel;
    struct vc_runtime *runtime;

    (void)state;
    loop_start(&runtime, &channel, true, step_watches_both);
    fixture_await(&loop.steps, 2); /* the step, and room */
    pipe_write("abc");             /* ready() reads one at a time */
    fixture_await(&loop.steps, 5);
    pipe_write("f");
    fixture_await(&loop.steps, 7); /* and the step that follows */
    pipe_write("g");
    vc_runtime_poll(runtime, 5);
    assert_int_equal(7, atomic_load(&loop.steps));
    loop_stop(runtime, channel);
    assert_int_equal(104, loop.reads);
}

static void
step_watches_many(void *state)
{
    struct loop *l = state;
    int fds[17];

    loop_enter();
    for (unsigned i = 0; i < 17; i++) {
        fds[i] = dup(l->pipe[0]);
        assert_status(
            i < 16 ? VC_OK : VC_RESOURCE_EXHAUSTED,
            vc_resolver_watch(l->resolver, fds[i], false, pipe_ready));
    }
    resolved_says("a resolver watches at most 16 descriptors");
    vc_resolver_forget(l->resolver, fds[3]);
    assert_status(VC_OK,
                  vc_resolver_watch(l->resolver, fds[16], false, pipe_ready));
    vc_resolver_forget(l->resolver, fds[16]);
    close(fds[3]);
    assert_status(VC_RESOURCE_EXHAUSTED, /* the kernel refuses it */
                  vc_resolver_watch(l->resolver, fds[3], false, pipe_ready));
    resolved_says(strerror(EBADF));
    assert_status(VC_INVALID_ARGUMENT,
                  vc_resolver_watch(l->resolver, -1, false, pipe_ready));
    assert_status(VC_INVALID_ARGUMENT,
                  vc_resolver_watch(l->resolver, fds[0], false, NULL));
    for (unsigned i = 0; i < 17; i++) {
        vc_resolver_forget(l->resolver, fds[i]);
        close(fds[i]);
    }
    loop_leave();
}

static void
at_most_sixteen_descriptors_are_watched(void **state)
{
    struct vc_channel *channel;
    struct vc_runtime *runtime;

    (void)state;
    loop_start(&runtime, &channel, true, step_watches_many);
    fixture_await(&loop.steps, 1);
    loop_stop(runtime, channel);
}

/* Does all that has an effect later. */
static void
step_of_all(void *state)
{
    struct loop *l = state;

    loop_enter();
    if (atomic_load(&l->steps) == 0)
        assert_status(VC_OK, vc_resolver_watch(l->resolver, l->pipe[0], false,
                                               pipe_ready));
    vc_resolver_timer(l->resolver, atomic_load(&l->steps) % 2, step_of_all);
    loop_leave();
}

/* The channel is closed when a timer is due and a descriptor can be read, after
 * so many steps of its engine. */
static void
nothing_of_a_resolver_is_called_after_close(void **state)
{
    (void)state;
    for (unsigned i = 0; i < fixture_many(15, 2000); i++) {
        struct vc_channel *channel;
        struct vc_runtime *runtime;

        loop_start(&runtime, &channel, i % 2 == 0, step_of_all);
        if (i % 2 == 1) {
            for (unsigned k = 0; k < i % 12; k++)
                vc_runtime_poll(runtime, 0);
        } else {
            fixture_await(&loop.steps, i % 12);
        }
        if (i % 4 < 2)
            pipe_write("abcdef");
        loop_stop(runtime, channel);
    }
}

#define T(name) cmocka_unit_test(name)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        T(a_timer_fires_once_for_each_time_it_is_set),
        T(a_timer_that_was_taken_back_does_not_fire),
        T(a_descriptor_is_watched_until_it_is_forgotten),
        T(at_most_sixteen_descriptors_are_watched),
        T(nothing_of_a_resolver_is_called_after_close),
    };

    return fixture_main(tests);
}
