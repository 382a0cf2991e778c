/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * rpc/balance/endpoint_file.h: any bytes as a file of servers. This file has a
 * second reader, by doc/balancing.md, "file:", which must agree. What is read,
 * written as a file, is read as the same again. What is refused has a reason of
 * one line. */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "rpc/balance/endpoint_file.h"
#include "tests/fuzz/fuzz.h"
#include "transport/core/utf8.h"

#define LOWER "abcdefghijklmnopqrstuvwxyz"

static struct vc__endpoint_file first, second;

/* --- the second reader --------------------------------------------------- */

/* Reads key=NUMBER; false if the word is something else, or out of range. */
static bool
is_number(const char *word, const char *key, unsigned long least,
          unsigned long most, uint32_t *out)
{
    size_t len = strlen(key);
    const char *digits = word + len;
    unsigned long n;

    if (strncmp(word, key, len) != 0 || *digits == '\0' ||
        digits[strspn(digits, "0123456789")] != '\0')
        return false;
    n = strtoul(digits, NULL, 10); /* ULONG_MAX if it overflows */
    *out = (uint32_t)n;
    return n >= least && n <= most;
}

static bool
is_text(const char *word, const char *key, char out[VC_ENDPOINT_TEXT_MAX + 1])
{
    size_t len = strlen(key);

    if (strncmp(word, key, len) != 0 || word[len] == '\0' ||
        strlen(word + len) > VC_ENDPOINT_TEXT_MAX)
        return false;
    strcpy(out, word + len);
    return true;
}

static bool
is_target(const char *word)
{
    size_t scheme = strspn(word, LOWER "0123456789+-.");

    return strchr(LOWER, word[0]) != NULL && scheme <= 15 &&
           word[scheme] == ':' && word[scheme + 1] != '\0' &&
           strncmp(word, "list:", 5) != 0 &&
           strlen(word) <= VC_ENDPOINT_TARGET_MAX;
}

/* Reads a line, which it changes. False if it is malformed. */
static bool
read_line(char *line, struct vc__endpoint *e, bool *has_target)
{
    bool weight = false, priority = false;
    char *rest = NULL;
    char *word = strtok_r(line, " \t", &rest);

    *has_target = word != NULL && word[0] != '#';
    if (!*has_target)
        return true;
    memset(e, 0, sizeof *e);
    e->weight = 1;
    if (!is_target(word))
        return false;
    strcpy(e->target, word);
    while ((word = strtok_r(NULL, " \t", &rest)) != NULL && word[0] != '#') {
        if (!weight && is_number(word, "weight=", 1, 1000000, &e->weight))
            weight = true;
        else if (!priority &&
                 is_number(word, "priority=", 0, 255, &e->priority))
            priority = true;
        else if ((e->label[0] != '\0' || !is_text(word, "label=", e->label)) &&
                 (e->hash_key[0] != '\0' ||
                  !is_text(word, "hash_key=", e->hash_key)))
            return false;
    }
    return true;
}

/* True if no line has a character that is refused. A CR at the end of a line
 * was replaced by a blank. */
static bool
is_plain(const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (((unsigned char)text[i] < 0x20 && text[i] != '\t') ||
            text[i] == 0x7f)
            return false;
    return vc__utf8_valid((const uint8_t *)text, len);
}

/* True if the endpoint is good beside the n before it. */
static bool
is_new(const struct vc__endpoint *all, unsigned n, const struct vc__endpoint *e)
{
    for (unsigned i = 0; i < n; i++)
        if (strcmp(all[i].target, e->target) == 0)
            return false;
    return n < VC_ENDPOINTS_MAX;
}

/* Reads a text that has a NUL at its end, and is changed. Returns the number of
 * endpoints; 0: the text is malformed. */
static unsigned
read_all(char *text, size_t len, struct vc__endpoint *all)
{
    char *end = text + len, *line = text, *next;
    unsigned n = 0;

    if (strncmp(text, "\xef\xbb\xbf", 3) == 0)
        line += 3;
    for (; line < end; line = next) {
        char *newline = memchr(line, '\n', (size_t)(end - line));
        char *last = newline != NULL ? newline : end;
        struct vc__endpoint e;
        bool has_target;

        next = newline != NULL ? newline + 1 : end;
        *last = '\0';
        if (last > line && last[-1] == '\r')
            last[-1] = ' ';
        if (!is_plain(line, (size_t)(last - line)) ||
            !read_line(line, &e, &has_target))
            return 0;
        if (has_target && !is_new(all, n, &e))
            return 0;
        if (has_target)
            all[n++] = e;
    }
    return n;
}

/* --- what must hold ------------------------------------------------------ */

static void
same_check(const struct vc__endpoint *a, const struct vc__endpoint *b)
{
    FUZZ_CHECK(strcmp(a->target, b->target) == 0);
    FUZZ_CHECK(strcmp(a->label, b->label) == 0);
    FUZZ_CHECK(strcmp(a->hash_key, b->hash_key) == 0);
    FUZZ_CHECK(a->weight == b->weight && a->priority == b->priority);
}

/* Writes what was read as a file, the words in another order, and reads it. */
static void
again_check(void)
{
    static char text[VC_ENDPOINTS_MAX * sizeof(struct vc__endpoint)];
    size_t len = 0;

    for (unsigned i = 0; i < first.n; i++) {
        const struct vc__endpoint *e = &first.endpoints[i];

        len += (size_t)snprintf(
            text + len, sizeof text - len,
            "%s priority=%u%s%s%s%s weight=%u\r\n", e->target,
            (unsigned)e->priority, e->hash_key[0] != '\0' ? " hash_key=" : "",
            e->hash_key, e->label[0] != '\0' ? "\tlabel=" : "", e->label,
            (unsigned)e->weight);
        FUZZ_CHECK(len < sizeof text);
    }
    FUZZ_CHECK(vc__endpoint_file_parse(&second, text, len));
    FUZZ_CHECK(second.n == first.n);
    for (unsigned i = 0; i < first.n; i++)
        same_check(&first.endpoints[i], &second.endpoints[i]);
}

static void
why_check(const char *why)
{
    FUZZ_CHECK(memchr(why, '\0', VC__ENDPOINT_FILE_WHY) != NULL);
    FUZZ_CHECK(why[0] != '\0' && is_plain(why, strlen(why)));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    static struct vc__endpoint expected[VC_ENDPOINTS_MAX];
    char *copy = malloc(len + 1);
    unsigned n;

    FUZZ_CHECK(copy != NULL);
    memcpy(copy, data, len);
    copy[len] = '\0';
    n = read_all(copy, len, expected);
    free(copy);

    memset(first.endpoints, 0x5a, sizeof first.endpoints[0] * 4);
    FUZZ_CHECK(vc__endpoint_file_parse(&first, (const char *)data, len) ==
               (n > 0));
    if (n == 0) {
        why_check(first.why);
        return 0;
    }
    FUZZ_CHECK(first.why[0] == '\0' && first.n == n);
    for (unsigned i = 0; i < n; i++)
        same_check(&expected[i], &first.endpoints[i]);
    again_check();
    return 0;
}
