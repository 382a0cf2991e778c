/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * rpc/interceptor.c: which callbacks of a chain are called, and in
 * which order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "rpc/interceptor.h"
#include "transport/core/clock.h"

static const struct vc_method method = {.name = "Echo"};
static const struct vc_service service = {
    .name = "unit.Probe", .n_methods = 1, .methods = &method};

/* The callbacks so far, as "a+ b+ a> b> b< a< b- a- ". */
static char diary[512];

/* One interceptor of a test. */
struct eye {
    char name;
    enum vc_status status; /* returned by start() */
    const char *text;
    struct vc_interception_end end; /* passed to finish() */
};

static void
note(const struct eye *e, char what)
{
    size_t n = strlen(diary);

    snprintf(diary + n, sizeof diary - n, "%c%c ", e->name, what);
}

/* Each interceptor has its own state, the same in all its callbacks. */
static enum vc_status
on_start(struct vc_interception *call, void **state, void *arg)
{
    struct eye *e = arg;

    note(e, '+');
    assert_null(*state);
    *state = e;
    if (e->text != NULL)
        return vc_interception_fail(call, e->status, "%s", e->text);
    return e->status;
}

static void
on_message(struct vc_interception *call, enum vc_message_kind kind,
           const ProtobufCMessage *message, void **state, void *arg)
{
    (void)call;
    assert_ptr_equal(message, diary);
    assert_ptr_equal(*state, arg);
    note(arg, kind == VC_MESSAGE_REQUEST ? '>' : '<');
}

static void
on_finish(struct vc_interception *call, const struct vc_interception_end *end,
          void **state, void *arg)
{
    struct eye *e = arg;

    (void)call;
    assert_ptr_equal(*state, arg);
    note(e, '-');
    e->end = *end;
}

static struct vc__interceptors *
chain_of(struct eye *eyes, unsigned n)
{
    struct vc__interceptors *chain = NULL;

    diary[0] = '\0';
    for (unsigned k = 0; k < n; k++) {
        struct vc_interceptor item = VC_INTERCEPTOR_INIT;

        eyes[k].name = (char)('a' + k);
        item.start = on_start;
        item.message = on_message;
        item.finish = on_finish;
        item.arg = &eyes[k];
        assert_int_equal(vc__interceptors_add(&chain, &item), VC_OK);
    }
    return chain;
}

static void
finish(struct vc_interception *i, enum vc_status status, uint64_t now)
{
    struct vc_interception_end end = {
        .status = status, .outcome = VC_OUTCOME_EXECUTED, .text = i->text};

    vc__interception_finish(i, &end, now);
}

static void
the_first_is_the_outermost(void **state)
{
    struct eye eyes[3] = {{0}};
    struct vc__interceptors *chain = chain_of(eyes, 3);
    const void *message = diary;
    struct vc_interception i;

    (void)state;
    vc__interception_init(&i, chain, &service, &method, 1000, 5000);
    assert_int_equal(vc__interception_start(&i), VC_OK);
    vc__interception_message(&i, VC_MESSAGE_REQUEST, message);
    vc__interception_message(&i, VC_MESSAGE_REPLY, message);
    finish(&i, VC_OK, 1700);

    assert_string_equal(diary, "a+ b+ c+ a> b> c> c< b< a< c- b- a- ");
    for (unsigned k = 0; k < 3; k++) {
        assert_int_equal(eyes[k].end.status, VC_OK);
        assert_int_equal(eyes[k].end.us, 700);
    }
    free(chain);
}

static void
those_behind_one_that_refuses_see_nothing_and_the_others_finish(void **state)
{
    for (unsigned who = 0; who < 3; who++) {
        static const char *const expected[] = {"a+ a- ", "a+ b+ b- a- ",
                                               "a+ b+ c+ c- b- a- "};
        struct eye eyes[3] = {{0}};
        struct vc__interceptors *chain = chain_of(eyes, 3);
        struct vc_interception i;

        eyes[who].status = VC_UNAUTHENTICATED;
        eyes[who].text = "no token";
        vc__interception_init(&i, chain, &service, &method, 0, 0);
        assert_int_equal(vc__interception_start(&i), VC_UNAUTHENTICATED);
        assert_string_equal(i.text, "no token");
        finish(&i, VC_UNAUTHENTICATED, 1);
        assert_string_equal(diary, expected[who]);
        assert_int_equal(eyes[0].end.status, VC_UNAUTHENTICATED);
        assert_string_equal(eyes[0].end.text, "no token");
        free(chain);
    }
    (void)state;
}

