/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See rpc/options.h. Static functions run on the thread that called the public
 * function: any. */
#include "rpc/options.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <verbcall/version.h>

#include "transport/core/error.h"

#define NUMBER_TEXT 32
/* No options struct is as large as this: a larger number is no valid size. */
#define SIZE_MOST 4096u

/* --- the struct --------------------------------------------------------- */

enum vc_status
vc__options_size_check(const struct vc__options *kind, const void *from)
{
    size_t size, least = kind->least != 0 ? kind->least : sizeof size;

    if (from == NULL)
        return vc__fail(VC_INVALID_ARGUMENT,
                        "struct %s is NULL: initialise one by %s", kind->name,
                        kind->macros);
    memcpy(&size, from, sizeof size);
    if (size >= least && size <= SIZE_MOST)
        return VC_OK;
    return vc__fail(VC_INVALID_ARGUMENT,
                    "struct %s has size %zu: initialise it by %s", kind->name,
                    size, kind->macros);
}

/* For vc__options_copy(). A program built for a newer version may have fields
 * that are unknown here, as long as they are 0. VC_OK, or
 * VC_INVALID_ARGUMENT. */
static enum vc_status
options_tail_check(const struct vc__options *kind, const void *from,
                   size_t size)
{
    const unsigned char *bytes = from;

    for (size_t i = kind->size; i < size; i++) {
        if (bytes[i] != 0)
            return vc__fail(VC_INVALID_ARGUMENT,
                            "struct %s has size %zu and sets an option at "
                            "byte %zu, but libverbcall " VC_VERSION_STRING
                            " knows %zu bytes of it: install the version "
                            "that the program was compiled for, or leave the "
                            "option at 0",
                            kind->name, size, i, kind->size);
    }
    return VC_OK;
}

enum vc_status
vc__options_copy(void *out, const struct vc__options *kind, const void *from)
{
    enum vc_status status;
    size_t size;

    memset(out, 0, kind->size);
    if (from != NULL) {
        memcpy(&size, from, sizeof size);
        status = vc__options_size_check(kind, from);
        if (status == VC_OK)
            status = options_tail_check(kind, from, size);
        if (status != VC_OK)
            return status;
        memcpy(out, from, size < kind->size ? size : kind->size);
    }
    memcpy(out, &kind->size, sizeof kind->size);
    return VC_OK;
}

/* --- the numbers -------------------------------------------------------- */

/* For vc__options_check(): returns the number of the option. */
static uint64_t
option_get(const void *options, const struct vc__option *o)
{
    const char *at = (const char *)options + o->offset;
    uint32_t narrow;
    uint64_t wide;

    if (o->size == sizeof narrow) {
        memcpy(&narrow, at, sizeof narrow);
        return narrow;
    }
    memcpy(&wide, at, sizeof wide);
    return wide;
}

/* For vc__options_check(): writes the number of the option. */
static void
options_option_set(void *options, const struct vc__option *o, uint64_t value)
{
    char *at = (char *)options + o->offset;
    uint32_t narrow = (uint32_t)value;

    if (o->size == sizeof narrow)
        memcpy(at, &narrow, sizeof narrow);
    else
        memcpy(at, &value, sizeof value);
}

/* For vc__options_check(): true if the value is allowed; 0 is not asked. */
static bool
option_fits(const struct vc__option *o, uint64_t value)
{
    if (o->unit == VC__OPTION_FLAGS)
        return (value & ~o->max) == 0;
    return (value >= o->min && value <= o->max) ||
           (o->special != 0 && value == o->special);
}

/* For option_fail(): writes a number to text, which it returns, as the
 * documentation does: bytes in the largest unit that divides them. */
static const char *
number_text(char text[NUMBER_TEXT], enum vc__option_unit unit, uint64_t value)
{
    static const char *const units[] = {"", " KiB", " MiB", " GiB"};
    unsigned k = 0;

    if (unit == VC__OPTION_MODE) {
        snprintf(text, NUMBER_TEXT, "0%03" PRIo64, value);
        return text;
    }
    if (unit == VC__OPTION_BYTES) {
        for (; value != 0 && value % 1024 == 0 && k < 3; k++)
            value /= 1024;
    }
    snprintf(text, NUMBER_TEXT, "%" PRIu64 "%s", value, units[k]);
    return text;
}

/* For option_fail(): the error of an option of flags. Always
 * VC_INVALID_ARGUMENT. */
static enum vc_status
option_fail_flags(const struct vc__options *kind, const struct vc__option *o,
                  uint64_t value)
{
    return vc__fail(VC_INVALID_ARGUMENT,
                    "%s.%s: 0x%" PRIx64 " has bits that are unknown, 0x%" PRIx64
                    "; known are %s",
                    kind->name, o->name, value, value & ~o->max, o->names);
}

/* For vc__options_check(): sets the error of a value that is not allowed.
 * Always VC_INVALID_ARGUMENT. */
static enum vc_status
option_fail(const struct vc__options *kind, const struct vc__option *o,
            uint64_t value)
{
    char is[NUMBER_TEXT], min[NUMBER_TEXT], max[NUMBER_TEXT] = "";

    if (o->unit == VC__OPTION_FLAGS)
        return option_fail_flags(kind, o, value);
    number_text(is, o->unit == VC__OPTION_BYTES ? VC__OPTION_NUMBER : o->unit,
                value);
    number_text(min, o->unit, o->min);
    if (o->max != SIZE_MAX)
        number_text(max, o->unit, o->max);
    return vc__fail(VC_INVALID_ARGUMENT,
                    "%s.%s: %s is not in %s..%s%s%s; 0 stands for the default",
                    kind->name, o->name, is, min, max,
                    o->names != NULL ? ", nor " : "",
                    o->names != NULL ? o->names : "");
}

enum vc_status
vc__options_check(void *out, const struct vc__options *kind)
{
    for (size_t i = 0; i < kind->n; i++) {
        const struct vc__option *o = &kind->options[i];
        uint64_t value = option_get(out, o);

        if (value == 0)
            options_option_set(out, o, o->otherwise);
        else if (!option_fits(o, value))
            return option_fail(kind, o, value);
    }
    return VC_OK;
}

enum vc_status
vc__options_take(void *out, const struct vc__options *kind, const void *from)
{
    enum vc_status status = vc__options_copy(out, kind, from);

    return status == VC_OK ? vc__options_check(out, kind) : status;
}
