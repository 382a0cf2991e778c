/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * What a device gives back when a peer is refused for want of memory. */
#include <errno.h>
#include <rdma/rdma_cma.h>

#include "tests/sim/sim.h"
#include "transport/rdma/device.h"

#define SEEDS    4u
#define MEMORY   ((size_t)1 << 20)
#define RECEIVES 28u /* of a peer */

struct rig {
    struct vc__engine engine;
    struct ibv_context **verbs;
    struct vc__device *device;
};

static void
rig_begin(struct rig *r, uint64_t seed)
{
    sim_begin(seed, 0, true);
    r->verbs = rdma_get_devices(NULL);
    assert_non_null(r->verbs);
    assert_int_equal(vc__engine_init(&r->engine, 0), 0);
    assert_int_equal(
        vc__device_new(&r->engine, r->verbs[0], MEMORY, 4, &r->device), VC_OK);
}

static void
rig_end(struct rig *r)
{
    vc__device_free(r->device);
    vc__engine_fini(&r->engine);
    rdma_free_devices(r->verbs);
    assert_int_equal(fake_end(), 0);
}

static void
peer_is_refused(struct vc__device *d)
{
    unsigned granted = d->granted, posted = d->posted;

    assert_int_equal(vc__device_grant(d, RECEIVES), VC_RESOURCE_EXHAUSTED);
    assert_int_equal(d->granted, granted);
    assert_int_equal(d->posted, posted);
}

/* More often than a completion queue has entries. */
static void
a_peer_refused_for_want_of_memory_keeps_no_room_for_completions(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct rig r;
        unsigned n = 0;

        rig_begin(&r, seed);
        while (vc__device_grant(r.device, RECEIVES) == VC_OK)
            n++;
        for (int i = 0; i < r.device->attr.max_cqe; i++)
            peer_is_refused(r.device);
        assert_int_equal(r.device->cq_need, r.device->posted);
        /* What is posted already is for the next. */
        vc__device_ungrant(r.device, RECEIVES);
        assert_int_equal(vc__device_grant(r.device, RECEIVES), VC_OK);
        vc__device_ungrant(r.device, n * RECEIVES);
        rig_end(&r);
    }
}

static void
memory_that_cannot_be_registered_leaves_no_trace(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct rig r;

        rig_begin(&r, seed);
        fake_fail(NULL, "ibv_reg_mr", 1, ENOMEM);
        peer_is_refused(r.device);
        assert_int_equal(fake_failed(), 1);
        assert_int_equal(r.device->cq_need, 0);
        for (unsigned nth = 1; nth <= 2; nth++) { /* the slab, its pages */
            fake_fail_memory(NULL, nth);
            peer_is_refused(r.device);
            assert_int_equal(fake_failed(), 1 + nth);
            assert_int_equal(r.device->cq_need, 0);
        }
        assert_int_equal(vc__device_grant(r.device, RECEIVES), VC_OK);
        assert_int_equal(r.device->cq_need, r.device->posted);
        vc__device_ungrant(r.device, RECEIVES);
        rig_end(&r);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            a_peer_refused_for_want_of_memory_keeps_no_room_for_completions),
        cmocka_unit_test(memory_that_cannot_be_registered_leaves_no_trace),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
