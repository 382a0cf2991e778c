/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See config_reader.h. Static functions run on the thread of the function that
 * calls them. */
#include "modules/config/config_reader.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include <verbcall/status.h>

/* A text of digits that is no number of 64 bits is longer, or too large. */
#define DIGITS_MAX 20u

/* protobuf's Duration: the most seconds, and the digits after the point. */
#define SECONDS_MAX     UINT64_C(315576000000)
#define FRACTION_DIGITS 9u
/* A longer one is as good as this: it fits in nanoseconds. */
#define SECONDS_KEPT UINT64_C(9000000000)

#define NS_PER_S UINT64_C(1000000000)

/* --- places and faults --------------------------------------------------- */

/* For place_put(), and by itself for what is above: writes the path of a value
 * to text. Returns its length, at most size - 1. */
static size_t
path_put(const struct vc__config_at *at, char *text, size_t size)
{
    size_t len = at->up == NULL ? 0 : path_put(at->up, text, size);
    int n;

    if (at->name == NULL && at->up == NULL)
        n = 0;
    else if (at->name == NULL)
        n = snprintf(text + len, size - len, "[%zu]", at->i);
    else
        n = snprintf(text + len, size - len, "%s%.60s", len > 0 ? "." : "",
                     at->name);
    len += n < 0 ? 0 : (size_t)n;
    return len < size ? len : size - 1;
}

/* For vc__config_fail() and vc__config_note(): writes the path of a value, ": "
 * and what is to be said there, or as much as fits. */
static void __attribute__((format(printf, 4, 0)))
place_put(const struct vc__config_at *at, char *text, size_t size,
          const char *format, va_list args)
{
    size_t len;
    int n;

    text[0] = '\0';
    len = path_put(at, text, size);
    n = snprintf(text + len, size - len, "%s", len > 0 ? ": " : "");
    len += n < 0 ? 0 : (size_t)n;
    if (len < size)
        vsnprintf(text + len, size - len, format, args);
}

bool
vc__config_fail(struct vc__config_reader *r, const struct vc__config_at *at,
                const char *format, ...)
{
    va_list args;

    if (r->why[0] != '\0')
        return false;
    va_start(args, format);
    place_put(at, r->why, VC__SERVICE_CONFIG_WHY, format, args);
    va_end(args);
    return false;
}

bool
vc__config_lacks_memory(struct vc__config_reader *r)
{
    r->lacks_memory = true;
    return false;
}

void
vc__config_note(struct vc__config_reader *r, const struct vc__config_at *at,
                const char *format, ...)
{
    char *notes = r->config->notes;
    size_t size = sizeof r->config->notes, len = strlen(notes);
    va_list args;

    if (len + 4 >= size)
        return;
    if (len > 0) {
        memcpy(notes + len, "; ", 3);
        len += 2;
    }
    va_start(args, format);
    place_put(at, notes + len, size - len, format, args);
    va_end(args);
}

/* --- objects and arrays -------------------------------------------------- */

struct vc__config_at
vc__config_get(const struct vc__config_at *object, const char *name)
{
    const json_t *value = json_object_get(object->value, name);

    return (struct vc__config_at){
        .up = object,
        .name = name,
        .value = json_is_null(value) ? NULL : value,
    };
}

struct vc__config_at
vc__config_entry(const struct vc__config_at *array, size_t i)
{
    return (struct vc__config_at){
        .up = array,
        .i = i,
        .value = json_array_get(array->value, i),
    };
}

bool
vc__config_object(struct vc__config_reader *r, const struct vc__config_at *at)
{
    if (at->value == NULL)
        return false;
    return json_is_object(at->value) ||
           vc__config_fail(r, at, "must be an object");
}

bool
vc__config_array(struct vc__config_reader *r, const struct vc__config_at *at)
{
    if (at->value == NULL)
        return false;
    return json_is_array(at->value) ||
           vc__config_fail(r, at, "must be an array");
}

bool
vc__config_text(struct vc__config_reader *r, const struct vc__config_at *at,
                const char **out)
{
    if (at->value == NULL)
        return true;
    if (!json_is_string(at->value))
        return vc__config_fail(r, at, "must be a text");
    *out = json_string_value(at->value);
    return true;
}

bool
vc__config_boolean(struct vc__config_reader *r, const struct vc__config_at *at,
                   bool *out)
{
    if (at->value == NULL)
        return true;
    if (!json_is_boolean(at->value))
        return vc__config_fail(r, at, "must be true or false");
    *out = json_is_true(at->value);
    return true;
}

/* --- numbers ------------------------------------------------------------- */

/* For whole_read() and duration_read(): reads a text of digits, all of `len`.
 * False, without a fault, if it is anything else, or too large. */
static bool
digits_read(const char *text, size_t len, uint64_t *out)
{
    uint64_t n = 0;

    if (len == 0 || len > DIGITS_MAX)
        return false;
    for (size_t i = 0; i < len; i++) {
        unsigned digit = (unsigned)text[i] - '0';

        if (digit > 9 || n > (UINT64_MAX - digit) / 10)
            return false;
        n = n * 10 + digit;
    }
    *out = n;
    return true;
}

