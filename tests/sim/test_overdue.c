/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Long replies that wait for a client which does not run are freed at their
 * deadline, if no part of them was sent. */
#include <string.h>

#include "tests/sim/crowd.h"

#define SEEDS sim_few(8u)
#define BULK  1000000u /* needs more than a link's credits */
#define CALLS 4u

static struct crowd crowd;

static enum vc_status
handle(struct sim_server *s, struct vc_call *call,
       const Suite__EchoRequest *request, Suite__EchoReply *reply)
{
    static const uint8_t zeros[BULK];

    (void)s;
    (void)call;
    reply->tag = request->tag;
    reply->payload.len = BULK;
    reply->payload.data = (uint8_t *)zeros;
    return VC_OK;
}

static struct vc_counters
counters(void)
{
    struct vc_counters c = VC_COUNTERS_INIT;

    vc_runtime_counters(crowd.runtime, &c);
    return c;
}

static unsigned
blocks(void)
{
    struct fake_census c;

    fake_census(crowd.server.process, &c);
    return c.blocks;
}

/* No thread advances the client, and no thread waits. So the client receives
 * nothing and gives no credits. */
static void
stand_still(uint64_t seed, uint32_t timeout_ms)
{
    crowd_open(&crowd, seed, 0, NULL);
    crowd.server.handle = handle;
    crowd_serve(&crowd);
    assert_int_equal(VC_OK,
                     vc_channel_connect(crowd.channel, &suite_probe_service));
    crowd_call(&crowd, 64);
    crowd_await(&crowd, 1);
    crowd.opts.timeout_ms = timeout_ms;
    for (unsigned i = 0; i < CALLS; i++)
        crowd_call(&crowd, 64);
    fake_sleep_us(200 * MS);
}

static void
what_has_not_begun_to_go_is_given_back_at_its_deadline(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        uint64_t before;
        unsigned kept, late;

        stand_still(seed, 500);
        kept = blocks();
        fake_sleep_us(2 * S); /* past the deadline, and idle for a while */
        assert_int_equal(kept - (CALLS - 1), blocks());
        before = counters().bytes_received;
        crowd_await(&crowd, 1 + CALLS);
        late = crowd_count(&crowd, VC_DEADLINE_EXCEEDED);
        /* The rest of the reply that was partly sent may arrive before the
         * client checks the deadline. */
        assert_in_range(late, CALLS - 1, CALLS);
        crowd.opts.timeout_ms = 0;
        crowd_call(&crowd, 64);
        crowd_await(&crowd, 2 + CALLS);
        assert_int_equal(2 + CALLS - late, crowd_count(&crowd, VC_OK));
        /* The reply that was partly sent, and the last one. */
        assert_in_range(counters().bytes_received - before, BULK,
                        2 * BULK + BULK / 2);
        crowd_close(&crowd);
    }
}

static void
without_a_deadline_all_go_when_the_client_goes_on(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        stand_still(seed, VC_NO_DEADLINE);
        fake_sleep_us(S);
        crowd_await(&crowd, 1 + CALLS);
        assert_int_equal(1 + CALLS, crowd_count(&crowd, VC_OK));
        crowd_close(&crowd);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            what_has_not_begun_to_go_is_given_back_at_its_deadline),
        cmocka_unit_test(without_a_deadline_all_go_when_the_client_goes_on),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
