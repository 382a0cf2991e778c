/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Values that are put are in a hash table with open addressing. The table is
 * created at its full size and no key is ever removed. So it needs no
 * rehashing, and the system allocates only the pages that are used. */
#include "store.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define SLOT_BITS 21
#define SLOTS     ((size_t)1 << SLOT_BITS)

_Static_assert(SLOTS > 2 * STORE_MAX_KEYS, "a search must meet an empty slot");

struct value {
    size_t size;
    uint8_t data[];
};

struct slot {
    uint64_t key;
    struct value *value; /* NULL: the slot is empty */
};

struct store {
    const struct lines *lines;
    pthread_rwlock_t lock; /* of the fields below */
    struct slot *slots;
    size_t n_put;  /* keys in slots */
    size_t n_more; /* keys in slots that are not those of a line */
    size_t bytes;  /* of the values in slots */
};

struct store *
store_new(const struct lines *lines)
{
    struct store *store = calloc(1, sizeof *store);

    if (store == NULL)
        return NULL;
    store->slots = calloc(SLOTS, sizeof *store->slots);
    if (store->slots == NULL || pthread_rwlock_init(&store->lock, NULL) != 0) {
        free(store->slots);
        free(store);
        return NULL;
    }
    store->lines = lines;
    return store;
}

void
store_free(struct store *store)
{
    if (store == NULL)
        return;
    for (size_t i = 0; store->n_put > 0 && i < SLOTS; i++)
        free(store->slots[i].value);
    pthread_rwlock_destroy(&store->lock);
    free(store->slots);
    free(store);
}

static bool
is_line(const struct store *store, uint64_t key)
{
    return key >= 1 && key <= store->lines->count;
}

/* Returns the slot of the key, or the empty slot for it. */
static struct slot *
slot_find(const struct store *store, uint64_t key)
{
    /* 2^64 divided by the golden ratio: spreads consecutive keys. */
    size_t i = (size_t)(key * 0x9e3779b97f4a7c15u >> (64 - SLOT_BITS));

    while (store->slots[i].value != NULL && store->slots[i].key != key)
        i = (i + 1) % SLOTS;
    return &store->slots[i];
}

/* --- get ---------------------------------------------------------------- */

/* Another call may replace a value that was put, so the value is copied. */
static enum vc_status
get_put_value(struct vc_call *call, const struct value *from,
              ProtobufCBinaryData *to)
{
    to->data = vc_call_alloc(call, from->size);
    if (to->data == NULL && from->size > 0)
        return vc_call_fail(call, VC_RESOURCE_EXHAUSTED,
                            "no memory for a value of %zu bytes", from->size);
    to->len = from->size;
    if (from->size > 0)
        memcpy(to->data, from->data, from->size);
    return VC_OK;
}

enum vc_status
store_get(struct store *store, struct vc_call *call, uint64_t key,
          ProtobufCBinaryData *value)
{
    enum vc_status status = VC_OK;
    const struct slot *slot;

    pthread_rwlock_rdlock(&store->lock);
    slot = slot_find(store, key);
    if (slot->value != NULL)
        status = get_put_value(call, slot->value, value);
    else if (is_line(store, key))
        value->data = lines_get(store->lines, key - 1, &value->len);
    else
        status =
            vc_call_fail(call, VC_NOT_FOUND, "no key %" PRIu64 " here", key);
    pthread_rwlock_unlock(&store->lock);
    return status;
}

/* --- put ---------------------------------------------------------------- */

static struct value *
value_make(const ProtobufCBinaryData *from)
{
    struct value *value = malloc(sizeof *value + from->len);

    if (value == NULL)
        return NULL;
    value->size = from->len;
    if (from->len > 0)
        memcpy(value->data, from->data, from->len);
    return value;
}

/* Swaps *value with the content of its slot. If a limit is reached, nothing
 * changes. */
static enum vc_status
store_swap(struct store *store, struct vc_call *call, uint64_t key,
           struct value **value, bool *existed)
{
    struct slot *slot = slot_find(store, key);
    struct value *old = slot->value;
    size_t bytes = store->bytes + (*value)->size - (old ? old->size : 0);

    if (bytes > STORE_MAX_BYTES)
        return vc_call_fail(call, VC_RESOURCE_EXHAUSTED,
                            "all values together may have %zu bytes",
                            STORE_MAX_BYTES);
    if (old == NULL && store->n_put == STORE_MAX_KEYS)
        return vc_call_fail(call, VC_RESOURCE_EXHAUSTED,
                            "%d keys may be put, and have been",
                            STORE_MAX_KEYS);
    *existed = old != NULL || is_line(store, key);
    store->bytes = bytes;
    store->n_put += old == NULL;
    store->n_more += !*existed;
    *slot = (struct slot){key, *value};
    *value = old;
    return VC_OK;
}

enum vc_status
store_put(struct store *store, struct vc_call *call, uint64_t key,
          const ProtobufCBinaryData *from, bool *existed)
{
    struct value *value;
    enum vc_status status;

    if (from->len > STORE_MAX_VALUE)
        return vc_call_fail(call, VC_RESOURCE_EXHAUSTED,
                            "a value may have %zu bytes, not %zu",
                            STORE_MAX_VALUE, from->len);
    value = value_make(from);
    if (value == NULL)
        return vc_call_fail(call, VC_RESOURCE_EXHAUSTED,
                            "no memory for a value of %zu bytes", from->len);
    pthread_rwlock_wrlock(&store->lock);
    status = store_swap(store, call, key, &value, existed);
    pthread_rwlock_unlock(&store->lock);
    free(value);
    return status;
}

uint64_t
store_count(struct store *store)
{
    uint64_t count;

    pthread_rwlock_rdlock(&store->lock);
    count = store->lines->count + store->n_more;
    pthread_rwlock_unlock(&store->lock);
    return count;
}