/* Reads a whole number that is not negative: 5, 5.0 or "5". False, without a
 * fault, if it is none. For vc__config_number() and code_read(). */
static bool
whole_read(const json_t *value, uint64_t *out)
{
    const char *text = json_string_value(value);
    double d;

    if (text != NULL)
        return digits_read(text, strlen(text), out);
    if (json_is_integer(value) && json_integer_value(value) >= 0) {
        *out = (uint64_t)json_integer_value(value);
        return true;
    }
    if (!json_is_real(value))
        return false;
    d = json_real_value(value);
    if (!(d >= 0 && d <= 9007199254740992.0) || d != floor(d))
        return false;
    *out = (uint64_t)d;
    return true;
}

bool
vc__config_number(struct vc__config_reader *r, const struct vc__config_at *at,
                  uint64_t least, uint64_t most, uint64_t *out)
{
    uint64_t n = 0;

    if (at->value == NULL)
        return true;
    if (!whole_read(at->value, &n) || n < least || n > most)
        return vc__config_fail(r, at, "must be a whole number, %llu to %llu",
                               (unsigned long long)least,
                               (unsigned long long)most);
    *out = n;
    return true;
}

/* For vc__config_decimal(): returns a number, or what a text is as one; NaN if
 * it is none. */
static double
decimal_read(const json_t *value)
{
    const char *text = json_string_value(value);
    json_t *number =
        text == NULL ? NULL : json_loads(text, JSON_DECODE_ANY, NULL);
    const json_t *from = text == NULL ? value : number;
    double d = json_is_number(from) ? json_number_value(from) : (double)NAN;

    json_decref(number);
    return d;
}

bool
vc__config_decimal(struct vc__config_reader *r, const struct vc__config_at *at,
                   bool above, double *out)
{
    double d;

    if (at->value == NULL)
        return true;
    d = decimal_read(at->value);
    if (!(above ? d > 0 : d >= 0) || d > 3e38)
        return vc__config_fail(
            r, at, above ? "must be a number above 0" : "must be 0 or more");
    *out = d;
    return true;
}

/* --- durations ----------------------------------------------------------- */

/* For vc__config_duration(): reads "SECONDS[.FRACTION]s", as nanoseconds.
 * False, without a fault, if it is malformed or too long. */
static bool
duration_read(const char *text, uint64_t *out)
{
    size_t whole = strspn(text, "0123456789"), fraction = 0;
    uint64_t seconds = 0, ns = 0;
    const char *rest = text + whole;

    if (!digits_read(text, whole, &seconds) || seconds > SECONDS_MAX)
        return false;
    if (*rest == '.') {
        fraction = strspn(++rest, "0123456789");
        if (fraction > FRACTION_DIGITS || !digits_read(rest, fraction, &ns))
            return false;
        rest += fraction;
    }
    for (; fraction < FRACTION_DIGITS; fraction++)
        ns *= 10;
    if (strcmp(rest, "s") != 0 || (seconds == SECONDS_MAX && ns > 0))
        return false;
    if (seconds > SECONDS_KEPT)
        seconds = SECONDS_KEPT;
    *out = seconds * NS_PER_S + ns;
    return true;
}

bool
vc__config_duration(struct vc__config_reader *r, const struct vc__config_at *at,
                    uint64_t least, uint64_t *out)
{
    const char *text = NULL;
    uint64_t ns = 0;

    if (at->value == NULL)
        return true;
    if (!vc__config_text(r, at, &text))
        return false;
    if (!duration_read(text, &ns))
        return vc__config_fail(r, at,
                               "must be a duration of at most "
                               "315576000000 seconds, as \"1.5s\"");
    if (ns < least)
        return vc__config_fail(r, at, "must be more than 0 seconds");
    *out = ns;
    return true;
}

/* --- status codes -------------------------------------------------------- */

/* gRPC's names, by their numbers. */
static const char *const code_names[] = {
#define NAME(name, number, text) [number] = #name,
    VC_STATUSES(NAME)
#undef NAME
};

#define N_CODES (sizeof code_names / sizeof code_names[0])

/* For vc__config_codes(): returns the number of a code; N_CODES if it is
 * none. */
static uint64_t
code_read(const json_t *value)
{
    const char *text = json_string_value(value);
    uint64_t n = N_CODES;

    if (text == NULL)
        return whole_read(value, &n) && n < N_CODES ? n : N_CODES;
    for (n = 0; n < N_CODES && strcasecmp(text, code_names[n]) != 0; n++)
        ;
    return n;
}

bool
vc__config_codes(struct vc__config_reader *r, const struct vc__config_at *at,
                 uint32_t *out)
{
    if (at->value == NULL)
        return true;
    if (!vc__config_array(r, at))
        return false;
    for (size_t i = 0; i < json_array_size(at->value); i++) {
        const struct vc__config_at entry = vc__config_entry(at, i);
        uint64_t code = code_read(entry.value);

        if (code == N_CODES)
            return vc__config_fail(r, &entry,
                                   "must be a status code, as \"UNAVAILABLE\" "
                                   "or 14");
        if (code == VC_OK)
            return vc__config_fail(r, &entry, "OK is no failure");
        *out |= 1u << code;
    }
    return true;
}
