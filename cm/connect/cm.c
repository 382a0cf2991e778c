/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See cm/connect/cm.h. */
#include "cm/connect/cm.h"

#include <stdlib.h>
#include <string.h>

void
vc__cm_init(struct vc__cm *cm, struct vc__engine *engine,
            const struct vc__context_opts *opts)
{
    memset(cm, 0, sizeof *cm);
    cm->engine = engine;
    cm->opts = *opts;
    pthread_mutex_init(&cm->lock, NULL);
}

void
vc__cm_fini(struct vc__cm *cm)
{
    for (unsigned i = 0; i < VC__TRANSPORTS_MAX; i++) {
        struct vc__context *c = cm->contexts[i];

        if (c != NULL)
            c->transport->close(c);
        free(c);
    }
    pthread_mutex_destroy(&cm->lock);
}

/* Opens a transport on its first use, for vc__cm_open(). Under the lock.
 * Returns VC_OK with *context; on failure, with the status of open() or
 * VC_RESOURCE_EXHAUSTED, *context is left as it is. */
static enum vc_status
context_make(struct vc__cm *cm, const struct vc__transport *transport,
             struct vc__context **context)
{
    struct vc__context *c = calloc(1, transport->context_size);
    enum vc_status status;

    if (c == NULL)
        return vc__fail(VC_RESOURCE_EXHAUSTED, "out of memory");
    c->transport = transport;
    c->engine = cm->engine;
    status = transport->open(c, &cm->opts);
    if (status == VC_OK)
        *context = c;
    else
        free(c);
    return status;
}

/* The transport's index in vc__transports, which contains it. For
 * vc__cm_open(). */
static unsigned
cm_place_of(const struct vc__transport *transport)
{
    unsigned i = 0;

    while (vc__transports[i] != transport)
        i++;
    return i;
}

enum vc_status
vc__cm_open(struct vc__cm *cm, const struct vc__transport *transport,
            struct vc__context **context)
{
    struct vc__context **place = &cm->contexts[cm_place_of(transport)];
    enum vc_status status = VC_OK;

    pthread_mutex_lock(&cm->lock);
    if (*place == NULL)
        status = context_make(cm, transport, place);
    *context = *place;
    pthread_mutex_unlock(&cm->lock);
    return status;
}
