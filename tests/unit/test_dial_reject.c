/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The connection plan: what follows from a server's reject, and how
 * a plan ends. */
#include "tests/unit/dial_maker.h"
#include "tests/unit/random.h"

/* --- counter-offers ---------------------------------------------------- */

static struct vc__reject
counter(uint32_t features, uint16_t credits, uint8_t eager, uint8_t message)
{
    return (struct vc__reject){.reason = VC__REJECT_LIMIT,
                               .features = features,
                               .credits = credits,
                               .log2_eager = eager,
                               .log2_message = message};
}

static void
limit(struct vc__dial *d, unsigned which, const struct vc__reject *r)
{
    reject(d, which, T0, VC_RESOURCE_EXHAUSTED, "limit", r);
}

static void
a_counter_offer_is_met_at_the_same_address(void **state)
{
    const struct vc__reject r = counter(SAID | 4, 8, 13, 20);
    struct vc__dial_step step;
    struct vc__dial d;

    (void)state;
    begin(&d, 2, 1);
    limit(&d, expect_try(&d, T0, 1), &r);
    assert_int_equal(VC__DIAL_TRY, vc__dial_next(&d, T0, &step));
    assert_int_equal(1, host_of(step.way));
    assert_int_equal(SAID | 4, step.way->offer.features);
    assert_int_equal(8, step.way->offer.credits);
    assert_int_equal(13, step.way->offer.log2_eager);
    assert_int_equal(20, step.way->offer.log2_message);
}

static void
what_a_counter_offer_does_not_name_stays(void **state)
{
    const struct vc__reject r = counter(0, 0, 0, 20);
    struct vc__dial_step step;
    struct vc__dial d;

    (void)state;
    begin(&d, 1, 1);
    limit(&d, expect_try(&d, T0, 1), &r);
    assert_int_equal(VC__DIAL_TRY, vc__dial_next(&d, T0, &step));
    assert_int_equal(SAID | 5, step.way->offer.features);
    assert_int_equal(32, step.way->offer.credits);
    assert_int_equal(14, step.way->offer.log2_eager);
    assert_int_equal(20, step.way->offer.log2_message);
}

static void
a_counter_offer_may_leave_all_but_one_as_it_was(void **state)
{
    const struct vc__reject good[] = {
        counter(SAID | 4, 32, 14, 22), counter(SAID | 5, 31, 14, 22),
        counter(SAID | 5, 32, 13, 22), counter(SAID | 5, 32, 14, 21)};

    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        struct vc__dial_step step;
        struct vc__dial d;

        begin(&d, 1, 1);
        limit(&d, expect_try(&d, T0, 1), &good[i]);
        assert_int_equal(VC__DIAL_TRY, vc__dial_next(&d, T0, &step));
        assert_int_equal(good[i].features, step.way->offer.features);
        assert_int_equal(good[i].credits, step.way->offer.credits);
        assert_int_equal(good[i].log2_eager, step.way->offer.log2_eager);
        assert_int_equal(good[i].log2_message, step.way->offer.log2_message);
    }
}

static void
a_counter_offer_is_met_only_once(void **state)
{
    const struct vc__reject first = counter(SAID | 5, 0, 0, 20);
    const struct vc__reject second = counter(SAID | 5, 0, 0, 18);
    struct vc__dial d;

    (void)state;
    begin(&d, 1, 1);
    limit(&d, expect_try(&d, T0, 1), &first);
    limit(&d, expect_try(&d, T0, 1), &second);
    expect_fail(&d, T0, "limit");
    assert_int_equal(VC_RESOURCE_EXHAUSTED, d.error.status);
}

static void
a_counter_offer_beyond_what_we_can_is_not_met(void **state)
{
    const struct vc__reject bad[] = {
        counter(SAID | 2, 8, 0, 0),   /* a feature that we lack */
        counter(4, 8, 0, 0),          /* ignored, as SAID is missing */
        counter(SAID | 5, 33, 0, 0),  /* more packets */
        counter(SAID | 5, 8, 15, 0),  /* longer packets */
        counter(SAID | 5, 8, 0, 23),  /* longer messages */
        counter(SAID | 5, 0, 0, 0),   /* no packets */
        counter(SAID | 5, 32, 14, 22) /* the same as we offered */
    };
    struct vc__dial d;

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        begin(&d, 2, 1);
        limit(&d, expect_try(&d, T0, 1), &bad[i]);
        expect_fail(&d, T0, "limit");
    }
}

