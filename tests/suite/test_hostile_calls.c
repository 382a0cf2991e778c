/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Bad requests of clients that otherwise keep the rules: each request is
 * answered with an error, and its link lives (doc/wire.md, 5). And clients that
 * grant few credits or post few receives: they harm only themselves. */
#include "tests/suite/hostile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/suite/raw_rdma.h"
#include "transport/core/le.h"

/* The indexes of suite.Probe's methods. */
enum {
    ECHO,
    FAIL,
    SLEEP,
    COUNT,
    MISSING,
    NEST,
    METHODS
};

#define MIB (1024u * 1024u)

/* --- helpers ----------------------------------------------------------- */

static struct vc__frame
call_of(uint32_t sequence, uint16_t method)
{
    return (struct vc__frame){.type = VC__FRAME_CALL,
                              .session = 1,
                              .sequence = sequence,
                              .method = method,
                              .deadline = VC__DEADLINE_NONE};
}

/* Reads the reply to this call; false when there is none in time. */
static bool
reply_take(struct raw *r, const struct vc__frame *call, struct vc__frame *reply)
{
    return raw_next_frame(r, reply, RAW_MS) && reply->type == VC__FRAME_REPLY &&
           reply->session == call->session && reply->slot == call->slot &&
           reply->sequence == call->sequence;
}

/* Checks that the call with this message is answered with the status and
 * flags. */
static void
answered(struct raw *r, struct vc__frame call, const void *data, uint32_t len,
         enum vc_status status, unsigned flags, const char *what)
{
    struct vc__frame reply;

    if (!raw_send_message(r, call, data, len))
        fail_msg("%s could not be sent", what);
    if (!reply_take(r, &call, &reply))
        fail_msg("%s was not answered", what);
    if (reply.method != status || reply.flags != flags)
        fail_msg("%s was answered by %s with flags %u: %.*s", what,
                 vc_status_name((enum vc_status)reply.method), reply.flags,
                 (int)reply.body_len, (const char *)reply.body);
    if (status != VC_OK) /* with an error text */
        assert_true(reply.body_len > 0);
}

static void
refused(struct raw *r, struct vc__frame call, const void *data, uint32_t len,
        enum vc_status status, const char *what)
{
    answered(r, call, data, len, status, VC__FRAME_NOT_EXECUTED, what);
}

static void
served(struct raw *r, struct vc__frame call)
{
    call.method = COUNT;
    answered(r, call, NULL, 0, VC_OK, 0, "a good call");
}

/* --- messages ---------------------------------------------------------- */

static void
a_raw_client_that_keeps_the_rules_is_served(void **state)
{
    struct fixture *f = *state;
    struct raw r = {0};

    hostile_open_session(f, &r);
    for (uint32_t i = 1; i <= 100; i++) /* more calls than there are credits */
        served(&r, call_of(i, COUNT));
    hostile_others_served(f, "a good client");
    raw_close(&r);
}

#define TEXT(text) .body = (text), .len = sizeof(text) - 1

static const struct bad_message {
    const char *what;
    uint16_t method;
    const char *body;
    uint32_t len;
} bad_messages[] = {
    {"a tag without a value", ECHO, TEXT("\x0a")},
    {"a payload that is cut", ECHO,
     TEXT("\x0a\x05"
          "abcd")},
    {"a length of 2^35", ECHO, TEXT("\x0a\xff\xff\xff\xff\x7f")},
    {"a length that never ends", ECHO, TEXT("\x0a\xff\xff\xff\xff\xff\xff")},
    {"a number that never ends", ECHO,
     TEXT("\x10\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01")},
    {"field number 0", ECHO, TEXT("\x02\x01x")},
    {"a group", ECHO, TEXT("\x0b\x0c")},
    {"a wire type that does not exist", ECHO, TEXT("\x0f")},
    {"a number in place of bytes", ECHO, TEXT("\x08\x01")},
    {"a text that is no UTF-8", FAIL, TEXT("\x12\x02\xff\xfe")},
    {"a text with a surrogate", FAIL, TEXT("\x12\x03\xed\xa0\x80")},
    {"a text with a NUL", FAIL, TEXT("\x12\x01\0")},
    {"a message for a method without fields, cut", COUNT, TEXT("\x0a")},
};

static void
a_bad_message_is_an_invalid_argument_and_not_executed(void **state)
{
    struct fixture *f = *state;
    const size_t n = sizeof bad_messages / sizeof bad_messages[0];
    struct raw r = {0};

    hostile_open_session(f, &r);
    for (uint32_t i = 0; i < n; i++) {
        const struct bad_message *m = &bad_messages[i];

        refused(&r, call_of(i * 2 + 1, m->method), m->body, m->len,
                VC_INVALID_ARGUMENT, m->what);
        served(&r, call_of(i * 2 + 2, COUNT));
    }
    hostile_others_served(f, "bad messages");
    raw_close(&r);
}

