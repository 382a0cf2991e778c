/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A server of a ProtobufCService, and clients that protoc-gen-verbcall
 * generated: whose turn it is, and what comes of closures. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "tests/sim/scene.h"
#include "tests/suite/directory.h"

#define MS    UINT64_C(1000)
#define MANY  40u
#define SEEDS 4u

/* What its methods saw; of the world that runs. */
static struct seen {
    uint32_t flags;
    atomic_uint inside, most; /* that run at a time */
    atomic_uint n;
    uint32_t order[MANY + 4];
    Lookup__Entry_Closure late;
    void *late_data;
    atomic_uint is_late, is_answered;
    pthread_t thread;
    struct sim_server *process;
    struct vc_server *server;
    Lookup__Directory_Service service;
} seen;

/* --- the service -------------------------------------------------------- */

static void
answer(const Lookup__Name *name, Lookup__Entry_Closure closure,
       void *closure_data)
{
    Lookup__Entry entry = LOOKUP__ENTRY__INIT;

    entry.name = name->text;
    closure(&entry, closure_data);
    /* The request outlives the closure. */
    assert_true(strlen(name->text) < 100);
}

/* Goes on for longer than its client needs to call again. */
static void
answer_first(const Lookup__Name *name, Lookup__Entry_Closure closure,
             void *closure_data)
{
    answer(name, closure, closure_data);
    sim_tell(&seen.is_answered);
    for (unsigned ms = 0; ms < 20; ms++) {
        assert_string_equal(name->text, "answer first");
        fake_sleep_us(MS);
    }
}

static void
enter(const Lookup__Name *name)
{
    unsigned now = atomic_fetch_add(&seen.inside, 1) + 1;

    if (now > atomic_load(&seen.most))
        atomic_store(&seen.most, now);
    assert_true(atomic_load(&seen.n) < MANY + 4);
    seen.order[atomic_fetch_add(&seen.n, 1)] = name->size;
}

static void
by_name(Lookup__Directory_Service *service, const Lookup__Name *name,
        Lookup__Entry_Closure closure, void *closure_data)
{
    Lookup__Entry unset = LOOKUP__ENTRY__INIT;

    assert_ptr_equal(service, &seen.service);
    enter(name);
    if (strcmp(name->text, "null") == 0) {
        closure(NULL, closure_data);
    } else if (strcmp(name->text, "unset") == 0) {
        closure(&unset, closure_data);
    } else if (strcmp(name->text, "other") == 0) {
        closure((const Lookup__Entry *)name, closure_data);
    } else if (strcmp(name->text, "late") == 0) {
        seen.late = closure;
        seen.late_data = closure_data;
        sim_tell(&seen.is_late);
    } else if (strcmp(name->text, "answer first") == 0) {
        answer_first(name, closure, closure_data);
    } else {
        if (strcmp(name->text, "sleep") == 0)
            fake_sleep_us(5 * MS);
        answer(name, closure, closure_data);
    }
    atomic_fetch_sub(&seen.inside, 1);
}

static void
assert_nobody_inside(struct sim_server *s)
{
    (void)s;
    assert_int_equal(atomic_load(&seen.inside), 0);
}

static enum vc_status
serve(struct vc_server *server, struct sim_server *s)
{
    scene_take_orders(s);
    s->end = assert_nobody_inside;
    seen.process = s;
    seen.server = server;
    lookup__directory__init(&seen.service, NULL);
    seen.service.by_name = by_name;
    assert_int_equal(vc_server_add_protobuf_c(server, &seen.service.base, 2),
                     VC_INVALID_ARGUMENT);
    assert_int_equal(
        vc_server_add_protobuf_c(server, &seen.service.base, seen.flags),
        VC_OK);
    assert_int_equal(vc_server_add_protobuf_c(server, &seen.service.base, 0),
                     VC_ALREADY_EXISTS);
    return VC_OK;
}

static void
play_with(void (*act)(struct scene *s), uint32_t flags)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct scene s = {.opts = VC_CHANNEL_OPTS_INIT, .act = act};

        memset(&seen, 0, sizeof seen);
        seen.flags = flags;
        s.server.add = serve;
        scene_run(&s, seed);
        assert_int_equal(atomic_load(&seen.inside), 0);
    }
}

static void
play(void (*act)(struct scene *s))
{
    play_with(act, 0);
}

/* --- clients ------------------------------------------------------------ */