static void
a_refusal_has_words_of_its_own_and_a_status_that_exists(void **state)
{
    struct eye eyes[2] = {{.text = "nothing is wrong"},
                          {.status = (enum vc_status)99}};
    struct vc__interceptors *chain = chain_of(eyes, 2);
    struct vc_interception i;

    (void)state;
    vc__interception_init(&i, chain, &service, &method, 0, 0);
    assert_int_equal(vc__interception_start(&i), VC_UNKNOWN);
    assert_non_null(strstr(i.text, "unit.Probe.Echo"));
    finish(&i, VC_UNKNOWN, 1);
    assert_string_equal(diary, "a+ b+ b- a- ");
    free(chain);
}

/* So that the text may be sent to a peer. */
static void
a_text_that_is_cut_ends_with_a_whole_character(void **state)
{
    struct vc_interception i = {.text = ""};
    char text[2 * VC__ERROR_TEXT + 2] = "x";

    (void)state;
    for (unsigned k = 0; k < VC__ERROR_TEXT; k++)
        memcpy(text + 1 + 2 * k, "\303\251", 3);
    vc_interception_fail(&i, VC_ABORTED, "%s", text);
    assert_int_equal(strlen(i.text), VC__SAID_TEXT - 2);
    vc__fail(VC_ABORTED, "%s", text);
    assert_int_equal(strlen(vc_error()), VC__ERROR_TEXT - 1);
}

static void
callbacks_that_are_null_are_passed_over(void **state)
{
    struct vc_interceptor none = VC_INTERCEPTOR_INIT;
    struct eye eye = {0};
    struct vc__interceptors *chain = chain_of(&eye, 1);
    struct vc_interception i;

    (void)state;
    assert_int_equal(vc__interceptors_add(&chain, &none), VC_OK);
    vc__interception_init(&i, chain, &service, &method, 0, 0);
    assert_int_equal(vc__interception_start(&i), VC_OK);
    vc__interception_message(&i, VC_MESSAGE_REPLY, (const void *)diary);
    finish(&i, VC_OK, 1);
    assert_string_equal(diary, "a+ a< a- ");
    free(chain);
}

static void
a_chain_has_a_limit(void **state)
{
    struct vc_interceptor none = VC_INTERCEPTOR_INIT;
    struct vc__interceptors *chain = NULL;

    (void)state;
    for (unsigned k = 0; k < VC_INTERCEPTORS_MAX; k++)
        assert_int_equal(vc__interceptors_add(&chain, &none), VC_OK);
    assert_int_equal(vc__interceptors_add(&chain, &none),
                     VC_RESOURCE_EXHAUSTED);
    assert_int_equal(chain->n, VC_INTERCEPTORS_MAX);
    free(chain);
}

/* The size is that of an older header, or was never set. */
static void
only_the_callbacks_that_size_covers_are_read(void **state)
{
    struct eye eye = {.name = 'a'};
    struct vc_interceptor item = {.size =
                                      offsetof(struct vc_interceptor, message),
                                  .start = on_start,
                                  .message = (void *)1,
                                  .arg = &eye};
    struct vc__interceptors *chain = NULL;

    (void)state;
    assert_int_equal(vc__interceptors_add(&chain, &item), VC_OK);
    assert_null(chain->items[0].message);
    assert_null(chain->items[0].arg);
    item.size = 0;
    assert_int_equal(vc__interceptors_add(&chain, &item), VC_INVALID_ARGUMENT);
    assert_int_equal(chain->n, 1);
    free(chain);
}

/* The last reference frees the chain. */
static void
a_chain_lives_as_long_as_it_is_held(void **state)
{
    struct eye eye = {0};
    struct vc__interceptors *chain = chain_of(&eye, 1);

    (void)state;
    assert_int_equal(atomic_load(&chain->refs), 1);
    vc__interceptors_hold(chain);
    assert_int_equal(atomic_load(&chain->refs), 2);
    vc__interceptors_put(chain);
    assert_int_equal(atomic_load(&chain->refs), 1);
    assert_int_equal(chain->n, 1);
    assert_ptr_equal(chain->items[0].arg, &eye);
    vc__interceptors_put(chain);
    vc__interceptors_put(NULL);
}

/* The memory was used by another call before. */
static void
a_call_begins_with_nothing_of_the_one_before(void **state)
{
    struct eye eye = {0};
    struct vc__interceptors *chain = chain_of(&eye, 1);
    struct vc_interception i;

    (void)state;
    memset(&i, 1, sizeof i);
    vc__interception_init(&i, chain, &service, &method, 7, 9);
    assert_null(vc_interception_call(&i));
    assert_null(i.opts);
    assert_null(i.entries);
    assert_int_equal(i.began, 7);
    assert_int_equal(i.due, 9);
    assert_int_equal(i.n_started, 0);
    assert_false(i.starting);
    assert_int_equal(i.added_size, 0);
    assert_string_equal(i.text, "");
    assert_null(i.states[0]);

    /* A finish() without a start() calls no interceptor. */
    finish(&i, VC_OK, 8);
    assert_string_equal(diary, "");
    vc__interceptors_put(chain);
}

