/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The last error of each thread, and the names of statuses. See
 * transport/core/error.h; for the vc_ functions see verbcall/status.h. Static
 * functions run on any thread, that of their caller. */
#include "transport/core/error.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "transport/core/handoff.h"
#include "transport/core/utf8.h"

static _Thread_local struct vc__error last;
/* The handler run in which the error was raised. Only compared: the run may
 * have ended. */
static _Thread_local const struct vc__handler_run *place;

const char *
vc_status_name(enum vc_status status)
{
    switch (status) {
#define STATUS_NAME(name, number, text)                                        \
    case VC_##name:                                                            \
        return #name;
        VC_STATUSES(STATUS_NAME)
#undef STATUS_NAME
    }
    return "UNKNOWN";
}

const char *
vc_error(void)
{
    return last.text;
}

enum vc_status
vc_error_status(void)
{
    return last.status;
}

enum vc_outcome
vc_error_outcome(void)
{
    return last.outcome;
}

void
vc__text_format(char *text, size_t size, const char *format, va_list args)
{
    int len = vsnprintf(text, size, format, args);

    if (len >= (int)size)
        text[vc__utf8_whole((const uint8_t *)text, size - 1)] = '\0';
}

/* For all functions here that write or raise a formatted error: writes it to
 * *error, without an outcome but "not executed" and without a lack. */
static void __attribute__((format(printf, 3, 0)))
error_vput(struct vc__error *error, enum vc_status status, const char *format,
           va_list args)
{
    error->status = status;
    error->outcome = VC_OUTCOME_NOT_EXECUTED;
    error->lack = VC__LACK_NOTHING;
    vc__text_format(error->text, sizeof error->text, format, args);
}

void
vc__error_put(struct vc__error *error, enum vc_status status,
              const char *format, ...)
{
    va_list args;

    va_start(args, format);
    error_vput(error, status, format, args);
    va_end(args);
}

enum vc_status
vc__error_raise(const struct vc__error *error)
{
    struct vc__handler_run *s = vc__handler_run_inmost();

    vc__error_copy(&last, error);
    place = s;
    if (s != NULL)
        s->failed = true;
    return error->status;
}

enum vc_status
vc__fail(enum vc_status status, const char *format, ...)
{
    struct vc__error error;
    va_list args;

    va_start(args, format);
    error_vput(&error, status, format, args);
    va_end(args);
    return vc__error_raise(&error);
}

enum vc_status
vc__fail_lacking(enum vc__lack lack, const char *format, ...)
{
    struct vc__error error;
    va_list args;

    va_start(args, format);
    error_vput(&error, VC_RESOURCE_EXHAUSTED, format, args);
    va_end(args);
    error.lack = lack;
    return vc__error_raise(&error);
}

/* For vc__error_put_errno() and vc__fail_errno(): appends the errno's text to
 * the formatted text; sets error->lack if descriptors are lacking. */
static void
errno_add(struct vc__error *error, int err)
{
    bool lacks = err == EMFILE || err == ENFILE;
    size_t len = strlen(error->text);

    snprintf(error->text + len, sizeof error->text - len, ": %s%s",
             strerror(err),
             lacks ? "; raise the limit of descriptors (ulimit -n, "
                     "LimitNOFILE= of systemd)"
                   : "");
    if (lacks)
        error->lack = VC__LACK_DESCRIPTORS;
}

void
vc__error_put_errno(struct vc__error *error, int err, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    error_vput(error, vc__status_of_errno(err), format, args);
    va_end(args);
    errno_add(error, err);
}

enum vc_status
vc__fail_errno(int err, const char *format, ...)
{
    struct vc__error error;
    va_list args;

    va_start(args, format);
    error_vput(&error, vc__status_of_errno(err), format, args);
    va_end(args);
    errno_add(&error, err);
    return vc__error_raise(&error);
}

const char *
vc__lack_text(enum vc__lack lack)
{
    static const char *const texts[VC__LACKS] = {
        [VC__LACK_ROOM] =
            "other connections use all memory that the server may pin",
        [VC__LACK_PINNED] =
            "the server cannot pin memory: raise its limit (ulimit -l)",
        [VC__LACK_DESCRIPTORS] =
            "the server has no descriptors left: raise its ulimit -n",
    };

    return texts[lack];
}

const struct vc__error *
vc__error_last(void)
{
    return &last;
}

const struct vc__error *
vc__error_within(void)
{
    const struct vc__handler_run *s = vc__handler_run_inmost();

    return s != NULL && s->failed && s == place ? &last : NULL;
}

/* For vc__words_put() and vc__text_put(): copies a text, truncated to fit, with
 * blanks for control characters except those in `keep`. */
static void
put_without_controls(char *out, size_t size, const char *in, size_t len,
                     const char *keep)
{
    if (len > size - 1)
        len = vc__utf8_whole((const uint8_t *)in, size - 1);
    for (size_t i = 0; i < len; i++) {
        bool control = (unsigned char)in[i] < ' ' || in[i] == 0x7f;

        out[i] = control && (in[i] == '\0' || strchr(keep, in[i]) == NULL)
                     ? ' '
                     : in[i];
    }
    out[len] = '\0';
}

void
vc__words_put(char *out, size_t size, const void *words, size_t len)
{
    put_without_controls(out, size, words, len, "");
}

void
vc__text_put(char *out, size_t size, const void *text, size_t len)
{
    put_without_controls(out, size, text, len, "\t\n\r");
}

enum vc_status
vc__status_of_errno(int err)
{
    switch (err) {
    case EINVAL:
        return VC_INVALID_ARGUMENT;
    case EACCES:
    case EPERM:
        return VC_PERMISSION_DENIED;
    case ENOMEM:
    case EMFILE:
    case ENFILE:
    case ENOSPC:
        return VC_RESOURCE_EXHAUSTED;
    default:
        return VC_UNAVAILABLE;
    }
}
