/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Health checking as in gRPC: a server publishes for itself and for its
 * services whether they take calls, and clients ask by grpc.health.v1.Health.
 * Its .proto file is installed in <datadir>/verbcall/grpc/health/v1. */
#ifndef VERBCALL_HEALTH_H
#define VERBCALL_HEALTH_H

#include <stdbool.h>

#include <verbcall/export.h>
#include <verbcall/status.h>

VC_BEGIN_DECLS

struct vc_health;
struct vc_server;

/* Limits: names with a state, and Watch calls at a time. A Watch call holds no
 * thread, and some 12 KiB of memory with its call and stream. */
#define VC_HEALTH_MAX          4096
#define VC_HEALTH_WATCHERS_MAX 1024

/* vc_health_new - adds the service grpc.health.v1.Health to a server, with an
 * object that holds the states. The server as a whole, whose name is "", is
 * SERVING from now on. A service is unknown until vc_health_set(): a client
 * that asks for it gets NOT_FOUND. On VC_OK the caller owns *health. Any
 * thread, at any time.
 * VC_ALREADY_EXISTS     the server has this service
 * VC_RESOURCE_EXHAUSTED no memory */
VC_API enum vc_status vc_health_new(struct vc_server *server,
                                    struct vc_health **health);

/* vc_health_set - sets whether a service takes calls, by its full name as
 * "demo.Greeter", or the server, by "". This only informs clients that ask: no
 * call is refused for it. The service need not be one of the server's. The
 * function sends the new status to the calls of Watch for that name, and the
 * server's interceptors may see these messages on its thread. It does not wait:
 * a client that receives slowly gets only the newest status, when there is room
 * for it. Any thread.
 * VC_RESOURCE_EXHAUSTED no memory, or more than VC_HEALTH_MAX names */
VC_API enum vc_status vc_health_set(struct vc_health *health,
                                    const char *service, bool serving);

/* vc_health_remove - removes the state of a service, and sends that as
 * vc_health_set() does. Any thread.
 * VC_NOT_FOUND the service has no state */
VC_API enum vc_status vc_health_remove(struct vc_health *health,
                                       const char *service);

/* vc_health_stop - announces that the server will stop. From now on the server
 * and all services with a state are NOT_SERVING, whatever is set later. All
 * calls of Watch report this and end with VC_UNAVAILABLE; those of clients that
 * receive so slowly that there is no room for a message only end. Call it
 * before vc_server_drain(), which waits for them otherwise. Any thread. */
VC_API void vc_health_stop(struct vc_health *health);

/* vc_health_free - frees the object, after vc_server_free(), as calls use it
 * until then. NULL is allowed. */
VC_API void vc_health_free(struct vc_health *health);

VC_END_DECLS

#endif