static void
a_counter_offer_that_is_met_is_not_told_as_an_error(void **state)
{
    const struct vc__reject r = counter(0, 0, 0, 20);
    struct vc__dial d;

    (void)state;
    begin(&d, 1, 1);
    limit(&d, expect_try(&d, T0, 1), &r);
    fail_silent(&d, expect_try(&d, T0, 1), T0, "host went away");
    expect_fail(&d, T0, "host went away");
}

/* --- redirects --------------------------------------------------------- */

static void
a_redirect_is_followed_at_once_and_before_other_addresses(void **state)
{
    struct vc__dial d;

    (void)state;
    begin(&d, 2, 1);
    reject_moved(&d, expect_try(&d, T0, 1), T0 + 1, 99);
    expect_try(&d, T0 + 1, 99);
    expect_wait(&d, T0 + 1, T0 + 1 + HEAD);
    expect_try(&d, T0 + 1 + HEAD, 2);
}

static void
a_redirect_keeps_family_port_address_and_scope(void **state)
{
    struct vc__reject r = {.reason = VC__REJECT_MOVED, .n_addrs = 1};
    struct places places = {.n = 1};
    struct sockaddr_in6 *own = (struct sockaddr_in6 *)&places.to[0].addr;
    struct vc__dial_opts opts = {.places = places.to,
                                 .n_places = 1,
                                 .due = DUE,
                                 .head_start_ms = VC__DIAL_HEAD_START_MS,
                                 .offer = most};
    const struct sockaddr_in6 *to;
    struct vc__dial_step step;
    struct vc__dial d;

    (void)state;
    own->sin6_family = AF_INET6;
    own->sin6_port = htons(7);
    own->sin6_scope_id = 3;
    assert_int_equal(1, inet_pton(AF_INET6, "fe80::1", &own->sin6_addr));
    r.addrs[0].family = 6;
    r.addrs[0].port = 7471;
    assert_int_equal(1, inet_pton(AF_INET6, "fe80::2", r.addrs[0].addr));
    vc__dial_begin(&d, &opts);
    assert_int_equal(VC__DIAL_TRY, vc__dial_next(&d, T0, &step));
    reject(&d, step.which, T0, VC_UNAVAILABLE, "moved", &r);
    assert_int_equal(VC__DIAL_TRY, vc__dial_next(&d, T0, &step));

    to = (const struct sockaddr_in6 *)&step.way->to.addr;
    assert_int_equal(AF_INET6, to->sin6_family);
    assert_int_equal(7471, ntohs(to->sin6_port));
    assert_int_equal(3, to->sin6_scope_id);
    assert_memory_equal(&to->sin6_addr, r.addrs[0].addr, 16);
}

/* No byte of the address that was read before it remains. */
static void
a_redirect_to_ipv4_is_its_family_port_and_address_only(void **state)
{
    struct vc__reject r = {.reason = VC__REJECT_MOVED, .n_addrs = 2};
    struct sockaddr_storage wanted = {.ss_family = AF_INET};
    struct sockaddr_in *in = (struct sockaddr_in *)&wanted;
    struct vc__dial_step step;
    struct vc__dial d;

    (void)state;
    r.addrs[0] =
        (struct vc__reject_addr){.family = 6, .weight = 1, .port = 0x0102};
    memset(r.addrs[0].addr, 0x20, sizeof r.addrs[0].addr);
    r.addrs[1] = (struct vc__reject_addr){
        .family = 4, .port = 7471, .addr = {10, 9, 0, 1}};
    in->sin_port = htons(7471);
    in->sin_addr.s_addr = htonl(0x0a090001);

    begin(&d, 1, 1);
    reject(&d, expect_try(&d, T0, 1), T0, VC_UNAVAILABLE, "moved", &r);
    assert_int_equal(VC__DIAL_TRY, vc__dial_next(&d, T0, &step));
    fail_silent(&d, step.which, T0, "down");
    assert_int_equal(VC__DIAL_TRY, vc__dial_next(&d, T0, &step));
    assert_memory_equal(&wanted, &step.way->to.addr, sizeof wanted);
}

/* The redirect is tried by the transport of the rejected attempt, or by each
 * transport of the target. */
