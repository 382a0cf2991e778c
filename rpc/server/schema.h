/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Which schemas of a service a server takes: its own, and those that the
 * program has said to accept (vc_server_schema_accept()). A schema is known by
 * its fingerprint, 0 for none (doc/wire.md 2.2 and 4.2). Compared when a client
 * connects and when it opens a session, never for a call. Any thread.
 *
 * Called by: service.c (schemas_init, schemas_fini, schemas_judge), server.c
 * (schemas_accept). */
#ifndef VC_RPC_SERVER_SCHEMA_H
#define VC_RPC_SERVER_SCHEMA_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include <verbcall/service.h>

/* Fingerprints that the program accepts for a service beside its own. */
struct vc__schema_list;

struct vc__schemas {
    uint32_t check; /* VC_SCHEMA_*; 0: nothing is compared */
    pthread_mutex_t lock;
    struct vc__schema_list *lists; /* lock */
};

enum vc__schema_verdict {
    VC__SCHEMA_TAKEN, /* the same, accepted, or not compared */
    VC__SCHEMA_DIFFERS,
    VC__SCHEMA_UNKNOWN, /* the client has given no fingerprint */
};

/* Begins with nothing accepted. Called by vc__services_init(). */
void vc__schemas_init(struct vc__schemas *s);
/* Frees the lists. Called by vc__services_fini(). */
void vc__schemas_fini(struct vc__schemas *s);

/* Adds fingerprints to those accepted for the service; 0 stands for a client
 * that gives none. Called by vc_server_schema_accept(). False without
 * memory. */
bool vc__schemas_accept(struct vc__schemas *s, uint64_t service,
                        const uint32_t *fingerprints, size_t n);

/* Compares a client's fingerprint with that of the server's service. TAKEN also
 * if `check` is 0, or the service has none. Called by vc__service_judge(). */
enum vc__schema_verdict vc__schemas_judge(struct vc__schemas *s,
                                          const struct vc_service *service,
                                          uint32_t fingerprint);

#endif
