/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Files of servers: what is read of a good one, and what is said of a bad
 * one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "rpc/balance/endpoint_file.h"
#include "transport/core/utf8.h"

/* 63 and 319 characters. */
#define TEXT_63                                                                \
    "123456789012345678901234567890123456789012345678901234567890123"
#define TARGET_319 "tcp:" TEXT_63 TEXT_63 TEXT_63 TEXT_63 TEXT_63

static struct vc__endpoint_file file;

/* Reads a text that is in memory of exactly its size. */
static bool
parse(const char *text, size_t len)
{
    char *copy = malloc(len > 0 ? len : 1);
    bool good;

    assert_non_null(copy);
    memcpy(copy, text, len);
    memset(&file, 0x5a, sizeof file);
    good = vc__endpoint_file_parse(&file, copy, len);
    free(copy);
    return good;
}

/* --- good files -------------------------------------------------------- */

/* Describes what was read: "TARGET WEIGHT PRIORITY LABEL HASH_KEY" of each. */
static const char *
described(void)
{
    static char text[4096];
    size_t at = 0;

    for (unsigned i = 0; i < file.n; i++) {
        const struct vc__endpoint *e = &file.endpoints[i];

        at += (size_t)snprintf(text + at, sizeof text - at, "%s%s %u %u %s %s",
                               i > 0 ? ", " : "", e->target,
                               (unsigned)e->weight, (unsigned)e->priority,
                               e->label[0] != '\0' ? e->label : "-",
                               e->hash_key[0] != '\0' ? e->hash_key : "-");
    }
    return text;
}

static const struct {
    const char *text, *read;
} good[] = {
    {"tcp://a:1\n", "tcp://a:1 1 0 - -"},
    {"tcp://a:1", "tcp://a:1 1 0 - -"},
    {"tcp://a:1\r\n", "tcp://a:1 1 0 - -"},
    {"tcp://a:1\r", "tcp://a:1 1 0 - -"},
    {" \t tcp://a:1 \t ", "tcp://a:1 1 0 - -"},
    {"\n\r\n  \n\t\ntcp://a:1\n\n", "tcp://a:1 1 0 - -"},
    {"tcp://b:1\nrdma://a:1\ninproc://c\n",
     "tcp://b:1 1 0 - -, rdma://a:1 1 0 - -, inproc://c 1 0 - -"},
    {"a:1\na:12\na:\xc3\xa4\n",
     "a:1 1 0 - -, a:12 1 0 - -, a:\xc3\xa4 1 0 - -"},
    {"\xef\xbb\xbftcp://a:1\n", "tcp://a:1 1 0 - -"},
    /* comments */
    {"# tcp://b:1\ntcp://a:1\n", "tcp://a:1 1 0 - -"},
    {"  # b\ntcp://a:1 # weight=2\n", "tcp://a:1 1 0 - -"},
    {"tcp://a:1\t#weight=2", "tcp://a:1 1 0 - -"},
    {"tcp://a:1 label=x #", "tcp://a:1 1 0 x -"},
    {"shm:a#b label=#7 hash_key=k#\n", "shm:a#b 1 0 #7 k#"},
    {"#\n#\xe2\x82\xac\nt:x", "t:x 1 0 - -"},
    /* words */
    {"tcp://a:1 weight=1 priority=0", "tcp://a:1 1 0 - -"},
    {"tcp://a:1 priority=255\tweight=1000000", "tcp://a:1 1000000 255 - -"},
    {"tcp://a:1 hash_key=k label=rack-7 weight=007", "tcp://a:1 7 0 rack-7 k"},
    {"tcp://a:1 label=label=1\ntcp://b:1 label=label=1",
     "tcp://a:1 1 0 label=1 -, tcp://b:1 1 0 label=1 -"},
    {"tcp://a:1 label=\xc3\xa4\xf0\x9f\x98\x80\r\n",
     "tcp://a:1 1 0 \xc3\xa4\xf0\x9f\x98\x80 -"},
    /* limits of length */
    {"tcp://a:1 label=" TEXT_63 " hash_key=" TEXT_63,
     "tcp://a:1 1 0 " TEXT_63 " " TEXT_63},
    {TARGET_319 " weight=2", TARGET_319 " 2 0 - -"},
    {"a23456789+12-.5:x", "a23456789+12-.5:x 1 0 - -"},
};

static void
a_good_file_is_read(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        if (!parse(good[i].text, strlen(good[i].text)))
            fail_msg("row %zu is refused: %s", i, file.why);
        if (strcmp(described(), good[i].read) != 0)
            fail_msg("row %zu: %s", i, described());
        assert_string_equal(file.why, "");
    }
}

/* --- bad files --------------------------------------------------------- */