static void
a_redirect_leads_by_every_carrier(void **state)
{
    static const struct vc__transport one, other;
    static const struct vc__transport *const both[] = {&one, &other};
    struct vc__reject r = {.reason = VC__REJECT_MOVED, .n_addrs = 1};
    struct places places = places_make(1);
    struct vc__dial_opts opts = {.places = places.to,
                                 .n_places = 1,
                                 .due = DUE,
                                 .head_start_ms = VC__DIAL_HEAD_START_MS,
                                 .offer = most};
    struct vc__dial_step step;
    struct vc__dial d;

    (void)state;
    r.addrs[0] = (struct vc__reject_addr){
        .family = 4, .port = 7471, .addr = {10, 9, 0, 1}};
    places.to[0].transport = &other;
    vc__dial_begin(&d, &opts);
    reject(&d, expect_try(&d, T0, 1), T0, VC_UNAVAILABLE, "moved", &r);
    assert_int_equal(VC__DIAL_TRY, vc__dial_next(&d, T0, &step));
    assert_ptr_equal(&other, step.way->to.transport);
    expect_nothing(&d, T0);

    opts.carriers = both;
    opts.n_carriers = 2;
    vc__dial_begin(&d, &opts);
    reject(&d, expect_try(&d, T0, 1), T0, VC_UNAVAILABLE, "moved", &r);
    assert_int_equal(VC__DIAL_TRY, vc__dial_next(&d, T0, &step));
    assert_ptr_equal(&one, step.way->to.transport);
    expect_wait(&d, T0, T0 + HEAD);
    assert_int_equal(VC__DIAL_TRY, vc__dial_next(&d, T0 + HEAD, &step));
    assert_ptr_equal(&other, step.way->to.transport);
}

/* A redirect to a name is only for clients of the same process, which came by a
 * name. They ignore addresses. */
static void
a_redirect_to_a_name_is_for_who_came_by_a_name(void **state)
{
    struct vc__reject r = {.reason = VC__REJECT_MOVED, .n_addrs = 2};
    struct places places = {.n = 1};
    struct vc__dial_opts opts = {.places = places.to,
                                 .n_places = 1,
                                 .due = DUE,
                                 .head_start_ms = VC__DIAL_HEAD_START_MS,
                                 .offer = most};
    struct sockaddr_storage wanted;
    struct vc__dial_step step;
    struct vc__dial d;

    (void)state;
    r.addrs[0] = (struct vc__reject_addr){
        .family = 4, .weight = 1, .port = 7471, .addr = {10, 9, 0, 1}};
    r.addrs[1] = (struct vc__reject_addr){.family = VC__REJECT_NAME,
                                          .weight = 1,
                                          .addr = {1, 2, 3, 4, 5, 6, 7, 8}};
    vc__addr_name(&places.to[0].addr, "first");
    vc__dial_begin(&d, &opts);
    assert_int_equal(VC__DIAL_TRY, vc__dial_next(&d, T0, &step));
    reject(&d, step.which, T0, VC_UNAVAILABLE, "moved", &r);
    assert_int_equal(VC__DIAL_TRY, vc__dial_next(&d, T0, &step));
    vc__addr_of_key(&wanted, r.addrs[1].addr);
    assert_memory_equal(&wanted, &step.way->to.addr, sizeof wanted);
    fail_silent(&d, step.which, T0, "down");
    assert_int_equal(VC__DIAL_FAIL, vc__dial_next(&d, T0, &step));

    begin(&d, 1, 1);
    reject(&d, expect_try(&d, T0, 1), T0, VC_UNAVAILABLE, "moved", &r);
    assert_int_equal(VC__DIAL_TRY, vc__dial_next(&d, T0, &step));
    assert_int_equal(AF_INET, step.way->to.addr.ss_family);
    fail_silent(&d, step.which, T0, "down");
    assert_int_equal(VC__DIAL_FAIL, vc__dial_next(&d, T0, &step));
}

static void
redirects_that_lead_in_a_circle_end_with_the_third(void **state)
{
    struct vc__dial d;

    (void)state;
    begin(&d, 1, 1);
    reject_moved(&d, expect_try(&d, T0, 1), T0, 2);
    reject_moved(&d, expect_try(&d, T0, 2), T0, 1);
    reject_moved(&d, expect_try(&d, T0, 1), T0, 2);
    reject_moved(&d, expect_try(&d, T0, 2), T0, 1);
    expect_fail(&d, T0, "circle");
    assert_int_equal(VC_UNAVAILABLE, d.error.status);
}

