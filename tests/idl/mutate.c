/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Makes requests that protoc would never send, for test_idl.sh:
 *
 *     mutate random IN DIR COUNT  damaged copies of IN: DIR/1, DIR/2, ...
 *     mutate deep N               to standard output, a message nested N deep
 *     mutate deep N FIELD         the same, with a field of this name in the
 *                                 innermost, and for protoc-gen-c, too
 *
 * Equal arguments give equal requests. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SIZE_MAX_IN    (1u << 20)
#define PIECE_MAX      64 /* bytes cut out or inserted at once */
#define CHANGES_MAX    8  /* bytes changed at once */
#define LEVEL_MAX_HEAD 14 /* bytes needed by one more level of nesting */

static uint64_t random_state = 88172645463325252u;

/* xorshift64; 0 .. n - 1, and 0 for n = 0 */
static size_t
random_below(size_t n)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return n > 0 ? (size_t)(random_state % n) : 0;
}

static size_t
damage_bytes(uint8_t *data, size_t length)
{
    for (size_t n = 1 + random_below(CHANGES_MAX); n > 0 && length > 0; n--)
        data[random_below(length)] = (uint8_t)random_below(256);
    return length;
}

static size_t
damage_cut(uint8_t *data, size_t length)
{
    size_t at = random_below(length);
    size_t n = 1 + random_below(PIECE_MAX);

    n = n < length - at ? n : length - at;
    memmove(data + at, data + at + n, length - at - n);
    return length - n;
}

/* Doubles a piece; data has room for it. */
static size_t
damage_double(uint8_t *data, size_t length)
{
    size_t at = random_below(length);
    size_t n = 1 + random_below(PIECE_MAX);

    n = n < length - at ? n : length - at;
    memmove(data + at + n, data + at, length - at);
    return length + n;
}

static size_t
damage(uint8_t *data, size_t length)
{
    switch (random_below(4)) {
    case 0:
        return random_below(length);
    case 1:
        return damage_cut(data, length);
    case 2:
        return damage_double(data, length);
    default:
        return damage_bytes(data, length);
    }
}

static void
check(int good, const char *what)
{
    if (good)
        return;
    perror(what);
    exit(1);
}

static void
write_file(const char *dir, size_t number, const uint8_t *data, size_t length)
{
    char path[4096];
    FILE *out;

    snprintf(path, sizeof path, "%s/%zu", dir, number);
    out = fopen(path, "wb");
    check(out != NULL, path);
    check(fwrite(data, 1, length, out) == length, path);
    check(fclose(out) == 0, path);
}

static void
mutate_random(const char *in, const char *dir, size_t count)
{
    static uint8_t original[SIZE_MAX_IN], data[SIZE_MAX_IN + PIECE_MAX];
    FILE *file = fopen(in, "rb");
    size_t length;

    check(file != NULL, in);
    length = fread(original, 1, sizeof original, file);
    check(length > 0 && length < sizeof original, in);
    fclose(file);
    for (size_t i = 1; i <= count; i++) {
        memcpy(data, original, length);
        write_file(dir, i, data, damage(data, length));
    }
}

/* Puts a byte before `start`. */
static uint8_t *
before(uint8_t *start, unsigned byte)
{
    *--start = (uint8_t)byte;
    return start;
}

/* Puts the head of a length-delimited field before its value. */
static uint8_t *
head(uint8_t *start, const uint8_t *end, unsigned number)
{
    size_t length = (size_t)(end - start);
    unsigned bits = 0;

    while (length >> bits >= 0x80)
        bits += 7;
    start = before(start, (unsigned)(length >> bits));
    for (; bits > 0; bits -= 7)
        start = before(start, (unsigned)(length >> (bits - 7) & 0x7f) | 0x80);
    return before(start, number << 3 | 2);
}

/* Puts a string field before `start`. */
static uint8_t *
string(uint8_t *start, unsigned number, const char *value)
{
    const uint8_t *end = start;

    start -= strlen(value);
    memcpy(start, value, strlen(value));
    return head(start, end, number);
}

/* Puts an optional int32 field of a message before `start`. */
static uint8_t *
int32_field(uint8_t *start, const char *name)
{
    const uint8_t *end = start;

    start = before(before(start, 5), 5 << 3); /* type */
    start = before(before(start, 1), 4 << 3); /* label */
    start = before(before(start, 1), 3 << 3); /* number */
    start = string(start, 1, name);
    return head(start, end, 2);
}

static void
mutate_deep(size_t levels, const char *field)
{
    size_t size = (levels + 8) * LEVEL_MAX_HEAD;
    uint8_t *data = malloc(size);
    uint8_t *start = data + size;

    check(data != NULL, "malloc");
    if (field != NULL)
        start = int32_field(start, field);
    for (size_t i = 0; i < levels; i++) {
        start = string(start, 1, "M");
        /* DescriptorProto.nested_type, FileDescriptorProto.message_type */
        start = head(start, data + size, i + 1 < levels ? 3 : 4);
    }
    start = string(start, 1, "deep.proto");
    start = head(start, data + size, 15); /* proto_file */
    if (field == NULL)
        start = string(start, 2, "services"); /* parameter */
    start = string(start, 1, "deep.proto");   /* file_to_generate */
    check(fwrite(start, 1, (size_t)(data + size - start), stdout) > 0,
          "stdout");
    free(data);
}

int
main(int argc, char **argv)
{
    if (argc == 5 && strcmp(argv[1], "random") == 0)
        mutate_random(argv[2], argv[3], strtoul(argv[4], NULL, 10));
    else if ((argc == 3 || argc == 4) && strcmp(argv[1], "deep") == 0)
        mutate_deep(strtoul(argv[2], NULL, 10), argv[3]);
    else
        return 2;
    return 0;
}