static size_t
varint_size(size_t value)
{
    size_t n = 1;

    while (value >>= 7)
        n++;
    return n;
}

/* Writes nested messages from the inside out, ending at `end`; returns the
 * start of the outermost one. */
static uint8_t *
nest(uint8_t *end, unsigned depth)
{
    uint8_t *at = end;

    while (depth-- > 0) {
        size_t len = (size_t)(end - at);
        size_t n = varint_size(len);

        at -= n;
        for (size_t i = 0; i < n; i++)
            at[i] = (uint8_t)(len >> (7 * i) & 0x7f) | (i + 1 < n ? 0x80 : 0);
        *--at = 0x0a;
    }
    return at;
}

static void
a_message_nested_very_deep_is_refused(void **state)
{
    struct fixture *f = *state;
    uint8_t *bytes = malloc(MIB);
    uint8_t *at = nest(bytes + MIB, 10000);
    uint32_t len = (uint32_t)(bytes + MIB - at);
    struct raw r = {0};

    assert_true(len > 3 * 8192); /* it is sent in parts */
    hostile_open_session(f, &r);

    refused(&r, call_of(1, NEST), at, len, VC_INVALID_ARGUMENT,
            "a message 10000 deep");

    at = nest(bytes + MIB, 99);
    answered(&r, call_of(2, NEST), at, (uint32_t)(bytes + MIB - at), VC_OK, 0,
             "a message 100 deep");
    hostile_others_served(f, "a deep message");
    raw_close(&r);
    free(bytes);
}

/* Returns this process's peak memory since the last call, in KiB. */
static long
peak_kib(void)
{
    FILE *file = fopen("/proc/self/status", "r");
    char line[256];
    long peak = 0;

    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        if (sscanf(line, "VmHWM: %ld", &peak) == 1)
            break;
    }
    if (file != NULL)
        fclose(file);
    file = fopen("/proc/self/clear_refs", "w");
    if (file != NULL) {
        fputs("5", file);
        fclose(file);
    }
    return peak;
}

/* A mebibyte of fields of two bytes each: unpacked, they would take 30 times as
 * much memory. */
static void
a_message_of_very_many_empty_fields_costs_no_memory(void **state)
{
    static const char *const fields[] = {"\x0a\0", "\x78\0", "\x12\0"};
    struct fixture *f = *state;
    uint8_t *bytes = malloc(MIB);
    struct raw r = {0};

    hostile_open_session(f, &r);
    for (uint32_t i = 0; i < 3; i++) {
        struct vc__frame call = call_of(i + 1, NEST), reply;
        long before;

        for (size_t at = 0; at < MIB; at += 2)
            memcpy(bytes + at, fields[i], 2);
        peak_kib();
        before = peak_kib();
        assert_true(raw_send_message(&r, call, bytes, MIB));
        assert_true(reply_take(&r, &call, &reply));
        assert_in_range(peak_kib() - before, 0, 24 * 1024);
        assert_true(reply.method == VC_OK ||
                    reply.method == VC_INVALID_ARGUMENT);
    }
    served(&r, call_of(4, COUNT));
    hostile_others_served(f, "very many fields");
    raw_close(&r);
    free(bytes);
}

static void
a_message_over_the_limit_is_refused_and_its_link_lives(void **state)
{
    struct fixture f;
    struct vc_server_opts opts = VC_SERVER_OPTS_INIT;
    uint8_t *bytes = calloc(1, MIB);
    struct raw r = {0};

    (void)state;
    opts.max_message = 65536;
    fixture_start(&f, 1, &opts, NULL);
    assert_status(VC_OK, fixture_echo(f.channel, 100, 1));
    hostile_open_session(&f, &r);

    refused(&r, call_of(1, ECHO), bytes, 65537, VC_RESOURCE_EXHAUSTED,
            "a message one byte over the limit");
    served(&r, call_of(2, COUNT));
    refused(&r, call_of(3, ECHO), bytes, MIB, VC_RESOURCE_EXHAUSTED,
            "a message far over the limit");
    served(&r, call_of(4, COUNT));

    hostile_others_served(&f, "a message over the limit");
    raw_close(&r);
    hostile_no_harm(&f, "a message over the limit");
    fixture_stop(&f);
    free(bytes);
}

