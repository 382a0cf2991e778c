/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See rpc/server/server_metadata.h, also for the threads. The static functions
 * run on the thread of the function that calls them. */
#include "rpc/server/server_call.h"

#include <stdio.h>
#include <string.h>

#include "transport/core/error.h"

#define ROOM_FIRST 256u

/* --- of the request ---------------------------------------------------- */

/* Called by vc__call_metadata_take(): reads how often the caller has tried the
 * call before. False: it is malformed. */
static bool
previous_take(struct vc__call_metadata *own)
{
    const struct vc_metadata *e =
        vc__metadata_find_own(&own->came, VC__METADATA_ATTEMPTS);
    int32_t n = 0;

    if (e != NULL && (!vc__metadata_number(e, &n) || n < 0))
        return false;
    own->previous = (uint32_t)n;
    return true;
}

/* Returns the priority that the request asks for; an unknown one counts as the
 * default. Called by vc__call_metadata_take(). */
static uint32_t
priority_of(const struct vc__call_metadata *own)
{
    const struct vc_metadata *e = vc__metadata_find(
        own->came.entries, own->came.n_initial, VC_METADATA_PRIORITY);

    if (e == NULL)
        return VC_PRIORITY_DEFAULT;
    if (e->length == 8 && memcmp(e->value, "critical", 8) == 0)
        return VC_PRIORITY_CRITICAL;
    if (e->length == 9 && memcmp(e->value, "sheddable", 9) == 0)
        return VC_PRIORITY_SHEDDABLE;
    return VC_PRIORITY_DEFAULT;
}

enum vc_status
vc__call_metadata_take(struct vc_call *call, const char **text)
{
    const struct vc__metadata *m = &call->site.metadata;
    struct vc__call_metadata *own = &call->metadata;
    void *memory;
    size_t n;

    *text = vc__metadata_check(m, false, &n);
    if (*text != NULL)
        return VC_INVALID_ARGUMENT;
    *text = "the server has no memory for the call";
    memory = vc__arena_alloc(&call->arena, vc__metadata_memory(m, n));
    if (memory == NULL)
        return VC_RESOURCE_EXHAUSTED;
    own->used = true;
    vc__metadata_unpack(&own->came, memory, m, n);
    call->parent.priority = priority_of(own);
    *text = VC__METADATA_ATTEMPTS " is no number";
    return previous_take(own) ? VC_OK : VC_INVALID_ARGUMENT;
}

const struct vc_metadata *
vc_call_metadata(const struct vc_call *call, size_t *n)
{
    const struct vc__call_metadata *own = &call->metadata;

    vc__must(call, VC__CALL);
    *n = own->came.n_initial;
    return own->came.entries;
}

const void *
vc_call_metadata_find(const struct vc_call *call, const char *key,
                      size_t *length)
{
    const struct vc__call_metadata *own = &call->metadata;
    const struct vc_metadata *e;

    vc__must(call, VC__CALL);
    e = vc__metadata_find(own->came.entries, own->came.n_initial, key);
    if (length != NULL)
        *length = e == NULL ? 0 : e->length;
    return e == NULL ? NULL : e->value;
}

unsigned
vc_call_attempt(const struct vc_call *call)
{
    vc__must(call, VC__CALL);
    return call->metadata.previous + 1;
}

/* --- of the reply ------------------------------------------------------ */

/* Makes room for `more` bytes of reply metadata; a buffer that was too small
 * stays in the arena until the call ends. False without memory. Called by
 * server_metadata_say() and vc__call_metadata_append(). */
static bool
said_grow(struct vc_call *call, struct vc__call_metadata *own, size_t more)
{
    size_t room = own->said_room > 0 ? own->said_room : ROOM_FIRST;
    uint8_t *said;

    while (room < own->said_len + more)
        room *= 2;
    if (room <= own->said_room)
        return true;
    said = vc__arena_alloc(&call->arena, room);
    if (said == NULL)
        return false;
    if (own->said_len > 0)
        memcpy(said, own->said, own->said_len);
    own->used = true;
    own->said = said;
    own->said_room = room;
    return true;
}

/* True if the client accepts metadata (cm/connect/features.h). Asked by
 * say_more(), vc__call_metadata_append() and vc_call_pushback(). */
static bool
is_heard(const struct vc_call *call)
{
    return (call->site.session->peer->features & VC__FEATURE_METADATA) != 0;
}

/* Adds an entry that was checked. VC_OK; VC_RESOURCE_EXHAUSTED without memory,
 * with vc_error(). Called by say_more() and vc_call_pushback(). */
static enum vc_status
server_metadata_say(struct vc_call *call, const struct vc_metadata *entry,
                    bool trailing)
{
    struct vc__call_metadata *own = &call->metadata;
    size_t size = vc__metadata_size(entry);

    if (!said_grow(call, own, size))
        return vc__fail(VC_RESOURCE_EXHAUSTED, "the call has no memory for %s",
                        entry->key);
    vc__metadata_put(own->said + own->said_len, entry, trailing);
    own->said_len += size;
    return VC_OK;
}