static void
the_most_addresses_that_there_can_be_are_all_tried(void **state)
{
    uint8_t hosts[] = {101, 102, 103}, weights[] = {1, 1, 1};
    static const struct vc__transport one, other;
    static const struct vc__transport *const both[] = {&one, &other};
    const struct vc__reject r = moved_to(3, hosts, weights);
    struct vc__place places[VC__DIAL_CARRIERS * VC__DIAL_TOLD_MAX];
    struct vc__dial_opts opts = {.places = places,
                                 .n_places = sizeof places / sizeof *places,
                                 .carriers = both,
                                 .n_carriers = 2,
                                 .due = DUE,
                                 .head_start_ms = VC__DIAL_HEAD_START_MS,
                                 .offer = most};
    struct vc__dial_step step;
    unsigned tries = 0;
    struct vc__dial d;

    (void)state;
    for (unsigned i = 0; i < opts.n_places; i++)
        places[i] = places_make(1).to[0];
    vc__dial_begin(&d, &opts);
    while (vc__dial_next(&d, T0, &step) == VC__DIAL_TRY) {
        tries++;
        reject(&d, step.which, T0, VC_UNAVAILABLE, "moved", &r);
    }
    assert_int_equal(VC__DIAL_WAYS_MAX, tries);
    expect_fail(&d, T0, "circle");
}

static void
weights_are_shares_of_the_clients(void **state)
{
    uint8_t hosts[] = {11, 12, 13}, weights[] = {10, 0, 30};
    const struct vc__reject r = moved_to(3, hosts, weights);
    unsigned first[256] = {0}, last[256] = {0};

    (void)state;
    for (uint64_t seed = 0; seed < 4000; seed++) {
        struct vc__dial_step step;
        struct vc__dial d;
        unsigned host = 0;

        begin(&d, 1, seed);
        reject(&d, expect_try(&d, T0, 1), T0, VC_UNAVAILABLE, "moved", &r);
        for (unsigned i = 0; i < 3; i++) {
            assert_int_equal(VC__DIAL_TRY, vc__dial_next(&d, T0, &step));
            host = host_of(step.way);
            if (i == 0)
                first[host]++;
            fail_silent(&d, step.which, T0, "down");
        }
        last[host]++;
        expect_fail(&d, T0, "down");
    }
    assert_in_range(first[11], 800, 1200);
    assert_in_range(first[13], 2800, 3200);
    assert_int_equal(0, first[12]);
    assert_int_equal(4000, last[12]);
}

/* Counts, for 4000 clients, which host of a redirect they try first. */
static void
count_first(const struct vc__reject *r, unsigned first[256])
{
    for (uint64_t seed = 0; seed < 4000; seed++) {
        struct vc__dial_step step;
        struct vc__dial d;

        begin(&d, 1, seed);
        reject(&d, expect_try(&d, T0, 1), T0, VC_UNAVAILABLE, "moved", r);
        assert_int_equal(VC__DIAL_TRY, vc__dial_next(&d, T0, &step));
        first[host_of(step.way)]++;
    }
}

static void
each_weight_counts_and_only_those_of_the_redirect(void **state)
{
    uint8_t hosts[] = {11, 12, 13}, weights[] = {10, 20, 10};
    unsigned of_three[256] = {0}, of_two[256] = {0};
    struct vc__reject r = moved_to(3, hosts, weights);

    (void)state;
    count_first(&r, of_three);
    assert_in_range(of_three[11], 800, 1200);
    assert_in_range(of_three[12], 1800, 2200);
    assert_in_range(of_three[13], 800, 1200);

    r.n_addrs = 2;
    r.addrs[0].weight = 20;
    r.addrs[2].weight = 200;
    count_first(&r, of_two);
    assert_in_range(of_two[11], 1800, 2200);
    assert_in_range(of_two[12], 1800, 2200);
}

