/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See rpc/protobuf_c/protobuf_c_table.h. All static functions but table_end()
 * run within vc__table_get(), under runtime->keeping, on the thread that asks
 * for a table. At the first request for a descriptor they make it. */
#include "rpc/protobuf_c/protobuf_c_table.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <verbcall/protobuf_c.h>

#include "rpc/protobuf_c/protobuf_c_schema.h"
#include "rpc/protobuf_c/protobuf_c_server.h"
#include "rpc/runtime.h"
#include "transport/core/error.h"
#include "transport/core/hash.h"

#define METHODS_MAX 1024u /* the limit of protoc-gen-verbcall, too */

/* --- checks of the descriptor ------------------------------------------ */

/* Returns the method's id on the wire, for twins_check() and method_fill(). */
static uint32_t
method_hash(const ProtobufCMethodDescriptor *m)
{
    return hash_32(m->name, strlen(m->name));
}

/* Called by descriptor_check(). VC_INVALID_ARGUMENT, by vc__fail(), if two
 * methods have the same hash; else VC_OK. */
static enum vc_status
twins_check(const ProtobufCServiceDescriptor *d)
{
    for (unsigned i = 1; i < d->n_methods; i++) {
        for (unsigned j = 0; j < i; j++) {
            if (method_hash(&d->methods[i]) == method_hash(&d->methods[j]))
                return vc__fail(VC_INVALID_ARGUMENT,
                                "methods %s and %s of service %s would be the "
                                "same on the wire, as their names have the "
                                "same hash 0x%08" PRIx32 ": rename one of them",
                                d->methods[j].name, d->methods[i].name, d->name,
                                method_hash(&d->methods[i]));
        }
    }
    return VC_OK;
}

/* Asked by has_names(): true if the method and its messages have names. The
 * messages may come from another file than the service. */
static bool
method_has_names(const ProtobufCMethodDescriptor *m)
{
    return m->name != NULL && m->input->name != NULL && m->output->name != NULL;
}

/* Asked by descriptor_check(): true if service, methods and messages have
 * names. */
static bool
has_names(const ProtobufCServiceDescriptor *d)
{
    if (d->name == NULL || d->name[0] == '\0')
        return false;
    for (unsigned i = 0; i < d->n_methods; i++) {
        if (!method_has_names(&d->methods[i]))
            return false;
    }
    return d->n_methods == 0 || d->method_indices_by_name != NULL;
}

/* Called by table_need(). VC_INVALID_ARGUMENT, by vc__fail(), if no table can
 * be made of the descriptor; else VC_OK. */
static enum vc_status
descriptor_check(const ProtobufCServiceDescriptor *d)
{
    if (d == NULL || d->magic != PROTOBUF_C__SERVICE_DESCRIPTOR_MAGIC)
        return vc__fail(VC_INVALID_ARGUMENT,
                        "this is no service descriptor of protobuf-c: give "
                        "what protoc-gen-c has generated");
    if (!has_names(d))
        return vc__fail(VC_INVALID_ARGUMENT,
                        "the service descriptor, or a message of its methods, "
                        "has no names, which the wire protocol needs: remove "
                        "optimize_for = CODE_SIZE from the .proto file");
    if (strlen(d->name) > UINT16_MAX)
        return vc__fail(VC_INVALID_ARGUMENT,
                        "the name of the service has %zu bytes, and %d are "
                        "the most",
                        strlen(d->name), UINT16_MAX);
    if (d->n_methods > METHODS_MAX)
        return vc__fail(VC_INVALID_ARGUMENT,
                        "service %s has %u methods, and %u are the most: make "
                        "two services of it",
                        d->name, d->n_methods, METHODS_MAX);
    return twins_check(d);
}

/* --- the table --------------------------------------------------------- */

/* Called by table_new() for each method: fills in its entry. */
static void
method_fill(struct vc_method *method, const ProtobufCMethodDescriptor *m)
{
    method->name = m->name;
    method->hash = method_hash(m);
    method->request.desc = m->input;
    method->reply.desc = m->output;
    method->run = vc__protobuf_c_run;
}

/* Called by table_need(), which gives the table to the runtime: returns a new
 * table. NULL without memory; the error is the thread's last. */
static struct vc__table *
table_new(const ProtobufCServiceDescriptor *d)
{
    struct vc__table *table =
        calloc(1, sizeof *table + d->n_methods * sizeof table->methods[0]);

    if (table == NULL ||
        !vc__protobuf_c_schema(d, &table->service.fingerprint)) {
        free(table);
        vc__fail(VC_RESOURCE_EXHAUSTED, "out of memory");
        return NULL;
    }
    pthread_mutex_init(&table->turns, NULL);
    table->descriptor = d;
    table->service.name = d->name;
    table->service.id = hash_64(d->name, strlen(d->name));
    table->service.n_methods = d->n_methods;
    table->service.methods = table->methods;
    for (unsigned i = 0; i < d->n_methods; i++)
        method_fill(&table->methods[i], &d->methods[i]);
    return table;
}

/* --- the tables of a runtime ------------------------------------------- */

/* end() of struct vc__kept: called by kept_end() within vc_runtime_free(), on
 * its thread. Frees the table. table_find() tells tables from other kept
 * objects by this function. */
static void
table_end(struct vc__kept *k)
{
    struct vc__table *table = caa_container_of(k, struct vc__table, kept);

    pthread_mutex_destroy(&table->turns);
    free(table);
}

/* Called by table_need() under runtime->keeping: returns the table of this
 * descriptor. NULL if there is none yet. */
static struct vc__table *
table_find(const struct vc_runtime *r, const ProtobufCServiceDescriptor *d)
{
    for (struct vc__kept *k = r->kept; k != NULL; k = k->next) {
        struct vc__table *table = caa_container_of(k, struct vc__table, kept);

        if (k->end == table_end && table->descriptor == d)
            return table;
    }
    return NULL;
}

/* Called by vc__table_get() under runtime->keeping. Returns the runtime's
 * table, perhaps a new one; NULL with the thread's last error. */
static struct vc__table *
table_need(struct vc_runtime *r, const ProtobufCServiceDescriptor *d)
{
    struct vc__table *table = table_find(r, d);

    if (table != NULL || descriptor_check(d) != VC_OK)
        return table;
    table = table_new(d);
    if (table != NULL) {
        table->kept.end = table_end;
        table->kept.next = r->kept;
        r->kept = &table->kept;
    }
    return table;
}

struct vc__table *
vc__table_get(struct vc_runtime *runtime,
              const ProtobufCServiceDescriptor *descriptor)
{
    struct vc__table *table;

    pthread_mutex_lock(&runtime->keeping);
    table = table_need(runtime, descriptor);
    pthread_mutex_unlock(&runtime->keeping);
    return table;
}

enum vc_status
vc_runtime_service(struct vc_runtime *runtime,
                   const ProtobufCServiceDescriptor *descriptor,
                   const struct vc_service **service)
{
    struct vc__table *table;

    if (!vc__good(runtime, VC__RUNTIME))
        return vc__bad(runtime, VC__RUNTIME);
    table = vc__table_get(runtime, descriptor);
    if (table == NULL)
        return vc__error_last()->status;
    *service = &table->service;
    return VC_OK;
}
