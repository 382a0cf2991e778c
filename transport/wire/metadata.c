/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Writes, checks and reads metadata, byte for byte as in doc/wire.md, section
 * 4.11. Each entry has a byte with the length of the key, the key, two bytes
 * with the length of the value, and the value. Static functions run on the
 * thread of their caller. See transport/wire/metadata.h. */
#include "transport/wire/metadata.h"

#include <string.h>

#include "transport/core/le.h"

#define TRAILING 0x80u
/* Bytes of an entry besides its key and value. */
#define OVERHEAD 3u

/* One entry; points into the packed bytes. */
struct entry {
    bool trailing;
    const char *key;
    size_t key_len;
    const uint8_t *value;
    size_t len;
};

/* --- what keys and values may be ---------------------------------------- */

/* For key_is_own(): true if the key begins with this text. */
static bool
key_begins(const char *key, size_t len, const char *with)
{
    size_t n = strlen(with);

    return len >= n && memcmp(key, with, n) == 0;
}

/* For vc__metadata_fault() and kind_of(): true if only the library itself may
 * send this key. */
static bool
key_is_own(const char *key, size_t len)
{
    return key_begins(key, len, "grpc-") || key_begins(key, len, "verbcall-");
}

/* For vc__metadata_fault() and entry_check(): true if a value whose key is not
 * binary may look so. */
static bool
text_fits(const uint8_t *value, size_t len)
{
    if (len > 0 && (value[0] == ' ' || value[len - 1] == ' '))
        return false;
    for (size_t i = 0; i < len; i++) {
        if (value[i] < 0x20 || value[i] > 0x7e)
            return false;
    }
    return true;
}

/* --- writing ----------------------------------------------------------- */

const char *
vc__metadata_fault(const struct vc_metadata *entry)
{
    size_t len =
        entry->key == NULL ? 0 : strnlen(entry->key, VC__METADATA_KEY_MAX + 1);

    if (!vc__metadata_key_fits(entry->key, len))
        return "its key must be 1 to 127 of a-z, 0-9, '_', '-' and '.'";
    if (key_is_own(entry->key, len))
        return "keys that begin with \"grpc-\" or \"verbcall-\" are the "
               "library's own";
    if (entry->value == NULL && entry->length > 0)
        return "its value is NULL, and its length is not 0";
    /* A value that is too long is not read. */
    if (entry->length <= VC_METADATA_MAX &&
        !vc__metadata_key_is_binary(entry->key, len) &&
        !text_fits(entry->value, entry->length))
        return "its value must be printable ASCII without spaces around it: "
               "other bytes need a key that ends in \"-bin\"";
    return NULL;
}

size_t
vc__metadata_size(const struct vc_metadata *entry)
{
    return OVERHEAD + strlen(entry->key) + entry->length;
}

bool
vc__metadata_fits(size_t taken, const struct vc_metadata *entry)
{
    return entry->length <= VC_METADATA_MAX &&
           taken + vc__metadata_size(entry) <= VC_METADATA_MAX;
}

uint8_t *
vc__metadata_put(uint8_t *out, const struct vc_metadata *entry, bool trailing)
{
    size_t key = strlen(entry->key);

    *out++ = (uint8_t)(key | (trailing ? TRAILING : 0));
    memcpy(out, entry->key, key);
    out += key;
    vc__put16(out, (uint16_t)entry->length);
    out += 2;
    if (entry->length > 0)
        memcpy(out, entry->value, entry->length);
    return out + entry->length;
}

/* --- reading ----------------------------------------------------------- */

/* For entry_next() and vc__metadata_check(): reads the entry at *at, and moves
 * *at past it. Returns true if the entry is whole; otherwise *at stays. */
static bool
entry_get(struct entry *e, const uint8_t **at, const uint8_t *end)
{
    const uint8_t *in = *at;
    size_t room = (size_t)(end - in);

    if (room < OVERHEAD)
        return false;
    e->trailing = (in[0] & TRAILING) != 0;
    e->key = (const char *)in + 1;
    e->key_len = in[0] & ~TRAILING;
    room -= OVERHEAD;
    if (e->key_len > room)
        return false;
    in += 1 + e->key_len;
    e->value = in + 2;
    e->len = vc__get16(in);
    if (e->len > room - e->key_len)
        return false;
    *at = e->value + e->len;
    return true;
}

/* For remove, initial, seek and unpack: reads the next one of checked entries,
 * from *at, which is moved past it. False after the last one. */
static bool
entry_next(struct entry *e, const uint8_t **at, const struct vc__metadata *m)
{
    return *at < m->data + m->len && entry_get(e, at, m->data + m->len);
}

/* For vc__metadata_check(): what is malformed in an entry, in words; NULL if
 * nothing is. */
static const char *
entry_check(const struct entry *e, bool may_trail)
{
    if (e->trailing && !may_trail)
        return "trailing metadata, which is not allowed here";
    if (!vc__metadata_key_fits(e->key, e->key_len))
        return "metadata with an invalid key";
    if (!vc__metadata_key_is_binary(e->key, e->key_len) &&
        !text_fits(e->value, e->len))
        return "metadata with a text that is not printable ASCII, or has "
               "spaces around it";
    return NULL;
}

