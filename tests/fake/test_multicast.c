/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Multicast of the simulated rdma_cm and adapter: joining and leaving, who gets
 * what is sent to a group, and limits. A member is an id with a QP. */
#include <arpa/inet.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "fake/fake.h"
#include "tests/fake/scenarios.h"

#define GRH       40u
#define GROUP_QPN 0xffffffu
#define QKEY      0x1234567u

static const struct wish datagrams = {.datagrams = true};

/* --- members ----------------------------------------------------------- */

static struct sockaddr_in
address(const char *text)
{
    struct sockaddr_in addr = {.sin_family = AF_INET};

    assert_int_equal(inet_pton(AF_INET, text, &addr.sin_addr), 1);
    return addr;
}

/* Makes an id that is bound to the device at this address. */
static void
member_open(struct pair *p, struct end *e, const char *device, bool qp)
{
    struct sockaddr_in own = address(device);

    memset(e, 0, sizeof *e);
    assert_int_equal(rdma_create_id(p->channel, &e->id, NULL, RDMA_PS_UDP), 0);
    assert_int_equal(rdma_bind_addr(e->id, (struct sockaddr *)&own), 0);
    if (qp) {
        assert_true(end_make(p, e));
        assert_int_equal(end_receive(e, BUFFER), 0);
    }
}

static int
join(struct end *e, const char *group, void *context)
{
    struct sockaddr_in addr = address(group);

    return rdma_join_multicast(e->id, (struct sockaddr *)&addr, context);
}

static int
leave(struct end *e, const char *group)
{
    struct sockaddr_in addr = address(group);

    return rdma_leave_multicast(e->id, (struct sockaddr *)&addr);
}

/* A member of 239.1.2.3, which end_send() sends to. */
static void
member_make(struct pair *p, struct end *e, const char *device)
{
    member_open(p, e, device, true);
    assert_int_equal(join(e, "239.1.2.3", e), 0);
    assert_true(event_expect(p, RDMA_CM_EVENT_MULTICAST_JOIN));
    e->ah = ibv_create_ah(e->pd, &p->last.param.ud.ah_attr);
    assert_non_null(e->ah);
    e->qpn = p->last.param.ud.qp_num;
    e->qkey = p->last.param.ud.qkey;
}

static void
member_close(struct end *e)
{
    if (e->id->qp != NULL)
        leave(e, "239.1.2.3");
    end_free(e);
}

static void
world(struct pair *p, int profile)
{
    fake_begin(&(struct fake_opts){
        .seed = 1, .profile = (enum fake_profile)profile, .trace = true});
    setenv("VC_TEST_ADDR", "10.9.0.1", 1);
    pair_open(p, &datagrams);
}

static void
done(struct pair *p)
{
    pair_close(p);
    assert_int_equal(fake_end(), 0);
}

/* True if the member receives so many bytes within a few milliseconds. */
static bool
receives(struct end *e, uint32_t length)
{
    struct ibv_wc wc;

    return end_complete(e, &wc, 5) == IBV_WC_SUCCESS &&
           wc.byte_len == GRH + length && wc.wc_flags == IBV_WC_GRH &&
           end_receive(e, BUFFER) == 0;
}

static bool
sends(struct end *e, uint32_t length)
{
    return end_send(e, length, 0) == 0;
}

/* --- joining ----------------------------------------------------------- */

static void
the_event_has_the_address_and_the_context(void **state)
{
    static const uint8_t gid[16] = {[10] = 255, 255, 239, 1, 2, 3};
    struct rdma_ud_param *ud;
    struct end e;
    struct pair p;

    (void)state;
    world(&p, FAKE_RXE);
    member_make(&p, &e, "10.9.0.1");
    ud = &p.last.param.ud;
    assert_ptr_equal(p.last.id, e.id);
    assert_int_equal(p.last.status, 0);
    assert_ptr_equal(ud->private_data, &e);
    assert_int_equal(ud->private_data_len, 0);
    assert_int_equal(ud->qp_num, GROUP_QPN);
    assert_int_equal(ud->qkey, QKEY);
    assert_int_equal(ud->ah_attr.is_global, 1);
    assert_memory_equal(&ud->ah_attr.grh.dgid, gid, sizeof gid);
    member_close(&e);
    done(&p);
}

