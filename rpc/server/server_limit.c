/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See rpc/server/server_limit.h. The static functions run within
 * vc__limit_take(), on the holder. The program calls vc_server_limit(), on any
 * thread. */
#include "rpc/server/server_limit.h"

#include <string.h>

#include "rpc/server/server_counts.h"

/* Where a call was counted: a limit may be set while the call runs. */
#define IN_SERVER  1u
#define IN_SERVICE 2u
#define IN_METHOD  4u
_Static_assert(VC__COUNTED_LOAD > IN_METHOD, "the bits differ");

/* Adds one to *n: true. False, and *n is as before, if it is `max`. Relaxed:
 * only the number matters. Two calls that come at the same moment for the last
 * place may both be refused. Called by server_take(), service_take() and
 * method_take(). */
static bool
server_limit_place_take(atomic_uint *n, unsigned max)
{
    if (atomic_fetch_add_explicit(n, 1, memory_order_relaxed) < max)
        return true;
    atomic_fetch_sub_explicit(n, 1, memory_order_relaxed);
    return false;
}

/* Counts the call in the server's limit (max_calls). False: that is reached.
 * True also if none is set, or for a call of health or reflection, which does
 * not count: each client may have a Watch all the time, and asks for the health
 * while the limit is reached. Called by vc__limit_take(). */
static bool
server_take(struct vc_call *call)
{
    struct vc_server *server = vc__call_part(call)->server;

    if (server->max_calls == 0 || call->site.session->opened->entry->exempt)
        return true;
    if (!server_limit_place_take(&server->calls, server->max_calls))
        return false;
    call->counted |= IN_SERVER;
    return true;
}

/* Counts the call in its service's limit (vc_server_limit()), which health and
 * reflection may have, too. False: that is reached. True also if none is set.
 * Called by vc__limit_take(). */
static bool
service_take(struct vc_call *call)
{
    struct vc__service_entry *e = call->site.session->opened->entry;
    unsigned max = atomic_load_explicit(&e->max_calls, memory_order_relaxed);

    if (max == 0)
        return true;
    if (!server_limit_place_take(&e->calls, max))
        return false;
    call->counted |= IN_SERVICE;
    return true;
}

/* Counts the call in its method's limit (max_calls of the .proto file), of any
 * service. False: that is reached. True also if none is set. Called by
 * vc__limit_take(). */
static bool
method_take(struct vc_call *call)
{
    if (call->method->max_calls == 0)
        return true;
    if (!server_limit_place_take(&call->state->calls, call->method->max_calls))
        return false;
    call->counted |= IN_METHOD;
    return true;
}

/* True if the session's limit allows the call, which the session has counted
 * already. Asked by vc__limit_take(). */
static bool
session_has_room(const struct vc_call *call)
{
    uint32_t max = vc__call_part(call)->server->max_calls_session;

    return max == 0 || call->site.session->n_calls <= max;
}

#define AGAIN ": try again when some have ended"

const char *
vc__limit_take(struct vc_call *call)
{
    const char *why = NULL;

    if (vc__call_part(call)->server->load != NULL)
        call->counted |= VC__COUNTED_LOAD;
    if (!session_has_room(call))
        why = "the session has reached its limit of concurrent calls "
              "(max_calls_session)" AGAIN;
    else if (!server_take(call))
        why = "the server has reached its limit of concurrent calls "
              "(max_calls)" AGAIN;
    else if (!service_take(call))
        why = "the service has reached its limit of concurrent calls "
              "(vc_server_limit())" AGAIN;
    else if (!method_take(call))
        why = "the method has reached its limit of concurrent calls (max_calls "
              "of its .proto file)" AGAIN;
    if (why != NULL)
        vc__server_count(call->site.session, VC__COUNT_calls_limited, 1);
    return why;
}

void
vc__limit_give(struct vc_call *call)
{
    if (call->counted & IN_SERVER)
        atomic_fetch_sub_explicit(&vc__call_part(call)->server->calls, 1,
                                  memory_order_relaxed);
    if (call->counted & IN_SERVICE)
        atomic_fetch_sub_explicit(&call->site.session->opened->entry->calls, 1,
                                  memory_order_relaxed);
    if (call->counted & IN_METHOD)
        atomic_fetch_sub_explicit(&call->state->calls, 1, memory_order_relaxed);
    call->counted = 0;
}

enum vc_status
vc_server_limit(struct vc_server *server, const struct vc_service *service,
                uint32_t max_calls)
{
    struct vc__service_entry *e;

    if (!vc__good(server, VC__SERVER))
        return vc__bad(server, VC__SERVER);
    e = vc__services_get(&server->services, service->name,
                         strlen(service->name));
    if (e == NULL)
        return vc__fail(VC_NOT_FOUND, "service %s has not been added",
                        service->name);
    atomic_store(&e->max_calls, max_calls);
    if (max_calls != 0)
        atomic_store(&server->limited, true);
    vc__service_put(e);
    return VC_OK;
}
