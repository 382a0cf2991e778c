/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Which fields of a program's struct vc_stream_events are used, for this
 * version, an older or a newer one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "rpc/stream/stream_events.h"
#include "transport/core/error.h"

/* The struct of a later version. */
struct later {
    struct vc_stream_events now;
    void (*on_more)(void);
};

static void
on_message(struct vc_stream *stream, void *message, void *arg)
{
    (void)stream;
    (void)message;
    (void)arg;
}

static void
on_end(struct vc_stream *stream, enum vc_status status, void *arg)
{
    (void)stream;
    (void)status;
    (void)arg;
}

static void
expect_refused(const struct vc_stream_events *events)
{
    assert_null(vc__stream_events_new(events, NULL));
    assert_int_equal(vc__error_last()->status, VC_INVALID_ARGUMENT);
}

static void
what_has_no_size_is_refused(void **state)
{
    struct vc_stream_events events = {.size = 0};

    (void)state;
    expect_refused(NULL);
    expect_refused(&events);
    events.size = sizeof events.size - 1;
    expect_refused(&events);
}

/* Passes a later version's struct with this size; its new fields are 0. The
 * flags say which functions must be used. */
static void
expect_taken(size_t size, bool message, bool end)
{
    struct later *events = malloc(sizeof *events);
    struct vc__stream_events *ev;
    int arg;

    assert_non_null(events);
    memset(events, 0xa5, sizeof *events);
    events->on_more = NULL;
    events->now.size = size;
    events->now.on_message = on_message;
    events->now.on_end = on_end;
    ev = vc__stream_events_new(&events->now, &arg);
    free(events);
    assert_non_null(ev);
    assert_ptr_equal(ev->arg, &arg);
    assert_ptr_equal(ev->to.on_message, message ? on_message : NULL);
    assert_ptr_equal(ev->to.on_end, end ? on_end : NULL);
    assert_true(ev->waits);
    assert_false(ev->busy || ev->closed || ev->hurried || ev->wants);
    free(ev);
}

static void
what_a_program_does_not_know_it_does_not_set(void **state)
{
    (void)state;
    expect_taken(sizeof(size_t), false, false);
    expect_taken(offsetof(struct vc_stream_events, on_writable), true, false);
    expect_taken(sizeof(struct vc_stream_events), true, true);
    expect_taken(sizeof(struct later), true, true);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_has_no_size_is_refused),
        cmocka_unit_test(what_a_program_does_not_know_it_does_not_set),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