static void
what_is_behind_the_end_of_a_chain_is_not_called(void **state)
{
    struct eye eyes[2] = {{0}};
    struct vc__interceptors *chain = chain_of(eyes, 2);
    struct vc_interception i;

    (void)state;
    chain->n = 1;
    vc__interception_init(&i, chain, &service, &method, 0, 0);
    assert_int_equal(vc__interception_start(&i), VC_OK);
    vc__interception_message(&i, VC_MESSAGE_REQUEST, (const void *)diary);
    vc__interception_message(&i, VC_MESSAGE_REPLY, (const void *)diary);
    finish(&i, VC_OK, 1);
    assert_string_equal(diary, "a+ a> a< a- ");
    vc__interceptors_put(chain);
}

static void
the_time_left_ends_at_0_or_never(void **state)
{
    const uint64_t hour = UINT64_C(3600000000);
    struct vc__interceptors chain = {.n = 0};
    struct vc_interception i;
    uint64_t before = vc__now(), left;

    (void)state;
    vc__interception_init(&i, &chain, &service, &method, 0, VC__FOREVER);
    assert_true(vc_interception_deadline_us(&i) == UINT64_MAX);
    vc__interception_init(&i, &chain, &service, &method, 0, before);
    assert_int_equal(vc_interception_deadline_us(&i), 0);
    vc__interception_init(&i, &chain, &service, &method, 0, before + hour);
    left = vc_interception_deadline_us(&i);
    assert_in_range(left, before + hour - vc__now(), hour);
}

/* Adds metadata, in each of the callbacks. */
static enum vc_status
add(struct vc_interception *call)
{
    return vc_interception_add_metadata(call, "x-unit", "1", 1);
}

static enum vc_status
add_in_start(struct vc_interception *call, void **state, void *arg)
{
    (void)state;
    (void)arg;
    return add(call);
}

static void
add_in_message(struct vc_interception *call, enum vc_message_kind kind,
               const ProtobufCMessage *message, void **state, void *arg)
{
    (void)kind;
    (void)message;
    (void)state;
    (void)arg;
    assert_int_equal(add(call), VC_FAILED_PRECONDITION);
}

static void
add_in_finish(struct vc_interception *call,
              const struct vc_interception_end *end, void **state, void *arg)
{
    (void)end;
    (void)state;
    (void)arg;
    assert_int_equal(add(call), VC_FAILED_PRECONDITION);
    assert_int_equal(call->opts->n_metadata, 1);
}

static void
metadata_is_added_in_starts_only_and_given_back_at_the_end(void **state)
{
    struct vc_interceptor item = VC_INTERCEPTOR_INIT;
    struct vc_call_opts opts = VC_CALL_OPTS_INIT;
    struct vc__interceptors *chain = NULL;
    struct vc_interception i;

    (void)state;
    item.start = add_in_start;
    item.message = add_in_message;
    item.finish = add_in_finish;
    assert_int_equal(vc__interceptors_add(&chain, &item), VC_OK);
    vc__interception_init(&i, chain, &service, &method, 0, 0);
    i.opts = &opts;
    assert_int_equal(add(&i), VC_FAILED_PRECONDITION);
    assert_int_equal(vc__interception_start(&i), VC_OK);
    assert_non_null(i.entries);
    assert_string_equal(opts.metadata[0].key, "x-unit");
    vc__interception_message(&i, VC_MESSAGE_REQUEST, (const void *)diary);
    finish(&i, VC_OK, 1);
    assert_null(i.entries);
    vc__interceptors_put(chain);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_chain_lives_as_long_as_it_is_held),
        cmocka_unit_test(the_first_is_the_outermost),
        cmocka_unit_test(
            those_behind_one_that_refuses_see_nothing_and_the_others_finish),
        cmocka_unit_test(
            a_refusal_has_words_of_its_own_and_a_status_that_exists),
        cmocka_unit_test(a_text_that_is_cut_ends_with_a_whole_character),
        cmocka_unit_test(callbacks_that_are_null_are_passed_over),
        cmocka_unit_test(a_chain_has_a_limit),
        cmocka_unit_test(only_the_callbacks_that_size_covers_are_read),
        cmocka_unit_test(a_call_begins_with_nothing_of_the_one_before),
        cmocka_unit_test(what_is_behind_the_end_of_a_chain_is_not_called),
        cmocka_unit_test(the_time_left_ends_at_0_or_never),
        cmocka_unit_test(
            metadata_is_added_in_starts_only_and_given_back_at_the_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