/* An id that has no device, or listens, joins nothing. */
static void
only_a_bound_datagram_id_joins(void **state)
{
    struct sockaddr_in own = address("10.9.0.1");
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_addr = {{{255}}}};
    struct end e = {0};
    struct pair p;

    (void)state;
    world(&p, FAKE_RXE);
    rdma_create_id(p.channel, &e.id, NULL, RDMA_PS_UDP);
    assert_int_equal(join(&e, "239.1.2.3", NULL), -1);
    assert_int_equal(errno, EINVAL);
    rdma_destroy_id(e.id);
    rdma_create_id(p.channel, &e.id, NULL, RDMA_PS_TCP);
    assert_int_equal(rdma_bind_addr(e.id, (struct sockaddr *)&own), 0);
    assert_int_equal(join(&e, "239.1.2.3", NULL), -1);
    assert_int_equal(errno, EINVAL);
    rdma_destroy_id(e.id);
    e.id = p.listener;
    assert_int_equal(join(&e, "239.1.2.3", NULL), -1);
    assert_int_equal(errno, EINVAL);

    member_open(&p, &e, "10.9.0.1", false);
    assert_int_equal(join(&e, "0.0.0.0", NULL), -1);
    assert_int_equal(errno, EINVAL);
    assert_int_equal(rdma_join_multicast(e.id, (struct sockaddr *)&v6, NULL),
                     -1);
    assert_int_equal(errno, 524);
    assert_false(event_next(&p, 100));
    member_close(&e);
    done(&p);
}

static void
an_address_that_is_no_group_gives_an_error_event(void **state)
{
    struct end e;
    struct pair p;

    (void)state;
    world(&p, FAKE_RXE);
    member_open(&p, &e, "10.9.0.1", true);
    assert_int_equal(join(&e, "10.9.0.5", &p), 0);
    assert_true(event_expect(&p, RDMA_CM_EVENT_MULTICAST_ERROR));
    assert_int_equal(p.last.status, -1);
    assert_ptr_equal(p.last.param.ud.private_data, &p);
    assert_int_equal(leave(&e, "10.9.0.5"), 0);
    member_close(&e);
    done(&p);
}

static void
a_device_without_multicast_gives_an_error_event(void **state)
{
    const union ibv_gid gid = {.raw = {255, 14}};
    struct ibv_device_attr device;
    struct end e;
    struct pair p;

    (void)state;
    world(&p, FAKE_RXE);
    fake_device_multicast(fake_host_local(), 0, 0);
    member_open(&p, &e, "10.9.0.1", true);
    assert_int_equal(ibv_query_device(e.id->verbs, &device), 0);
    assert_int_equal(device.max_mcast_grp, 0);
    assert_int_equal(ibv_attach_mcast(e.id->qp, &gid, 0), EOPNOTSUPP);
    assert_int_equal(join(&e, "239.1.2.3", NULL), 0);
    assert_true(event_expect(&p, RDMA_CM_EVENT_MULTICAST_ERROR));
    assert_int_equal(p.last.status, -1);
    member_close(&e);
    done(&p);
}

static void
groups_and_their_qps_have_limits(void **state)
{
    struct end e[3];
    struct pair p;

    (void)state;
    world(&p, FAKE_RXE);
    fake_device_multicast(fake_host_local(), 1, 2);
    for (int i = 0; i < 3; i++)
        member_open(&p, &e[i], "10.9.0.1", true);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(join(&e[i], "239.1.2.3", NULL), 0);
        assert_true(event_expect(&p, i < 2 ? RDMA_CM_EVENT_MULTICAST_JOIN
                                           : RDMA_CM_EVENT_MULTICAST_ERROR));
    }
    assert_int_equal(join(&e[0], "239.1.2.4", NULL), 0);
    assert_true(event_expect(&p, RDMA_CM_EVENT_MULTICAST_ERROR));
    for (int i = 0; i < 3; i++)
        member_close(&e[i]);
    done(&p);
}