static enum vc_status
ask_in(struct scene *s, const char *text, uint32_t timeout_ms)
{
    struct vc_call_opts opts = VC_CALL_OPTS_INIT;
    Lookup__Name name = directory_name(text, 0);
    Lookup__Entry *entry;
    enum vc_status status;

    opts.timeout_ms = timeout_ms;
    status = lookup_directory_by_name(s->channel, &name, &opts, &entry);
    if (status != VC_OK)
        return status;
    assert_string_equal(entry->name, text);
    vc_message_free(entry);
    return status;
}

static enum vc_status
ask(struct scene *s, const char *text)
{
    return ask_in(s, text, 0);
}

struct caller {
    struct scene *scene;
    const char *text;
    pthread_t thread;
    enum vc_status status;
};

static void *
caller_main(void *arg)
{
    struct caller *c = arg;

    c->status = ask(c->scene, c->text);
    return NULL;
}

static void
caller_start(struct caller *c, struct scene *s, const char *text)
{
    c->scene = s;
    c->text = text;
    assert_int_equal(pthread_create(&c->thread, NULL, caller_main, c), 0);
}

/* One that has its turn while others come. */
static void
sleeper_start(struct caller *c, struct scene *s)
{
    caller_start(c, s, "sleep");
    while (atomic_load(&seen.inside) == 0)
        fake_sleep_us(100);
}

static enum vc_status
caller_join(struct caller *c)
{
    pthread_join(c->thread, NULL);
    return c->status;
}

/* --- turns -------------------------------------------------------------- */

static struct vc_completions *
start_many(struct scene *s)
{
    struct vc_completions *queue;

    assert_int_equal(vc_completions_new(s->runtime, &queue), VC_OK);
    for (unsigned i = 0; i < MANY; i++) {
        Lookup__Name name = directory_name("sleep", i + 1);

        assert_int_equal(vc_channel_call_queued(s->channel,
                                                &lookup_directory_service, 0,
                                                &name, NULL, queue, NULL, NULL),
                         VC_OK);
    }
    return queue;
}

static void
finish_many(struct vc_completions *queue)
{
    struct vc_completion end;

    for (unsigned i = 0; i < MANY; i++) {
        assert_int_equal(vc_completions_next(queue, 10000, &end), VC_OK);
        if (end.status != VC_OK)
            fail_msg("%s", end.text);
        vc_message_free(end.reply);
    }
    vc_completions_free(queue);
}

static void
ask_many(struct scene *s)
{
    assert_int_equal(ask(s, "first"), VC_OK);
    finish_many(start_many(s));
    assert_int_equal(atomic_load(&seen.n), MANY + 1);
}

static void
takes_turns(struct scene *s)
{
    ask_many(s);
    scene_sync();
    assert_int_equal(atomic_load(&seen.most), 1);
    for (unsigned i = 0; i <= MANY; i++)
        assert_int_equal(seen.order[i], i);
}

static void
methods_run_one_at_a_time_in_the_order_of_their_calls(void **state)
{
    (void)state;
    play(takes_turns);
}

static void
takes_none(struct scene *s)
{
    ask_many(s);
    assert_true(atomic_load(&seen.most) > 1);
}

static void
parallel_ones_run_at_the_same_time(void **state)
{
    (void)state;
    play_with(takes_none, VC_SERVICE_PARALLEL);
}

static void
loses_its_turn(struct scene *s)
{
    struct caller sleeper;

    assert_int_equal(ask(s, "first"), VC_OK);
    caller_start(&sleeper, s, "sleep");
    fake_sleep_us(2 * MS);
    assert_int_equal(ask_in(s, "short", 1), VC_DEADLINE_EXCEEDED);
    assert_int_equal(caller_join(&sleeper), VC_OK);
    assert_int_equal(ask(s, "last"), VC_OK);
    assert_int_equal(atomic_load(&seen.n), 3);
}

static void
a_call_that_nobody_waits_for_any_more_loses_its_turn(void **state)
{
    (void)state;
    play(loses_its_turn);
}

static void
leaves_many(struct scene *s)
{
    struct vc_completions *queue;

    assert_int_equal(ask(s, "first"), VC_OK);
    queue = start_many(s);
    fake_sleep_us(12 * MS);
    vc_channel_close(s->channel);
    s->channel = NULL;
    vc_completions_free(queue);
}

