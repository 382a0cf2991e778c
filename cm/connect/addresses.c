/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See cm/connect/addresses.h. */
#include "cm/connect/addresses.h"

#include <stdio.h>
#include <string.h>

#define SEPARATOR '|'
/* The most letters of a scheme (verbcall/resolver.h). */
#define SCHEME_MAX     15u
#define SCHEME_LETTERS "abcdefghijklmnopqrstuvwxyz0123456789+.-"

/* --- the text ------------------------------------------------------------- */

/* True if a scheme and ':' begin here. For address_end(). */
static bool
is_address(const char *at)
{
    size_t len = strspn(at, SCHEME_LETTERS);

    return at[0] >= 'a' && at[0] <= 'z' && len <= SCHEME_MAX && at[len] == ':';
}

/* Where the address that begins here ends: at its separator or the final NUL.
 * For vc__addresses_get() and vc__addresses_parse(). */
static const char *
address_end(const char *at)
{
    const char *end = strchr(at, SEPARATOR);

    while (end != NULL && !is_address(end + 1))
        end = strchr(end + 1, SEPARATOR);
    return end != NULL ? end : at + strlen(at);
}

bool
vc__addresses_get(const char *text, unsigned i, char out[VC__ADDRESS_TEXT])
{
    const char *at = text, *end = address_end(at);

    for (; i > 0 && *end != '\0'; i--) {
        at = end + 1;
        end = address_end(at);
    }
    if (i > 0 || (size_t)(end - at) >= VC__ADDRESS_TEXT)
        return false;
    snprintf(out, VC__ADDRESS_TEXT, "%.*s", (int)(end - at), at);
    return true;
}

/* True if both name the same transport, host and port. For
 * addresses_check(). */
static bool
same_address(const struct vc__target *a, const struct vc__target *b)
{
    return a->transport == b->transport && strcmp(a->host, b->host) == 0 &&
           strcmp(a->port, b->port) == 0;
}

/* Compares address i with those before it. Returns VC_OK, or
 * VC_INVALID_ARGUMENT with a text if it is there twice, or only one of both is
 * of vc://. For vc__addresses_parse(). */
static enum vc_status
addresses_check(const struct vc__target *targets, unsigned i, const char *text)
{
    const struct vc__target *t = &targets[i];

    if ((t->transport == NULL) != (targets[0].transport == NULL))
        return vc__fail(VC_INVALID_ARGUMENT,
                        "target \"%.200s\": some of its addresses are of "
                        "vc://, which tries the transports itself, and some "
                        "are not; write all of them with vc://, or none",
                        text);
    for (unsigned k = 0; k < i; k++) {
        if (same_address(t, &targets[k]))
            return vc__fail(VC_INVALID_ARGUMENT,
                            "target \"%.200s\": address %u is the same as "
                            "address %u; write each once",
                            text, i + 1, k + 1);
    }
    return VC_OK;
}

enum vc_status
vc__addresses_parse(struct vc__target targets[VC__ADDRESSES_MAX], unsigned *n,
                    const char *text)
{
    char one[VC__ADDRESS_TEXT];
    enum vc_status status;

    *n = 1;
    if (text == NULL || *address_end(text) == '\0')
        return vc__target_parse(&targets[0], text);
    if (strlen(text) >= VC__ADDRESS_TEXT)
        return vc__fail(VC_INVALID_ARGUMENT,
                        "target \"%.60s...\": the addresses of a server are "
                        "longer than %u bytes in all",
                        text, VC__ADDRESS_TEXT - 1);
    for (*n = 0; vc__addresses_get(text, *n, one); ++*n) {
        if (*n == VC__ADDRESSES_MAX)
            return vc__fail(VC_INVALID_ARGUMENT,
                            "target \"%.200s\": a server has at most %u "
                            "addresses",
                            text, VC__ADDRESSES_MAX);
        status = vc__target_parse(&targets[*n], one);
        if (status == VC_OK)
            status = addresses_check(targets, *n, text);
        if (status != VC_OK)
            return status;
    }
    targets[0].all = text;
    return VC_OK;
}

/* --- the order ------------------------------------------------------------ */

/* Fills `families` with those of the places, each once, in the order in which
 * they appear. Returns their number. For run_interleave(). */
static unsigned
families_find(const struct vc__place *places, unsigned n, sa_family_t *families)
{
    unsigned m = 0;

    for (unsigned i = 0; i < n; i++) {
        unsigned k = 0;

        while (k < m && families[k] != places[i].addr.ss_family)
            k++;
        if (k == m)
            families[m++] = places[i].addr.ss_family;
    }
    return m;
}

/* Moves the first of the places from `at` on that is of this family to `at`;
 * those between keep their order. Returns false if there is none. For
 * run_interleave(). */
static bool
family_pull(struct vc__place *places, unsigned n, unsigned at,
            sa_family_t family)
{
    struct vc__place found;
    unsigned i = at;

    while (i < n && places[i].addr.ss_family != family)
        i++;
    if (i == n)
        return false;
    found = places[i];
    memmove(&places[at + 1], &places[at], (i - at) * sizeof places[0]);
    places[at] = found;
    return true;
}

/* For vc__addresses_interleave(): orders places of one transport. */
static void
run_interleave(struct vc__place *places, unsigned n)
{
    sa_family_t families[VC__ADDRESSES_MAX];
    unsigned m = families_find(places, n, families);

    for (unsigned at = 0, turn = 0; at < n; turn++)
        at += family_pull(places, n, at, families[turn % m]);
}

void
vc__addresses_interleave(struct vc__place *places, unsigned n)
{
    for (unsigned i = 0, end; i < n; i = end) {
        end = i + 1;
        while (end < n && places[end].transport == places[i].transport)
            end++;
        run_interleave(&places[i], end - i);
    }
}
