/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * What a resolver may say and ask for (verbcall/resolver.h): types, sets that
 * are refused, timers and descriptors. */
#include "tests/suite/resolved.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/suite/pace.h"

#define MANY 1000u
/* Time for four sets of so many servers. */
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define MANY_MS 10000
#else
#define MANY_MS 1000
#endif

/* --- sets ------------------------------------------------------------------ */

static void
set_fails(const struct vc_endpoint *endpoints, size_t n, const char *why)
{
    assert_status(VC_INVALID_ARGUMENT,
                  vc_resolver_set(app.resolver, endpoints, n));
    resolved_says(why);
}

/* The first of the two is good. */
static void
second_fails(struct resolved *w, struct vc_endpoint second, const char *why)
{
    struct vc_endpoint e[2] = {VC_ENDPOINT_INIT, second};

    e[0].target = w->servers[1].target;
    set_fails(e, 2, why);
}

static struct vc_endpoint
endpoint(const char *target)
{
    struct vc_endpoint e = VC_ENDPOINT_INIT;

    e.target = target;
    return e;
}

static void
bad_texts_are_refused(struct resolved *w)
{
    static char text[400];
    struct vc_endpoint e = endpoint("tcp://127.0.0.1:1");

    memset(text, 'a', sizeof text - 1);
    memcpy(text, "tcp://", 6);
    second_fails(w, endpoint(text), "vc_endpoint.target: \"tcp://aaa");
    text[VC_ENDPOINT_TARGET_MAX + 1] = '\0';
    second_fails(w, endpoint(text), "is longer than 319 bytes");
    text[VC_ENDPOINT_TEXT_MAX + 1] = '\0';
    e.label = text;
    second_fails(w, e, "vc_endpoint.label: \"tcp://aaa");
    text[VC_ENDPOINT_TEXT_MAX] = '\0';
    e.label = NULL;
    e.hash_key = text - 0;
    text[VC_ENDPOINT_TEXT_MAX] = 'a';
    second_fails(w, e, "vc_endpoint.hash_key: \"tcp://aaa");
}

static void
bad_numbers_are_refused(struct resolved *w)
{
    struct vc_endpoint e = endpoint("tcp://127.0.0.1:1");

    e.weight = VC_ENDPOINT_WEIGHT_MAX + 1;
    second_fails(w, e, "vc_endpoint.weight: 1000001");
    e.weight = 1;
    e.priority = VC_ENDPOINT_PRIORITY_MAX + 1;
    second_fails(w, e, "vc_endpoint.priority: 256");
    e.priority = 0;
    e.size = 0;
    second_fails(w, e, "VC_ENDPOINT_INIT");
    set_fails(&e, 1, "VC_ENDPOINT_INIT");
}

static void
bad_targets_are_refused(struct resolved *w)
{
    second_fails(w, endpoint(NULL), "vc_endpoint.target: there is none");
    second_fails(w, endpoint(""), "vc_endpoint.target: there is none");
    second_fails(w, endpoint("x://b:1"), "unknown scheme");
    second_fails(w, endpoint("app:it"), "unknown scheme");
    second_fails(w, endpoint("list:tcp://127.0.0.1:1"), "unknown scheme");
    second_fails(w, endpoint("tcp://127.0.0.1:0"), "port 0");
}

/* Whether there are servers already, or not. */
static void
malformed_sets_are_refused_and_change_nothing(void **state)
{
    static struct vc_endpoint many[VC_ENDPOINTS_MAX + 1];
    struct resolved w;

    (void)state;
    resolved_start(&w, NULL);
    for (unsigned round = 0; round < 2; round++) {
        set_fails(many, 0, "0 endpoints: there must be 1 to 1024");
        set_fails(NULL, 1, "1 endpoints: there must be 1 to 1024");
        set_fails(many, VC_ENDPOINTS_MAX + 1, "1025 endpoints");
        bad_texts_are_refused(&w);
        bad_numbers_are_refused(&w);
        bad_targets_are_refused(&w);
        if (round == 0)
            resolved_described(&w, "no servers: not known yet");
        else
            resolved_described(&w, "server 1 of 1, ");
        assert_status(VC_OK, resolved_set(&w, "0"));
        assert_status(VC_OK, resolved_call(&w, NULL, NULL));
    }
    assert_int_equal(1, resolved_counters(&w).links_made);
    assert_int_equal(0, resolved_served(&w, 1));
    assert_status(VC_INVALID_ARGUMENT, vc_resolver_set(NULL, many, 1));
    resolved_stop(&w);
}

