/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The parsed body of an OPEN frame (doc/wire.md 4.2): a service, and the
 * client's numbers of its methods. Clients often open many sessions of the same
 * service one after the other: these sessions share one. Called by
 * rpc/server/server_session_open.c when an OPEN has come, or when
 * vc__server_session_renew() looks a service up again; vc__opened_put() also
 * when a session or a peer is freed. The holder of the engine only.
 *
 * Called by: server_session_open.c (all), method_map.c (opened_put),
 * server_peer.c (opened_put). */
#ifndef VC_RPC_SERVER_OPEN_H
#define VC_RPC_SERVER_OPEN_H

#include "rpc/server/service.h"
#include "transport/wire/packet.h"

#define VC__NO_METHOD UINT16_MAX

struct vc__opened {
    unsigned refs;
    /* NULL: this server has no such service, or refuses the client's schema. */
    struct vc__service_entry *entry;
    /* Maps the client's method numbers, which are indices into its own list, to
     * ours; NULL when both are the same, or without a service. */
    uint16_t *map;
    uint16_t n_methods; /* of the client's list */
    uint8_t verdict;    /* enum vc__schema_verdict; of the client's schema */
    uint32_t schema;    /* the client's fingerprint; 0: none */
    uint32_t ours;      /* the server's, if the verdict is not TAKEN */
    uint32_t len;
    uint8_t body[]; /* of the OPEN frame */
};

/* Returns the parsed body of this frame, with a reference for the caller. *last
 * is that of the previous frame, or NULL; it holds a reference of its own, and
 * becomes the one returned. Returns NULL if the frame is malformed, or without
 * memory; *last stays. Called by session_new() and by
 * vc__server_session_renew(). */
struct vc__opened *vc__opened_get(struct vc__opened **last,
                                  struct vc__services *services,
                                  const struct vc__frame *f);
/* Drops a reference; the last one frees the body. NULL is allowed. Called by
 * vc__server_session_free(), vc__server_session_renew() and peer_free(), and
 * within method_map.c. */
void vc__opened_put(struct vc__opened *opened);

/* True if the body of the frame is well-formed. Asked for an OPEN that has
 * failed (open_refuse()), or names another service (vc__server_session_open()):
 * a malformed one breaks the protocol. */
bool vc__opened_is_whole(const struct vc__frame *f);

/* Returns the id of the service that the frame names; 0 if its body is
 * malformed. Called by session_new() for a client that gives no fingerprint. */
uint64_t vc__opened_service(const struct vc__frame *f);

/* True if the body of the frame is well-formed and names the same service.
 * Asked by vc__server_session_open() for an OPEN of a session that is open, and
 * is to move to this link. */
bool vc__opened_names(const struct vc__opened *opened,
                      const struct vc__frame *f);

#endif
