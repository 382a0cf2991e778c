/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Bad servers while connecting: the client gets an error with a text, in time,
 * and its other channels are not affected. For bad servers after connecting see
 * test_hostile_replies.c. */
#include "tests/suite/pace.h"
#include "tests/suite/stage.h"

#include <string.h>

/* What a wait may take in addition, at the machine's usual pace. */
#define MARGIN_MS 500

/* --- accepts ----------------------------------------------------------- */

/* True if the client refuses the accept. */
static bool
play_accept(struct stage *s)
{
    int event;

    if (raw_accept(&s->r, s->data, s->len))
        event = raw_wait(&s->r, RAW_MS);
    else
        event = s->r.event;
    return event == RAW_DISCONNECTED || event == RAW_REJECTED ||
           event == RAW_FAILED;
}

static void
bad_accept(struct fixture *f, const void *data, size_t len, const char *what)
{
    struct stage s = {.data = data, .len = len};

    stage_start(&s, f, play_accept);
    stage_call_fails(&s, VC_INTERNAL, "sent an invalid accept", what);
    assert_int_equal(VC_OUTCOME_NOT_EXECUTED, vc_error_outcome());
    stage_end(&s, what);
}

static const struct bad_byte {
    const char *what;
    uint8_t at, byte;
} bad_bytes[] = {
    {"another magic", 0, 'v'},
    {"an own length of 0", 4, 0},
    {"an own length too short", 4, 49},
    {"a tail that is not zero", 195, 1},
    {"version 0", 5, 0},
    {"a version that was not offered", 5, 2},
    {"a hello in place of an accept", 6, 0},
    {"a reject in place of an accept", 6, 'R'},
    {"a byte that must be 0", 7, 1},
    {"features, without the bit that says so", 8, 1},
    {"features that were not offered", 11, 0x40},
    {"two credits", 12, 2},
    {"packets too short", 14, 11},
    {"packets too long", 14, 24},
    {"messages too short", 15, 11},
    {"messages too long", 15, 31},
    {"no slots", 48, 0},
    {"a text that is no UTF-8", 50, 0xff},
};

static void
an_accept_with_a_bad_byte_is_an_error_of_the_server(void **state)
{
    struct vc__accept accept = stage_accept();

    strcpy(accept.text, "x");
    for (size_t i = 0; i < sizeof bad_bytes / sizeof bad_bytes[0]; i++) {
        uint8_t bytes[VC__ACCEPT_SIZE];

        vc__accept_put(bytes, &accept);
        bytes[bad_bytes[i].at] = bad_bytes[i].byte;
        bad_accept(*state, bytes, sizeof bytes, bad_bytes[i].what);
    }
}

static void
an_accept_that_is_cut_or_missing_is_an_error_of_the_server(void **state)
{
    struct vc__accept accept = stage_accept();
    uint8_t bytes[VC__ACCEPT_SIZE];

    vc__accept_put(bytes, &accept);
    bad_accept(*state, bytes, 0, "an accept without data");
    bad_accept(*state, bytes, 5, "an accept of 5 bytes");
    bad_accept(*state, bytes, 48, "an accept of 48 bytes");
    memset(bytes, 0x5a, sizeof bytes);
    bad_accept(*state, bytes, sizeof bytes, "garbage");
}

/* --- rejects ----------------------------------------------------------- */

static bool
play_reject(struct stage *s)
{
    return raw_reject(&s->r, s->data, s->len);
}

static void
rejected(struct fixture *f, const void *data, size_t len,
         enum vc_status expected, const char *words)
{
    struct stage s = {.data = data, .len = len};

    stage_start(&s, f, play_reject);
    stage_call_fails(&s, expected, words, words);
    assert_int_equal(VC_OUTCOME_NOT_EXECUTED, vc_error_outcome());
    stage_end(&s, words);
}

static const struct reason {
    uint8_t reason;
    enum vc_status status;
} reasons[] = {
    {VC__REJECT_VERSION, VC_UNIMPLEMENTED},
    {VC__REJECT_SERVICE, VC_UNIMPLEMENTED},
    {VC__REJECT_SCHEMA, VC_FAILED_PRECONDITION},
    {VC__REJECT_BUSY, VC_UNAVAILABLE},
    {VC__REJECT_LIMIT, VC_RESOURCE_EXHAUSTED},
    {VC__REJECT_DRAINING, VC_UNAVAILABLE},
    {VC__REJECT_MOVED, VC_UNAVAILABLE},
    {VC__REJECT_SECURITY, VC_UNAUTHENTICATED},
    {VC__REJECT_MALFORMED, VC_INTERNAL},
    {VC__REJECT_POOL, VC_UNAVAILABLE},
    {VC__REJECT_UNABLE, VC_UNAVAILABLE},
    {200, VC_UNAVAILABLE},
};

static void
each_reason_of_a_reject_has_its_status_and_words(void **state)
{
    for (size_t i = 0; i < sizeof reasons / sizeof reasons[0]; i++) {
        struct vc__reject reject = {.version_min = 1,
                                    .version_max = 1,
                                    .reason = reasons[i].reason,
                                    .text = "for reasons of ours"};
        uint8_t bytes[VC__REJECT_SIZE];

        vc__reject_put(bytes, &reject);
        rejected(*state, bytes, sizeof bytes, reasons[i].status,
                 vc__reject_rule(reasons[i].reason)->text);
        assert_non_null(strstr(vc_error(), "for reasons of ours"));
    }
}