/* The longest texts, and the highest numbers. */
static void
the_limits_are_allowed(void **state)
{
    static char label[VC_ENDPOINT_TEXT_MAX + 1];
    struct vc_endpoint e = VC_ENDPOINT_INIT;
    struct resolved w;

    (void)state;
    resolved_start(&w, NULL);
    memset(label, 'a', sizeof label - 1);
    e.target = w.servers[0].target;
    e.label = e.hash_key = label;
    e.weight = VC_ENDPOINT_WEIGHT_MAX;
    e.priority = VC_ENDPOINT_PRIORITY_MAX;
    assert_status(VC_OK, vc_resolver_set(app.resolver, &e, 1));
    assert_status(VC_OK, resolved_call(&w, NULL, NULL));
    resolved_stop(&w);
}

static void
one_target_named_twice_counts_once(void **state)
{
    struct resolved w;

    (void)state;
    resolved_start(&w, "round_robin");
    assert_status(VC_OK, resolved_set(&w, "0010"));
    resolved_described(&w, "server 2 of 2, ");
    resolved_await_ready(&w, 2);
    assert_status(VC_OK, resolved_set(&w, "11220201"));
    resolved_described(&w, "server 3 of 3, ");
    resolved_await_ready(&w, 3);
    assert_int_equal(3, resolved_counters(&w).links_made);
    resolved_stop(&w);
}

/* Sets the servers number `from` to from + MANY - 1, none of which is there,
 * from the last to the first if `back` is true. */
static void
many_set(unsigned from, bool back)
{
    static struct vc_endpoint e[MANY];
    static char targets[MANY][40];

    for (unsigned i = 0; i < MANY; i++) {
        unsigned n = from + (back ? MANY - 1 - i : i);

        snprintf(targets[i], sizeof targets[i], "inproc://many-%u", n);
        e[i] = endpoint(targets[i]);
    }
    assert_status(VC_OK, vc_resolver_set(app.resolver, e, MANY));
}

static void
a_thousand_servers_come_and_go_in_a_second(void **state)
{
    uint64_t began;
    struct resolved w;

    (void)state;
    resolved_start(&w, NULL);
    began = fixture_ms();
    many_set(0, false);
    many_set(0, true);
    many_set(MANY / 2, false);
    many_set(0, false);
    assert_status(VC_OK, resolved_set(&w, "0"));
    assert_in_range(pace_since(began), 0, MANY_MS);
    assert_status(VC_OK, resolved_call(&w, NULL, NULL));
    resolved_described(&w, "server 1 of 1, ");
    resolved_stop(&w);
}

/* --- types ----------------------------------------------------------------- */

static void
open_fails(struct resolved *w, enum vc_status status, const char *target,
           const char *why)
{
    struct vc_channel *channel;

    assert_status(status, vc_channel_open(w->runtime, target, NULL, &channel));
    resolved_says(why);
}

static void
a_resolver_that_refuses_its_target_fails_the_open(void **state)
{
    struct resolved w;

    (void)state;
    resolved_start_servers(&w);
    app.refuses = VC_NOT_FOUND;
    open_fails(&w, VC_NOT_FOUND, "app:7", "target \"app:7\": ");
    app.why = "7 is no number of mine";
    open_fails(&w, VC_NOT_FOUND, "app:7",
               "target \"app:7\": 7 is no number of mine");
    assert_string_equal("app:7", app.target);
    app.first = "012"; /* servers, and then it refuses */
    open_fails(&w, VC_NOT_FOUND, "app:7", "target \"app:7\": ");
    assert_int_equal(3, atomic_load(&app.opens));
    assert_int_equal(0, atomic_load(&app.closes));
    open_fails(&w, VC_INVALID_ARGUMENT, "nope:7", "unknown scheme");
    open_fails(&w, VC_INVALID_ARGUMENT, "application:7", "unknown scheme");
    app.refuses = VC_OK;
    atomic_store(&app.opens, 0);
    resolved_open(&w, NULL);
    assert_status(VC_OK, resolved_call(&w, NULL, NULL));
    resolved_stop(&w);
}