static void
a_message_of_which_most_never_comes_holds_nobody_up(void **state)
{
    struct fixture *f = *state;
    struct raw r = {0};
    struct vc__frame call = call_of(1, ECHO);

    hostile_open_session(f, &r);
    call.flags = VC__FRAME_MORE;
    call.body = (const uint8_t *)"\xff\xff\xff\xff"
                                 "abc";
    call.body_len = 7;
    for (call.slot = 1; call.slot < 256; call.slot++)
        assert_true(raw_send_frame(&r, call));

    served(&r, call_of(1, COUNT));

    hostile_others_served(f, "beginnings of messages");
    raw_close(&r);
}

static void
a_deadline_of_0_has_passed(void **state)
{
    struct fixture *f = *state;
    struct vc__frame call = call_of(1, COUNT);
    struct raw r = {0};

    hostile_open_session(f, &r);
    call.deadline = 0;

    refused(&r, call, NULL, 0, VC_DEADLINE_EXCEEDED, "a deadline of 0");

    served(&r, call_of(2, COUNT));
    hostile_others_served(f, "a deadline of 0");
    raw_close(&r);
}

/* The client sends no CANCEL. */
static void
a_handler_cancelled_at_its_deadline_has_exceeded_it(void **state)
{
    static const uint8_t told[] = {0x10, 1};
    struct fixture *f = *state;
    struct vc__frame call = call_of(1, SLEEP), reply;
    struct raw r = {0};

    hostile_open_session(f, &r);
    call.deadline = 10000;
    call.body = told;
    call.body_len = sizeof told;
    assert_true(raw_send_frame(&r, call));
    assert_true(reply_take(&r, &call, &reply));
    assert_int_equal(reply.method, VC_DEADLINE_EXCEEDED);
    served(&r, call_of(2, COUNT));
    raw_close(&r);
    hostile_no_harm(f, "a deadline");
}

/* --- methods, services, sessions --------------------------------------- */

static void
a_method_out_of_range_is_unimplemented(void **state)
{
    static const uint16_t methods[] = {METHODS, 255, UINT16_MAX};
    struct fixture *f = *state;
    struct raw r = {0};

    hostile_open_session(f, &r);
    for (uint32_t i = 0; i < 3; i++)
        refused(&r, call_of(i + 1, methods[i]), NULL, 0, VC_UNIMPLEMENTED,
                "a method out of range");
    served(&r, call_of(4, COUNT));
    hostile_others_served(f, "a method out of range");
    raw_close(&r);
}

/* Opens session 1 with this list of methods. */
static bool
open_with(struct raw *r, const uint32_t *hashes, uint16_t n)
{
    static const char name[] = "suite.Probe";
    uint8_t body[8192 - VC__PACKET_HEADER - VC__FRAME_HEADER];
    uint8_t *at = body;

    vc__put16(at, sizeof name - 1);
    memcpy(at + 2, name, sizeof name - 1);
    at += 2 + sizeof name - 1;
    vc__put16(at, n);
    at += 2;
    for (unsigned i = 0; i < n; i++, at += 4)
        vc__put32(at, hashes[i]);
    return raw_send_frame(
        r, (struct vc__frame){.type = VC__FRAME_OPEN,
                              .sequence = 1,
                              .session = 1,
                              .body = body,
                              .body_len = (uint32_t)(at - body)});
}

static void
methods_that_the_server_lacks_are_unimplemented_and_others_work(void **state)
{
    const uint32_t count = suite_probe_service.methods[COUNT].hash;
    const uint32_t hashes[] = {0, count, UINT32_MAX, count};
    struct fixture *f = *state;
    struct raw r = {0};

    hostile_open(f, &r);
    assert_true(open_with(&r, hashes, 4));

    for (uint16_t i = 0; i < 4; i++) {
        if (i % 2 == 0)
            refused(&r, call_of(i + 1u, i), NULL, 0, VC_UNIMPLEMENTED,
                    "an unknown method");
        else
            answered(&r, call_of(i + 1u, i), NULL, 0, VC_OK, 0,
                     "a known method");
    }
    refused(&r, call_of(5, 4), NULL, 0, VC_UNIMPLEMENTED,
            "a method behind the list");
    hostile_others_served(f, "unknown methods");
    raw_close(&r);
}

static void
the_longest_list_of_methods_works(void **state)
{
    enum {
        MOST = 2030
    };
    static uint32_t hashes[MOST];
    struct fixture *f = *state;
    struct raw r = {0};

    hashes[MOST - 1] = suite_probe_service.methods[COUNT].hash;
    hostile_open(f, &r);
    assert_true(open_with(&r, hashes, MOST));

    answered(&r, call_of(1, MOST - 1), NULL, 0, VC_OK, 0, "the last method");

    refused(&r, call_of(2, 0), NULL, 0, VC_UNIMPLEMENTED, "the first method");
    raw_close(&r);
}

