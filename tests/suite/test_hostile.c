/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Bad clients while connecting: a bad hello is rejected with a reason, a
 * missing one is not waited for, and other clients are not affected
 * (doc/wire.md, 2). Tests of their packets are in test_hostile_packets.c, of
 * their calls in test_hostile_calls.c and test_hostile_half_sent.c, of bad
 * servers in test_hostile_server.c. */
#include "tests/suite/hostile.h"

#include <string.h>

/* --- hellos ------------------------------------------------------------ */

/* Checks that the bytes are rejected; returns the reject. */
static struct vc__reject
rejected(struct fixture *f, const void *data, size_t len, const char *what)
{
    struct vc__reject reject = {0};
    struct raw r = {0};
    int answer = raw_connect(&r, f->target, data, len);

    if (answer != RAW_REJECTED)
        fail_msg("%s was answered by event %d", what, answer);
    assert_int_equal(VC__REJECT_SIZE, r.said_len);
    assert_int_equal(VC__SAID_OK, vc__reject_get(&reject, r.said, r.said_len));
    assert_int_equal(VC__VERSION_MIN, reject.version_min);
    assert_int_equal(VC__VERSION_MAX, reject.version_max);
    raw_close(&r);
    hostile_no_harm(f, what);
    return reject;
}

static void
rejected_for(struct fixture *f, const uint8_t bytes[VC__HELLO_SIZE],
             enum vc__reject_reason reason, const char *what)
{
    struct vc__reject reject = rejected(f, bytes, VC__HELLO_SIZE, what);

    if (reject.reason != reason)
        fail_msg("%s was rejected with \"%s\"", what,
                 vc__reject_rule(reject.reason)->text);
    assert_true(reject.text[0] != '\0');
}

static const struct bad_byte {
    const char *what;
    uint8_t at, byte;
    enum vc__reject_reason reason;
} bad_bytes[] = {
    {"another magic", 3, 'X', VC__REJECT_MALFORMED},
    {"an own length of 0", 4, 0, VC__REJECT_MALFORMED},
    {"an own length too short", 4, 55, VC__REJECT_MALFORMED},
    {"an own length too long", 4, 57, VC__REJECT_MALFORMED},
    {"a longest own length", 4, 255, VC__REJECT_MALFORMED},
    {"a version to come", 5, 0x22, VC__REJECT_VERSION},
    {"only versions to come", 5, 0x2f, VC__REJECT_VERSION},
    {"no version", 5, 0x00, VC__REJECT_VERSION},
    {"versions upside down", 5, 0x21, VC__REJECT_VERSION},
    {"versions from 0", 5, 0x0f, VC__REJECT_MALFORMED},
    {"an unknown flag", 6, 0x08, VC__REJECT_MALFORMED},
    {"the flag that is none", 6, 0x40, VC__REJECT_MALFORMED},
    {"all flags", 6, 0xff, VC__REJECT_MALFORMED},
    {"a further link of no pool", 6, VC__HELLO_POOL, VC__REJECT_POOL},
    {"a datagram link", 6, VC__HELLO_DATAGRAM, VC__REJECT_LIMIT},
    {"security", 7, 1, VC__REJECT_SECURITY},
    {"no credits", 12, 0, VC__REJECT_MALFORMED},
    {"two credits", 12, 2, VC__REJECT_MALFORMED},
    {"packets too short", 14, 11, VC__REJECT_MALFORMED},
    {"packets too long", 14, 24, VC__REJECT_MALFORMED},
    {"messages too short", 15, 11, VC__REJECT_MALFORMED},
    {"messages too long", 15, 31, VC__REJECT_MALFORMED},
    {"an unknown service", 16, 0x5a, VC__REJECT_SERVICE},
};

static void
a_hello_with_a_bad_byte_is_rejected_for_its_reason(void **state)
{
    const struct vc__hello good = raw_hello(&suite_probe_service);

    for (size_t i = 0; i < sizeof bad_bytes / sizeof bad_bytes[0]; i++) {
        uint8_t bytes[VC__HELLO_SIZE];

        vc__hello_put(bytes, &good);
        bytes[bad_bytes[i].at] = bad_bytes[i].byte;
        rejected_for(*state, bytes, bad_bytes[i].reason, bad_bytes[i].what);
    }
}

static void
a_hello_without_an_instance_is_rejected(void **state)
{
    struct vc__hello hello = raw_hello(&suite_probe_service);
    uint8_t bytes[VC__HELLO_SIZE];

    memset(hello.instance, 0, sizeof hello.instance);
    vc__hello_put(bytes, &hello);

    rejected_for(*state, bytes, VC__REJECT_MALFORMED, "no instance");
}

