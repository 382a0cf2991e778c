/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See rpc/balance/endpoint_file.h. vc__endpoint_file_parse() calls all static
 * functions, directly or not. Those that check or take something return false
 * if it is malformed: then f->why says what is wrong. */
#include "rpc/balance/endpoint_file.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "transport/core/hash.h"
#include "transport/core/utf8.h"

/* The most letters of a scheme (verbcall/resolver.h), and the most bytes that
 * an error shows of a word. */
#define SCHEME_MAX 15u
#define SHOWN_MAX  60u

#define BOM "\xef\xbb\xbf"

/* Part of the text; no NUL follows. */
struct piece {
    const char *at;
    size_t len;
};

/* The line that is being read. */
struct line {
    struct vc__endpoint_file *f;
    unsigned number;
    unsigned seen; /* bits of the keys that the line has */
    const char *at, *end;
};

/* Says in f->why what is wrong with a line. Returns false. */
static bool __attribute__((format(printf, 2, 3)))
line_fault(const struct line *l, const char *format, ...)
{
    char *why = l->f->why;
    int n = snprintf(why, VC__ENDPOINT_FILE_WHY, "line %u: ", l->number);
    va_list args;

    va_start(args, format);
    vsnprintf(why + n, VC__ENDPOINT_FILE_WHY - (size_t)n, format, args);
    va_end(args);
    return false;
}

/* How many bytes of a word an error shows: whole characters. */
static int
piece_shown(struct piece p)
{
    size_t len = p.len < SHOWN_MAX ? p.len : SHOWN_MAX;

    return (int)vc__utf8_whole((const uint8_t *)p.at, len);
}

/* --- one line ----------------------------------------------------------- */

/* True if the line is text: UTF-8 without control characters but tabs. */
static bool
line_is_text(const struct line *l)
{
    size_t len = (size_t)(l->end - l->at);

    if (memchr(l->at, '\0', len) != NULL)
        return line_fault(l, "has a NUL byte; the file must be text in UTF-8");
    if (!vc__utf8_valid((const uint8_t *)l->at, len))
        return line_fault(l, "is not valid UTF-8");
    for (const char *c = l->at; c < l->end; c++)
        if (((unsigned char)*c < ' ' && *c != '\t') || *c == 0x7f)
            return line_fault(l,
                              "has the control character 0x%02x; only tabs "
                              "may be in a line",
                              (unsigned)*c);
    return true;
}

/* Takes the next word of the line. False if there is none: '#' begins a
 * comment. */
static bool
line_next_word(struct line *l, struct piece *word)
{
    while (l->at < l->end && (*l->at == ' ' || *l->at == '\t'))
        l->at++;
    word->at = l->at;
    while (l->at < l->end && *l->at != ' ' && *l->at != '\t')
        l->at++;
    word->len = (size_t)(l->at - word->at);
    return word->len > 0 && word->at[0] != '#';
}

/* --- targets ------------------------------------------------------------ */

/* The length of a target's scheme; 0 if it has none. */
static size_t
piece_scheme(struct piece p)
{
    size_t i = 0;

    while (i < p.len && i < SCHEME_MAX &&
           ((p.at[i] >= 'a' && p.at[i] <= 'z') ||
            (i > 0 && ((p.at[i] >= '0' && p.at[i] <= '9') || p.at[i] == '+' ||
                       p.at[i] == '-' || p.at[i] == '.'))))
        i++;
    return i < p.len && p.at[i] == ':' ? i : 0;
}

