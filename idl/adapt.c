/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Adapts our request to one that protoc-gen-c accepts. A table says which
 * fields are removed from which message, and which fields are adapted in turn.
 *
 * All of it runs within adapt_request(), which generate.c calls at most once,
 * on the only thread of the plugin. New memory is of the arena of `out`. */
#include "idl/adapt.h"

#include <stddef.h>

#include "idl/names.h"

enum adapt_at {
    ADAPT_REQUEST,
    ADAPT_FILE,
    ADAPT_MESSAGE,
    ADAPT_FIELD,
    ADAPT_NAME, /* of a field: escaped if needed */
    ADAPT_DROP,
};

/* Field numbers of plugin.proto and descriptor.proto; our own plugin.proto does
 * not have all of them. */
static const struct adapt_rule {
    enum adapt_at at;
    uint32_t number;
    enum adapt_at to;
} rules[] = {
    {ADAPT_REQUEST, 2, ADAPT_DROP},    /* parameter */
    {ADAPT_REQUEST, 15, ADAPT_FILE},   /* proto_file */
    {ADAPT_REQUEST, 17, ADAPT_FILE},   /* source_file_descriptors */
    {ADAPT_FILE, 4, ADAPT_MESSAGE},    /* message_type */
    {ADAPT_FILE, 6, ADAPT_DROP},       /* service */
    {ADAPT_FILE, 7, ADAPT_FIELD},      /* extension */
    {ADAPT_MESSAGE, 2, ADAPT_FIELD},   /* field */
    {ADAPT_MESSAGE, 3, ADAPT_MESSAGE}, /* nested_type */
    {ADAPT_MESSAGE, 6, ADAPT_FIELD},   /* extension */
    {ADAPT_FIELD, 1, ADAPT_NAME},      /* name */
    {ADAPT_FIELD, 17, ADAPT_DROP},     /* proto3_optional */
};

/* Returns the rule for a field of this number in such a message, or NULL: the
 * field is copied unchanged. Called by adapt_field(). */
static const struct adapt_rule *
rule_find(enum adapt_at at, uint32_t number)
{
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++)
        if (rules[i].at == at && rules[i].number == number)
            return &rules[i];
    return NULL;
}

/* Appends the name of a field, and a "_" if it is a word that protoc-gen-c does
 * not escape. Called by adapt_field(). */
static void
adapt_name(struct text *out, struct bytes name)
{
    const char *word = arena_printf(out->arena, "%.*s", (int)name.length,
                                    (const char *)name.data);

    text_add_bytes(out, name.data, name.length);
    if (names_field_unknown_word(out->arena, word))
        text_add(out, "_");
}

static void adapt_all(struct text *out, struct bytes bytes, enum adapt_at at,
                      unsigned depth);

/* Appends one field of a message: adapted, unchanged, or not at all, as its
 * rule says. Called by adapt_all() for each field. */
static void
adapt_field(struct text *out, const struct wire_field *field, enum adapt_at at,
            unsigned depth)
{
    const struct adapt_rule *rule = rule_find(at, field->number);
    struct text inner;

    if (rule != NULL && rule->to == ADAPT_DROP)
        return;
    if (rule == NULL || field->type != PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED) {
        text_add_bytes(out, field->whole.data, field->whole.length);
        return;
    }
    text_init(&inner, out->arena);
    if (rule->to == ADAPT_NAME)
        adapt_name(&inner, field->value);
    else
        adapt_all(&inner, field->value, rule->to, depth + 1);
    wire_add_message(out, field->number,
                     (struct bytes){(const uint8_t *)inner.data, inner.length});
}

/* Appends a message with each field adapted. The rest from a malformed field on
 * is copied unchanged, and so is a message nested deeper than request_parse()
 * allows for fields that it knows: protoc-gen-c has its own checks. Called by
 * adapt_request(), and by adapt_field() for messages within. */
static void
adapt_all(struct text *out, struct bytes bytes, enum adapt_at at,
          unsigned depth)
{
    struct wire_field field;
    struct bytes rest = bytes;

    while (depth <= WIRE_DEPTH && wire_next(&rest, &field) > 0) {
        adapt_field(out, &field, at, depth);
        bytes = rest;
    }
    text_add_bytes(out, bytes.data, bytes.length);
}

void
adapt_request(struct text *out, struct bytes request)
{
    adapt_all(out, request, ADAPT_REQUEST, 1);
}
