/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * transport/core/log.h: which lines are logged, where they go, and their form;
 * and a runtime's options for it. tests/sim/test_log.c, with its simulated
 * clock, tests the limits and the count of suppressed lines. */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "rpc/runtime.h"
#include "tests/suite/fixture.h"
#include "transport/core/error.h"
#include "transport/core/log.h"

#define KINDS   VC__LOG_N_KINDS
#define THREADS 4
#define TEXT    4096

/* --- what is logged ------------------------------------------------------- */

struct seen {
    pthread_mutex_t lock;
    unsigned n;
    enum vc_log_level level;
    char line[VC__LOG_LINE];
};

static void
on_line(enum vc_log_level level, const char *line, void *arg)
{
    struct seen *s = arg;

    pthread_mutex_lock(&s->lock);
    s->n++;
    s->level = level;
    memcpy(s->line, line, strlen(line) + 1);
    pthread_mutex_unlock(&s->lock);
    errno = EILSEQ;
}

static void
a_kind_is_logged_when_its_level_is_wanted(void **state)
{
    (void)state;
    for (unsigned level = 0; level <= VC_LOG_DEBUG; level++) {
        for (unsigned kind = 0; kind < KINDS; kind++) {
            struct seen s = {PTHREAD_MUTEX_INITIALIZER, 0, 0, ""};
            struct vc__log log;
            bool wanted = vc__log_levels[kind] <= level;

            vc__log_init(&log, on_line, &s, level);
            vc__log(&log, kind, "line %u", kind);
            vc__log_fini(&log);
            assert_int_equal(wanted, s.n);
            if (wanted)
                assert_int_equal(vc__log_levels[kind], s.level);
        }
    }
    vc__log(NULL, 0, "nobody has it");
}

static void
a_line_has_no_control_characters(void **state)
{
    struct seen s = {PTHREAD_MUTEX_INITIALIZER, 0, 0, ""};
    struct vc__log log;

    (void)state;
    vc__log_init(&log, on_line, &s, VC_LOG_DEBUG);
    vc__log(&log, VC__LOG_LINK_UP, "link to %s: up", "a\nb\x1b[31m\tc");
    assert_string_equal("link to a b [31m c: up", s.line);
    vc__log_fini(&log);
}

static void
a_long_line_ends_with_a_whole_character(void **state)
{
    struct seen s = {PTHREAD_MUTEX_INITIALIZER, 0, 0, ""};
    struct vc__log log;

    (void)state;
    vc__log_init(&log, on_line, &s, VC_LOG_DEBUG);
    vc__log(&log, VC__LOG_LINK_UP, "%0*d\xc3\xa4", VC__LOG_LINE - 2, 0);
    assert_int_equal(VC__LOG_LINE - 2, strlen(s.line));
    vc__log(&log, VC__LOG_LINK_UP, "%0*d\xc3\xa4", VC__LOG_LINE - 3, 0);
    assert_int_equal(VC__LOG_LINE - 1, strlen(s.line));
    vc__log_fini(&log);
}

static void
logging_leaves_errno_and_the_last_error_alone(void **state)
{
    struct seen s = {PTHREAD_MUTEX_INITIALIZER, 0, 0, ""};
    struct vc__log log;

    (void)state;
    vc__log_init(&log, on_line, &s, VC_LOG_DEBUG);
    vc__fail(VC_UNAVAILABLE, "this stays");
    errno = ENOSPC;
    vc__log(&log, VC__LOG_LINK_LOST, "a line");
    assert_int_equal(ENOSPC, errno);
    assert_int_equal(1, s.n);
    assert_string_equal("this stays", vc_error());
    vc__log_fini(&log);
}

static void
a_level_has_a_name(void **state)
{
    unsigned level = 9;

    (void)state;
    assert_string_equal("error", vc_log_level_name(VC_LOG_ERROR));
    assert_string_equal("warning", vc_log_level_name(VC_LOG_WARNING));
    assert_string_equal("info", vc_log_level_name(VC_LOG_INFO));
    assert_string_equal("debug", vc_log_level_name(VC_LOG_DEBUG));
    assert_string_equal("unknown", vc_log_level_name(0));
    assert_string_equal("unknown", vc_log_level_name(VC_LOG_NONE));
    assert_true(vc__log_level_find("none", &level));
    assert_int_equal(0, level);
    assert_true(vc__log_level_find("debug", &level));
    assert_int_equal(VC_LOG_DEBUG, level);
    assert_false(vc__log_level_find("warn", &level));
    assert_false(vc__log_level_find("", &level));
}

/* --- threads ---------------------------------------------------------------- */

static void *
log_some(void *log)
{
    for (unsigned i = 0; i < VC__LOG_MOST; i++)
        vc__log(log, VC__LOG_LINK_LOST, "line %u", i);
    return NULL;
}

