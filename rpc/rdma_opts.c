/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See rpc/rdma_opts.h. */
#include "rpc/rdma_opts.h"

#include "rpc/options.h"

#define IN(name, otherwise, min, max)                                          \
    VC__OPTION_IN(vc_rdma_opts, name, otherwise, min, max)
#define OR_NONE(name, otherwise, min, max)                                     \
    VC__OPTION_OR(vc_rdma_opts, name, otherwise, min, max, VC_RDMA_NONE)

static const struct vc__option numbers[] = {
    OR_NONE(responder_resources, VC__WIRE_READS, 1, UINT8_MAX),
    OR_NONE(initiator_depth, VC__WIRE_READS, 1, UINT8_MAX),
    IN(flow_control, 0, 1, 1),
    OR_NONE(retry_count, VC__WIRE_RETRIES, 1, 6),
    OR_NONE(rnr_retry_count, VC__WIRE_RETRIES, 1, 6),
    IN(ack_timeout, VC__WIRE_ACK_TIMEOUT, 1, 31),
    IN(min_rnr_timer, VC__WIRE_RNR_TIMER, 1, 31),
    IN(tos, 0, 1, UINT8_MAX),
};

static const struct vc__options rdma_opts =
    VC__OPTIONS(vc_rdma_opts, "VC_RDMA_OPTS_INIT or VC_RDMA_OPTS()", numbers);

/* For vc__rdma_opts_take(): the option as a byte; 0 for VC_RDMA_NONE. */
static uint8_t
or_none(uint32_t value)
{
    return value == VC_RDMA_NONE ? 0 : (uint8_t)value;
}

enum vc_status
vc__rdma_opts_take(struct vc__wire_opts *out, const struct vc_rdma_opts *opts)
{
    struct vc_rdma_opts own;
    enum vc_status status = vc__options_take(&own, &rdma_opts, opts);

    if (status != VC_OK)
        return status;
    *out = (struct vc__wire_opts){
        .reads_in = or_none(own.responder_resources),
        .reads_out = or_none(own.initiator_depth),
        .flow_control = own.flow_control != 0,
        .retries = or_none(own.retry_count),
        .rnr_retries = or_none(own.rnr_retry_count),
        .ack_timeout = (uint8_t)own.ack_timeout,
        .rnr_timer = (uint8_t)own.min_rnr_timer,
        .tos = (uint8_t)own.tos,
    };
    return VC_OK;
}