static void
clients_may_leave_with_calls_in_the_line(void **state)
{
    (void)state;
    play(leaves_many);
    play_with(leaves_many, VC_SERVICE_PARALLEL);
}

/* --- methods that go on behind their closures ---------------------------- */

/* The calls that come meanwhile take the memory of those that are over. */
static void
answers_first(struct scene *s)
{
    struct caller sleeper;

    assert_int_equal(ask(s, "first"), VC_OK);
    sleeper_start(&sleeper, s);
    assert_int_equal(ask(s, "answer first"), VC_OK);
    finish_many(start_many(s));
    assert_int_equal(caller_join(&sleeper), VC_OK);
}

static void
a_request_lives_until_its_method_has_returned(void **state)
{
    (void)state;
    play(answers_first);
    play_with(answers_first, VC_SERVICE_PARALLEL);
}

static void
closes_behind_the_answer(struct scene *s)
{
    struct caller sleeper, c;

    assert_int_equal(ask(s, "first"), VC_OK);
    sleeper_start(&sleeper, s);
    caller_start(&c, s, "answer first");
    assert_true(sim_await(&seen.is_answered, 10000 * MS));
    sim_server_close(&s->server);
    caller_join(&sleeper);
    caller_join(&c);
}

static void
a_server_that_closes_waits_for_methods_that_have_answered(void **state)
{
    (void)state;
    play(closes_behind_the_answer);
    play_with(closes_behind_the_answer, VC_SERVICE_PARALLEL);
}

/* --- closures ----------------------------------------------------------- */

static void *
late_main(void *arg)
{
    Lookup__Entry entry = LOOKUP__ENTRY__INIT;
    char name[] = "late";

    (void)arg;
    entry.name = name;
    seen.late(&entry, seen.late_data);
    memset(name, '!', sizeof name);
    return NULL;
}

static void
end_late(void)
{
    assert_true(sim_await(&seen.is_late, 10000 * MS));
    assert_int_equal(pthread_create(&seen.thread, NULL, late_main, NULL), 0);
    pthread_join(seen.thread, NULL);
}

static void
answers_late(struct scene *s)
{
    struct caller c;

    caller_start(&c, s, "late");
    assert_true(sim_await(&seen.is_late, 10000 * MS));
    assert_int_equal(ask(s, "others"), VC_OK);
    scene_have_done(s, end_late);
    assert_int_equal(caller_join(&c), VC_OK);
}

static void
a_closure_may_be_called_later_by_any_thread(void **state)
{
    (void)state;
    play(answers_late);
    play_with(answers_late, VC_SERVICE_PARALLEL);
}

static void
assert_internal(struct scene *s, const char *text, const char *words)
{
    assert_int_equal(ask(s, text), VC_INTERNAL);
    assert_string_equal(vc_error(), words);
    assert_int_equal(vc_error_outcome(), VC_OUTCOME_EXECUTED);
}

static void
replies_badly(struct scene *s)
{
    assert_internal(s, "null",
                    "lookup.Directory.ByName: the service has failed the call, "
                    "and does not say why");
    assert_internal(s, "unset",
                    "lookup.Directory.ByName: the reply of the service cannot "
                    "be packed: lookup.Entry.name: must be set");
    assert_internal(s, "other",
                    "lookup.Directory.ByName: the reply of the service is no "
                    "lookup.Entry");
    assert_int_equal(ask(s, "good"), VC_OK);
}

static void
a_reply_that_is_none_ends_the_call_with_internal(void **state)
{
    (void)state;
    play(replies_badly);
}

static void
starves(struct scene *s)
{
    assert_int_equal(ask(s, "good"), VC_OK);
    for (unsigned nth = 1; nth <= 12; nth++) {
        enum vc_status status;

        fake_fail_memory(s->server.process, nth);
        status = ask_in(s, "good", 5000);
        fake_fail_no_more();
        if (status != VC_OK && status != VC_RESOURCE_EXHAUSTED &&
            status != VC_INTERNAL && status != VC_UNAVAILABLE)
            fail_msg("%s", vc_error());
        assert_int_equal(ask(s, "good"), VC_OK);
    }
}

static void
without_memory_a_call_ends_and_the_next_is_served(void **state)
{
    (void)state;
    play(starves);
}

/* --- methods ------------------------------------------------------------ */

