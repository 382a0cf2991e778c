/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Checks whether a peer's text may become a C string: UTF-8 (RFC 3629) without
 * NUL. Control characters are not checked: code that prints a peer's text must
 * escape them. Pure; called on whatever thread reads the text.
 *
 * Called by: cm/connect/hello.c (whole), rpc/balance/endpoint_file.c (whole),
 * error.c (whole), many files (valid). */
#ifndef VC_TRANSPORT_UTF8_H
#define VC_TRANSPORT_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Bytes of the non-ASCII character at s, where `left` bytes remain. 0 if it is
 * invalid: truncated, overlong, a surrogate, above U+10FFFF (RFC 3629, section
 * 4). For this header. */
static inline size_t
vc__utf8_long(const uint8_t *s, size_t left)
{
    size_t n = s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;
    uint8_t low = s[0] == 0xe0 ? 0xa0 : s[0] == 0xf0 ? 0x90 : 0x80;
    uint8_t high = s[0] == 0xed ? 0x9f : s[0] == 0xf4 ? 0x8f : 0xbf;

    if (s[0] < 0xc2 || s[0] > 0xf4 || n > left)
        return 0;
    if (s[1] < low || s[1] > high)
        return 0;
    for (size_t i = 2; i < n; i++)
        if ((s[i] & 0xc0) != 0x80)
            return 0;
    return n;
}

/* For vc__utf8_valid(): true if the eight bytes at s are ASCII and none is NUL:
 * then no byte has its high bit set, and none borrows when 1 is subtracted from
 * each. */
static inline bool
vc__utf8_plain(const uint8_t *s)
{
    uint64_t v;

    memcpy(&v, s, sizeof v);
    return ((v | (v - 0x0101010101010101u)) & 0x8080808080808080u) == 0;
}

/* True if all len bytes are valid. Called for the texts in an accept or reject,
 * for strings of received messages (rpc/codec), for the lines of a file of
 * servers, the name of a service to watch, and the error of the module for
 * service configs. */
static inline bool
vc__utf8_valid(const uint8_t *s, size_t len)
{
    size_t i = 0;

    while (i < len) {
        size_t n = 1;

        if (len - i >= 8 && vc__utf8_plain(s + i))
            n = 8;
        else if (s[i] >= 0x80)
            n = vc__utf8_long(s + i, len - i);
        else if (s[i] == 0)
            n = 0;
        if (n == 0)
            return false;
        i += n;
    }
    return true;
}

/* How many of the first len bytes of a longer text are whole characters. Called
 * by error.c and endpoint_file.c where a text is truncated. */
static inline size_t
vc__utf8_whole(const uint8_t *s, size_t len)
{
    size_t back = 1; /* to the last one's lead byte */

    while (back < 4 && back < len && (s[len - back] & 0xc0) == 0x80)
        back++;
    if (len == 0 || s[len - back] < 0xc0)
        return len;
    return vc__utf8_long(s + len - back, back) == 0 ? len - back : len;
}

#endif
