/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * transport/wire/metadata.h: any bytes as the metadata of a frame. This
 * file has a second check of each entry, by doc/wire.md, section 4.11.
 * Unpacking puts each valid entry in its place, and packing it again gives
 * the same bytes. */
#include <stdbool.h>
#include <string.h>

#include "tests/fuzz/fuzz.h"
#include "transport/wire/metadata.h"

/* An entry in the bytes. */
struct seen {
    bool trailing, own;
    const uint8_t *key, *value;
    size_t key_len, len, size;
};

static bool
is_of(const char *set, const uint8_t *bytes, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (bytes[i] == 0 || strchr(set, bytes[i]) == NULL)
            return false;
    return true;
}

static bool
is_text(const uint8_t *bytes, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (bytes[i] < 0x20 || bytes[i] > 0x7e)
            return false;
    return len == 0 || (bytes[0] != 0x20 && bytes[len - 1] != 0x20);
}

static bool
begins(const struct seen *s, const char *text)
{
    return s->key_len >= strlen(text) &&
           memcmp(s->key, text, strlen(text)) == 0;
}

/* Reads the entry at `at`, with `room` bytes left; returns false if it
 * is malformed. */
static bool
look(struct seen *s, const uint8_t *at, size_t room)
{
    if (room < 1)
        return false;
    s->trailing = at[0] >= 128;
    s->key_len = at[0] % 128;
    if (s->key_len == 0 || room < 1 + s->key_len + 2)
        return false;
    s->key = at + 1;
    s->len = s->key[s->key_len] + 256u * s->key[s->key_len + 1];
    s->size = 1 + s->key_len + 2 + s->len;
    s->value = s->key + s->key_len + 2;
    s->own = begins(s, "grpc-") || begins(s, "verbcall-");
    if (room < s->size ||
        !is_of("abcdefghijklmnopqrstuvwxyz0123456789_-.", s->key, s->key_len))
        return false;
    return (s->key_len >= 4 &&
            memcmp(s->key + s->key_len - 4, "-bin", 4) == 0) ||
           is_text(s->value, s->len);
}

/* True when all entries are valid. *n is the number of entries before the first
 * malformed one. */
static bool
all_are_good(const uint8_t *data, size_t len, bool may_trail, size_t *n)
{
    struct seen s;

    for (*n = 0; len > 0; ++*n) {
        if (!look(&s, data, len) || (s.trailing && !may_trail))
            return false;
        data += s.size;
        len -= s.size;
    }
    return true;
}

/* The unpacked entry is that of the bytes. A program could have sent it, unless
 * its key is reserved for the library. Packing gives the same bytes again. */
static void
entry_check(const struct vc_metadata *e, const struct seen *s)
{
    uint8_t again[3 + VC__METADATA_KEY_MAX + VC__METADATA_MAX];
    const char *value = e->value;

    FUZZ_CHECK(strlen(e->key) == s->key_len &&
               memcmp(e->key, s->key, s->key_len) == 0);
    FUZZ_CHECK(e->length == s->len && value[s->len] == '\0');
    FUZZ_CHECK(memcmp(value, s->value, s->len) == 0);
    FUZZ_CHECK((vc__metadata_fault(e) != NULL) ==
               (s->own || s->len > VC_METADATA_MAX));
    FUZZ_CHECK(vc__metadata_size(e) == s->size);
    FUZZ_CHECK(vc__metadata_put(again, e, s->trailing) == again + s->size);
    FUZZ_CHECK(memcmp(again, s->key - 1, s->size) == 0);
}

static void
number_check(const struct vc_metadata *e)
{
    int32_t number = 0;
    char *end = NULL;
    bool good = vc__metadata_number(e, &number);

    if (good)
        FUZZ_CHECK(number == strtoll(e->value, &end, 10) &&
                   end == (const char *)e->value + e->length);
}

/* Each entry of the bytes is the next of its kind in the view. */
static void
view_check(const struct vc__metadata_view *view, const uint8_t *data,
           size_t len)
{
    size_t initial = 0, trailing = 0, own = 0;
    struct seen s;

    for (; len > 0; data += s.size, len -= s.size) {
        const struct vc_metadata *e = view->entries;

        FUZZ_CHECK(look(&s, data, len));
        if (s.own)
            e += view->n_initial + view->n_trailing + own++;
        else if (s.trailing)
            e += view->n_initial + trailing++;
        else
            e += initial++;
        entry_check(e, &s);
        number_check(e);
    }
    FUZZ_CHECK(initial == view->n_initial && trailing == view->n_trailing &&
               own == view->n_own);
}

/* After removing one key, the other entries are there, and none of that key. */
static void
remove_check(const struct vc__metadata *m, const char *key)
{
    static uint8_t copy[VC__METADATA_MAX];
    size_t left, gone = 0, n;
    const uint8_t *at = m->data;
    struct seen s;

    memcpy(copy, m->data, m->len);
    left = vc__metadata_remove(copy, m->len, key);
    for (size_t kept = 0; at < m->data + m->len; at += s.size) {
        FUZZ_CHECK(look(&s, at, (size_t)(m->data + m->len - at)));
        if (s.key_len == strlen(key) && memcmp(s.key, key, s.key_len) == 0) {
            gone += s.size;
            continue;
        }
        FUZZ_CHECK(memcmp(copy + kept, at, s.size) == 0);
        kept += s.size;
    }
    FUZZ_CHECK(left == m->len - gone);
    FUZZ_CHECK(all_are_good(copy, left, true, &n));
}

static void
good_check(const struct vc__metadata *m, size_t n)
{
    struct vc__metadata_view view;
    size_t size = vc__metadata_memory(m, n);
    void *memory = malloc(size > 0 ? size : 1);

    FUZZ_CHECK(memory != NULL);
    vc__metadata_unpack(&view, memory, m, n);
    view_check(&view, m->data, m->len);
    for (size_t i = 0; i < n && i < 4; i++)
        remove_check(m, view.entries[i].key);
    free(memory);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    const struct vc__metadata m = {.data = data, .len = len};
    bool fits = len <= VC__METADATA_MAX;
    size_t n, expected;
    bool good;

    good = fits && all_are_good(data, len, false, &expected);
    FUZZ_CHECK((vc__metadata_check(&m, false, &n) == NULL) == good);
    good = fits && all_are_good(data, len, true, &expected);
    FUZZ_CHECK((vc__metadata_check(&m, true, &n) == NULL) == good);
    if (!good)
        return 0;
    FUZZ_CHECK(n == expected);
    good_check(&m, n);
    return 0;
}