static void
an_error_event_comes_when_a_test_says_so(void **state)
{
    struct end e;
    struct pair p;

    (void)state;
    world(&p, FAKE_RXE);
    member_make(&p, &e, "10.9.0.1");
    fake_cm_event(fake_process_self(), RDMA_CM_EVENT_MULTICAST_ERROR, -19);
    assert_true(event_expect(&p, RDMA_CM_EVENT_MULTICAST_ERROR));
    assert_int_equal(p.last.status, -19);
    assert_ptr_equal(p.last.param.ud.private_data, &e);
    assert_false(event_next(&p, 100));
    member_close(&e);
    done(&p);
}

static void
flags_of_a_join_are_checked(void **state)
{
    struct sockaddr_in group = address("239.1.2.3");
    struct rdma_cm_join_mc_attr_ex attr = {
        .comp_mask =
            RDMA_CM_JOIN_MC_ATTR_ADDRESS | RDMA_CM_JOIN_MC_ATTR_JOIN_FLAGS,
        .join_flags = RDMA_MC_JOIN_FLAG_RESERVED,
        .addr = (struct sockaddr *)&group};
    struct end e;
    struct pair p;

    (void)state;
    world(&p, FAKE_RXE);
    member_open(&p, &e, "10.9.0.1", true);
    assert_int_equal(rdma_join_multicast_ex(e.id, &attr, NULL), -1);
    assert_int_equal(errno, EINVAL);
    attr.comp_mask = 8;
    assert_int_equal(rdma_join_multicast_ex(e.id, &attr, NULL), -1);
    assert_int_equal(errno, ENOTSUP);
    attr.comp_mask = RDMA_CM_JOIN_MC_ATTR_ADDRESS;
    assert_int_equal(rdma_join_multicast_ex(e.id, &attr, NULL), -1);
    assert_int_equal(errno, EINVAL);

    /* One that only sends is not attached: it hears nothing. */
    attr.comp_mask |= RDMA_CM_JOIN_MC_ATTR_JOIN_FLAGS;
    attr.join_flags = RDMA_MC_JOIN_FLAG_SENDONLY_FULLMEMBER;
    assert_int_equal(rdma_join_multicast_ex(e.id, &attr, NULL), 0);
    assert_true(event_expect(&p, RDMA_CM_EVENT_MULTICAST_JOIN));
    e.ah = ibv_create_ah(e.pd, &p.last.param.ud.ah_attr);
    e.qpn = GROUP_QPN;
    e.qkey = QKEY;
    assert_true(sends(&e, 8));
    assert_false(receives(&e, 8));
    member_close(&e);
    done(&p);
}

/* --- delivery ---------------------------------------------------------- */

static void
each_member_gets_it_and_the_sender_too(void **state)
{
    (void)state;
    for (int profile = 0; profile < 2; profile++) {
        struct end e[3];
        struct pair p;

        world(&p, profile);
        fake_device_new(fake_host_local(), "10.9.0.2");
        member_make(&p, &e[0], "10.9.0.1");
        member_make(&p, &e[1], "10.9.0.1");
        member_make(&p, &e[2], "10.9.0.2");
        assert_true(sends(&e[0], 20));
        for (int i = 0; i < 3; i++)
            assert_true(receives(&e[i], 20));
        e[0].qkey++; /* not theirs */
        assert_true(sends(&e[0], 20));
        for (int i = 0; i < 3; i++)
            assert_false(receives(&e[i], 20));
        for (int i = 0; i < 3; i++)
            member_close(&e[i]);
        done(&p);
    }
}