/* Checks the outer form of a target. */
static bool
target_is_good(const struct line *l, struct piece p)
{
    size_t scheme = piece_scheme(p);

    if (scheme == 0)
        return line_fault(l,
                          "the target \"%.*s\" has no scheme; write "
                          "rdma://HOST:PORT or tcp://HOST:PORT, for example",
                          piece_shown(p), p.at);
    if (scheme + 1 == p.len)
        return line_fault(l, "the target \"%.*s\" is only a scheme",
                          piece_shown(p), p.at);
    if (scheme == 4 && memcmp(p.at, "list", 4) == 0)
        return line_fault(l,
                          "the target \"%.*s\" is a list; write each target "
                          "on a line of its own",
                          piece_shown(p), p.at);
    if (p.len > VC_ENDPOINT_TARGET_MAX)
        return line_fault(l,
                          "the target \"%.*s...\" has %zu bytes; at most %u "
                          "are allowed",
                          piece_shown(p), p.at, p.len, VC_ENDPOINT_TARGET_MAX);
    return true;
}

/* Enters endpoint i in the table of targets. Refuses it if its target is there
 * already. */
static bool
target_enter(const struct line *l, unsigned i)
{
    struct vc__endpoint_file *f = l->f;
    const char *target = f->endpoints[i].target;
    uint32_t at = hash_32(target, strlen(target));

    for (;; at++) {
        uint16_t *slot = &f->slots[at % VC__ENDPOINT_FILE_SLOTS];

        if (*slot == 0) {
            *slot = (uint16_t)(i + 1);
            return true;
        }
        if (strcmp(f->endpoints[*slot - 1].target, target) == 0)
            return line_fault(
                l,
                "the target \"%.*s\" is in line %u, too; each "
                "may be in the file once",
                piece_shown((struct piece){target, strlen(target)}), target,
                (unsigned)f->lines[*slot - 1]);
    }
}

/* Begins the next endpoint with this target. */
static bool
target_take(const struct line *l, struct piece p)
{
    struct vc__endpoint_file *f = l->f;
    struct vc__endpoint *e = &f->endpoints[f->n];

    if (f->n == VC_ENDPOINTS_MAX)
        return line_fault(l, "is one target too many; a file has at most %u",
                          VC_ENDPOINTS_MAX);
    if (!target_is_good(l, p))
        return false;
    memset(e, 0, sizeof *e);
    memcpy(e->target, p.at, p.len);
    e->weight = 1;
    f->lines[f->n] = l->number;
    return target_enter(l, f->n++);
}

/* --- what follows a target ---------------------------------------------- */

/* In the order of keys[]. */
enum key_number {
    KEY_WEIGHT,
    KEY_PRIORITY,
    KEY_LABEL,
    KEY_HASH_KEY,
    N_KEYS
};

struct key {
    const char *name;
    uint32_t least, most; /* of a number; unused for a text */
};

static const struct key keys[N_KEYS] = {
    [KEY_WEIGHT] = {"weight", 1, VC_ENDPOINT_WEIGHT_MAX},
    [KEY_PRIORITY] = {"priority", 0, VC_ENDPOINT_PRIORITY_MAX},
    [KEY_LABEL] = {"label", 0, 0},
    [KEY_HASH_KEY] = {"hash_key", 0, 0},
};

/* Takes a number of decimal digits. */
static bool
number_take(const struct line *l, const struct key *k, struct piece v,
            uint32_t *out)
{
    uint64_t n = 0;
    bool good = v.len > 0;

    for (size_t i = 0; i < v.len && good; i++) {
        good = v.at[i] >= '0' && v.at[i] <= '9';
        n = n * 10 + (uint64_t)(v.at[i] - '0');
        good = good && n <= k->most;
    }
    if (!good || n < k->least)
        return line_fault(l, "%s=%.*s is no number from %u to %u", k->name,
                          piece_shown(v), v.at, (unsigned)k->least,
                          (unsigned)k->most);
    *out = (uint32_t)n;
    return true;
}

