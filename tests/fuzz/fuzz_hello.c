/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * cm/connect/hello.h: any bytes as a hello, as an accept and as a reject. They
 * are valid as at most one of the three. If they are valid, writing what was
 * read gives the same bytes. */
#include <stdbool.h>
#include <string.h>

#include "cm/connect/hello.h"
#include "tests/fuzz/fuzz.h"

#define LARGEST VC__ACCEPT_SIZE

/* The readers must not write to memory filled with this byte when
 * they refuse. */
#define UNTOUCHED 0x5a

union said {
    struct vc__hello hello;
    struct vc__accept accept;
    struct vc__reject reject;
};

static bool
is_untouched(const union said *s)
{
    const uint8_t *bytes = (const uint8_t *)s;

    for (size_t i = 0; i < sizeof *s; i++)
        if (bytes[i] != UNTOUCHED)
            return false;
    return true;
}

static bool
is_zero(const uint8_t *bytes, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (bytes[i] != 0)
            return false;
    return true;
}

static enum vc__said
hello_get(union said *s, const uint8_t *data, size_t len)
{
    return vc__hello_get(&s->hello, data, len);
}

static enum vc__said
accept_get(union said *s, const uint8_t *data, size_t len)
{
    return vc__accept_get(&s->accept, data, len);
}

static enum vc__said
reject_get(union said *s, const uint8_t *data, size_t len)
{
    return vc__reject_get(&s->reject, data, len);
}

static void
hello_put(uint8_t *out, const union said *s)
{
    vc__hello_put(out, &s->hello);
}

static void
accept_put(uint8_t *out, const union said *s)
{
    FUZZ_CHECK(memchr(s->accept.text, 0, sizeof s->accept.text) != NULL);
    vc__accept_put(out, &s->accept);
}

static void
reject_put(uint8_t *out, const union said *s)
{
    FUZZ_CHECK(memchr(s->reject.text, 0, sizeof s->reject.text) != NULL);
    FUZZ_CHECK(s->reject.n_addrs <= VC__REJECT_ADDRS);
    FUZZ_CHECK(vc__reject_rule(s->reject.reason)->text != NULL);
    vc__reject_put(out, &s->reject);
}

static const struct kind {
    size_t size; /* on the wire */
    enum vc__said (*get)(union said *s, const uint8_t *data, size_t len);
    void (*put)(uint8_t *out, const union said *s);
} kinds[] = {
    {VC__HELLO_SIZE, hello_get, hello_put},
    {VC__ACCEPT_SIZE, accept_get, accept_put},
    {VC__REJECT_SIZE, reject_get, reject_put},
};

/* True if both have the same bytes; those of a hello that are ignored may
 * differ. */
static bool
is_same(const struct kind *kind, const uint8_t *a, const uint8_t *b, size_t len)
{
    if (kind != &kinds[0])
        return memcmp(a, b, len) == 0;
    return memcmp(a, b, 28) == 0 && memcmp(a + 32, b + 32, len - 32) == 0;
}

/* Writes the struct again: the bytes are the same, with zeros where one of the
 * two is shorter. Reading them again gives the same struct. */
static void
check_again(const struct kind *kind, const union said *s, const uint8_t *data,
            size_t len)
{
    uint8_t again[LARGEST], third[LARGEST];
    size_t both = len < kind->size ? len : kind->size;
    union said t;

    kind->put(again, s);
    FUZZ_CHECK(is_same(kind, again, data, both));
    FUZZ_CHECK(is_zero(again + both, kind->size - both));
    FUZZ_CHECK(is_zero(data + both, len - both));

    FUZZ_CHECK(kind->get(&t, again, kind->size) == VC__SAID_OK);
    kind->put(third, &t);
    FUZZ_CHECK(memcmp(again, third, kind->size) == 0);
}

/* Returns true if the bytes are valid as this kind. */
static bool
check_as(const struct kind *kind, const uint8_t *data, size_t len)
{
    enum vc__said said;
    union said s;

    memset(&s, UNTOUCHED, sizeof s);
    said = kind->get(&s, data, len);
    FUZZ_CHECK(said <= VC__SAID_FIELD && vc__said_text(said) != NULL);
    if (said == VC__SAID_OK)
        check_again(kind, &s, data, len);
    else
        FUZZ_CHECK(is_untouched(&s));
    return said == VC__SAID_OK;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    unsigned good = 0;

    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        good += check_as(&kinds[i], data, len);
    FUZZ_CHECK(good <= 1);
    return 0;
}
