/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * verbcall.reflection.v1.Reflection: lists the server's services in the order
 * of their names. Replies point to the services' own tables, which outlive the
 * server. Any thread calls vc_reflection_add(). The handlers and all other
 * functions run on the handler's thread: one that was the holder and has
 * released the engine, or one of the crew. They find services without a lock
 * (rpc/server/service.h). What they allocate belongs to the call. */
#include <verbcall/reflection.h>

#include <stdlib.h>
#include <string.h>

#include <verbcall/call.h>

#include "rpc/server/server.h"
#include "verbcall/reflection/v1/reflection.vc.h"

#define NO_MEMORY "the server has no memory for the list of its services"

typedef Verbcall__Reflection__V1__Service service_entry;
typedef Verbcall__Reflection__V1__Method method_entry;

/* --- List -------------------------------------------------------------- */

struct listing {
    struct vc_call *call;
    service_entry **services;
    size_t n, room;
    bool starved;
};

/* Called by service_describe(): returns the description of a method. NULL
 * without memory. */
static method_entry *
method_describe(struct vc_call *call, const struct vc_method *method)
{
    method_entry *m = vc_call_alloc(call, sizeof *m);

    if (m == NULL)
        return NULL;
    verbcall__reflection__v1__method__init(m);
    m->name = (char *)method->name;
    m->request_type = (char *)method->request.desc->name;
    m->reply_type = (char *)method->reply.desc->name;
    m->client_streams = (method->flags & VC_METHOD_CLIENT_STREAM) != 0;
    m->server_streams = (method->flags & VC_METHOD_SERVER_STREAM) != 0;
    m->one_way = (method->flags & VC_METHOD_ONE_WAY) != 0;
    return m;
}

/* Called by listing_add(): returns the description of a service, with its
 * methods. NULL without memory. */
static service_entry *
service_describe(struct vc_call *call, const struct vc_service *service)
{
    service_entry *s = vc_call_alloc(call, sizeof *s);

    if (s == NULL)
        return NULL;
    verbcall__reflection__v1__service__init(s);
    s->name = (char *)service->name;
    s->methods = vc_call_alloc(call, service->n_methods * sizeof *s->methods);
    if (s->methods == NULL)
        return NULL;
    for (uint32_t i = 0; i < service->n_methods; i++) {
        s->methods[i] = method_describe(call, &service->methods[i]);
        if (s->methods[i] == NULL)
            return NULL;
    }
    s->n_methods = service->n_methods;
    return s;
}

/* Called by listing_add() when the list is full: makes room for more services.
 * False without memory. */
static bool
listing_grow(struct listing *l)
{
    size_t room = l->room == 0 ? 16 : 2 * l->room;
    service_entry **bigger = vc_call_alloc(l->call, room * sizeof *l->services);

    if (bigger == NULL)
        return false;
    if (l->n > 0)
        memcpy(bigger, l->services, l->n * sizeof *bigger);
    l->services = bigger;
    l->room = room;
    return true;
}

/* Called by vc__services_each() for each service, within a read-side critical
 * section of RCU: adds the service to the list. False without memory, with
 * l->starved set: the search ends. */
static bool
listing_add(const struct vc_service *service, void *arg)
{
    struct listing *l = arg;
    service_entry *s = NULL;

    if (l->n < l->room || listing_grow(l))
        s = service_describe(l->call, service);
    l->starved = s == NULL;
    if (s != NULL)
        l->services[l->n++] = s;
    return s != NULL;
}

/* Called by qsort() in reflection_list(): compares the names, as strcmp(). */
static int
by_name(const void *a, const void *b)
{
    const service_entry *const *x = a, *const *y = b;

    return strcmp((*x)->name, (*y)->name);
}

/* The handler of List, on the handler's thread. VC_OK with *reply, or
 * VC_RESOURCE_EXHAUSTED without memory. */
static enum vc_status
reflection_list(struct vc_call *call,
                const Verbcall__Reflection__V1__ListRequest *request,
                Verbcall__Reflection__V1__ListReply *reply, void *arg)
{
    struct vc_server *server = arg;
    struct listing l = {.call = call};

    (void)request;
    vc__services_each(&server->services, listing_add, &l);
    if (l.starved)
        return vc_call_fail(call, VC_RESOURCE_EXHAUSTED, "%s", NO_MEMORY);
    if (l.n > 0)
        qsort(l.services, l.n, sizeof *l.services, by_name);
    reply->services = l.services;
    reply->n_services = l.n;
    return VC_OK;
}

/* --- File -------------------------------------------------------------- */

/* Asked by service_of(): true if the service has a method of this name. */
static bool
has_method(const struct vc_service *service, const char *name)
{
    for (uint32_t i = 0; i < service->n_methods; i++)
        if (strcmp(service->methods[i].name, name) == 0)
            return true;
    return false;
}

/* Called by reflection_file(). Returns the service with this name, or the one
 * with a method of this name; NULL if there is none. */
static const struct vc_service *
service_of(struct vc_server *server, const char *symbol)
{
    struct vc__services *all = &server->services;
    struct vc__service_entry *e = vc__services_get(all, symbol, strlen(symbol));
    const char *dot = strrchr(symbol, '.');
    const struct vc_service *service;

    if (e == NULL && dot != NULL) {
        e = vc__services_get(all, symbol, (size_t)(dot - symbol));
        if (e != NULL && !has_method(e->service, dot + 1)) {
            vc__service_put(e);
            e = NULL;
        }
    }
    service = e != NULL ? e->service : NULL;
    vc__service_put(e);
    return service;
}

/* The handler of File, on the handler's thread. VC_OK with *reply,
 * VC_NOT_FOUND, or VC_FAILED_PRECONDITION for a service without its file. */
static enum vc_status
reflection_file(struct vc_call *call,
                const Verbcall__Reflection__V1__FileRequest *request,
                Verbcall__Reflection__V1__FileReply *reply, void *arg)
{
    const struct vc_service *service = service_of(arg, request->symbol);

    if (service == NULL)
        return vc_call_fail(call, VC_NOT_FOUND,
                            "the server has no service or method %s",
                            request->symbol);
    if (service->file == NULL)
        return vc_call_fail(call, VC_FAILED_PRECONDITION,
                            "the server was built without the .proto file of "
                            "%s: generate its code again",
                            service->name);
    reply->file_descriptor_set.data = (uint8_t *)service->file;
    reply->file_descriptor_set.len = service->file_length;
    return VC_OK;
}

enum vc_status
vc_reflection_add(struct vc_server *server)
{
    static const struct verbcall_reflection_v1_reflection_methods methods = {
        .list = reflection_list,
        .file = reflection_file,
    };

    return verbcall_reflection_v1_reflection_add(server, &methods, server);
}
