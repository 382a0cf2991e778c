/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Datagrams that are lost, doubled, late and out of order, by rules and by
 * chance. Each one has a length of its own, by which it is known. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "fake/fake.h"
#include "tests/fake/scenarios.h"

#define GRH     40u
#define MANY    500u
#define MILLION 1000000u
#define QUEUE   16u
#define MTU     1024u

/* What has arrived: the lengths in their order, and how often each. */
struct arrivals {
    unsigned n;
    unsigned order[4 * MANY];
    unsigned times[MTU + 1];
};

static const struct wish datagrams = {.datagrams = true, .from = "10.9.0.2"};

/* --- helpers ----------------------------------------------------------- */

/* Makes a world, and a client that has found its service on another device.
 * Returns this device; fake_host_local() is the service's. */
static struct fake_host *
found(struct pair *p, uint64_t seed)
{
    struct fake_host *second;

    fake_begin(
        &(struct fake_opts){.seed = seed, .profile = FAKE_RXE, .trace = true});
    setenv("VC_TEST_ADDR", "10.9.0.1", 1);
    second = fake_device_new(fake_host_local(), "10.9.0.2");
    assert_true(pair_connect(p, &datagrams));
    for (unsigned i = 0; i < QUEUE; i++)
        assert_int_equal(end_receive(&p->server, 2 * MTU), 0);
    return second;
}

static void
done(struct pair *p)
{
    pair_close(p);
    assert_int_equal(fake_end(), 0);
}

/* Takes what arrives within ms. */
static void
take(struct pair *p, struct arrivals *a, int ms)
{
    struct ibv_wc wc;

    while (end_complete(&p->server, &wc, ms) == IBV_WC_SUCCESS) {
        a->order[a->n++] = wc.byte_len - GRH;
        a->times[wc.byte_len - GRH]++;
        assert_int_equal(end_receive(&p->server, 2 * MTU), 0);
    }
}

/* Sends datagrams of 1 to n bytes. */
static void
tell(struct pair *p, unsigned n, struct arrivals *a)
{
    struct ibv_wc wc;

    memset(a, 0, sizeof *a);
    for (unsigned i = 1; i <= n; i++) {
        assert_int_equal(end_send(&p->client, i, IBV_SEND_SIGNALED), 0);
        assert_int_equal(end_complete(&p->client, &wc, 10), IBV_WC_SUCCESS);
        take(p, a, 0);
    }
    take(p, a, 10);
}

static unsigned
overtaken(const struct arrivals *a)
{
    unsigned n = 0;

    for (unsigned i = 1; i < a->n; i++)
        n += a->order[i] < a->order[i - 1];
    return n;
}

/* --- by chance --------------------------------------------------------- */

static void
a_share_of_datagrams_is_lost(void **state)
{
    struct fake_path_counts counts;
    struct fake_host *second;
    struct arrivals a;
    struct pair p;

    (void)state;
    second = found(&p, 1);
    fake_path_noise(second, fake_host_local(),
                    &(struct fake_noise){.lost = MILLION / 5});
    tell(&p, MANY, &a);
    fake_path_count(second, fake_host_local(), &counts);
    assert_in_range(counts.lost, MANY / 10, MANY * 3 / 10);
    assert_int_equal(a.n + counts.lost, MANY);
    assert_int_equal(overtaken(&a), 0);
    fake_path_noise(second, fake_host_local(), NULL);
    tell(&p, MANY, &a);
    assert_int_equal(a.n, MANY);
    done(&p);
}

static void
a_share_of_datagrams_arrives_twice(void **state)
{
    struct fake_path_counts counts;
    struct fake_host *second;
    struct arrivals a;
    struct pair p;

    (void)state;
    second = found(&p, 1);
    fake_path_noise(NULL, NULL, &(struct fake_noise){.doubled = MILLION / 5});
    tell(&p, MANY, &a);
    fake_path_count(second, fake_host_local(), &counts);
    assert_in_range(counts.duplicated, MANY / 10, MANY * 3 / 10);
    assert_int_equal(a.n, MANY + counts.duplicated);
    for (unsigned i = 1; i <= MANY; i++)
        assert_in_range(a.times[i], 1, 2);
    done(&p);
}

static void
late_datagrams_are_overtaken_and_none_is_missing(void **state)
{
    struct fake_path_counts counts;
    struct fake_host *second;
    struct arrivals a;
    struct pair p;

    (void)state;
    second = found(&p, 1);
    fake_path_noise(second, fake_host_local(),
                    &(struct fake_noise){.late = MILLION / 4, .late_us = 1000});
    tell(&p, MANY, &a);
    fake_path_count(second, fake_host_local(), &counts);
    assert_in_range(counts.late, MANY / 8, MANY * 3 / 8);
    assert_int_equal(a.n, MANY);
    assert_true(overtaken(&a) > MANY / 20);
    for (unsigned i = 1; i <= MANY; i++)
        assert_int_equal(a.times[i], 1);
    done(&p);
}

