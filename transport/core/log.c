/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See transport/core/log.h. A second in which lines were left out is reported
 * before the next line of any kind that is logged, so the log needs no
 * timer. */
#include "transport/core/log.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "transport/core/clock.h"
#include "transport/core/error.h"
#include "transport/core/words.h"

#define SECOND_US UINT64_C(1000000)

#define KIND_LEVEL(name, level, what) VC_LOG_##level,
const uint8_t vc__log_levels[VC__LOG_N_KINDS] = {VC__LOG_KINDS(KIND_LEVEL)};

#define KIND_WHAT(name, level, what) what,
static const char *const kind_whats[VC__LOG_N_KINDS] = {
    VC__LOG_KINDS(KIND_WHAT)};

/* By level; 0 is none. */
static const char *const level_names[] = {
    "none", [VC_LOG_ERROR] = "error", [VC_LOG_WARNING] = "warning",
    [VC_LOG_INFO] = "info", [VC_LOG_DEBUG] = "debug"};
#define N_LEVELS (sizeof level_names / sizeof *level_names)

const char *
vc_log_level_name(enum vc_log_level level)
{
    unsigned i = (unsigned)level;

    return i > 0 && i < N_LEVELS ? level_names[i] : "unknown";
}

bool
vc__log_level_find(const char *name, unsigned *level)
{
    for (unsigned i = 0; i < N_LEVELS; i++) {
        if (strcmp(level_names[i], name) == 0) {
            *level = i;
            return true;
        }
    }
    return false;
}

/* log->fn of a runtime for which the program gives none: called on any thread
 * that logs, without locks. One call of stdio, so lines of several threads do
 * not mix. */
static void
line_to_stderr(enum vc_log_level level, const char *line, void *arg)
{
    (void)arg;
    fprintf(stderr, "verbcall: %s: %s\n", vc_log_level_name(level), line);
}

void
vc__log_init(struct vc__log *log, vc_log_fn *fn, void *arg, unsigned level)
{
    memset(log, 0, sizeof *log);
    log->fn = fn != NULL ? fn : line_to_stderr;
    log->arg = arg;
    log->level = level;
    pthread_mutex_init(&log->lock, NULL);
}

/* --- limits ------------------------------------------------------------- */

/* For line_log(), under the lock, and vc__log_fini(): ends seconds that are
 * over, or all. left_out: for each kind, how many lines are to be reported. */
static void
seconds_end(struct vc__log *log, uint64_t now, bool all,
            uint64_t left_out[VC__LOG_N_KINDS])
{
    for (unsigned i = 0; i < VC__LOG_N_KINDS; i++) {
        struct vc__log_limit *l = &log->limits[i];

        left_out[i] = 0;
        if (l->logged == 0 || (!all && now - l->since < SECOND_US))
            continue;
        left_out[i] = l->left_out;
        *l = (struct vc__log_limit){.logged = 0};
    }
}

/* For line_log(), under the lock: counts a line. True if it may be logged;
 * false if there were too many in this second. */
static bool
line_admit(struct vc__log_limit *l, uint64_t now)
{
    if (l->logged == 0)
        l->since = now;
    if (l->logged >= VC__LOG_MOST) {
        l->left_out++;
        return false;
    }
    l->logged++;
    return true;
}

/* For line_log() and vc__log_fini(), without the lock: logs a line for each
 * kind of which lines were left out. */
static void
left_out_report(struct vc__log *log, const uint64_t left_out[VC__LOG_N_KINDS])
{
    char line[VC__LOG_LINE];

    for (unsigned i = 0; i < VC__LOG_N_KINDS; i++) {
        if (left_out[i] == 0)
            continue;
        snprintf(line, sizeof line,
                 "log: %" PRIu64 " more line%s of %s %s not logged; there are "
                 "at most %u a second",
                 left_out[i], vc__plural(left_out[i]), kind_whats[i],
                 left_out[i] == 1 ? "was" : "were", VC__LOG_MOST);
        log->fn((enum vc_log_level)vc__log_levels[i], line, log->arg);
    }
}

void
vc__log_fini(struct vc__log *log)
{
    uint64_t left_out[VC__LOG_N_KINDS];

    if (log->fn == NULL)
        return;
    seconds_end(log, 0, true, left_out);
    left_out_report(log, left_out);
    pthread_mutex_destroy(&log->lock);
}

/* --- a line --------------------------------------------------------------- */

/* For vc__log(): logs a line of a kind that is logged, unless there were too
 * many, and before it what was left out. Any thread, without locks: calls the
 * program's function. */
static void __attribute__((format(printf, 3, 0)))
line_log(struct vc__log *log, enum vc__log_kind kind, const char *format,
         va_list args)
{
    uint64_t left_out[VC__LOG_N_KINDS], now = vc__now();
    char line[VC__LOG_LINE];
    bool admitted;

    pthread_mutex_lock(&log->lock);
    seconds_end(log, now, false, left_out);
    admitted = line_admit(&log->limits[kind], now);
    pthread_mutex_unlock(&log->lock);
    left_out_report(log, left_out);
    if (!admitted)
        return;
    vc__text_format(line, sizeof line, format, args);
    vc__words_put(line, sizeof line, line, strlen(line));
    log->fn((enum vc_log_level)vc__log_levels[kind], line, log->arg);
}

void
vc__log(struct vc__log *log, enum vc__log_kind kind, const char *format, ...)
{
    const int err = errno;
    va_list args;

    if (!vc__log_wants(log, kind))
        return;
    va_start(args, format);
    line_log(log, kind, format, args);
    va_end(args);
    errno = err;
}