#define WORDS                                                                  \
    "; after the target there may be weight=1..1000000, priority=0..255, "     \
    "label=TEXT and hash_key=TEXT"
#define SCHEME                                                                 \
    " has no scheme; write rdma://HOST:PORT or tcp://HOST:PORT, for example"
#define WEIGHT   " is no number from 1 to 1000000"
#define PRIORITY " is no number from 0 to 255"
#define EMPTY    "has no target; it needs at least one, as rdma://HOST:PORT"
#define CONTROL  "; only tabs may be in a line"
#define ONCE     ", too; each may be in the file once"
#define LIST     " is a list; write each target on a line of its own"

/* A text with its length, which counts NULs. */
#define ROW(text, why)                                                         \
    {                                                                          \
        text, sizeof text - 1, why                                             \
    }

static const struct {
    const char *text;
    size_t len;
    const char *why;
} bad[] = {
    ROW("", EMPTY),
    ROW("\n# nothing\n \r\n", EMPTY),
    ROW("\xef\xbb\xbf", EMPTY),
    /* words */
    ROW("t:x\n\nt:y wieght=2", "line 3: unknown word \"wieght=2\"" WORDS),
    ROW("t:x t:y", "line 1: unknown word \"t:y\"" WORDS),
    ROW("t:x weight", "line 1: unknown word \"weight\"" WORDS),
    ROW("t:x weight:1", "line 1: unknown word \"weight:1\"" WORDS),
    ROW("t:x Weight=1", "line 1: unknown word \"Weight=1\"" WORDS),
    ROW("t:x =1", "line 1: unknown word \"=1\"" WORDS),
    ROW("t:x weight=1 label=a weight=1", "line 1: weight= is there twice"),
    ROW("t:x label=a label=b", "line 1: label= is there twice"),
    ROW("t:x hash_key=a hash_key=a", "line 1: hash_key= is there twice"),
    ROW("t:x priority=1 priority=1", "line 1: priority= is there twice"),
    /* numbers */
    ROW("t:x weight=0", "line 1: weight=0" WEIGHT),
    ROW("t:x weight=1000001", "line 1: weight=1000001" WEIGHT),
    ROW("t:x weight=18446744073709551617",
        "line 1: weight=18446744073709551617" WEIGHT),
    ROW("t:x weight=", "line 1: weight=" WEIGHT),
    ROW("t:x priority=", "line 1: priority=" PRIORITY),
    ROW("t:x weight=-1", "line 1: weight=-1" WEIGHT),
    ROW("t:x weight=+1", "line 1: weight=+1" WEIGHT),
    ROW("t:x weight=0x10", "line 1: weight=0x10" WEIGHT),
    ROW("t:x weight=1.5", "line 1: weight=1.5" WEIGHT),
    ROW("t:x weight=1:", "line 1: weight=1:" WEIGHT),
    ROW("t:x priority=256", "line 1: priority=256" PRIORITY),
    ROW("t:x priority=high", "line 1: priority=high" PRIORITY),
    /* texts */
    ROW("t:x label=", "line 1: label= has no text; leave it out, or write "
                      "label=TEXT"),
    ROW("t:x hash_key= weight=1", "line 1: hash_key= has no text; leave it "
                                  "out, or write hash_key=TEXT"),
    ROW("t:x label=" TEXT_63 "4",
        "line 1: label="
        "123456789012345678901234567890123456789012345678901234567890... has "
        "64 bytes; at most 63 are allowed"),
    /* targets */
    ROW("10.9.0.1:7471", "line 1: the target \"10.9.0.1:7471\"" SCHEME),
    ROW("weight=2 t:x", "line 1: the target \"weight=2\"" SCHEME),
    ROW("t:x\n:x", "line 2: the target \":x\"" SCHEME),
    ROW("TCP://a:1", "line 1: the target \"TCP://a:1\"" SCHEME),
    ROW("+t:1", "line 1: the target \"+t:1\"" SCHEME),
    ROW("a234567890123456:x",
        "line 1: the target \"a234567890123456:x\"" SCHEME),
    ROW("tcp", "line 1: the target \"tcp\"" SCHEME),
    ROW("tcp:", "line 1: the target \"tcp:\" is only a scheme"),
    ROW("t:x\nlist:t:a,t:b", "line 2: the target \"list:t:a,t:b\"" LIST),
    ROW(TARGET_319 "4",
        "line 1: the target \""
        "tcp:12345678901234567890123456789012345678901234567890123456...\" has "
        "320 bytes; at most 319 are allowed"),
    ROW("t:x\n# t:y\nt:y\nt:x weight=2\n",
        "line 4: the target \"t:x\" is in line 1" ONCE),
    /* a word is shown without half a character at its end */
    ROW("tttttttttttttttttttttttttttttttttttttttttttttttttttttttttt\xe2\x82"
        "\xac",
        "line 1: the target "
        "\"tttttttttttttttttttttttttttttttttttttttttttttttttttttttttt"
        "\"" SCHEME),
    /* bytes */
    ROW("t:x\n\nt:\0y", "line 3: has a NUL byte; the file must be text in "
                        "UTF-8"),
    ROW("# \0\nt:x", "line 1: has a NUL byte; the file must be text in UTF-8"),
    ROW("t:x\nt:\xff", "line 2: is not valid UTF-8"),
    ROW("t:x # \xc0\x80", "line 1: is not valid UTF-8"),
    ROW("t:x # \xe2\x82\n\xac", "line 1: is not valid UTF-8"),
    ROW("t:\x1b[1m", "line 1: has the control character 0x1b" CONTROL),
    ROW("t:x\rt:y\n", "line 1: has the control character 0x0d" CONTROL),
    ROW("t:x\r\r\n", "line 1: has the control character 0x0d" CONTROL),
    ROW("t:x label=\x7f", "line 1: has the control character 0x7f" CONTROL),
};