/* Adds an entry of the program: VC_OK. VC_FAILED_PRECONDITION if the client
 * takes no metadata; VC_RESOURCE_EXHAUSTED if it does not fit or memory is
 * short; with vc_error(). Called by server_metadata_add() and
 * vc_call_details(). */
static enum vc_status
say_more(struct vc_call *call, const struct vc_metadata *entry, bool trailing)
{
    const struct vc__call_metadata *own = &call->metadata;

    if (!is_heard(call))
        return vc__fail(
            VC_FAILED_PRECONDITION,
            "the client does not support metadata: %s cannot be added",
            entry->key);
    if (!vc__metadata_fits(own->said_len - own->advice_len, entry))
        return vc__fail(VC_RESOURCE_EXHAUSTED,
                        "with %s the metadata of the reply exceed %u bytes; "
                        "put long values into the message",
                        entry->key, VC_METADATA_MAX);
    return server_metadata_say(call, entry, trailing);
}

/* Checks an entry of the program and adds it, for vc_call_add_initial() and
 * vc_call_add_trailing(), whose errors it returns. */
static enum vc_status
server_metadata_add(struct vc_call *call, const char *key, const void *value,
                    size_t length, bool trailing)
{
    struct vc_metadata entry = {.key = key, .value = value, .length = length};
    const char *fault = vc__metadata_fault(&entry);

    if (fault != NULL)
        return vc__fail(VC_INVALID_ARGUMENT, "metadata %.*s: %s",
                        (int)VC__METADATA_KEY_MAX, key == NULL ? "" : key,
                        fault);
    return say_more(call, &entry, trailing);
}

enum vc_status
vc_call_add_initial(struct vc_call *call, const char *key, const void *value,
                    size_t length)
{
    if (!vc__good(call, VC__CALL))
        return vc__bad(call, VC__CALL);
    return server_metadata_add(call, key, value, length, false);
}

enum vc_status
vc_call_add_trailing(struct vc_call *call, const char *key, const void *value,
                     size_t length)
{
    if (!vc__good(call, VC__CALL))
        return vc__bad(call, VC__CALL);
    return server_metadata_add(call, key, value, length, true);
}

void
vc__call_metadata_append(struct vc_call *call, const uint8_t *entry, size_t len,
                         size_t body_len)
{
    struct vc__call_metadata *own = &call->metadata;

    if (!is_heard(call) ||
        own->said_len - own->advice_len + len > VC_METADATA_MAX ||
        (!vc__body_is_long(body_len, own->said_len) &&
         vc__body_is_long(body_len, own->said_len + len)) ||
        !said_grow(call, own, len))
        return;
    memcpy(own->said + own->said_len, entry, len);
    own->said_len += len;
}

/* Removes the entry with this key, so that another can take its place. Called
 * by vc_call_details() and vc_call_pushback(). */
static void
server_metadata_unsay(struct vc_call *call, const char *key)
{
    struct vc__call_metadata *own = &call->metadata;

    if (own->said_len > 0)
        own->said_len = vc__metadata_remove(own->said, own->said_len, key);
}

enum vc_status
vc_call_details(struct vc_call *call, const void *bytes, size_t length)
{
    const struct vc_metadata entry = {
        .key = VC__METADATA_DETAILS, .value = bytes, .length = length};

    if (!vc__good(call, VC__CALL))
        return vc__bad(call, VC__CALL);
    server_metadata_unsay(call, entry.key);
    return length == 0 ? VC_OK : say_more(call, &entry, true);
}

/* Called by vc_call_pushback(): writes the number to the end of out; returns
 * where it begins. Calls that are shed have one, and snprintf() would take a
 * quarter of their time. */
static const char *
number_put(char *out, size_t size, int32_t number)
{
    uint32_t rest = number < 0 ? 0u - (uint32_t)number : (uint32_t)number;
    char *at = out + size - 1;

    *at = '\0';
    do
        *--at = (char)('0' + rest % 10);
    while ((rest /= 10) > 0);
    if (number < 0)
        *--at = '-';
    return at;
}

/* There is always room for this entry, which is not one of the program's. Also
 * called by vc__shed() and vc__call_refuse_lost(), on the holder. VC_OK also
 * for a client without metadata, which gets none. */
enum vc_status
vc_call_pushback(struct vc_call *call, int32_t ms)
{
    char digits[16];
    struct vc_metadata entry = {.key = VC__METADATA_PUSHBACK};
    enum vc_status status;

    if (!vc__good(call, VC__CALL))
        return vc__bad(call, VC__CALL);
    if (!is_heard(call))
        return VC_OK; /* only advice, not part of the answer */
    entry.value = number_put(digits, sizeof digits, ms);
    entry.length = strlen(entry.value);
    server_metadata_unsay(call, entry.key);
    call->metadata.advice_len = 0;
    status = server_metadata_say(call, &entry, true);
    if (status == VC_OK)
        call->metadata.advice_len = vc__metadata_size(&entry);
    return status;
}