/* One more line may count those suppressed in a second that has ended. */
static void
threads_may_log_at_a_time(void **state)
{
    struct seen s = {PTHREAD_MUTEX_INITIALIZER, 0, 0, ""};
    pthread_t threads[THREADS];
    struct vc__log log;

    (void)state;
    vc__log_init(&log, on_line, &s, VC_LOG_DEBUG);
    for (unsigned i = 0; i < THREADS; i++)
        assert_int_equal(0, pthread_create(&threads[i], NULL, log_some, &log));
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    vc__log_fini(&log);
    assert_in_range(s.n, VC__LOG_MOST + 1, THREADS * VC__LOG_MOST + 1);
}

/* --- stderr ------------------------------------------------------------------ */

/* Returns what the log writes to stderr for three lines, at the levels of
 * their kinds. */
static void
stderr_of(struct vc__log *log, char text[TEXT])
{
    FILE *file = tmpfile();
    int was = dup(STDERR_FILENO);
    ssize_t len;

    assert_non_null(file);
    assert_true(was >= 0 && dup2(fileno(file), STDERR_FILENO) >= 0);
    vc__log(log, VC__LOG_LINK_LOST, "link to a: lost");
    vc__log(log, VC__LOG_LINK_UP, "link to b: up");
    vc__log(log, VC__LOG_LINK_FAILED, "link to c: not up");
    dup2(was, STDERR_FILENO);
    close(was);
    len = pread(fileno(file), text, TEXT - 1, 0);
    fclose(file);
    assert_true(len >= 0);
    text[len] = '\0';
}

static void
without_a_function_lines_go_to_stderr(void **state)
{
    struct vc__log log;
    char text[TEXT];

    (void)state;
    vc__log_init(&log, NULL, NULL, VC_LOG_INFO);
    stderr_of(&log, text);
    vc__log_fini(&log);
    assert_string_equal("verbcall: warning: link to a: lost\n"
                        "verbcall: info: link to b: up\n",
                        text);
}

/* --- the level of a runtime ----------------------------------------------- */

/* Returns the level of a runtime with this option and this environment
 * variable; NULL: the variable is not set. */
static unsigned
level_of(const char *env, unsigned option)
{
    struct vc_runtime *runtime;
    unsigned level;

    if (env == NULL)
        unsetenv("VERBCALL_LOG");
    else
        setenv("VERBCALL_LOG", env, 1);
    assert_status(
        VC_OK, vc_runtime_new(VC_RUNTIME_OPTS(.log_level = option), &runtime));
    level = runtime->log.level;
    vc_runtime_free(runtime);
    unsetenv("VERBCALL_LOG");
    return level;
}

static void
the_level_is_the_options_or_the_environments_or_warning(void **state)
{
    (void)state;
    assert_int_equal(VC_LOG_WARNING, level_of(NULL, 0));
    assert_int_equal(VC_LOG_WARNING, level_of("", 0));
    assert_int_equal(VC_LOG_DEBUG, level_of("debug", 0));
    assert_int_equal(0, level_of("none", 0));
    assert_int_equal(VC_LOG_INFO, level_of("error", VC_LOG_INFO));
    assert_int_equal(0, level_of("debug", VC_LOG_NONE));
}

static void
a_level_that_does_not_exist_is_refused(void **state)
{
    struct vc_runtime *runtime;

    (void)state;
    setenv("VERBCALL_LOG", "loud", 1);
    assert_status(VC_INVALID_ARGUMENT, vc_runtime_new(NULL, &runtime));
    assert_string_equal("VERBCALL_LOG \"loud\": it is no level; write none, "
                        "error, warning, info or debug",
                        vc_error());
    unsetenv("VERBCALL_LOG");
    assert_status(VC_INVALID_ARGUMENT,
                  vc_runtime_new(VC_RUNTIME_OPTS(.log_level = VC_LOG_DEBUG + 1),
                                 &runtime));
    assert_string_equal("vc_runtime_opts.log_level: 5 is not in 1..4, nor "
                        "VC_LOG_NONE; 0 stands for the default",
                        vc_error());
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_kind_is_logged_when_its_level_is_wanted),
        cmocka_unit_test(a_line_has_no_control_characters),
        cmocka_unit_test(a_long_line_ends_with_a_whole_character),
        cmocka_unit_test(logging_leaves_errno_and_the_last_error_alone),
        cmocka_unit_test(a_level_has_a_name),
        cmocka_unit_test(threads_may_log_at_a_time),
        cmocka_unit_test(without_a_function_lines_go_to_stderr),
        cmocka_unit_test(
            the_level_is_the_options_or_the_environments_or_warning),
        cmocka_unit_test(a_level_that_does_not_exist_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