static void
a_hello_cut_anywhere_is_rejected(void **state)
{
    struct vc__hello hello = raw_hello(&suite_probe_service);
    uint8_t bytes[VC__HELLO_SIZE];

    /* A token after the cut, which the zeros of the CM's padding do not
     * match. */
    hello.pool_token = UINT64_MAX;
    vc__hello_put(bytes, &hello);
    for (size_t len = 8; len < 40; len += 8)
        assert_int_equal(VC__REJECT_MALFORMED,
                         rejected(*state, bytes, len, "a cut hello").reason);
}

/* Over RDMA the CM pads the hello with zeros. On other transports a record
 * without a body is not a hello; it is rejected without data. */
static void
a_hello_without_bytes_is_turned_away(void **state)
{
    struct fixture *f = *state;
    struct raw r = {0};

    if (fixture_is_rdma()) {
        assert_int_equal(VC__REJECT_MALFORMED,
                         rejected(f, "", 0, "an empty hello").reason);
        return;
    }
    assert_int_equal(RAW_REJECTED, raw_connect(&r, f->target, "", 0));
    assert_int_equal(0, r.said_len);
    raw_close(&r);
    hostile_no_harm(f, "an empty hello");
}

static uint32_t
noise_next(uint32_t *x)
{
    *x ^= *x << 13;
    *x ^= *x >> 17;
    *x ^= *x << 5;
    return *x;
}

static void
noise_fill(uint8_t *bytes, size_t len, uint32_t seed)
{
    uint32_t x = seed * 2654435761u;

    for (size_t i = 0; i < len; i++)
        bytes[i] = (uint8_t)(noise_next(&x) >> 8);
}

static void
noise_for_a_hello_is_rejected(void **state)
{
    uint8_t bytes[VC__HELLO_SIZE];

    for (uint32_t seed = 1; seed <= 5; seed++) {
        noise_fill(bytes, sizeof bytes, seed);
        rejected_for(*state, bytes, VC__REJECT_MALFORMED, "noise");
    }
}

static void
noise_behind_a_good_beginning_is_rejected(void **state)
{
    const struct vc__hello good = raw_hello(&suite_probe_service);
    uint8_t bytes[VC__HELLO_SIZE];

    for (uint32_t seed = 1; seed <= 5; seed++) {
        vc__hello_put(bytes, &good);
        noise_fill(bytes + 6, sizeof bytes - 6, seed);
        rejected(*state, bytes, sizeof bytes, "noise behind a beginning");
    }
}

static void
a_hello_that_offers_later_versions_too_is_accepted_for_ours(void **state)
{
    struct fixture *f = *state;
    struct vc__hello hello = raw_hello(&suite_probe_service);
    struct vc__accept accept;
    struct raw r = {0};

    hello.version_max = 15;

    assert_true(raw_open(&r, f->target, &hello));

    assert_int_equal(VC__SAID_OK, vc__accept_get(&accept, r.said, r.said_len));
    assert_int_equal(VC__VERSION_MAX, accept.version);
    raw_close(&r);
}

static void
clients_that_vanish_at_once_leave_nothing_behind(void **state)
{
    struct fixture *f = *state;
    struct vc__hello hello = raw_hello(&suite_probe_service);
    uint8_t bytes[VC__HELLO_SIZE];

    vc__hello_put(bytes, &hello);
    for (int i = 0; i < 10; i++) {
        struct raw r = {0};

        if (i % 2 == 0) /* closed before or after the accept was read */
            r.unconfirmed = true;
        assert_true(raw_connect(&r, f->target, bytes, sizeof bytes) !=
                    RAW_NOTHING);
        raw_close(&r);
    }
    hostile_no_harm(f, "clients that vanished");
}

/* --- timeouts ---------------------------------------------------------- */

#define HASTY_MS 1000

static void
start_hasty(struct fixture *f, unsigned max_links)
{
    struct vc_server_opts opts = VC_SERVER_OPTS_INIT;

    opts.handshake_timeout_ms = HASTY_MS;
    opts.max_links = max_links;
    fixture_start(f, 1, &opts, NULL);
    assert_status(VC_OK, fixture_echo(f->channel, 100, 1));
}

static void
a_client_that_says_nothing_is_dropped_in_time(void **state)
{
    struct fixture f;
    struct raw r = {0};
    uint64_t start;

    (void)state;
    start_hasty(&f, 0);
    start = fixture_ms();
    hostile_open(&f, &r);

    hostile_closed(&f, &r, "silence", "has sent no packet within");

    assert_in_range(fixture_ms() - start, HASTY_MS - 100, HOSTILE_CLOSED_MS);
    fixture_stop(&f);
}

/* Before its first packet nothing may be sent to a client: neither a probe,
 * though keepalive ticks until the client is dropped, nor a GOAWAY. */
