/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See rpc/server/server_shed.h. The holder of the engine only. */
#include "rpc/server/server_shed.h"

#include <inttypes.h>
#include <stdio.h>

#include <verbcall/call.h>

#include "rpc/server/server_counts.h"
#include "rpc/server/server_log.h"
#include "transport/core/random.h"

/* The longest random wait that a client gets before it retries a shed call. */
#define AGAIN_MS 200u
/* Shedding is over when no call has been shed for this long. */
#define QUIET_US 1000000u
#define LINE     160

/* Logs the line, and passes it to the program's on_overload(), if it has one.
 * Called by server_shed_begin() and on_quiet(). */
static void
server_shed_tell(struct vc__server_part *part, bool begins, const char *line)
{
    struct vc_server *server = part->server;

    vc__server_log(server, VC__LOG_OVERLOAD, "%s", line);
    if (server->on_overload != NULL)
        server->on_overload(begins, line, server->overload_arg);
}

static void quiet_await(struct vc__server_part *part);

/* The timer of quiet_await(), on the holder: ends the shedding, unless more
 * calls were shed within QUIET_US. */
static void
on_quiet(struct vc__timer *timer)
{
    struct vc__server_part *part =
        caa_container_of(timer, struct vc__server_part, shedding.quiet);
    struct vc__shedding *s = &part->shedding;
    char line[LINE];

    if (s->n != s->seen) {
        quiet_await(part);
        return;
    }
    snprintf(line, sizeof line,
             "sheds no calls any more: %" PRIu64 " %s shed in %" PRIu64 " ms",
             s->n, s->n == 1 ? "was" : "were",
             (vc__now() - QUIET_US - s->since) / 1000);
    s->n = 0;
    server_shed_tell(part, false, line);
}

/* Starts the timer of on_quiet(). Without memory for it, the next shed call
 * counts as a new beginning. Called by server_shed_begin() and on_quiet(). */
static void
quiet_await(struct vc__server_part *part)
{
    struct vc__shedding *s = &part->shedding;

    s->seen = s->n;
    if (!vc__timer_start(&part->progress->engine.timers, &s->quiet,
                         vc__now() + QUIET_US, on_quiet))
        s->n = 0;
}

/* Called by vc__shed(): the first call is shed since shedding ended last.
 * Notifies the program, and waits for the end. */
static void
server_shed_begin(struct vc__server_part *part, enum vc__shed_why why)
{
    static const char *const causes[] = {
        [VC__SHED_QUEUE] = "more calls arrive than their handlers can run",
        [VC__SHED_ADAPTIVE] =
            "too many handlers wait at a time (adaptive_limit)",
        [VC__SHED_THREADS] = "no thread is left for handlers (handler_threads)",
        [VC__SHED_MEMORY] = "no memory is left for requests (max_memory)",
    };
    char line[LINE];

    part->shedding.since = vc__now();
    snprintf(line, sizeof line, "sheds calls: %s", causes[why]);
    quiet_await(part);
    server_shed_tell(part, true, line);
}

/* Counts a shed call, by reason and by priority. Called by vc__shed(). */
static void
server_shed_count(struct vc_call *call, enum vc__shed_why why)
{
    static const enum vc__count reasons[] = {
        [VC__SHED_QUEUE] = VC__COUNT_shed_queue,
        [VC__SHED_ADAPTIVE] = VC__COUNT_shed_adaptive,
        [VC__SHED_THREADS] = VC__COUNT_shed_threads,
        [VC__SHED_MEMORY] = VC__COUNT_shed_memory,
    };
    static const enum vc__count priorities[] = {
        [VC_PRIORITY_DEFAULT] = VC__COUNT_shed_default,
        [VC_PRIORITY_CRITICAL] = VC__COUNT_shed_critical,
        [VC_PRIORITY_SHEDDABLE] = VC__COUNT_shed_sheddable,
    };

    vc__server_count(call->site.session, VC__COUNT_calls_shed, 1);
    vc__server_count(call->site.session, reasons[why], 1);
    vc__server_count(call->site.session, priorities[call->parent.priority], 1);
}

void
vc__shed(struct vc_call *call, enum vc__shed_why why)
{
    struct vc__server_part *part = vc__call_part(call);

    server_shed_count(call, why);
    if (why == VC__SHED_QUEUE || why == VC__SHED_ADAPTIVE) {
        vc__admission_shed(&part->server->admission, part->overload.clock);
        vc_call_pushback(
            call, 1 + (int32_t)vc__random_below(&part->chance, AGAIN_MS));
    }
    if (part->shedding.n++ == 0 && !part->shedding.stopped)
        server_shed_begin(part, why);
}

void
vc__shed_stop(struct vc__server_part *part)
{
    part->shedding.stopped = true;
    vc__timer_stop(&part->progress->engine.timers, &part->shedding.quiet);
}