static void
calls_what_is_not_there(struct scene *s)
{
    Lookup__Phone phone = directory_phone("555");
    Lookup__Entry *entry;

    assert_int_equal(
        lookup_directory_by_number(s->channel, &phone, NULL, &entry),
        VC_UNIMPLEMENTED);
    assert_string_equal(
        vc_error(), "lookup.Directory.ByNumber: the server has no handler for "
                    "this method");
    assert_int_equal(ask(s, "good"), VC_OK);
}

static void
a_method_without_a_function_is_unimplemented(void **state)
{
    (void)state;
    play(calls_what_is_not_there);
}

static void
streams(struct scene *s)
{
    Lookup__Name name = directory_name("ann", 0);
    struct lookup_directory_everyone_client_stream *stream;
    Lookup__Entry *entry;

    assert_int_equal(
        lookup_directory_everyone(s->channel, &name, NULL, &stream), VC_OK);
    assert_int_equal(lookup_directory_everyone_receive(stream, &entry),
                     VC_UNIMPLEMENTED);
    assert_string_equal(
        vc_error(),
        "lookup.Directory.Everyone: the server has a method of this name that "
        "streams otherwise");
    lookup_directory_everyone_close(stream);
    assert_int_equal(ask(s, "good"), VC_OK);
}

static void
clients_that_stream_hear_that_the_server_does_not(void **state)
{
    (void)state;
    play(streams);
}

static void
remove_it(void)
{
    const struct vc_service *table;

    assert_int_equal(vc_runtime_service(atomic_load(&seen.process->runtime),
                                        &lookup__directory__descriptor, &table),
                     VC_OK);
    assert_int_equal(vc_server_limit(seen.server, table, 5), VC_OK);
    assert_int_equal(vc_server_remove(seen.server, table), VC_OK);
    assert_int_equal(vc_server_remove(seen.server, table), VC_NOT_FOUND);
}

static void
is_removed(struct scene *s)
{
    assert_int_equal(ask(s, "good"), VC_OK);
    scene_have_done(s, remove_it);
    assert_int_equal(ask(s, "good"), VC_UNIMPLEMENTED);
}

static void
a_service_is_removed_by_its_table(void **state)
{
    (void)state;
    play(is_removed);
}

/* --- interceptors ------------------------------------------------------- */

static unsigned n_replies;

static void
on_message(struct vc_interception *call, enum vc_message_kind kind,
           const ProtobufCMessage *message, void **state, void *arg)
{
    (void)call;
    (void)state;
    (void)arg;
    if (kind != VC_MESSAGE_REPLY)
        return;
    assert_string_equal(((const Lookup__Entry *)message)->name, "good");
    n_replies++;
}

static enum vc_status
serve_watched(struct vc_server *server, struct sim_server *s)
{
    struct vc_interceptor i = VC_INTERCEPTOR_INIT;

    i.message = on_message;
    assert_int_equal(vc_server_intercept(server, &i), VC_OK);
    return serve(server, s);
}

static void
asks_watched(struct scene *s)
{
    assert_int_equal(ask(s, "good"), VC_OK);
    assert_int_equal(ask(s, "null"), VC_INTERNAL);
}

static void
interceptors_see_its_replies(void **state)
{
    struct scene s = {.opts = VC_CHANNEL_OPTS_INIT, .act = asks_watched};

    (void)state;
    memset(&seen, 0, sizeof seen);
    s.server.add = serve_watched;
    scene_run(&s, 1);
    assert_int_equal(n_replies, 1);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(methods_run_one_at_a_time_in_the_order_of_their_calls),
        cmocka_unit_test(parallel_ones_run_at_the_same_time),
        cmocka_unit_test(a_call_that_nobody_waits_for_any_more_loses_its_turn),
        cmocka_unit_test(clients_may_leave_with_calls_in_the_line),
        cmocka_unit_test(a_request_lives_until_its_method_has_returned),
        cmocka_unit_test(
            a_server_that_closes_waits_for_methods_that_have_answered),
        cmocka_unit_test(a_closure_may_be_called_later_by_any_thread),
        cmocka_unit_test(a_reply_that_is_none_ends_the_call_with_internal),
        cmocka_unit_test(without_memory_a_call_ends_and_the_next_is_served),
        cmocka_unit_test(a_method_without_a_function_is_unimplemented),
        cmocka_unit_test(clients_that_stream_hear_that_the_server_does_not),
        cmocka_unit_test(a_service_is_removed_by_its_table),
        cmocka_unit_test(interceptors_see_its_replies),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