static enum vc_status
nothing_open(struct vc_resolver *r, const char *target, void **state)
{
    (void)r;
    (void)target;
    (void)state;
    return VC_OK;
}

static void
nothing_close(void *state)
{
    (void)state;
}

static struct vc_resolver_type
type_of(const char *scheme)
{
    return (struct vc_resolver_type){
        .size = sizeof(struct vc_resolver_type),
        .scheme = scheme,
        .open = nothing_open,
        .close = nothing_close,
    };
}

static void
register_fails(const struct vc_resolver_type *type, const char *why)
{
    assert_status(VC_INVALID_ARGUMENT, vc_resolver_register(type));
    resolved_says(why);
}

static void
malformed_types_are_refused(void **state)
{
    static const char *const schemes[] = {NULL,
                                          "",
                                          "App",
                                          "7up",
                                          "a b",
                                          "-a",
                                          "a:",
                                          "a_b",
                                          "tcp",
                                          "rdma",
                                          "list",
                                          "file",
                                          "shm",
                                          "inproc",
                                          "vc",
                                          "rdma+ud",
                                          "a234567890123456"};
    struct vc_resolver_type type = type_of("app");

    (void)state;
    for (unsigned i = 0; i < sizeof schemes / sizeof *schemes; i++) {
        struct vc_resolver_type t = type_of(schemes[i]);

        register_fails(&t, "it must be 1 to 15 of a-z");
    }
    register_fails(NULL, "type is NULL");
    type.size--;
    register_fails(&type, "sizeof(struct vc_resolver_type)");
    type = type_of("app");
    assert_status(VC_OK, vc_resolver_register(&app_type));
    assert_status(VC_OK, vc_resolver_register(&app_type)); /* the same */
    register_fails(&type, "scheme app: it is registered with another type");
    type = type_of("other");
    type.open = NULL;
    register_fails(&type, "scheme other: open or close is NULL");
    type = type_of("other");
    type.close = NULL;
    register_fails(&type, "scheme other: open or close is NULL");
}

/* Runs last: no type is ever forgotten. */
static void
there_are_at_most_sixteen_types(void **state)
{
    static struct vc_resolver_type types[16];
    static char names[16][16];
    unsigned n = 0;
    enum vc_status status;

    (void)state;
    assert_status(VC_OK, vc_resolver_register(&app_type));
    do {
        assert_in_range(n, 0, 15);
        snprintf(names[n], sizeof names[n], "a2345678901234%x", n);
        types[n] = type_of(names[n]);
        status = vc_resolver_register(&types[n++]);
    } while (status == VC_OK);
    assert_status(VC_RESOURCE_EXHAUSTED, status);
    resolved_says("there are 16 types already");
    assert_status(VC_OK, vc_resolver_register(&app_type));
}

/* --- timers and descriptors ------------------------------------------------ */

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
    for (unsigned i = 0; i < fixture_many(60, 2000); i++) {
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
        T(malformed_sets_are_refused_and_change_nothing),
        T(the_limits_are_allowed),
        T(one_target_named_twice_counts_once),
        T(a_thousand_servers_come_and_go_in_a_second),
        T(a_resolver_that_refuses_its_target_fails_the_open),
        T(malformed_types_are_refused),
        T(a_timer_fires_once_for_each_time_it_is_set),
        T(a_timer_that_was_taken_back_does_not_fire),
        T(a_descriptor_is_watched_until_it_is_forgotten),
        T(at_most_sixteen_descriptors_are_watched),
        T(nothing_of_a_resolver_is_called_after_close),
        T(there_are_at_most_sixteen_types),
    };

    return fixture_main(tests);
}
