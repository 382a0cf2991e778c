/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See rpc/server/method_map.h. */
#include "rpc/server/method_map.h"

#include <stdlib.h>
#include <string.h>

#include <verbcall/server.h>

#include "transport/core/le.h"

/* The shortest body: a name of one byte, and no methods. */
#define BODY_MIN 5u

/* The body of an OPEN frame, after it was checked. */
struct open_body {
    const char *name;
    uint16_t name_len;
    uint16_t n_methods;
    const uint8_t *hashes;
};

/* Fills in *o, which refers to the frame's body. False if that is malformed.
 * Called by opened_new(), vc__opened_is_whole() and vc__opened_names(). */
static bool
open_parse(struct open_body *o, const struct vc__frame *f)
{
    uint32_t len = f->body_len;

    if (len < BODY_MIN)
        return false;
    o->name_len = vc__get16(f->body);
    if (o->name_len == 0 || o->name_len > len - 4)
        return false;
    o->name = (const char *)f->body + 2;
    o->n_methods = vc__get16(f->body + 2 + o->name_len);
    o->hashes = f->body + 4 + o->name_len;
    return len - 4 - o->name_len == 4u * o->n_methods;
}

/* Returns the server's number of the method, or VC__NO_METHOD. Called by
 * map_make() for each method of the client. */
static uint16_t
method_by_hash(const struct vc_service *service, uint32_t hash)
{
    for (uint32_t i = 0; i < service->n_methods; i++) {
        if (service->methods[i].hash == hash)
            return (uint16_t)i;
    }
    return VC__NO_METHOD;
}

/* True if client and server number the methods alike: no map is needed. Called
 * by map_make(). */
static bool
same_methods(const struct vc_service *service, const struct open_body *o)
{
    bool same = service->n_methods == o->n_methods;

    for (unsigned i = 0; same && i < o->n_methods; i++)
        same = service->methods[i].hash == vc__get32(o->hashes + 4 * i);
    return same;
}

/* Makes opened->map, unless none is needed. False without memory. Called by
 * opened_new() if the server has the service. */
static bool
map_make(struct vc__opened *opened, const struct open_body *o)
{
    const struct vc_service *service = opened->entry->service;

    if (same_methods(service, o))
        return true;
    opened->map = malloc((o->n_methods + 1u) * sizeof *opened->map);
    if (opened->map == NULL)
        return false;
    for (unsigned i = 0; i < o->n_methods; i++)
        opened->map[i] = method_by_hash(service, vc__get32(o->hashes + 4 * i));
    return true;
}

/* Compares the client's schema of the service with the server's. If it is to be
 * refused, the service is dropped: calls then end as is_served() finds it
 * (rpc/server/server_begin.c). Called by opened_new() if the server has the
 * service. */
static void
schema_judge(struct vc__opened *opened, struct vc__services *services)
{
    opened->verdict =
        (uint8_t)vc__service_judge(services, opened->entry, opened->schema);
    if (opened->verdict == VC__SCHEMA_TAKEN)
        return;
    opened->ours = opened->entry->service->fingerprint;
    if (services->schemas.check != VC_SCHEMA_REFUSE)
        return;
    vc__service_put(opened->entry);
    opened->entry = NULL;
}

/* Parses the frame's body and looks the service up. Returns an object with one
 * reference; NULL if the frame is malformed, or without memory. A service that
 * the server does not have is no failure, nor a schema that it refuses: `entry`
 * is NULL then. Called by vc__opened_get(). */
static struct vc__opened *
opened_new(struct vc__services *services, const struct vc__frame *f)
{
    struct vc__opened *opened;
    struct open_body o;

    if (!open_parse(&o, f))
        return NULL;
    opened = calloc(1, sizeof *opened + f->body_len);
    if (opened == NULL)
        return NULL;
    opened->refs = 1;
    opened->n_methods = o.n_methods;
    opened->schema = f->deadline;
    opened->len = f->body_len;
    memcpy(opened->body, f->body, f->body_len);
    opened->entry = vc__services_get(services, o.name, o.name_len);
    if (opened->entry != NULL)
        schema_judge(opened, services);
    if (opened->entry != NULL && !map_make(opened, &o)) {
        vc__opened_put(opened);
        return NULL;
    }
    return opened;
}

/* True if the frame has the same body and fingerprint. Called by
 * vc__opened_get(). */
static bool
is_same(const struct vc__opened *opened, const struct vc__frame *f)
{
    return opened->len == f->body_len && opened->schema == f->deadline &&
           memcmp(opened->body, f->body, f->body_len) == 0;
}

bool
vc__opened_is_whole(const struct vc__frame *f)
{
    struct open_body o;

    return open_parse(&o, f);
}

uint64_t
vc__opened_service(const struct vc__frame *f)
{
    struct open_body o;

    return open_parse(&o, f) ? vc__service_id(o.name, o.name_len) : 0;
}

bool
vc__opened_names(const struct vc__opened *opened, const struct vc__frame *f)
{
    struct open_body o;

    /* Both begin with the length of the name, and the name. */
    return open_parse(&o, f) && opened->len >= 2u + o.name_len &&
           memcmp(opened->body, f->body, 2u + o.name_len) == 0;
}

struct vc__opened *
vc__opened_get(struct vc__opened **last, struct vc__services *services,
               const struct vc__frame *f)
{
    struct vc__opened *opened = *last;

    /* A service may have been added or removed since the last OPEN. */
    if (opened == NULL || !is_same(opened, f) || opened->entry == NULL ||
        atomic_load(&opened->entry->removed)) {
        opened = opened_new(services, f);
        if (opened == NULL)
            return NULL;
        vc__opened_put(*last);
        *last = opened;
    }
    opened->refs++;
    return opened;
}

void
vc__opened_put(struct vc__opened *opened)
{
    if (opened == NULL || --opened->refs > 0)
        return;
    vc__service_put(opened->entry);
    free(opened->map);
    free(opened);
}
