/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A link on the server with the sessions and slots that its client has
 * opened. The holder of the engine only. */
#ifndef VC_RPC_SERVER_LINK_H
#define VC_RPC_SERVER_LINK_H

#include "cm/link.h"
#include "rpc/server.h"
#include "transport/assembly.h"

/* Room for one call at a time. */
struct vc__server_slot {
    uint32_t sequence; /* of the last call */
    bool busy;         /* a call runs, or its request is still arriving */
    uint16_t method;
    uint64_t due;
    struct vc__assembly assembly;
};

struct vc__server_session {
    uint32_t id;
    struct vc__service_entry *entry; /* NULL: no such service here */
    /* The client's numbers of methods are indices into its own list; NULL
     * when that is the same as ours. */
    uint16_t *map;
    unsigned n_methods;
    struct vc__server_slot *slots;
    unsigned n_slots; /* allocated; grows to VC__SERVER_SLOTS */
};

struct vc__server_link {
    struct vc__link link;
    struct vc__server_part *part;
    struct cds_list_head node;
    struct vc__server_session **sessions; /* by id - 1 */
    unsigned n_sessions;
    unsigned n_calls; /* they hold the link */
    bool trusted;     /* the first packet was good */
    bool gone;        /* freed with the last call */
};

#define VC__NO_METHOD UINT16_MAX

/* What a request becomes a link of. */
struct vc__offer {
    struct vc__task task;
    struct vc__server_part *part;
    struct rdma_cm_id *id;
    struct vc__hello hello;
    uint8_t reads_in, reads_out;
};

/* Accepts it, or rejects it with a reason; frees the offer. */
void vc__server_link_accept(struct vc__offer *offer);

/* A call is over: its slot is free, and the link if it only waited for it. */
void vc__server_link_release(struct vc__server_link *sl,
                             struct vc__server_session *session, uint16_t slot);

#endif