static void
a_reject_tells_when_to_come_again(void **state)
{
    struct vc__reject reject = {.version_min = 1,
                                .version_max = 1,
                                .reason = VC__REJECT_BUSY,
                                .retry_ms = 1500};
    uint8_t bytes[VC__REJECT_SIZE];

    vc__reject_put(bytes, &reject);
    rejected(*state, bytes, sizeof bytes, VC_UNAVAILABLE, "after 1500 ms");
}

static void
a_reject_with_control_characters_is_made_fit_for_a_terminal(void **state)
{
    struct vc__reject reject = {.version_min = 1,
                                .version_max = 1,
                                .reason = VC__REJECT_BUSY,
                                .text = "\x1b[2J\a\n\x7f!"};
    uint8_t bytes[VC__REJECT_SIZE];

    vc__reject_put(bytes, &reject);
    rejected(*state, bytes, sizeof bytes, VC_UNAVAILABLE, " [2J   !");
    assert_null(strpbrk(vc_error(), "\x1b\a\n\x7f"));
}

static void
a_reject_of_garbage_says_that_it_has_no_reason(void **state)
{
    uint8_t bytes[VC__REJECT_SIZE];

    memset(bytes, 0x5a, sizeof bytes);
    rejected(*state, bytes, sizeof bytes, VC_UNAVAILABLE, "without a reason");
    rejected(*state, bytes, 0, VC_UNAVAILABLE, "without a reason");
    rejected(*state, "VBCL", 4, VC_UNAVAILABLE, "without a reason");
}

/* --- no answer, and early disconnects ---------------------------------- */

/* Sends nothing until the connect timeout of the client. */
static bool
play_silence(struct stage *s)
{
    (void)s;
    return true;
}

static void
a_server_that_never_answers_is_given_up_in_time(void **state)
{
    struct stage s = {.connect_passes = true};
    uint64_t start = fixture_ms();

    stage_start(&s, *state, play_silence);

    stage_call_fails(&s, VC_UNAVAILABLE,
                     "connection request sent, no answer within", "silence");

    assert_true(fixture_ms() - start >= STAGE_CONNECT_MS - 10);
    assert_in_range(pace_since(start), 0, STAGE_CONNECT_MS + MARGIN_MS);
    assert_int_equal(VC_OUTCOME_NOT_EXECUTED, vc_error_outcome());
    stage_end(&s, "silence");
}

static bool
play_accept_and_leave(struct stage *s)
{
    struct vc__accept accept = stage_accept();
    uint8_t bytes[VC__ACCEPT_SIZE];

    vc__accept_put(bytes, &accept);
    if (!raw_accept(&s->r, bytes, sizeof bytes))
        return false;
    raw_close(&s->r);
    return true;
}

/* Closes the connection before the client confirms. */
static bool
play_accept_and_vanish(struct stage *s)
{
    struct vc__accept accept = stage_accept();
    uint8_t bytes[VC__ACCEPT_SIZE];
    bool sent;

    vc__accept_put(bytes, &accept);
    sent = raw_accept_only(&s->r, bytes, sizeof bytes);
    raw_close(&s->r);
    return sent;
}

static void
leaves(struct fixture *f, bool (*play)(struct stage *), int times,
       const char *what)
{
    for (int i = 0; i < times; i++) {
        struct stage s = {.connect_passes = play == play_accept_and_vanish};
        uint64_t start = fixture_ms();

        stage_start(&s, f, play);
        stage_call_fails(&s, VC_UNAVAILABLE, "", what);
        assert_in_range(pace_since(start), 0, STAGE_CONNECT_MS + MARGIN_MS);
        stage_end(&s, what);
    }
}

static void
a_server_that_leaves_right_after_its_accept_is_unavailable(void **state)
{
    leaves(*state, play_accept_and_leave, 10, "leaving after the accept");
    /* Each attempt takes the connect timeout. */
    leaves(*state, play_accept_and_vanish, 3, "vanishing after the accept");
}

/* True if the hello, and the OPEN, have the fingerprint of Probe. */
static bool
play_schema(struct stage *s)
{
    const uint32_t schema = suite_probe_service.fingerprint;
    struct vc__hello hello;
    struct vc__frame f;

    if (vc__hello_get(&hello, s->r.said, s->r.said_len) != VC__SAID_OK ||
        hello.fingerprint != schema || !stage_accept_well(s, RAW_BUFFERS))
        return false;
    do {
        if (!raw_next_frame(&s->r, &f, RAW_MS))
            return false;
    } while (f.type != VC__FRAME_OPEN);
    raw_close(&s->r);
    return f.deadline == schema;
}

static void
a_client_gives_its_schema_when_it_connects_and_opens_a_session(void **state)
{
    struct stage s = {.connect_passes = true};
    uint64_t calls;

    assert_true(suite_probe_service.fingerprint != 0);
    stage_start(&s, *state, play_schema);
    assert_status(VC_UNAVAILABLE, stage_call(&s, &calls));
    stage_end(&s, "the schema");
}

#define T(name) hostile_test(name)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        T(an_accept_with_a_bad_byte_is_an_error_of_the_server),
        T(an_accept_that_is_cut_or_missing_is_an_error_of_the_server),
        T(each_reason_of_a_reject_has_its_status_and_words),
        T(a_reject_tells_when_to_come_again),
        T(a_reject_with_control_characters_is_made_fit_for_a_terminal),
        T(a_reject_of_garbage_says_that_it_has_no_reason),
        T(a_server_that_never_answers_is_given_up_in_time),
        T(a_server_that_leaves_right_after_its_accept_is_unavailable),
        T(a_client_gives_its_schema_when_it_connects_and_opens_a_session),
    };

    return fixture_main(tests);
}
