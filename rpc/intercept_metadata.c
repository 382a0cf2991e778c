/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Metadata as interceptors see and add it: on the thread that runs their
 * callbacks. See rpc/interceptor.h. */
#include <stdlib.h>
#include <string.h>

#include "rpc/interceptor.h"
#include "transport/wire/metadata.h"

const struct vc_metadata *
vc_interception_metadata(const struct vc_interception *call, size_t *n)
{
    if (call->came != NULL) {
        *n = call->came->n_initial;
        return call->came->entries;
    }
    *n = call->opts->n_metadata;
    return call->opts->metadata;
}

/* For entry_add(): copies an entry into one block that begins with the key,
 * which the caller frees; false if memory is short. */
static bool
entry_copy(struct vc_metadata *out, const struct vc_metadata *entry)
{
    size_t size = strlen(entry->key) + 1;
    char *block = malloc(size + entry->length + 1);

    if (block == NULL)
        return false;
    memcpy(block, entry->key, size);
    if (entry->length > 0)
        memcpy(block + size, entry->value, entry->length);
    block[size + entry->length] = '\0';
    *out = (struct vc_metadata){block, block + size, entry->length};
    return true;
}

/* For vc_interception_add_metadata(): appends a copy of the entry to the call's
 * metadata; the first time, copies the caller's array, too. False if memory is
 * short: nothing is added. */
static bool
entry_add(struct vc_interception *i, const struct vc_metadata *entry)
{
    struct vc_call_opts *opts = i->opts;
    size_t n = opts->n_metadata;
    struct vc_metadata *entries =
        realloc(i->entries, (n + 1) * sizeof *entries);

    if (entries == NULL)
        return false;
    if (i->entries == NULL) {
        i->n_given = n;
        if (n > 0)
            memcpy(entries, opts->metadata, n * sizeof *entries);
    }
    opts->metadata = i->entries = entries;
    if (!entry_copy(&entries[n], entry))
        return false;
    opts->n_metadata = n + 1;
    return true;
}

enum vc_status
vc_interception_add_metadata(struct vc_interception *call, const char *key,
                             const void *value, size_t length)
{
    const struct vc_metadata entry = {key, value, length};
    const char *fault = vc__metadata_fault(&entry);
    const char *service = call->service->name, *method = call->method->name;

    if (call->opts == NULL)
        return vc__fail(VC_FAILED_PRECONDITION,
                        "%s.%s: on a server, add to the reply: "
                        "vc_call_add_initial() or vc_call_add_trailing()",
                        service, method);
    if (!call->starting)
        return vc__fail(VC_FAILED_PRECONDITION,
                        "%s.%s: the request may have been sent: add metadata "
                        "to it in start",
                        service, method);
    if (fault != NULL)
        return vc__fail(VC_INVALID_ARGUMENT, "%s.%s: metadata %s: %s", service,
                        method, key == NULL ? "NULL" : key, fault);
    if (!vc__metadata_fits(call->added_size, &entry))
        return vc__fail(
            VC_RESOURCE_EXHAUSTED,
            "%s.%s: metadata: with the %zu bytes of %s the added metadata "
            "exceed %d bytes; put long values into the message",
            service, method, length, key, VC_METADATA_MAX);
    if (!entry_add(call, &entry))
        return vc__fail(VC_RESOURCE_EXHAUSTED, "%s.%s: out of memory", service,
                        method);
    call->added_size += vc__metadata_size(&entry);
    return VC_OK;
}

void
vc__interception_drop_metadata(struct vc_interception *i)
{
    if (i->entries == NULL)
        return;
    for (size_t k = i->n_given; k < i->opts->n_metadata; k++)
        free((char *)i->entries[k].key);
    free(i->entries);
    i->entries = NULL;
}