static void
a_bad_file_is_refused_with_its_line(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        if (parse(bad[i].text, bad[i].len))
            fail_msg("row %zu is taken", i);
        if (strcmp(file.why, bad[i].why) != 0)
            fail_msg("row %zu: %s", i, file.why);
    }
}

/* --- large files ------------------------------------------------------- */

/* A file of n targets with words as long as they may be. */
static char *
file_of(unsigned n, size_t *len)
{
    char *text = malloc((size_t)n * 512);

    assert_non_null(text);
    *len = 0;
    for (unsigned i = 0; i < n; i++)
        *len += (size_t)sprintf(text + *len, "tcp://host-%u:7471 label=%u %s\n",
                                i, i, "weight=1000000 priority=255");
    return text;
}

static void
a_file_has_up_to_1024_targets(void **state)
{
    size_t len;
    char *text = file_of(1025, &len);

    (void)state;
    assert_false(parse(text, len));
    assert_string_equal(file.why, "line 1025: is one target too many; a file "
                                  "has at most 1024");
    *strstr(text, "tcp://host-1024:") = '#';
    assert_true(parse(text, len));
    assert_int_equal(file.n, 1024);
    for (unsigned i = 0; i < 1024; i++)
        assert_int_equal(atoi(file.endpoints[i].label), i);
    free(text);
}

static void
a_target_that_is_in_the_file_already_is_found(void **state)
{
    size_t len;
    char *text = file_of(1024, &len), *last = strstr(text, "tcp://host-1023:");
    size_t room = len - (size_t)(last - text);

    (void)state;
    for (unsigned i = 0; i < 1023; i++) {
        char why[128];

        snprintf(last, room, "tcp://host-%u:7471", i);
        snprintf(why, sizeof why,
                 "line 1024: the target \"tcp://host-%u:7471\" is in line "
                 "%u" ONCE,
                 i, i + 1);
        assert_false(parse(text, strlen(text)));
        assert_string_equal(file.why, why);
    }
    free(text);
}

static void
a_file_has_up_to_a_mebibyte(void **state)
{
    size_t len = VC__ENDPOINT_FILE_MAX;
    char *text = malloc(len + 1);

    (void)state;
    assert_non_null(text);
    memset(text, '\n', len + 1);
    memcpy(text + len - 3, "t:x", 3);
    assert_true(parse(text, len));
    assert_int_equal(file.lines[0], len - 2);
    assert_false(parse(text, len + 1));
    assert_string_equal(file.why, "has more than 1048576 bytes");
    free(text);
}

/* Whatever a long word ends with, what is shown of it is UTF-8. */
static void
what_is_shown_of_a_word_is_whole_characters(void **state)
{
    (void)state;
    for (unsigned before = 0; before < 64; before++) {
        char text[512];

        memset(text, 't', before);
        snprintf(text + before, sizeof text - before,
                 "\xf0\x9f\x98\x80\xe2\x82\xac\xc3\xa4\xf0\x9f\x98\x80");
        assert_false(parse(text, strlen(text)));
        assert_true(
            vc__utf8_valid((const uint8_t *)file.why, strlen(file.why)));
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_good_file_is_read),
        cmocka_unit_test(a_bad_file_is_refused_with_its_line),
        cmocka_unit_test(a_file_has_up_to_1024_targets),
        cmocka_unit_test(a_target_that_is_in_the_file_already_is_found),
        cmocka_unit_test(a_file_has_up_to_a_mebibyte),
        cmocka_unit_test(what_is_shown_of_a_word_is_whole_characters),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