static void
who_has_not_joined_sends_and_gets_nothing(void **state)
{
    union ibv_gid gid;
    struct end in, out;
    struct pair p;

    (void)state;
    world(&p, FAKE_RXE);
    member_make(&p, &in, "10.9.0.1");
    member_open(&p, &out, "10.9.0.1", true);
    gid = p.last.param.ud.ah_attr.grh.dgid;
    out.ah = ibv_create_ah(out.pd, &p.last.param.ud.ah_attr);
    out.qpn = GROUP_QPN;
    out.qkey = QKEY;
    assert_true(sends(&out, 7));
    assert_true(receives(&in, 7));
    assert_false(receives(&out, 7));
    member_close(&in);
    assert_int_equal(ibv_attach_mcast(out.id->qp, &gid, 0), 0);
    assert_true(sends(&out, 7)); /* no id has joined: it hears nothing */
    assert_string_equal(complete_text(&out, 5), "none");
    assert_int_equal(ibv_detach_mcast(out.id->qp, &gid, 0), 0);
    member_close(&out);
    done(&p);
}

/* The address of the group is none of the receiver's: libibverbs fails. */
static void
a_datagram_to_a_group_leads_to_no_sender(void **state)
{
    struct ibv_wc wc;
    struct end e;
    struct pair p;

    (void)state;
    world(&p, FAKE_RXE);
    member_make(&p, &e, "10.9.0.1");
    assert_true(sends(&e, 20));
    assert_int_equal(end_complete(&e, &wc, 5), IBV_WC_SUCCESS);
    assert_int_equal(wc.src_qp, e.id->qp->qp_num);
    assert_null(ibv_create_ah_from_wc(
        e.pd, &wc, (struct ibv_grh *)(e.memory + BUFFER), 1));
    assert_memory_equal(e.memory + BUFFER + 36, "\xef\x01\x02\x03", 4);
    member_close(&e);
    done(&p);
}

static void
a_path_may_lose_it_for_one_member(void **state)
{
    struct fake_host *second;
    struct end here, there;
    struct pair p;

    (void)state;
    world(&p, FAKE_RXE);
    second = fake_device_new(fake_host_local(), "10.9.0.2");
    member_make(&p, &here, "10.9.0.1");
    member_make(&p, &there, "10.9.0.2");
    fake_path_noise(fake_host_local(), second,
                    &(struct fake_noise){.lost = 1000000});
    assert_true(sends(&here, 20));
    assert_true(receives(&here, 20));
    assert_false(receives(&there, 20));
    fake_path_noise(fake_host_local(), second, NULL);
    fake_wire_cut(fake_host_local(), second, true);
    assert_true(sends(&there, 20));
    assert_false(receives(&here, 20));
    assert_true(receives(&there, 20));
    member_close(&here);
    member_close(&there);
    done(&p);
}

static void
rules_know_the_group(void **state)
{
    struct end e;
    struct pair p;

    (void)state;
    world(&p, FAKE_RXE);
    member_make(&p, &e, "10.9.0.1");
    fake_rule("SEND 20 B -> group 239.1.2.3", 1, FAKE_LOSE, 0);
    assert_true(sends(&e, 20));
    assert_false(receives(&e, 20));
    assert_true(sends(&e, 20));
    assert_true(receives(&e, 20));
    member_close(&e);
    done(&p);
}

/* --- leaving ----------------------------------------------------------- */

static void
who_has_left_gets_nothing(void **state)
{
    struct end stays, leaves;
    struct pair p;

    (void)state;
    world(&p, FAKE_RXE);
    member_make(&p, &stays, "10.9.0.1");
    member_make(&p, &leaves, "10.9.0.1");
    assert_int_equal(leave(&leaves, "239.1.2.3"), 0);
    assert_true(sends(&stays, 20));
    assert_true(receives(&stays, 20));
    assert_false(receives(&leaves, 20));
    assert_int_equal(leave(&leaves, "239.1.2.3"), -1);
    assert_int_equal(errno, EADDRNOTAVAIL);
    assert_false(event_next(&p, 100)); /* no event says it */
    member_close(&stays);
    member_close(&leaves);
    done(&p);
}

