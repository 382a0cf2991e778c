/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See rpc/server/schema.h. Any thread. */
#include "rpc/server/schema.h"

#include <stdlib.h>
#include <string.h>

struct vc__schema_list {
    struct vc__schema_list *next;
    uint64_t service;
    size_t n;
    uint32_t fingerprints[];
};

void
vc__schemas_init(struct vc__schemas *s)
{
    pthread_mutex_init(&s->lock, NULL);
    s->lists = NULL;
}

void
vc__schemas_fini(struct vc__schemas *s)
{
    while (s->lists != NULL) {
        struct vc__schema_list *list = s->lists;

        s->lists = list->next;
        free(list);
    }
    pthread_mutex_destroy(&s->lock);
}

bool
vc__schemas_accept(struct vc__schemas *s, uint64_t service,
                   const uint32_t *fingerprints, size_t n)
{
    struct vc__schema_list *list =
        malloc(sizeof *list + n * sizeof list->fingerprints[0]);

    if (list == NULL)
        return false;
    list->service = service;
    list->n = n;
    if (n > 0)
        memcpy(list->fingerprints, fingerprints,
               n * sizeof list->fingerprints[0]);
    pthread_mutex_lock(&s->lock);
    list->next = s->lists;
    s->lists = list;
    pthread_mutex_unlock(&s->lock);
    return true;
}

/* Called by schema_is_accepted(), under the lock: true if the list is of the
 * service, and has the fingerprint. */
static bool
schema_list_has(const struct vc__schema_list *list, uint64_t service,
                uint32_t fingerprint)
{
    if (list->service != service)
        return false;
    for (size_t i = 0; i < list->n; i++) {
        if (list->fingerprints[i] == fingerprint)
            return true;
    }
    return false;
}

/* Asked by vc__schemas_judge(): true if the program accepts the fingerprint for
 * this service. */
static bool
schema_is_accepted(struct vc__schemas *s, uint64_t service,
                   uint32_t fingerprint)
{
    const struct vc__schema_list *list;

    pthread_mutex_lock(&s->lock);
    list = s->lists;
    while (list != NULL && !schema_list_has(list, service, fingerprint))
        list = list->next;
    pthread_mutex_unlock(&s->lock);
    return list != NULL;
}

enum vc__schema_verdict
vc__schemas_judge(struct vc__schemas *s, const struct vc_service *service,
                  uint32_t fingerprint)
{
    if (s->check == 0 || service->fingerprint == 0 ||
        service->fingerprint == fingerprint)
        return VC__SCHEMA_TAKEN;
    if (schema_is_accepted(s, service->id, fingerprint))
        return VC__SCHEMA_TAKEN;
    return fingerprint == 0 ? VC__SCHEMA_UNKNOWN : VC__SCHEMA_DIFFERS;
}
