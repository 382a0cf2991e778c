/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See rpc/balance/endpoint_metadata.h. */
#include "rpc/balance/endpoint_metadata.h"

#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

#include "transport/core/error.h"
#include "transport/wire/metadata.h"

_Static_assert(VC_ENDPOINT_METADATA_BYTES <= VC_METADATA_MAX,
               "vc__metadata_fault() reads any value that is allowed");
_Static_assert(sizeof(struct vc__endpoint) % alignof(struct vc_metadata) == 0,
               "entries may follow endpoints");

/* The bytes that copies of n entries take, of so many bytes of keys and values,
 * which have a NUL each: a multiple of what the next entries need. For
 * vc__endpoint_metadata_check() and vc__endpoints_copy(). */
static size_t
entries_room(size_t n, size_t bytes)
{
    const size_t unit = alignof(struct vc_metadata);
    size_t all = n * sizeof(struct vc_metadata) + bytes + 2 * n;

    return (all + unit - 1) / unit * unit;
}

/* For vc__endpoint_metadata_check(): checks entry i, of which *left bytes are
 * allowed, and takes its bytes from these. VC_INVALID_ARGUMENT if it is
 * malformed or longer. The length is checked before the value is read. */
static enum vc_status
endpoint_entry_check(const struct vc_metadata *entry, size_t i, size_t *left)
{
    const char *fault = entry->length > VC_ENDPOINT_METADATA_BYTES
                            ? NULL
                            : vc__metadata_fault(entry);
    size_t key;

    if (fault != NULL)
        return vc__fail(VC_INVALID_ARGUMENT,
                        "vc_endpoint.metadata: entry %zu: %s", i, fault);
    key = entry->key == NULL ? 0 : strnlen(entry->key, *left + 1);
    if (key > *left || entry->length > *left - key)
        return vc__fail(VC_INVALID_ARGUMENT,
                        "vc_endpoint.metadata: keys and values take more than "
                        "%u bytes, with entry %zu",
                        VC_ENDPOINT_METADATA_BYTES, i);
    *left -= key + entry->length;
    return VC_OK;
}

enum vc_status
vc__endpoint_metadata_check(const struct vc_endpoint *e, size_t *room)
{
    size_t left = VC_ENDPOINT_METADATA_BYTES;
    enum vc_status status = VC_OK;

    if (e->n_metadata > VC_ENDPOINT_METADATA_MAX)
        return vc__fail(VC_INVALID_ARGUMENT,
                        "vc_endpoint.n_metadata: %zu is more than %u",
                        e->n_metadata, VC_ENDPOINT_METADATA_MAX);
    if (e->n_metadata > 0 && e->metadata == NULL)
        return vc__fail(VC_INVALID_ARGUMENT,
                        "vc_endpoint.metadata is NULL, and n_metadata is %zu",
                        e->n_metadata);
    for (size_t i = 0; i < e->n_metadata && status == VC_OK; i++)
        status = endpoint_entry_check(&e->metadata[i], i, &left);
    if (status == VC_OK)
        *room += entries_room(e->n_metadata, VC_ENDPOINT_METADATA_BYTES - left);
    return status;
}

/* For vc__endpoint_metadata_copy(): copies bytes and a NUL to *at, which it
 * moves past them. Returns where the copy is. */
static const char *
room_bytes_copy(char **at, const void *from, size_t len)
{
    char *to = *at;

    if (len > 0)
        memcpy(to, from, len);
    to[len] = '\0';
    *at += len + 1;
    return to;
}

void
vc__endpoint_metadata_copy(struct vc__endpoint *out,
                           const struct vc_metadata *from, size_t n,
                           struct vc__endpoint_room *room)
{
    struct vc_metadata *entries = (struct vc_metadata *)(void *)room->at;
    char *at = room->at + n * sizeof *entries;
    size_t bytes = 0;

    out->n_metadata = n;
    out->metadata = n == 0 ? NULL : entries;
    for (size_t i = 0; i < n; i++) {
        size_t key = strlen(from[i].key);

        entries[i].key = room_bytes_copy(&at, from[i].key, key);
        entries[i].value = room_bytes_copy(&at, from[i].value, from[i].length);
        entries[i].length = from[i].length;
        bytes += key + from[i].length;
    }
    room->at += entries_room(n, bytes);
}

struct vc__endpoint *
vc__endpoints_new(size_t n, size_t room, struct vc__endpoint_room *memory)
{
    struct vc__endpoint *all = calloc(1, n * sizeof *all + room);

    if (all != NULL)
        memory->at = (char *)(all + n);
    return all;
}

struct vc__endpoint *
vc__endpoints_copy(const struct vc__endpoint *from, size_t n)
{
    struct vc__endpoint_room memory;
    struct vc__endpoint *all;
    size_t room = 0;

    for (size_t i = 0; i < n; i++) {
        size_t bytes = 0;

        for (size_t k = 0; k < from[i].n_metadata; k++)
            bytes +=
                strlen(from[i].metadata[k].key) + from[i].metadata[k].length;
        room += entries_room(from[i].n_metadata, bytes);
    }
    all = vc__endpoints_new(n, room, &memory);
    for (size_t i = 0; all != NULL && i < n; i++) {
        struct vc__endpoint *to = &all[from[i].place];

        *to = from[i];
        vc__endpoint_metadata_copy(to, from[i].metadata, from[i].n_metadata,
                                   &memory);
    }
    return all;
}