static void
leaving_at_once_leaves_no_event(void **state)
{
    struct end e;
    struct pair p;

    (void)state;
    world(&p, FAKE_RXE);
    member_open(&p, &e, "10.9.0.1", true);
    assert_int_equal(join(&e, "239.1.2.3", NULL), 0);
    assert_int_equal(leave(&e, "239.1.2.3"), 0); /* the kernel has none yet */
    assert_int_equal(join(&e, "239.1.2.3", NULL), 0);
    fake_sleep_us(1000);
    assert_int_equal(leave(&e, "239.1.2.3"), 0); /* it is not read */
    assert_false(event_next(&p, 100));
    member_close(&e);
    done(&p);
}

/* The kernel refuses with EBUSY, and rdma_destroy_qp() does not say it. */
static void
an_attached_qp_is_not_destroyed(void **state)
{
    struct ibv_qp *qp;
    struct end e;
    struct pair p;

    (void)state;
    world(&p, FAKE_RXE);
    member_make(&p, &e, "10.9.0.1");
    qp = e.id->qp;
    assert_int_equal(ibv_destroy_qp(qp), EBUSY);
    rdma_destroy_qp(e.id);
    assert_int_equal(ibv_destroy_qp(qp), EBUSY);
    assert_int_equal(ibv_detach_mcast(qp, &p.last.param.ud.ah_attr.grh.dgid, 0),
                     0);
    assert_int_equal(ibv_detach_mcast(qp, &p.last.param.ud.ah_attr.grh.dgid, 0),
                     EINVAL);
    assert_int_equal(ibv_destroy_qp(qp), 0);
    member_close(&e);
    done(&p);
}

/* As mckey does: the group is the destination. */
static void
a_group_resolves_from_a_known_device(void **state)
{
    struct sockaddr_in group = address("239.1.2.3"), own = address("10.9.0.1");
    struct end e = {0};
    struct pair p;

    (void)state;
    world(&p, FAKE_RXE);
    rdma_create_id(p.channel, &e.id, NULL, RDMA_PS_UDP);
    assert_int_equal(
        rdma_resolve_addr(e.id, NULL, (struct sockaddr *)&group, 1000), -1);
    assert_int_equal(errno, ENETUNREACH);
    assert_int_equal(rdma_resolve_addr(e.id, (struct sockaddr *)&own,
                                       (struct sockaddr *)&group, 1000),
                     0);
    assert_true(event_expect(&p, RDMA_CM_EVENT_ADDR_RESOLVED));
    assert_int_equal(join(&e, "239.1.2.3", NULL), 0);
    assert_true(event_expect(&p, RDMA_CM_EVENT_MULTICAST_JOIN));
    assert_int_equal(rdma_resolve_route(e.id, 1000), 0);
    assert_true(event_expect(&p, RDMA_CM_EVENT_ROUTE_RESOLVED));
    assert_int_equal(join(&e, "239.1.2.4", NULL), -1);
    member_close(&e);
    done(&p);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_event_has_the_address_and_the_context),
        cmocka_unit_test(only_a_bound_datagram_id_joins),
        cmocka_unit_test(an_address_that_is_no_group_gives_an_error_event),
        cmocka_unit_test(a_device_without_multicast_gives_an_error_event),
        cmocka_unit_test(groups_and_their_qps_have_limits),
        cmocka_unit_test(an_error_event_comes_when_a_test_says_so),
        cmocka_unit_test(flags_of_a_join_are_checked),
        cmocka_unit_test(each_member_gets_it_and_the_sender_too),
        cmocka_unit_test(who_has_not_joined_sends_and_gets_nothing),
        cmocka_unit_test(a_datagram_to_a_group_leads_to_no_sender),
        cmocka_unit_test(a_path_may_lose_it_for_one_member),
        cmocka_unit_test(rules_know_the_group),
        cmocka_unit_test(who_has_left_gets_nothing),
        cmocka_unit_test(leaving_at_once_leaves_no_event),
        cmocka_unit_test(an_attached_qp_is_not_destroyed),
        cmocka_unit_test(a_group_resolves_from_a_known_device),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