static void
a_service_that_is_not_there_answers_each_call_so(void **state)
{
    struct fixture *f = *state;
    struct vc__frame call = call_of(1, 0);
    struct raw r = {0};

    hostile_open_session(f, &r);
    assert_true(raw_send_open(&r, 2, &suite_absent_service));
    call.session = 2;

    refused(&r, call, NULL, 0, VC_UNIMPLEMENTED, "an absent service");

    call.sequence++;
    refused(&r, call, NULL, 0, VC_UNIMPLEMENTED, "an absent service");
    served(&r, call_of(1, COUNT));
    hostile_others_served(f, "a call of an absent service");
    raw_close(&r);
}

static void
all_sessions_and_slots_that_were_promised_are_there(void **state)
{
    struct fixture *f = *state;
    struct vc__frame call = call_of(1, COUNT);
    struct raw r = {0};

    hostile_open_session(f, &r);
    for (uint32_t id = 1024; id > 1; id--)
        assert_true(raw_send_open(&r, id, &suite_probe_service));

    for (uint32_t id = 1; id <= 1024; id += 93) {
        call.session = id;
        call.slot = 0;
        served(&r, call);
        call.slot = 255;
        served(&r, call);
    }
    hostile_others_served(f, "all sessions and slots");
    raw_close(&r);
}

/* --- clients that hold back credits or receives ------------------------ */

/* Returns the number of replies received so far. */
static unsigned
replies_count(struct raw *r)
{
    struct vc__frame f;
    unsigned n = 0;

    while (raw_next_frame(r, &f, 0))
        n += f.type == VC__FRAME_REPLY;
    return n;
}

static void
a_client_that_gives_no_credits_back_gets_what_it_paid_for(void **state)
{
    enum {
        CALLS = 7, /* the server has receives for these from the start */
        CREDITS = 4
    };
    struct fixture *f = *state;
    struct vc__hello hello = raw_hello(&suite_probe_service);
    struct vc__frame call = call_of(1, COUNT);
    struct raw r = {.hoards = true};
    unsigned replies;

    hello.credits = CREDITS;
    assert_true(raw_open(&r, f->target, &hello));
    assert_true(raw_send_open(&r, 1, &suite_probe_service));
    for (call.slot = 0; call.slot < CALLS; call.slot++)
        assert_true(raw_send_frame(&r, call));
    hostile_others_served(f, "credits that were kept");

    replies = replies_count(&r);
    assert_in_range(replies, 1, CALLS - 1);

    /* With credits the other replies are received. */
    r.hoards = false;
    r.handled = CREDITS - 1;
    while (replies < CALLS) {
        struct raw_packet p;
        struct vc__frame reply;

        raw_begin(&r, &p);
        assert_true(raw_send_packet(&r, &p));
        assert_true(raw_next_frame(&r, &reply, RAW_MS));
        replies += 1 + replies_count(&r);
    }
    raw_close(&r);
}

static void
a_client_that_posts_no_receives_loses_its_link(void **state)
{
    struct fixture *f = *state;
    struct ibv_qp_attr attr = {.min_rnr_timer = 14};
    struct raw r = {.hoards = true, .receives = 1};

    fixture_needs_rdma("a peer that reads nothing stops only who sends to it");
    hostile_open_session(f, &r);
    /* With the default timer each retry of the server would take 0.65 s. */
    assert_int_equal(0, ibv_modify_qp(raw_verbs_of(&r)->id->qp, &attr,
                                      IBV_QP_MIN_RNR_TIMER));
    for (uint16_t slot = 0; slot < 6; slot++) {
        struct vc__frame call = call_of(1, COUNT);

        call.slot = slot;
        assert_true(raw_send_frame(&r, call));
    }
    hostile_others_served(f, "calls without receives");

    hostile_closed(f, &r, "replies without receives", "broke");
}

#define T(name) hostile_test(name)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        T(a_raw_client_that_keeps_the_rules_is_served),
        T(a_bad_message_is_an_invalid_argument_and_not_executed),
        T(a_message_nested_very_deep_is_refused),
        T(a_message_of_very_many_empty_fields_costs_no_memory),
        cmocka_unit_test(
            a_message_over_the_limit_is_refused_and_its_link_lives),
        T(a_message_of_which_most_never_comes_holds_nobody_up),
        T(a_deadline_of_0_has_passed),
        T(a_handler_cancelled_at_its_deadline_has_exceeded_it),
        T(a_method_out_of_range_is_unimplemented),
        T(methods_that_the_server_lacks_are_unimplemented_and_others_work),
        T(the_longest_list_of_methods_works),
        T(a_service_that_is_not_there_answers_each_call_so),
        T(all_sessions_and_slots_that_were_promised_are_there),
        T(a_client_that_gives_no_credits_back_gets_what_it_paid_for),
        T(a_client_that_posts_no_receives_loses_its_link),
    };

    return fixture_main(tests);
}
