/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See rpc/runtime.h. Creates a runtime from its options, and frees it, on a
 * thread of the program: no other uses the runtime then, except in
 * vc__runtime_progress(). */
#include "rpc/runtime.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "rpc/options.h"
#include "transport/core/error.h"
#include "transport/core/misuse.h"
#include "transport/core/words.h"

#define HANDLERS     256u
#define WAKEUPS      3u /* tries of wakeup_measure() */
#define HANDLERS_MAX 4096u
#define SPIN_US      2000u
#define SPIN_MAX_US  1000000u
#define MEMORY       ((size_t)256 << 20)
/* Enough for one connection with the smallest window: its 4 receives and the
 * spare receives of its device take three quarters of it. */
#define MEMORY_MIN ((size_t)384 << 10)
#define WARM       16u
#define LINKS      4096u
#define LINKS_MAX  65536u
#define WARM_MAX   4096u
#define LOG_LEVEL  "VERBCALL_LOG" /* environment variable */

uint8_t
vc__log2_message(size_t max_message)
{
    uint8_t log2 = 0;

    while (((size_t)1 << log2) < max_message)
        log2++;
    return log2;
}

struct vc__progress *
vc__runtime_progress(struct vc_runtime *runtime)
{
    unsigned turn = atomic_fetch_add(&runtime->next, 1);

    return &runtime->progress[turn % runtime->n];
}

/* For vc_runtime_free(): frees what progress_init() has made for an engine. */
static void
progress_fini(struct vc__progress *p)
{
    vc__pools_fini(&p->pools);
    vc__cm_fini(&p->cm);
    vc__spare_fini(&p->spare);
    vc__engine_fini(&p->engine);
}

/* Measures how many microseconds this machine takes to wake a thread. Returns
 * the shortest of a few tries, as other threads may occupy the CPU for a while.
 * For progress_init(), if the holders of the engines may poll (option
 * spin_us). */
static uint64_t
wakeup_measure(void)
{
    const struct timespec t = {.tv_nsec = 1000};
    uint64_t least = UINT64_MAX;

    for (unsigned i = 0; i < WAKEUPS; i++) {
        uint64_t began = vc__now(), took;

        nanosleep(&t, NULL);
        took = vc__now() - began;
        least = took < least ? took : least;
    }
    return least > VC__SLACK_US ? least - VC__SLACK_US : 0;
}

/* For vc_runtime_new(): makes the engines and their crew, without threads.
 * Returns 0 or an errno; then vc_runtime_free() ends the engines made so
 * far. */
static int
progress_init(struct vc_runtime *r, const struct vc_runtime_opts *opts)
{
    const unsigned n = r->polls_itself ? 1 : opts->threads;
    const struct vc__context_opts context = {.memory = opts->memory_limit,
                                             .warm = opts->warm_qps,
                                             .paths = &r->paths};
    const uint64_t wakeup_us = opts->spin_us != 0 ? wakeup_measure() : 0;

    r->progress = calloc(n, sizeof *r->progress);
    if (r->progress == NULL || vc__crew_init(&r->crew, n) != 0)
        return ENOMEM;
    for (r->n = 0; r->n < n; r->n++) {
        struct vc__progress *p = &r->progress[r->n];
        int err = vc__engine_init(&p->engine, opts->spin_us);

        if (err != 0)
            return err;
        p->engine.log = &r->log;
        vc__spare_init(&p->spare, &p->engine);
        vc__spin_init(&p->engine.spin, opts->spin_us, wakeup_us);
        vc__crew_watch(&r->crew, r->n, &p->engine);
        vc__cm_init(&p->cm, &p->engine, &context);
        vc__pools_init(&p->pools, &p->cm, r->instance, &r->links);
    }
    return 0;
}

#define IN(name, otherwise, min, max)                                          \
    VC__OPTION_IN(vc_runtime_opts, name, otherwise, min, max)
