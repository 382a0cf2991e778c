/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See rpc/server/service.h. The static functions run on the thread of the
 * function that calls them, which may be any. */
#include "rpc/server/service.h"

#include <stdlib.h>
#include <string.h>

#include "transport/core/error.h"
#include "transport/core/hash.h"
#include "transport/wire/packet.h"

#define BUCKETS 64

uint64_t
vc__service_id(const char *name, size_t len)
{
    return hash_64(name, len);
}

/* Returns the entry of a node of the table. Called by entry_match() and
 * service_entry_find(). */
static struct vc__service_entry *
entry_of(struct cds_lfht_node *node)
{
    return caa_container_of(node, struct vc__service_entry, node);
}

/* --- lookup ------------------------------------------------------------ */

struct key {
    const char *name; /* NULL: any with this id */
    size_t len;
    uint64_t id;
};

/* Called by the table, in the lookup of service_entry_find() and the addition
 * of vc__services_add(); `arg` is the key. Not 0 if the entry has this name, or
 * this id. */
static int
entry_match(struct cds_lfht_node *node, const void *arg)
{
    const struct vc__service_entry *e = entry_of(node);
    const struct key *key = arg;

    /* The entry was filled in before the table got it, which orders both; but
     * ThreadSanitizer does not see liburcu's barriers. */
    atomic_load_explicit(&e->removed, memory_order_acquire);
    if (key->name == NULL)
        return e->service->id == key->id;
    return strlen(e->service->name) == key->len &&
           memcmp(e->service->name, key->name, key->len) == 0;
}

/* Called within a read-side critical section, by service_entry_get(),
 * vc__services_has() and vc__services_remove(). Returns the entry of this key,
 * without a reference: it is valid in that section. NULL if there is none. */
static struct vc__service_entry *
service_entry_find(struct vc__services *t, const struct key *key)
{
    struct cds_lfht_iter iter;
    struct cds_lfht_node *node;

    cds_lfht_lookup(t->table, (unsigned long)key->id, entry_match, key, &iter);
    node = cds_lfht_iter_get_node(&iter);
    return node == NULL ? NULL : entry_of(node);
}

/* Returns the entry of this key with a reference, or NULL. Called by
 * vc__services_get() and vc__services_get_id(). */
static struct vc__service_entry *
service_entry_get(struct vc__services *t, const struct key *key)
{
    struct vc__service_entry *e;

    rcu_read_lock();
    e = service_entry_find(t, key);
    /* The table drops its own reference only after a grace period, so the count
     * is not 0 here. */
    if (e != NULL)
        atomic_fetch_add_explicit(&e->refs, 1, memory_order_relaxed);
    rcu_read_unlock();
    return e;
}

struct vc__service_entry *
vc__services_get(struct vc__services *t, const char *name, size_t len)
{
    const struct key key = {name, len, vc__service_id(name, len)};

    return service_entry_get(t, &key);
}

struct vc__service_entry *
vc__services_get_id(struct vc__services *t, uint64_t id)
{
    const struct key key = {NULL, 0, id};

    return service_entry_get(t, &key);
}

bool
vc__services_has(struct vc__services *t, uint64_t id)
{
    const struct key key = {NULL, 0, id};
    bool has;

    rcu_read_lock();
    has = service_entry_find(t, &key) != NULL;
    rcu_read_unlock();
    return has;
}

enum vc__schema_verdict
vc__service_judge(struct vc__services *t, const struct vc__service_entry *e,
                  uint32_t fingerprint)
{
    return e->exempt ? VC__SCHEMA_TAKEN
                     : vc__schemas_judge(&t->schemas, e->service, fingerprint);
}

enum vc__schema_verdict
vc__services_judge(struct vc__services *t, uint64_t id, uint32_t fingerprint,
                   uint32_t *ours)
{
    const struct key key = {NULL, 0, id};
    enum vc__schema_verdict verdict = VC__SCHEMA_TAKEN;
    const struct vc__service_entry *e;

    rcu_read_lock();
    e = service_entry_find(t, &key);
    if (e != NULL) {
        *ours = e->service->fingerprint;
        verdict = vc__service_judge(t, e, fingerprint);
    }
    rcu_read_unlock();
    return verdict;
}

void
vc__services_each(struct vc__services *t,
                  bool (*fn)(const struct vc_service *service, void *arg),
                  void *arg)
{
    struct cds_lfht_iter iter;
    struct vc__service_entry *e;

    rcu_read_lock();
    cds_lfht_for_each_entry(t->table, &iter, e, node)
    {
        if (!fn(e->service, arg))
            break;
    }
    rcu_read_unlock();
}

/* --- adding and removing ----------------------------------------------- */

/* Frees an entry. Called by vc__service_put() for the last reference, and for
 * one that service_entry_new() or vc__services_add() could not complete. */
static void
entry_free(struct vc__service_entry *e)
{
    for (unsigned i = 0; e->adaptives != NULL && i < e->service->n_methods; i++)
        pthread_mutex_destroy(&e->adaptives[i].lock);
    free(e->adaptives);
    free(e->methods);
    free(e);
}

void
vc__service_put(struct vc__service_entry *e)
{
    if (e != NULL && atomic_fetch_sub(&e->refs, 1) == 1)
        entry_free(e);
}

/* True for the services that say whether a server is alive, and what it serves:
 * health and reflection. Their calls are not shed while they wait for their
 * turn. Asked by service_entry_new(). */
static bool
is_never_shed(const struct vc_service *service)
{
    return strcmp(service->name, "grpc.health.v1.Health") == 0 ||
           strcmp(service->name, "verbcall.reflection.v1.Reflection") == 0;
}

