/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Protection domains, and text names of values. Static functions run on the
 * thread of their caller: one thread of the world runs at a time (world.h). */
#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#include "fake/verbs.h"

/* --- protection domains ------------------------------------------------ */

struct ibv_pd *
ibv_alloc_pd(struct ibv_context *context)
{
    FAKE_CALL("ibv_alloc_pd");
    struct fake__context *c = fake__context_of(context);
    int err = call.err != 0 ? call.err : fake__context_err(c);
    struct fake__pd_handle *h;

    if (err != 0) {
        errno = err;
        return NULL;
    }
    h = fake__handle_new(sizeof *h);
    h->pd = fake__alloc(sizeof *h->pd);
    h->pub.context = context;
    fake__object_init(&h->pd->obj, FAKE__PD, c, h);
    return &h->pub;
}

int
ibv_dealloc_pd(struct ibv_pd *pd)
{
    FAKE_CALL_SAFE("ibv_dealloc_pd");
    struct fake__object *o = &fake__pd_of(pd)->obj;

    if (o->users > 0)
        return EBUSY;
    fake__object_free(o);
    return 0;
}

/* --- partition keys ----------------------------------------------------- */

int
ibv_query_pkey(struct ibv_context *context, uint8_t port_num, int index,
               __be16 *pkey)
{
    FAKE_CALL("ibv_query_pkey");

    (void)context;
    if (call.err != 0 || port_num != 1 || index != 0) {
        errno = call.err != 0 ? call.err : EINVAL;
        return -1;
    }
    *pkey = htons(0xffff);
    return 0;
}

/* --- fork -------------------------------------------------------------- */

int
ibv_fork_init(void)
{
    FAKE_CALL("ibv_fork_init");

    return call.err;
}

enum ibv_fork_status
ibv_is_fork_initialized(void)
{
    return IBV_FORK_UNNEEDED;
}

/* --- names ------------------------------------------------------------- */

static const char *const statuses[] = {
    [IBV_WC_SUCCESS] = "success",
    [IBV_WC_LOC_LEN_ERR] = "local length error",
    [IBV_WC_LOC_QP_OP_ERR] = "local QP operation error",
    [IBV_WC_LOC_EEC_OP_ERR] = "local EE context operation error",
    [IBV_WC_LOC_PROT_ERR] = "local protection error",
    [IBV_WC_WR_FLUSH_ERR] = "Work Request Flushed Error",
    [IBV_WC_MW_BIND_ERR] = "memory management operation error",
    [IBV_WC_BAD_RESP_ERR] = "bad response error",
    [IBV_WC_LOC_ACCESS_ERR] = "local access error",
    [IBV_WC_REM_INV_REQ_ERR] = "remote invalid request error",
    [IBV_WC_REM_ACCESS_ERR] = "remote access error",
    [IBV_WC_REM_OP_ERR] = "remote operation error",
    [IBV_WC_RETRY_EXC_ERR] = "transport retry counter exceeded",
    [IBV_WC_RNR_RETRY_EXC_ERR] = "RNR retry counter exceeded",
    [IBV_WC_LOC_RDD_VIOL_ERR] = "local RDD violation error",
    [IBV_WC_REM_INV_RD_REQ_ERR] = "remote invalid RD request",
    [IBV_WC_REM_ABORT_ERR] = "aborted error",
    [IBV_WC_INV_EECN_ERR] = "invalid EE context number",
    [IBV_WC_INV_EEC_STATE_ERR] = "invalid EE context state",
    [IBV_WC_FATAL_ERR] = "fatal error",
    [IBV_WC_RESP_TIMEOUT_ERR] = "response timeout error",
    [IBV_WC_GENERAL_ERR] = "general error",
    [IBV_WC_TM_ERR] = "TM error",
    [IBV_WC_TM_RNDV_INCOMPLETE] = "TM software rendezvous",
};

static const char *const events[] = {
    [IBV_EVENT_CQ_ERR] = "CQ error",
    [IBV_EVENT_QP_FATAL] = "local work queue catastrophic error",
    [IBV_EVENT_QP_REQ_ERR] = "invalid request local work queue error",
    [IBV_EVENT_QP_ACCESS_ERR] = "local access violation work queue error",
    [IBV_EVENT_COMM_EST] = "communication established",
    [IBV_EVENT_SQ_DRAINED] = "send queue drained",
    [IBV_EVENT_PATH_MIG] = "path migrated",
    [IBV_EVENT_PATH_MIG_ERR] = "path migration request error",
    [IBV_EVENT_DEVICE_FATAL] = "local catastrophic error",
    [IBV_EVENT_PORT_ACTIVE] = "port active",
    [IBV_EVENT_PORT_ERR] = "port error",
    [IBV_EVENT_LID_CHANGE] = "LID change",
    [IBV_EVENT_PKEY_CHANGE] = "P_Key change",
    [IBV_EVENT_SM_CHANGE] = "SM change",
    [IBV_EVENT_SRQ_ERR] = "SRQ catastrophic error",
    [IBV_EVENT_SRQ_LIMIT_REACHED] = "SRQ limit reached",
    [IBV_EVENT_QP_LAST_WQE_REACHED] = "last WQE reached",
    [IBV_EVENT_CLIENT_REREGISTER] = "client reregistration",
    [IBV_EVENT_GID_CHANGE] = "GID table change",
    [IBV_EVENT_WQ_FATAL] = "WQ fatal",
};

static const char *const node_types[] = {
    [IBV_NODE_CA] = "InfiniBand channel adapter",
    [IBV_NODE_SWITCH] = "InfiniBand switch",
    [IBV_NODE_ROUTER] = "InfiniBand router",
    [IBV_NODE_RNIC] = "iWARP NIC",
    [IBV_NODE_USNIC] = "usNIC",
    [IBV_NODE_USNIC_UDP] = "usNIC UDP",
    [IBV_NODE_UNSPECIFIED] = "unspecified",
};

static const char *const port_states[] = {
    [IBV_PORT_NOP] = "no state change (NOP)",
    [IBV_PORT_DOWN] = "down",
    [IBV_PORT_INIT] = "init",
    [IBV_PORT_ARMED] = "armed",
    [IBV_PORT_ACTIVE] = "active",
    [IBV_PORT_ACTIVE_DEFER] = "active defer",
};

#define NAME(table, i)                                                         \
    name_of(table, sizeof(table) / sizeof(table)[0], (unsigned)(i))

/* For NAME(): the text of value i of an enum; "unknown" if the table has
 * none. */
static const char *
name_of(const char *const *table, size_t n, unsigned i)
{
    return i < n && table[i] != NULL ? table[i] : "unknown";
}

/* Called by fake__cq_complete() (cq.c) and ibv_wc_status_str(). */
const char *
fake__status_name(enum ibv_wc_status status)
{
    return NAME(statuses, status);
}

const char *
ibv_wc_status_str(enum ibv_wc_status status)
{
    return fake__status_name(status);
}

const char *
ibv_event_type_str(enum ibv_event_type event)
{
    return NAME(events, event);
}

const char *
ibv_node_type_str(enum ibv_node_type node_type)
{
    return NAME(node_types, node_type);
}

const char *
ibv_port_state_str(enum ibv_port_state port_state)
{
    return NAME(port_states, port_state);
}
