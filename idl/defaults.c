/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See defaults.h. Values are texts as protoc writes them into descriptors.
 *
 * All of it runs within defaults_problem(), which check.c calls for each field
 * of a message to generate, on the only thread of the plugin. Error texts are
 * constants or lie in the arena: no caller frees them. */
#include "idl/defaults.h"

#include <float.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NUMBER_SIZE 64

#define INSTEAD "; take it out and set the field in the program"

/* False when the text is that of an infinity or a NaN. Called by
 * number_problem() first. */
static bool
is_finite_text(const char *value)
{
    return strstr(value, "inf") == NULL && strstr(value, "nan") == NULL;
}

/* True when the value survives the number of digits that protoc-gen-c writes.
 * Called by number_problem() for a finite value. */
static bool
is_kept(const char *value, bool is_float)
{
    char text[NUMBER_SIZE];

    if (is_float) {
        float number = strtof(value, NULL);

        snprintf(text, sizeof text, "%.*g", FLT_DIG, (double)number);
        return strtof(text, NULL) == number;
    }
    snprintf(text, sizeof text, "%.*g", DBL_DIG, strtod(value, NULL));
    return strtod(text, NULL) == strtod(value, NULL);
}

/* Returns why the default value of a float or double cannot be generated; NULL
 * when it can. Called by defaults_problem(). */
static const char *
number_problem(struct arena *arena, const char *value, bool is_float)
{
    if (!is_finite_text(value))
        return arena_printf(
            arena, "is %s, which protoc-gen-c does not write as C" INSTEAD,
            value);
    if (!is_kept(value, is_float))
        return arena_printf(arena,
                            "is %s, and protoc-gen-c keeps %d digits" INSTEAD,
                            value, is_float ? FLT_DIG : DBL_DIG);
    return NULL;
}

/* True when the text of a string or bytes field has a trigraph. In C99 that is
 * two question marks and one of these: one other character. Called by
 * defaults_problem(). */
static bool
has_trigraph(const char *value)
{
    for (; (value = strstr(value, "?\?")) != NULL; value++)
        if (value[2] != '\0' && strchr("=/'()!<>-", value[2]) != NULL)
            return true;
    return false;
}

const char *
defaults_problem(struct arena *arena, const Idl__Field *field)
{
    const char *value = field->default_value;

    if (value == NULL)
        return NULL;
    switch (field->type) {
    case IDL__FIELD__TYPE__TYPE_FLOAT:
    case IDL__FIELD__TYPE__TYPE_DOUBLE:
        return number_problem(arena, value,
                              field->type == IDL__FIELD__TYPE__TYPE_FLOAT);
    case IDL__FIELD__TYPE__TYPE_INT64:
    case IDL__FIELD__TYPE__TYPE_SINT64:
    case IDL__FIELD__TYPE__TYPE_SFIXED64:
        return strtoll(value, NULL, 10) == INT64_MIN
                   ? "is -2^63, which C cannot write as a number" INSTEAD
                   : NULL;
    case IDL__FIELD__TYPE__TYPE_STRING:
    case IDL__FIELD__TYPE__TYPE_BYTES:
        return has_trigraph(value) ? "has a trigraph, which C reads as another "
                                     "character" INSTEAD
                                   : NULL;
    default:
        return NULL;
    }
}