/* Called by service_entry_new() for each method: sets how its handlers begin,
 * and how it streams. flags: VC_METHOD_*. in_turn: handlers never begin on
 * threads of their own. exempt: nor do they, unless the method is said to
 * block, as one of a health service of the program's own may be. */
static void
method_init(struct vc__method_state *m, uint32_t flags, bool in_turn,
            bool exempt)
{
    bool blocks = flags & VC_METHOD_BLOCKING;

    if (in_turn || (exempt && !blocks))
        vc__habit_fix(&m->habit, VC__HABIT_NEVER);
    else if (blocks)
        vc__habit_fix(&m->habit, VC__HABIT_ALWAYS);
    if (flags & VC_METHOD_CLIENT_STREAM)
        m->kind |= VC__FRAME_CLIENT_STREAM;
    if (flags & VC_METHOD_SERVER_STREAM)
        m->kind |= VC__FRAME_SERVER_STREAM;
}

/* Called by service_entry_new(): makes the adaptive limits, if `most` is not 0.
 * False without memory. */
static bool
adaptives_make(struct vc__service_entry *e, uint32_t most)
{
    unsigned n = e->service->n_methods;

    if (most == 0 || n == 0)
        return true;
    e->adaptives = calloc(n, sizeof *e->adaptives);
    for (unsigned i = 0; e->adaptives != NULL && i < n; i++) {
        pthread_mutex_init(&e->adaptives[i].lock, NULL);
        vc__gradient_init(&e->adaptives[i].gradient, most);
        e->methods_state[i].adaptive = &e->adaptives[i];
    }
    return e->adaptives != NULL;
}

/* Called by service_entry_new(): copies the program's table of functions. False
 * without memory. */
static bool
methods_copy(struct vc__service_entry *e, const void *methods, size_t size)
{
    e->methods = malloc(size > 0 ? size : 1);
    if (e->methods != NULL && size > 0) /* methods may be NULL then */
        memcpy(e->methods, methods, size);
    return e->methods != NULL;
}

/* Returns a new entry, with a reference for the table; NULL without memory.
 * Called by vc__services_add(). */
static struct vc__service_entry *
service_entry_new(const struct vc__services *t,
                  const struct vc_service *service, const void *methods,
                  size_t size, bool in_turn)
{
    bool exempt = is_never_shed(service);
    struct vc__service_entry *e =
        calloc(1, sizeof *e + service->n_methods * sizeof e->methods_state[0]);

    if (e == NULL)
        return NULL;
    e->service = service;
    e->exempt = exempt;
    for (unsigned i = 0; i < service->n_methods; i++)
        method_init(&e->methods_state[i], service->methods[i].flags, in_turn,
                    exempt);
    if (!methods_copy(e, methods, size) ||
        !adaptives_make(e, in_turn || exempt ? 0 : t->adaptive_limit)) {
        entry_free(e);
        return NULL;
    }
    atomic_init(&e->refs, 1);
    return e;
}

enum vc_status
vc__services_add(struct vc__services *t, const struct vc_service *service,
                 const void *methods, size_t size, void *arg, bool in_turn)
{
    const struct key key = {service->name, strlen(service->name), service->id};
    struct vc__service_entry *e =
        service_entry_new(t, service, methods, size, in_turn);
    struct cds_lfht_node *node;

    if (e == NULL)
        return vc__fail(VC_RESOURCE_EXHAUSTED, "out of memory");
    e->arg = arg;
    /* The last write: a reader, which takes no lock, that sees it sees all
     * others. */
    atomic_store_explicit(&e->removed, false, memory_order_release);
    rcu_read_lock();
    node = cds_lfht_add_unique(t->table, (unsigned long)service->id,
                               entry_match, &key, &e->node);
    rcu_read_unlock();
    if (node == &e->node)
        return VC_OK;
    entry_free(e);
    return vc__fail(VC_ALREADY_EXISTS,
                    "service %s has been added before: remove it first "
                    "(vc_server_remove())",
                    service->name);
}

/* Called by vc__services_remove(): drops the table's reference to an entry that
 * is no longer in the table. Waits for an RCU grace period. */
static void
entry_retire(struct vc__service_entry *e)
{
    atomic_store(&e->removed, true);
    /* After this no reader that found the entry is still about to count it. */
    synchronize_rcu();
    vc__service_put(e);
}

enum vc_status
vc__services_remove(struct vc__services *t, const char *name)
{
    const struct key key = {name, strlen(name),
                            vc__service_id(name, strlen(name))};
    struct vc__service_entry *e;
    bool mine;

    rcu_read_lock();
    e = service_entry_find(t, &key);
    mine = e != NULL && cds_lfht_del(t->table, &e->node) == 0;
    rcu_read_unlock();
    if (!mine)
        return vc__fail(VC_NOT_FOUND, "service %s has not been added", name);
    entry_retire(e);
    return VC_OK;
}

bool
vc__services_init(struct vc__services *t)
{
    t->table = cds_lfht_new(BUCKETS, BUCKETS, BUCKETS, 0, NULL);
    if (t->table == NULL)
        return false;
    vc__schemas_init(&t->schemas);
    return true;
}

void
vc__services_fini(struct vc__services *t)
{
    struct vc__service_entry *e;
    struct cds_lfht_iter iter;

    if (t->table == NULL)
        return;
    rcu_read_lock();
    cds_lfht_for_each_entry(t->table, &iter, e, node)
    {
        if (cds_lfht_del(t->table, &e->node) == 0)
            vc__service_put(e);
    }
    rcu_read_unlock();
    cds_lfht_destroy(t->table, NULL);
    t->table = NULL;
    vc__schemas_fini(&t->schemas);
}
