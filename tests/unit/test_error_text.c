/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * transport/core/error.h: texts of a peer become texts for people. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cm/connect/hello.h"
#include "transport/core/error.h"

/* Checks these bytes, in memory of exactly their size, with `size`
 * bytes of room. */
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

/* --- missing resources ---------------------------------------------------- */

static void
what_a_server_lacks_fits_its_reject(void **state)
{
    (void)state;
    assert_null(vc__lack_text(VC__LACK_NOTHING));
    for (int lack = VC__LACK_NOTHING + 1; lack < VC__LACKS; lack++)
        assert_in_range(strlen(vc__lack_text((enum vc__lack)lack)), 1,
                        VC__REJECT_TEXT_MAX);
    assert_false(vc__lack_lasts(VC__LACK_ROOM));
    assert_true(vc__lack_lasts(VC__LACK_PINNED));
}

static void
an_errno_for_want_of_descriptors_says_what_helps(void **state)
{
    struct vc__error error;

    (void)state;
    vc__error_put_errno(&error, EMFILE, "cannot open %s", "it");
    assert_int_equal(VC_RESOURCE_EXHAUSTED, error.status);
    assert_int_equal(VC__LACK_DESCRIPTORS, error.lack);
    assert_string_equal("cannot open it: Too many open files; raise the limit "
                        "of descriptors (ulimit -n, LimitNOFILE= of systemd)",
                        error.text);
    vc__error_put_errno(&error, EACCES, "cannot open %s", "it");
    assert_int_equal(VC_PERMISSION_DENIED, error.status);
    assert_int_equal(VC__LACK_NOTHING, error.lack);
    assert_string_equal("cannot open it: Permission denied", error.text);
    assert_int_equal(VC_RESOURCE_EXHAUSTED,
                     vc__fail_errno(EMFILE, "cannot open"));
    assert_int_equal(VC_OUTCOME_NOT_EXECUTED, vc__error_last()->outcome);
    vc__fail(VC_UNAVAILABLE, "%s", "another");
    assert_int_equal(VC__LACK_NOTHING, vc__error_last()->lack);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_peers_words_have_no_control_characters),
        cmocka_unit_test(what_is_too_long_is_cut),
        cmocka_unit_test(what_a_server_lacks_fits_its_reject),
        cmocka_unit_test(an_errno_for_want_of_descriptors_says_what_helps),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
