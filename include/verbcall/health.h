/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Health checking as in gRPC: a server says of itself and of its services
 * whether they want calls, and clients ask by grpc.health.v1.Health. Its
 * .proto file is installed in <datadir>/verbcall/grpc/health/v1. */
#ifndef VERBCALL_HEALTH_H
#define VERBCALL_HEALTH_H

#include <stdbool.h>

#include <verbcall/export.h>
#include <verbcall/status.h>

VC_BEGIN_DECLS

struct vc_health;
struct vc_server;

/* Names that a server may speak of, and calls of Watch at a time: each keeps
 * one of the threads that handlers run on. */
#define VC_HEALTH_MAX          4096
#define VC_HEALTH_WATCHERS_MAX 64

/* vc_health_new - adds the service grpc.health.v1.Health to a server, with an
 * object to say its states by. The server as a whole, whose name is "", serves
 * from now on; of services nothing is known until vc_health_set(), and who asks
 * for one is answered NOT_FOUND.
 * On VC_OK the caller owns *health. Any thread, at any time.
 * VC_ALREADY_EXISTS     the server has this service
 * VC_RESOURCE_EXHAUSTED no memory */
VC_API enum vc_status vc_health_new(struct vc_server *server,
                                    struct vc_health **health);

/* vc_health_set - says whether a service, by its full name as "demo.Greeter",
 * or the server, by "", wants calls. It only tells those who ask: nothing is
 * refused for it. The service need not be the server's. Any thread.
 * VC_RESOURCE_EXHAUSTED no memory, or more than VC_HEALTH_MAX names */
VC_API enum vc_status vc_health_set(struct vc_health *health,
                                    const char *service, bool serving);

/* vc_health_remove - forgets what was said of a service. Any thread.
 * VC_NOT_FOUND  nothing was said of it */
VC_API enum vc_status vc_health_remove(struct vc_health *health,
                                       const char *service);

/* vc_health_stop - the server will go: from now on neither it nor any service of
 * which something was said serves, whatever is set, and all calls of Watch are
 * told so and end. To be called before vc_server_drain(), which waits for them
 * otherwise. Any thread. */
VC_API void vc_health_stop(struct vc_health *health);

/* vc_health_free - after vc_server_free(), as calls use it until then. NULL
 * is fine. */
VC_API void vc_health_free(struct vc_health *health);

VC_END_DECLS

#endif