const char *
vc__metadata_check(const struct vc__metadata *m, bool may_trail, size_t *n)
{
    const uint8_t *at = m->data, *end = m->data + m->len;

    *n = 0;
    if (m->len > VC__METADATA_MAX)
        return "metadata over the limit";
    while (at < end) {
        const char *fault;
        struct entry e;

        if (!entry_get(&e, &at, end))
            return "truncated metadata";
        fault = entry_check(&e, may_trail);
        if (fault != NULL)
            return fault;
        ++*n;
    }
    return NULL;
}

size_t
vc__metadata_remove(uint8_t *data, size_t len, const char *key)
{
    struct vc__metadata m = {.data = data, .len = len};
    const uint8_t *from = data, *at = data;
    uint8_t *to = data;
    struct entry e;

    for (; entry_next(&e, &at, &m); from = at) {
        if (e.key_len == strlen(key) && memcmp(e.key, key, e.key_len) == 0)
            continue;
        memmove(to, from, (size_t)(at - from));
        to += at - from;
    }
    return (size_t)(to - data);
}

size_t
vc__metadata_initial(const uint8_t *data, size_t len, uint8_t *out)
{
    struct vc__metadata m = {.data = data, .len = len};
    const uint8_t *from = data, *at = data;
    size_t n = 0;
    struct entry e;

    if (len == 0)
        return 0;
    for (; entry_next(&e, &at, &m); from = at) {
        if (e.trailing)
            continue;
        if (out != NULL)
            memcpy(out + n, from, (size_t)(at - from));
        n += (size_t)(at - from);
    }
    return n;
}

/* --- unpacking --------------------------------------------------------- */

enum kind {
    INITIAL,
    ITS_TRAILING,
    OWN
};

/* For kind_unpack() and vc__metadata_seek(): the kind of a checked entry. */
static enum kind
kind_of(const struct entry *e)
{
    if (key_is_own(e->key, e->key_len))
        return OWN;
    return e->trailing ? ITS_TRAILING : INITIAL;
}

/* Two NULs take the place of the three bytes of lengths, so the strings need no
 * more room than when packed. */
size_t
vc__metadata_memory(const struct vc__metadata *m, size_t n)
{
    return n * sizeof(struct vc_metadata) + m->len;
}

/* For kind_unpack(): copies len bytes and a NUL to *at, moves *at past them,
 * and returns the copy. */
static const char *
text_copy(char **at, const void *text, size_t len)
{
    char *copy = *at;

    memcpy(copy, text, len);
    copy[len] = '\0';
    *at += len + 1;
    return copy;
}

/* For vc__metadata_unpack(): unpacks the entries of one kind to out, and their
 * strings to *text; returns their number. */
static size_t
kind_unpack(struct vc_metadata *out, char **text, const struct vc__metadata *m,
            enum kind kind)
{
    const uint8_t *at = m->data;
    struct entry e;
    size_t n = 0;

    while (entry_next(&e, &at, m)) {
        if (kind_of(&e) != kind)
            continue;
        out[n].key = text_copy(text, e.key, e.key_len);
        out[n].value = text_copy(text, e.value, e.len);
        out[n].length = e.len;
        n++;
    }
    return n;
}

void
vc__metadata_unpack(struct vc__metadata_view *view, void *memory,
                    const struct vc__metadata *m, size_t n)
{
    struct vc_metadata *out = memory;
    char *text = (char *)(out + n);

    view->entries = out;
    view->n_initial = kind_unpack(out, &text, m, INITIAL);
    out += view->n_initial;
    view->n_trailing = kind_unpack(out, &text, m, ITS_TRAILING);
    out += view->n_trailing;
    view->n_own = kind_unpack(out, &text, m, OWN);
}

const struct vc_metadata *
vc__metadata_find(const struct vc_metadata *entries, size_t n, const char *key)
{
    for (size_t i = 0; i < n; i++) {
        if (strcmp(entries[i].key, key) == 0)
            return &entries[i];
    }
    return NULL;
}

bool
vc__metadata_seek(const struct vc__metadata *m, const char *key,
                  struct vc_metadata *found)
{
    size_t len = strlen(key);
    const uint8_t *at = m->data;
    struct entry e;

    while (m->len > 0 && entry_next(&e, &at, m)) {
        if (kind_of(&e) != INITIAL || e.key_len != len ||
            memcmp(e.key, key, len) != 0)
            continue;
        *found =
            (struct vc_metadata){.key = key, .value = e.value, .length = e.len};
        return true;
    }
    return false;
}

const struct vc_metadata *
vc__metadata_find_own(const struct vc__metadata_view *view, const char *key)
{
    if (view->n_own == 0)
        return NULL;
    return vc__metadata_find(view->entries + view->n_initial + view->n_trailing,
                             view->n_own, key);
}

/* --- numbers ----------------------------------------------------------- */

bool
vc__metadata_number(const struct vc_metadata *entry, int32_t *number)
{
    const char *text = entry->value;
    size_t len = entry->length;
    bool negative = len > 0 && text[0] == '-';
    size_t i = negative ? 1 : 0;
    int64_t n = 0;

    if (len == i || len - i > 10)
        return false;
    for (; i < len; i++) {
        if (text[i] < '0' || text[i] > '9')
            return false;
        n = n * 10 + (text[i] - '0');
    }
    n = negative ? -n : n;
    if (n < INT32_MIN || n > INT32_MAX)
        return false;
    *number = (int32_t)n;
    return true;
}