/* Takes a text; the endpoint is zeroed, so a NUL follows. */
static bool
text_take(const struct line *l, const struct key *k, struct piece v, char *out)
{
    if (v.len == 0)
        return line_fault(l, "%s= has no text; leave it out, or write %s=TEXT",
                          k->name, k->name);
    if (v.len > VC_ENDPOINT_TEXT_MAX)
        return line_fault(l, "%s=%.*s... has %zu bytes; at most %u are allowed",
                          k->name, piece_shown(v), v.at, v.len,
                          VC_ENDPOINT_TEXT_MAX);
    memcpy(out, v.at, v.len);
    return true;
}

/* For pair_take(): the key of a word, as its number in keys[]; N_KEYS if there
 * is none. */
static size_t
key_find(struct piece word)
{
    size_t i;

    for (i = 0; i < N_KEYS; i++) {
        size_t len = strlen(keys[i].name);

        if (word.len > len && word.at[len] == '=' &&
            memcmp(word.at, keys[i].name, len) == 0)
            break;
    }
    return i;
}

/* Takes a value of this key for the endpoint that was begun last. */
static bool
pair_value_take(const struct line *l, size_t key, struct piece value)
{
    struct vc__endpoint *e = &l->f->endpoints[l->f->n - 1];

    switch (key) {
    case KEY_WEIGHT:
        return number_take(l, &keys[key], value, &e->weight);
    case KEY_PRIORITY:
        return number_take(l, &keys[key], value, &e->priority);
    case KEY_LABEL:
        return text_take(l, &keys[key], value, e->label);
    default:
        return text_take(l, &keys[key], value, e->hash_key);
    }
}

/* Takes a word after the target: key=value. */
static bool
pair_take(struct line *l, struct piece word)
{
    size_t key = key_find(word), skip;

    if (key == N_KEYS)
        return line_fault(l,
                          "unknown word \"%.*s\"; after the target there may "
                          "be weight=1..%u, priority=0..%u, label=TEXT and "
                          "hash_key=TEXT",
                          piece_shown(word), word.at, VC_ENDPOINT_WEIGHT_MAX,
                          VC_ENDPOINT_PRIORITY_MAX);
    if (l->seen & 1u << key)
        return line_fault(l, "%s= is there twice", keys[key].name);
    l->seen |= 1u << key;
    skip = strlen(keys[key].name) + 1;
    return pair_value_take(l, key,
                           (struct piece){word.at + skip, word.len - skip});
}

/* Reads one line, which may be empty: true, too. */
static bool
line_read(struct line *l)
{
    struct piece word;

    if (!line_is_text(l))
        return false;
    if (!line_next_word(l, &word))
        return true;
    if (!target_take(l, word))
        return false;
    while (line_next_word(l, &word))
        if (!pair_take(l, word))
            return false;
    return true;
}

/* --- the file ----------------------------------------------------------- */

/* Says in f->why what is wrong with the file. Returns false. */
static bool __attribute__((format(printf, 2, 3)))
file_fault(struct vc__endpoint_file *f, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(f->why, sizeof f->why, format, args);
    va_end(args);
    return false;
}

bool
vc__endpoint_file_parse(struct vc__endpoint_file *f, const char *text,
                        size_t len)
{
    const char *at = text, *end = text + len, *next;
    unsigned number = 0;

    f->n = 0;
    f->why[0] = '\0';
    memset(f->slots, 0, sizeof f->slots);
    if (len > VC__ENDPOINT_FILE_MAX)
        return file_fault(f, "has more than %u bytes", VC__ENDPOINT_FILE_MAX);
    if (len >= strlen(BOM) && memcmp(at, BOM, strlen(BOM)) == 0)
        at += strlen(BOM);
    for (; at < end; at = next) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        const char *last = newline == NULL ? end : newline;
        struct line l = {.f = f, .number = ++number, .at = at, .end = last};

        next = newline == NULL ? end : newline + 1;
        if (l.end > l.at && l.end[-1] == '\r')
            l.end--;
        if (!line_read(&l))
            return false;
    }
    return f->n > 0 || file_fault(f, "has no target; it needs at least one, as "
                                     "rdma://HOST:PORT");
}