static void
addresses_of_no_use_are_not_followed(void **state)
{
    static const uint8_t bad[][4] = {
        {0, 0, 0, 0}, {224, 0, 0, 1}, {255, 255, 255, 255}};
    struct vc__dial d;

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct vc__reject r = moved_to(1, (uint8_t[]){1}, (uint8_t[]){1});

        memcpy(r.addrs[0].addr, bad[i], 4);
        begin(&d, 1, 1);
        reject(&d, expect_try(&d, T0, 1), T0, VC_UNAVAILABLE, "moved", &r);
        expect_fail(&d, T0, "moved");
    }
    {
        struct vc__reject r = moved_to(1, (uint8_t[]){9}, (uint8_t[]){1});

        r.addrs[0].port = 0;
        begin(&d, 1, 1);
        reject(&d, expect_try(&d, T0, 1), T0, VC_UNAVAILABLE, "moved", &r);
        expect_fail(&d, T0, "moved");
    }
}

static void
moved_to_nowhere_is_a_failure_of_that_address(void **state)
{
    const struct vc__reject r = {.reason = VC__REJECT_MOVED};
    struct vc__dial d;

    (void)state;
    begin(&d, 2, 1);
    reject(&d, expect_try(&d, T0, 1), T0, VC_UNAVAILABLE, "moved", &r);
    expect_try(&d, T0, 2);
}

/* --- the error --------------------------------------------------------- */

static void
the_error_is_the_most_telling_one(void **state)
{
    struct vc__dial d;

    (void)state;
    begin(&d, 4, 1);
    fail_silent(&d, expect_try(&d, T0, 1), T0, "no route");
    fail_as(&d, expect_try(&d, T0, 2), T0, VC_UNAVAILABLE, "nobody listens",
            (struct vc__dial_failure){.heard = true});
    reject_busy(&d, expect_try(&d, T0, 3), T0, 0);
    fail_silent(&d, expect_try(&d, T0, 4), T0, "timeout");
    expect_fail(&d, T0, "busy");
}

static void
the_error_behind_a_redirect_is_of_where_it_led(void **state)
{
    struct vc__dial d;

    (void)state;
    begin(&d, 1, 1);
    reject_moved(&d, expect_try(&d, T0, 1), T0, 9);
    fail_silent(&d, expect_try(&d, T0, 9), T0, "9 is down");
    expect_fail(&d, T0, "9 is down");
}

static void
a_redirect_of_no_use_does_not_make_silence_tell_more(void **state)
{
    struct vc__reject r = moved_to(1, (uint8_t[]){9}, (uint8_t[]){1});
    struct vc__dial d;

    (void)state;
    r.addrs[0].port = 0;
    begin(&d, 2, 1);
    reject(&d, expect_try(&d, T0, 1), T0, VC_UNAVAILABLE, "moved", &r);
    fail_silent(&d, expect_try(&d, T0, 2), T0, "silent");
    expect_fail(&d, T0, "moved");
}

static void
an_answer_that_no_other_address_would_better_ends_it(void **state)
{
    const struct vc__reject r = {.reason = VC__REJECT_SERVICE};
    struct vc__dial d;
    unsigned first, second;

    (void)state;
    begin(&d, 3, 1);
    first = expect_try(&d, T0, 1);
    second = expect_try(&d, T0 + HEAD, 2);
    reject(&d, second, T0 + HEAD, VC_UNIMPLEMENTED, "not served", &r);
    expect_fail(&d, T0 + HEAD, "not served");
    assert_int_equal(VC_UNIMPLEMENTED, d.error.status);
    fail_silent(&d, first, T0 + HEAD, "closed");
    (void)d;
}

static void
a_failure_of_our_own_is_no_end_while_another_way_is_left(void **state)
{
    const struct vc__dial_failure own = {.error = NULL};
    struct vc__dial d;
    unsigned first;

    (void)state;
    begin(&d, 3, 1);
    first = expect_try(&d, T0, 1);
    fail_as(&d, expect_try(&d, T0 + HEAD, 2), T0 + HEAD, VC_RESOURCE_EXHAUSTED,
            "no memory", own);
    fail_silent(&d, expect_try(&d, T0 + HEAD, 3), T0 + HEAD, "silent");
    expect_nothing(&d, T0 + HEAD);
    fail_as(&d, first, T0 + HEAD, VC_UNAVAILABLE, "nobody listens",
            (struct vc__dial_failure){.heard = true});
    expect_fail(&d, T0 + HEAD, "no memory");
    assert_int_equal(VC_RESOURCE_EXHAUSTED, d.error.status);
}

/* --- random plans ------------------------------------------------------ */

