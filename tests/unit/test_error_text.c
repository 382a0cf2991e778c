/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * transport/core/error.h: what a peer says becomes a text for people. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "transport/core/error.h"

/* These bytes, in memory that ends with the last of them, in a room of `size`.
 */
static void
becomes(const char *bytes, size_t len, size_t size, const char *words,
        const char *text)
{
    char *exact = malloc(len), out[32];

    memcpy(exact, bytes, len);
    memset(out, '#', sizeof out);
    vc__words_put(out, size, exact, len);
    assert_string_equal(words, out);
    assert_int_equal('#', out[strlen(out) + 1]);
    vc__text_put(out, size, exact, len);
    assert_string_equal(text, out);
    free(exact);
}

static void
a_peers_words_have_no_control_characters(void **state)
{
    (void)state;
    becomes("a\tb\x7f"
            "c\0d\x1f",
            8, 32, "a b c d ", "a\tb c d ");
    becomes("one\ntwo", 7, 32, "one two", "one\ntwo");
}

static void
what_is_too_long_is_cut(void **state)
{
    (void)state;
    becomes("abcdef", 6, 7, "abcdef", "abcdef");
    becomes("abcdef", 6, 6, "abcde", "abcde");
    becomes("abcdef", 6, 1, "", "");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_peers_words_have_no_control_characters),
        cmocka_unit_test(what_is_too_long_is_cut),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
