/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The services of a server: an RCU hash table, so that finding one takes no
 * lock while others are added and removed. Flavour: urcu-bp, which needs no
 * registration of threads; a thread here may be any thread of the program.
 * Lookups are rare (one per session), so the slower read side of urcu-bp does
 * not matter. Any thread, without a lock; vc__services_init() and
 * vc__services_fini() while no other thread uses the table.
 *
 * Called by: server.c (services_init, services_fini, services_add,
 * services_remove, services_has), rpc/protobuf_c/protobuf_c_server.c
 * (services_add), method_map.c (services_get, judge, id), server_limit.c
 * (services_get), rpc/services/reflection.c (services_get, services_each),
 * server_multicast.c (services_get_id), server_link.c (services_has,
 * services_judge), service.c (judge, id), many files (put). */
#ifndef VC_RPC_SERVICE_H
#define VC_RPC_SERVICE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include <urcu-bp.h>

#include <urcu/rculfhash.h>

#include <verbcall/service.h>

#include "rpc/server/gradient.h"
#include "rpc/server/overload.h"
#include "rpc/server/schema.h"
#include "transport/core/habit.h"

struct vc__method_state {
    atomic_uint calls; /* running, as far as they are counted */
    struct vc__habit habit;
    struct vc__usual usual;
    uint8_t kind;                  /* VC__FRAME_*_STREAM */
    struct vc__adaptive *adaptive; /* NULL: no adaptive limit */
};

/* Of a method, shared by all engines. */
struct vc__adaptive {
    pthread_mutex_t lock;
    struct vc__gradient gradient;
};

/* A service as it was added. Sessions hold references; `methods` and `arg` stay
 * valid while a handler may use them. */
struct vc__service_entry {
    struct cds_lfht_node node;
    const struct vc_service *service;
    void *methods;
    void *arg;
    atomic_uint refs;
    atomic_bool removed;
    bool exempt;           /* its calls are not shed while they wait for their
                            * turn, nor as memory is scarce, and do not count
                            * in the server's max_calls */
    atomic_uint max_calls; /* at a time, 0 for any: rpc/server/server_limit.h */
    atomic_uint calls;     /* running, as far as they are counted */
    struct vc__adaptive *adaptives; /* one per method; or NULL */
    struct vc__method_state methods_state[];
};

struct vc__services {
    struct cds_lfht *table;
    uint32_t adaptive_limit; /* of each method that may block; 0: none */
    struct vc__schemas schemas;
};

/* Makes an empty table. Called by server_fill() within vc_server_new(). False
 * without memory. */
bool vc__services_init(struct vc__services *t);
/* Frees the table, if it was made, and drops its references. Called by
 * vc__server_destroy(): no lookup may run at the same time or later. */
void vc__services_fini(struct vc__services *t);

/* Adds a service. in_turn: its handlers never begin on threads of their own, so
 * they begin in the order in which the calls have their turns. Called by
 * vc_server_add() and vc_server_add_protobuf_c(). VC_OK, or with vc_error():
 * VC_ALREADY_EXISTS      a service of this name is in the table
 * VC_RESOURCE_EXHAUSTED  no memory */
enum vc_status vc__services_add(struct vc__services *t,
                                const struct vc_service *service,
                                const void *methods, size_t size, void *arg,
                                bool in_turn);
/* Removes a service; waits for an RCU grace period. Called by
 * vc_server_remove(). VC_OK, or with vc_error():
 * VC_NOT_FOUND  no service of this name is in the table */
enum vc_status vc__services_remove(struct vc__services *t, const char *name);

/* Returns the entry of this name with a reference for the caller, or NULL if
 * there is none. Called on the holder for an OPEN, or when a session is renewed
 * (opened_new(), rpc/server/method_map.c); by vc_server_limit(); and by the
 * reflection service in its handler. */
struct vc__service_entry *vc__services_get(struct vc__services *t,
                                           const char *name, size_t len);
/* The same by the service's id. Called on the holder for a multicast datagram
 * of a service that no earlier one named (rpc/server/server_multicast.c). */
struct vc__service_entry *vc__services_get_id(struct vc__services *t,
                                              uint64_t id);
/* Drops a reference: the table's, that of a session (vc__opened_put()), or one
 * that a caller took. The last one frees the entry. NULL is allowed. */
void vc__service_put(struct vc__service_entry *e);

/* True if there is a service with this id. Called for a client that connects:
 * on engine 0 by server_turn_away() (rpc/server/server.c), and on the engine of
 * its part by peer_of() (rpc/server/server_link.c). */
bool vc__services_has(struct vc__services *t, uint64_t id);

/* Compares the schema of a client with that of the service: see
 * rpc/server/schema.h. Those of health and reflection are not compared, as they
 * are the library's own. Called by opened_new() for an OPEN, and by the next
 * function. */
enum vc__schema_verdict vc__service_judge(struct vc__services *t,
                                          const struct vc__service_entry *e,
                                          uint32_t fingerprint);
/* The same for the service of a hello, which names it by its id; *ours is the
 * server's fingerprint. TAKEN if there is no such service. Called by peer_of()
 * on the engine of its part. */
enum vc__schema_verdict vc__services_judge(struct vc__services *t, uint64_t id,
                                           uint32_t fingerprint,
                                           uint32_t *ours);

/* Calls fn for each service, in no order, until fn returns false. fn must not
 * block, nor add or remove services. Called by the reflection service, on its
 * handler's thread. */
void vc__services_each(struct vc__services *t,
                       bool (*fn)(const struct vc_service *service, void *arg),
                       void *arg);

/* Returns the id of a service's name: FNV-1a, 64 bits. Pure; called for lookups
 * by name, by vc__services_get() and vc__services_remove(). */
uint64_t vc__service_id(const char *name, size_t len);

#endif