static void
the_other_direction_has_no_noise(void **state)
{
    struct arrivals a;
    struct pair p;

    (void)state;
    fake_path_noise(fake_host_local(), found(&p, 1),
                    &(struct fake_noise){.lost = MILLION});
    tell(&p, 50, &a);
    assert_int_equal(a.n, 50);
    done(&p);
}

/* Returns the fingerprint of a noisy run. */
static uint64_t
noisy(uint64_t seed, struct arrivals *a)
{
    struct pair p;
    uint64_t print;

    found(&p, seed);
    fake_path_noise(NULL, NULL,
                    &(struct fake_noise){.lost = MILLION / 10,
                                         .doubled = MILLION / 10,
                                         .late = MILLION / 4,
                                         .late_us = 500});
    tell(&p, MANY, a);
    print = fake_fingerprint();
    done(&p);
    return print;
}

static void
a_seed_has_one_noise(void **state)
{
    static struct arrivals a, b, c;
    uint64_t print = noisy(7, &a);

    (void)state;
    assert_true(noisy(7, &b) == print);
    assert_memory_equal(&a, &b, sizeof a);
    noisy(8, &c);
    assert_memory_not_equal(&a, &c, sizeof a);
}

static void
lost_messages_of_rdma_cm_are_sent_again(void **state)
{
    struct fake_path_counts counts;
    struct fake_host *second;
    struct pair p;

    (void)state;
    fake_begin(
        &(struct fake_opts){.seed = 3, .profile = FAKE_RXE, .trace = true});
    setenv("VC_TEST_ADDR", "10.9.0.1", 1);
    second = fake_device_new(fake_host_local(), "10.9.0.2");
    pair_open(&p, &datagrams);
    assert_true(pair_resolve(&p));
    fake_path_noise(second, fake_host_local(),
                    &(struct fake_noise){.unheard = MILLION});
    assert_true(end_make(&p, &p.client));
    assert_int_equal(
        rdma_connect(p.client.id, &(struct rdma_conn_param){.retry_count = 6}),
        0);
    assert_false(event_next(&p, 10000));
    fake_path_count(second, fake_host_local(), &counts);
    assert_int_equal(counts.lost, 3);
    fake_path_noise(second, fake_host_local(), NULL);
    assert_true(event_expect(&p, RDMA_CM_EVENT_CONNECT_REQUEST));
    rdma_destroy_id(p.last.id);
    done(&p);
}

/* --- by rules ---------------------------------------------------------- */

static void
a_delayed_datagram_is_overtaken(void **state)
{
    struct arrivals a;
    struct pair p;

    (void)state;
    found(&p, 1);
    fake_rule("SEND 2 B", 1, FAKE_DELAY, 5000);
    tell(&p, 3, &a);
    assert_int_equal(a.n, 3);
    assert_int_equal(a.order[0], 1);
    assert_int_equal(a.order[1], 3);
    assert_int_equal(a.order[2], 2);
    done(&p);
}

static void
this_datagram_arrives_twice(void **state)
{
    struct arrivals a;
    struct pair p;

    (void)state;
    found(&p, 1);
    fake_rule("SEND 2 B", 1, FAKE_TWICE, 5000);
    tell(&p, 3, &a);
    assert_int_equal(a.n, 4);
    assert_int_equal(a.times[2], 2);
    assert_int_equal(a.order[3], 2);
    done(&p);
}

static void
a_datagram_arrives_after_its_sender_is_gone(void **state)
{
    struct arrivals a = {0};
    struct pair p;

    (void)state;
    found(&p, 1);
    fake_rule("SEND 5 B", 1, FAKE_DELAY, 5000);
    assert_int_equal(end_send(&p.client, 5, IBV_SEND_SIGNALED), 0);
    assert_string_equal(complete_text(&p.client, 10), "success");
    rdma_destroy_qp(p.client.id);
    take(&p, &a, 10);
    assert_int_equal(a.times[5], 1);
    done(&p);
}

static void
a_datagram_on_its_way_does_not_pass_a_cut(void **state)
{
    struct fake_host *second;
    struct arrivals a = {0};
    struct pair p;

    (void)state;
    second = found(&p, 1);
    fake_rule("SEND 5 B", 1, FAKE_DELAY, 5000);
    assert_int_equal(end_send(&p.client, 5, IBV_SEND_SIGNALED), 0);
    assert_string_equal(complete_text(&p.client, 10), "success");
    fake_path_cut(second, fake_host_local(), true);
    take(&p, &a, 10);
    assert_int_equal(a.n, 0);
    done(&p);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_share_of_datagrams_is_lost),
        cmocka_unit_test(a_share_of_datagrams_arrives_twice),
        cmocka_unit_test(late_datagrams_are_overtaken_and_none_is_missing),
        cmocka_unit_test(the_other_direction_has_no_noise),
        cmocka_unit_test(a_seed_has_one_noise),
        cmocka_unit_test(lost_messages_of_rdma_cm_are_sent_again),
        cmocka_unit_test(a_delayed_datagram_is_overtaken),
        cmocka_unit_test(this_datagram_arrives_twice),
        cmocka_unit_test(a_datagram_arrives_after_its_sender_is_gone),
        cmocka_unit_test(a_datagram_on_its_way_does_not_pass_a_cut),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
