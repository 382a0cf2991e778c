/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * How errors are kept: whoever first knows what went wrong says it in words,
 * once. On the thread that asked, vc__fail() keeps the words for vc_error();
 * between threads they travel in a struct vc__error. */
#ifndef VC_TRANSPORT_ERROR_H
#define VC_TRANSPORT_ERROR_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#include <verbcall/status.h>

#define VC__ERROR_TEXT 256 /* bytes, terminator included */

/* What this process lacks for one more connection. */
enum vc__lack {
    VC__LACK_NOTHING = 0, /* the failure has another cause */
    VC__LACK_ROOM,        /* other connections have all that there may be */
    VC__LACK_PINNED,      /* it may not pin the memory of even one */
    VC__LACK_DESCRIPTORS,
    VC__LACKS
};

struct vc__error {
    enum vc_status status;
    enum vc_outcome outcome;
    enum vc__lack lack;
    char text[VC__ERROR_TEXT];
};

/* Writes an error; the outcome is "not executed", and nothing is lacking. */
void vc__error_put(struct vc__error *error, enum vc_status status,
                   const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Makes it this thread's vc_error() and returns its status. */
enum vc_status vc__error_raise(const struct vc__error *error);

/* Both at once. */
enum vc_status vc__fail(enum vc_status status, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The same, RESOURCE_EXHAUSTED for want of this. */
enum vc_status vc__fail_lacking(enum vc__lack lack, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Of an errno of verbs, rdma_cm or the system: the format says what failed, and
 * the errno's text follows, with what helps if descriptors are lacking. */
void vc__error_put_errno(struct vc__error *error, int err, const char *format,
                         ...) __attribute__((format(printf, 3, 4)));
enum vc_status vc__fail_errno(int err, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* What the server lacks, for a client to read; NULL for nothing. It fits the
 * text of a reject. */
const char *vc__lack_text(enum vc__lack lack);

/* True when it stays so until the limits of the process are raised: to try
 * again is of no use. */
static inline bool
vc__lack_lasts(enum vc__lack lack)
{
    return lack >= VC__LACK_PINNED;
}

/* This thread's last, to carry to another thread. */
const struct vc__error *vc__error_last(void);

/* What vsnprintf() writes, but that a text which is cut ends with a whole
 * character of UTF-8. */
void vc__text_format(char *text, size_t size, const char *format, va_list args)
    __attribute__((format(printf, 3, 0)));

/* Writes words of a peer's to out, of `size` bytes: cut to fit, and with blanks
 * for control characters, as errors are shown on terminals. */
void vc__words_put(char *out, size_t size, const void *words, size_t len);

/* The same for the text of a handler, which keeps its tabs and ends of lines. */
void vc__text_put(char *out, size_t size, const void *text, size_t len);

/* The status that stands for an errno of verbs, rdma_cm or the system. */
enum vc_status vc__status_of_errno(int err);

#endif
