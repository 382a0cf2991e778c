/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See tests/suite/raw_group.h. */
#include "tests/suite/raw_group.h"

#include <arpa/inet.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cm/connect/cm.h"
#include "cm/connect/target.h"
#include "rpc/runtime.h"
#include "tests/suite/features.vc.h"

#define TELL 3u /* of features.Work */

static void
raw_group_on_lost(struct vc__listener *l, const struct vc__error *why)
{
    (void)l;
    fail_msg("%s", why->text);
}

void
raw_group_open(struct raw_group *g, struct vc_runtime *runtime,
               const char *address, uint16_t port)
{
    struct vc__ear_opts opts = {.publishes = true};
    struct sockaddr_storage addr;

    *g = (struct raw_group){.port = port};
    assert_status(VC_OK,
                  vc__address_parse(&opts.source, getenv("VC_TEST_ADDR")));
    memset(g->publisher, 0x5a, sizeof g->publisher);
    g->progress = &runtime->progress[0];
    g->transport = vc__transport_find("rdma+mc", 7);
    g->listener.lost = raw_group_on_lost;
    assert_status(VC_OK, vc__address_parse(&addr, address));
    vc__addr_port_set(&addr, port);
    assert_status(VC_OK, vc__listener_open(&g->listener, &g->progress->cm,
                                           g->transport,
                                           (struct sockaddr *)&addr, &opts));
}

struct raw_leave {
    struct vc__task task;
    struct vc__waiter waiter;
    struct raw_group *g;
};

static void
raw_leave_run(struct vc__task *task)
{
    struct raw_leave *l = caa_container_of(task, struct raw_leave, task);

    vc__listener_close(&l->g->listener);
    vc__waiter_done(&l->waiter);
}

void
raw_group_close(struct raw_group *g)
{
    struct raw_leave l = {.task.run = raw_leave_run, .g = g};

    vc__waiter_init(&l.waiter);
    vc__engine_post(&g->progress->engine, &l.task);
    vc__engine_wait(&g->progress->engine, &l.waiter, VC__FOREVER);
}

void
raw_group_send(struct raw_group *g, const void *bytes, size_t len)
{
    struct vc__ear *ear = g->listener.ear;
    uint8_t *out;

    assert_true(len <= g->transport->datagram_max(ear));
    while ((out = g->transport->datagram_reserve(ear)) == NULL)
        sched_yield();
    memcpy(out, bytes, len);
    assert_int_equal(0, g->transport->datagram_commit(ear, (uint32_t)len));
}

size_t
raw_group_datagram(const struct raw_group *g, uint64_t sequence,
                   const struct vc_service *service, unsigned method,
                   uint64_t tag, uint8_t out[RAW_GROUP_ROOM])
{
    Features__Order order = FEATURES__ORDER__INIT;
    struct vc__multicast m = {
        .port = g->port,
        .sequence = sequence,
        .service = service->id,
        .method = service->methods[method].hash,
    };

    order.tag = tag;
    memcpy(m.publisher, g->publisher, sizeof m.publisher);
    m.body_len = (uint32_t)protobuf_c_message_get_packed_size(&order.base);
    vc__multicast_put(out, &m);
    protobuf_c_message_pack(&order.base, out + VC__MULTICAST_HEADER);
    return VC__MULTICAST_HEADER + m.body_len;
}

void
raw_group_tell(struct raw_group *g, uint64_t sequence)
{
    uint8_t out[RAW_GROUP_ROOM];
    size_t len = raw_group_datagram(g, sequence, &features_work_service, TELL,
                                    sequence, out);

    raw_group_send(g, out, len);
}