static void
fail_at_random(struct vc__dial *d, unsigned which, uint64_t now, uint64_t *seed)
{
    struct vc__reject r = {.retry_ms = random_below(seed, 400)};

    switch (random_below(seed, 6)) {
    case 0:
        fail_silent(d, which, now, "silent");
        break;
    case 1:
        fail_stale(d, which, now);
        break;
    case 2:
        r.reason = VC__REJECT_BUSY;
        reject(d, which, now, VC_UNAVAILABLE, "busy", &r);
        break;
    case 3:
        r = counter(SAID | 5, 0, 0, (uint8_t)(12 + random_below(seed, 12)));
        limit(d, which, &r);
        break;
    default:
        reject_moved(d, which, now, (uint8_t)random_below(seed, 256));
        break;
    }
}

/* Runs one random plan; returns the number of tries. */
static unsigned
run_at_random(uint64_t *seed)
{
    unsigned open[VC__DIAL_WAYS_MAX], n_open = 0, tries = 0;
    struct vc__dial_step step;
    struct vc__dial d;
    uint64_t now = T0;

    begin(&d, random_below(seed, VC__TARGET_ADDRS + 1), *seed);
    for (;;) {
        enum vc__dial_what what = vc__dial_next(&d, now, &step);

        if (what == VC__DIAL_FAIL)
            break;
        if (what == VC__DIAL_TRY) {
            assert_true(now < DUE && n_open < VC__DIAL_WAYS_MAX);
            open[n_open++] = step.which;
            tries++;
            continue;
        }
        assert_true(what == VC__DIAL_WAIT || n_open > 0);
        if (what == VC__DIAL_WAIT)
            assert_true(step.at > now && step.at < DUE + HEAD);
        if (n_open > 0 && (what == VC__DIAL_NOTHING || random_below(seed, 2))) {
            unsigned i = random_below(seed, n_open);
            unsigned which = open[i];

            open[i] = open[--n_open];
            now += random_below(seed, 1000);
            fail_at_random(&d, which, now, seed);
        } else {
            now = step.at;
        }
    }
    assert_true(d.error.status != VC_OK && d.error.text[0] != '\0');
    assert_true(d.n_moves <= VC__DIAL_MOVES_MAX);
    return tries;
}

static void
every_plan_comes_to_an_end(void **state)
{
    uint64_t seed = 42;

    (void)state;
    for (unsigned i = 0; i < 20000; i++)
        assert_true(run_at_random(&seed) < 2000);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_counter_offer_is_met_at_the_same_address),
        cmocka_unit_test(what_a_counter_offer_does_not_name_stays),
        cmocka_unit_test(a_counter_offer_may_leave_all_but_one_as_it_was),
        cmocka_unit_test(a_counter_offer_is_met_only_once),
        cmocka_unit_test(a_counter_offer_beyond_what_we_can_is_not_met),
        cmocka_unit_test(a_counter_offer_that_is_met_is_not_told_as_an_error),
        cmocka_unit_test(
            a_redirect_is_followed_at_once_and_before_other_addresses),
        cmocka_unit_test(a_redirect_keeps_family_port_address_and_scope),
        cmocka_unit_test(
            a_redirect_to_ipv4_is_its_family_port_and_address_only),
        cmocka_unit_test(a_redirect_to_a_name_is_for_who_came_by_a_name),
        cmocka_unit_test(a_redirect_leads_by_every_carrier),
        cmocka_unit_test(redirects_that_lead_in_a_circle_end_with_the_third),
        cmocka_unit_test(the_most_addresses_that_there_can_be_are_all_tried),
        cmocka_unit_test(weights_are_shares_of_the_clients),
        cmocka_unit_test(each_weight_counts_and_only_those_of_the_redirect),
        cmocka_unit_test(addresses_of_no_use_are_not_followed),
        cmocka_unit_test(moved_to_nowhere_is_a_failure_of_that_address),
        cmocka_unit_test(the_error_is_the_most_telling_one),
        cmocka_unit_test(the_error_behind_a_redirect_is_of_where_it_led),
        cmocka_unit_test(a_redirect_of_no_use_does_not_make_silence_tell_more),
        cmocka_unit_test(an_answer_that_no_other_address_would_better_ends_it),
        cmocka_unit_test(
            a_failure_of_our_own_is_no_end_while_another_way_is_left),
        cmocka_unit_test(every_plan_comes_to_an_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
