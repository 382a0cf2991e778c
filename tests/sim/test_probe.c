/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Probes in a world where any call may fail: their errors, and that they release
 * everything. */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include <verbcall/probe.h>

#include "tests/sim/scene.h"

#define MS 1000u

static enum vc_status
probe(struct scene *s, uint32_t ms, struct vc_probe_report *r)
{
    *r = (struct vc_probe_report)VC_PROBE_REPORT_INIT;
    return vc_probe(s->server.target, ms, r);
}

/* --- any call fails ---------------------------------------------------------- */

static unsigned
things(void)
{
    struct fake_census c;

    fake_census(fake_process_self(), &c);
    return c.pds + c.cqs + c.qps + c.event_channels + c.ids + c.events +
           c.descriptors + c.blocks;
}

/* Until no call is left to fail. */
static void
fails_at_each_call(struct scene *s)
{
    struct vc_probe_report r;
    enum vc_status status;
    unsigned before, struck, n = 0;

    assert_int_equal(probe(s, 500, &r), VC_OK); /* the devices are open now */
    before = things();
    do {
        struck = fake_failed();
        fake_fail(fake_process_self(), "*", ++n, ENOMEM);
        status = probe(s, 500, &r);
        if (status != VC_OK)
            assert_int_equal(vc_error_status(), status);
        assert_int_equal(things(), before);
    } while (fake_failed() > struck);
    fake_fail_no_more();
    assert_int_equal(status, VC_OK);
    assert_true(n > 6);
}

static void
any_call_may_fail_and_nothing_is_left(void **state)
{
    struct scene s = {.opts = VC_CHANNEL_OPTS_INIT, .act = fails_at_each_call};

    (void)state;
    scene_run(&s, 1);
}

/* --- the path ------------------------------------------------------------- */

static void
says(const char *words)
{
    if (strstr(vc_error(), words) == NULL)
        fail_msg("\"%s\" is not in \"%s\"", words, vc_error());
}

static void
finds_no_way(struct scene *s)
{
    struct vc_probe_report r = VC_PROBE_REPORT_INIT;
    uint64_t begun = fake_now_us();

    assert_int_equal(vc_probe("rdma://10.9.0.77:7471", 300, &r),
                     VC_UNAVAILABLE);
    says("no host answers at 10.9.0.77:7471");
    assert_in_range(fake_now_us() - begun, 300 * MS, 310 * MS);
    assert_string_equal(r.address, "10.9.0.77:7471");
    assert_string_equal(r.device, "");
    assert_int_equal(vc_probe("rdma://192.0.2.1:7471", 300, &r),
                     VC_UNAVAILABLE);
    says("no RDMA device of this machine leads to 192.0.2.1:7471");
    fake_process_freeze(s->server.process);
    begun = fake_now_us();
    assert_int_equal(probe(s, 400, &r), VC_UNAVAILABLE);
    says("no answer within 400 ms");
    assert_in_range(fake_now_us() - begun, 400 * MS, 410 * MS);
    assert_string_equal(r.device, "rxe0");
    assert_int_equal(r.mtu, 1024);
    fake_process_thaw(s->server.process);
    assert_int_equal(probe(s, 400, &r), VC_OK);
}

static void
a_probe_that_finds_no_way_ends_in_time_and_says_where(void **state)
{
    struct scene s = {.opts = VC_CHANNEL_OPTS_INIT, .act = finds_no_way};

    (void)state;
    scene_run(&s, 1);
}

/* --- signals -------------------------------------------------------------- */

static void
is_interrupted(struct scene *s)
{
    struct vc_probe_report r;
    unsigned struck = fake_failed();

    fake_fail(fake_process_self(), "poll", 1, EINTR);
    assert_int_equal(probe(s, 2000, &r), VC_OK);
    assert_int_equal(fake_failed(), struck + 1);
    assert_int_equal(r.answer, VC_PROBE_SERVER);
}

static void
a_signal_does_not_end_a_probe(void **state)
{
    (void)state;
    scene_play(is_interrupted, NULL);
}

/* --- many at a time ---------------------------------------------------------- */

#define PROBERS 8

static void *
prober(void *arg)
{
    struct scene *s = arg;
    struct vc_probe_report r;

    for (int i = 0; i < 4; i++) {
        assert_int_equal(probe(s, 2000, &r), VC_OK);
        assert_int_equal(r.answer, VC_PROBE_SERVER);
    }
    return NULL;
}

/* Each probe has a QP number of its own, so none is refused as stale. */
static void
probes_beside_calls(struct scene *s)
{
    pthread_t threads[PROBERS];

    for (int i = 0; i < PROBERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, prober, s), 0);
    for (int i = 0; i < 16; i++)
        scene_call(s, 64, 1);
    for (int i = 0; i < PROBERS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(scene_server(s).rejects_service, 4 * PROBERS);
}

static void
many_may_probe_at_a_time(void **state)
{
    (void)state;
    scene_play(probes_beside_calls, NULL);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_call_may_fail_and_nothing_is_left),
        cmocka_unit_test(a_probe_that_finds_no_way_ends_in_time_and_says_where),
        cmocka_unit_test(a_signal_does_not_end_a_probe),
        cmocka_unit_test(many_may_probe_at_a_time),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