#define OR(name, otherwise, min, max, constant)                                \
    VC__OPTION(vc_runtime_opts, name, otherwise, min, max, constant,           \
               #constant, VC__OPTION_NUMBER)

static const struct vc__option runtime_numbers[] = {
    OR(threads, 1, 1, VC__ENGINES_MAX, VC_THREADS_NONE),
    OR(spin_us, SPIN_US, 1, SPIN_MAX_US, VC_SPIN_NEVER),
    VC__OPTION_SIZE(vc_runtime_opts, memory_limit, MEMORY, MEMORY_MIN,
                    SIZE_MAX),
    OR(warm_qps, WARM, 1, WARM_MAX, VC_WARM_NONE),
    IN(max_links, LINKS, 1, LINKS_MAX),
    IN(handler_threads, HANDLERS, 1, HANDLERS_MAX),
    OR(log_level, 0, VC_LOG_ERROR, VC_LOG_DEBUG, VC_LOG_NONE),
};

static const struct vc__options runtime_opts =
    VC__OPTIONS(vc_runtime_opts, "VC_RUNTIME_OPTS_INIT or VC_RUNTIME_OPTS()",
                runtime_numbers);

/* For runtime_opts_take(): replaces 0 by the level that the environment names,
 * else by the default (warning); replaces VC_LOG_NONE by 0. VC_OK; or
 * VC_INVALID_ARGUMENT if the variable has another text than a level's name. */
static enum vc_status
log_level_take(unsigned *level)
{
    const char *name = getenv(LOG_LEVEL);

    if (*level == VC_LOG_NONE) {
        *level = 0;
    } else if (*level == 0) {
        *level = VC_LOG_WARNING;
        if (name != NULL && name[0] != '\0' && !vc__log_level_find(name, level))
            return vc__fail(VC_INVALID_ARGUMENT,
                            LOG_LEVEL " \"%.60s\": it is no level; write "
                                      "none, error, warning, info or debug",
                            name);
    }
    return VC_OK;
}

/* For vc_runtime_new(): copies the options. Defaults replace 0, then 0 replaces
 * the constants that mean none, except VC_THREADS_NONE, which stays. VC_OK or
 * VC_INVALID_ARGUMENT. */
static enum vc_status
runtime_opts_take(struct vc_runtime_opts *out,
                  const struct vc_runtime_opts *opts)
{
    enum vc_status status = vc__options_take(out, &runtime_opts, opts);

    if (out->spin_us == VC_SPIN_NEVER)
        out->spin_us = 0;
    if (out->warm_qps == VC_WARM_NONE)
        out->warm_qps = 0;
    return status == VC_OK ? log_level_take(&out->log_level) : status;
}

enum vc_status
vc_runtime_new(const struct vc_runtime_opts *user_opts,
               struct vc_runtime **runtime)
{
    struct vc_runtime_opts opts;
    enum vc_status status = runtime_opts_take(&opts, user_opts);
    struct vc_runtime *r;
    int err;

    if (status != VC_OK)
        return status;
    r = calloc(1, sizeof *r);
    if (r == NULL)
        return vc__fail(VC_RESOURCE_EXHAUSTED, "out of memory");
    vc__process_begin();
    vc__handle_init(&r->handle, VC__RUNTIME);
    vc__log_init(&r->log, opts.log, opts.log_arg, opts.log_level);
    r->loop_fd = -1;
    vc__replies_init(&r->replies);
    pthread_mutex_init(&r->keeping, NULL);
    pthread_mutex_init(&r->starting, NULL);
    vc__path_memory_init(&r->paths);
    r->links.max = opts.max_links;
    r->handler_threads = opts.handler_threads;
    r->polls_itself = opts.threads == VC_THREADS_NONE;
    err = progress_init(r, &opts);
    if (err == 0 && getrandom(r->instance, sizeof r->instance, 0) !=
                        (ssize_t)sizeof r->instance)
        err = errno;
    if (err != 0) {
        vc_runtime_free(r);
        return vc__fail_errno(err, "cannot make a runtime");
    }
    *runtime = r;
    return VC_OK;
}

/* --- the end ------------------------------------------------------------ */

/* Called by vc_runtime_free() when the engines have ended: frees the kept
 * objects, each by its end(). */
static void
kept_end(struct vc_runtime *r)
{
    while (r->kept != NULL) {
        struct vc__kept *k = r->kept;

        r->kept = k->next;
        k->end(k);
    }
}

/* Also called by vc_runtime_new(), for a runtime that it could not complete. */
void
vc_runtime_free(struct vc_runtime *r)
{
    unsigned users;

    if (vc__nothing_to_free(r, VC__RUNTIME))
        return;
    if (vc__runtime_is_within(r))
        vc__misuse("vc_runtime_free() within a handler or done(): free it "
                   "elsewhere");
    users = atomic_load(&r->users);
    if (users > 0)
        vc__misuse("vc_runtime_free(): %u channel%s or server%s of the runtime "
                   "%s still open: call vc_channel_close() and "
                   "vc_server_free() first",
                   users, vc__plural(users), vc__plural(users),
                   users == 1 ? "is" : "are");
    vc_runtime_stop(r);
    vc__runtime_loop_fini(r);
    for (unsigned i = 0; i < r->n; i++)
        progress_fini(&r->progress[i]);
    free(r->progress);
    vc__crew_fini(&r->crew);
    vc__replies_fini(&r->replies);
    kept_end(r);
    vc__path_memory_fini(&r->paths);
    pthread_mutex_destroy(&r->starting);
    pthread_mutex_destroy(&r->keeping);
    vc__log_fini(&r->log);
    vc__handle_fini(&r->handle);
    free(r);
}
