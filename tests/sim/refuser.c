/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See tests/sim/refuser.h. */
#include "tests/sim/refuser.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <rdma/rdma_cma.h>

#define PATIENCE UINT64_C(10000000) /* us */
#define LOOK_US  1000u
#define BACKLOG  16

/* Accepts without a QP, so the connection leads nowhere. */
static void
accept_badly(struct rdma_cm_id *id)
{
    struct rdma_conn_param param = {
        .private_data = "hello yourself", .private_data_len = 15, .qp_num = 99};

    assert_int_equal(0, rdma_accept(id, &param));
}

static void
refuse(struct refuser *r, struct rdma_cm_id *id)
{
    const struct vc__reject reject = {.version_min = VC__VERSION_MIN,
                                      .version_max = VC__VERSION_MAX,
                                      .reason = (uint8_t)r->reason,
                                      .retry_ms = r->retry_ms,
                                      .text = "because"};
    uint8_t bytes[VC__REJECT_SIZE] = "who are you?";

    if (r->reason != 0)
        vc__reject_put(bytes, &reject);
    if (r->accepts)
        accept_badly(id);
    else
        assert_int_equal(0, rdma_reject(id, bytes, sizeof bytes));
    atomic_fetch_add(&r->refused, 1);
    fake_sleep_us(LOOK_US);
    rdma_destroy_id(id);
}

static void
serve(struct refuser *r, struct rdma_event_channel *channel)
{
    struct rdma_cm_event *ev;

    while (atomic_load(&r->stop) == 0) {
        if (rdma_get_cm_event(channel, &ev) == 0) {
            struct rdma_cm_id *id =
                ev->event == RDMA_CM_EVENT_CONNECT_REQUEST ? ev->id : NULL;

            rdma_ack_cm_event(ev);
            if (id != NULL)
                refuse(r, id);
        } else {
            fake_sleep_us(LOOK_US);
        }
    }
}

static void
refuser_main(void *arg)
{
    struct refuser *r = arg;
    struct sockaddr_in any = {.sin_family = AF_INET,
                              .sin_port = htons(SIM_PORT)};
    struct rdma_event_channel *channel = rdma_create_event_channel();
    struct rdma_cm_id *id;

    assert_int_equal(0, fcntl(channel->fd, F_SETFL, O_NONBLOCK));
    assert_int_equal(0, rdma_create_id(channel, &id, NULL, RDMA_PS_TCP));
    assert_int_equal(0, rdma_bind_addr(id, (struct sockaddr *)&any));
    assert_int_equal(0, rdma_listen(id, BACKLOG));
    sim_tell(&r->listens);
    serve(r, channel);
    rdma_destroy_id(id);
    rdma_destroy_event_channel(channel);
}

void
refuser_start(struct refuser *r, struct fake_host *host)
{
    r->process = fake_process_start(host, "refuser", refuser_main, r);
    assert_true(sim_await(&r->listens, PATIENCE));
}

void
refuser_stop(struct refuser *r)
{
    atomic_store(&r->stop, 1);
    assert_true(fake_process_wait(r->process, PATIENCE));
}