static void
a_client_that_says_nothing_is_not_probed(void **state)
{
    struct vc_server_opts opts = VC_SERVER_OPTS_INIT;
    struct vc_counters c = VC_COUNTERS_INIT;
    struct fixture f;
    struct raw r = {0};

    (void)state;
    opts.handshake_timeout_ms = HASTY_MS;
    opts.keepalive_ms = HASTY_MS / 5;
    fixture_start(&f, 1, &opts, NULL);
    hostile_open(&f, &r);
    assert_false(raw_receive(&r, HOSTILE_CLOSED_MS));
    vc_runtime_counters(f.server_runtime, &c);
    assert_int_equal(0, c.keepalive_probes);
    raw_close(&r);
    fixture_stop(&f);
}

static void
a_client_that_says_nothing_gets_no_goaway(void **state)
{
    struct fixture f;
    struct raw r = {0};

    (void)state;
    start_hasty(&f, 0);
    hostile_open(&f, &r);
    assert_status(VC_OK, vc_server_drain(f.server, NULL, HASTY_MS));
    assert_false(raw_receive(&r, HOSTILE_CLOSED_MS));
    raw_close(&r);
    fixture_stop(&f);
}

static void
a_client_that_never_confirms_is_dropped_in_time(void **state)
{
    struct fixture f;
    struct raw r = {.unconfirmed = true};
    struct vc__hello hello = raw_hello(&suite_probe_service);
    uint8_t bytes[VC__HELLO_SIZE];

    (void)state;
    start_hasty(&f, 0);
    vc__hello_put(bytes, &hello);
    assert_int_equal(RAW_ACCEPTED,
                     raw_connect(&r, f.target, bytes, sizeof bytes));

    assert_true(raw_wait(&r, HOSTILE_CLOSED_MS) != RAW_NOTHING);

    raw_close(&r);
    hostile_no_harm(&f, "an accept without confirmation");
    fixture_stop(&f);
}

/* Opens a channel that makes one attempt, with this connect timeout. */
static struct vc_channel *
fresh_channel(struct fixture *f, uint32_t connect_ms)
{
    struct vc_channel_opts opts = VC_CHANNEL_OPTS_INIT;
    struct vc_channel *channel;

    opts.connect_timeout_ms = connect_ms;
    opts.max_attempts = 1;
    assert_status(VC_OK,
                  vc_channel_open(f->runtime, f->target, &opts, &channel));
    return channel;
}

static void
silent_clients_hold_their_places_for_the_handshake_only(void **state)
{
    struct fixture f;
    struct vc_channel *hasty, *patient;
    struct raw r[3] = {{0}};

    (void)state;
    start_hasty(&f, 4); /* one is f's own */
    hasty = fresh_channel(&f, HASTY_MS / 2);
    patient = fresh_channel(&f, 8 * HASTY_MS);
    for (int i = 0; i < 3; i++)
        hostile_open(&f, &r[i]);

    assert_status(VC_UNAVAILABLE, fixture_echo(hasty, 10, 1));
    assert_non_null(
        strstr(vc_error(), "the limit max_links of the server is reached"));
    assert_int_equal(VC_OUTCOME_NOT_EXECUTED, vc_error_outcome());
    assert_status(VC_OK, fixture_echo(f.channel, 10, 1));
    /* This channel connects again by itself, after the time that the server
     * gave. */
    assert_status(VC_OK, fixture_echo(patient, 10, 1));

    vc_channel_close(hasty);
    vc_channel_close(patient);
    for (int i = 0; i < 3; i++)
        raw_close(&r[i]);
    hostile_no_harm(&f, "silent clients");
    fixture_stop(&f);
}

#define T(name) hostile_test(name)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        T(a_hello_with_a_bad_byte_is_rejected_for_its_reason),
        T(a_hello_without_an_instance_is_rejected),
        T(a_hello_cut_anywhere_is_rejected),
        T(a_hello_without_bytes_is_turned_away),
        T(noise_for_a_hello_is_rejected),
        T(noise_behind_a_good_beginning_is_rejected),
        T(a_hello_that_offers_later_versions_too_is_accepted_for_ours),
        T(clients_that_vanish_at_once_leave_nothing_behind),
        cmocka_unit_test(a_client_that_says_nothing_is_dropped_in_time),
        cmocka_unit_test(a_client_that_says_nothing_is_not_probed),
        cmocka_unit_test(a_client_that_says_nothing_gets_no_goaway),
        cmocka_unit_test(a_client_that_never_confirms_is_dropped_in_time),
        cmocka_unit_test(
            silent_clients_hold_their_places_for_the_handshake_only),
    };

    return fixture_main(tests);
}
