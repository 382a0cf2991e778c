/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See rpc/server/server_load.h. Static functions but processors_count() run on
 * the holder of an engine; those that take a struct vc__server_load, under its
 * lock. */
#define _GNU_SOURCE /* CPU_COUNT() */
#include "rpc/server/server_load.h"

#include <float.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "rpc/server/server_call.h"

/* How long a report is used. */
#define REPORT_US UINT64_C(100000)
/* Rates are those of the last one to two of these. */
#define WINDOW_US UINT64_C(1000000)

/* What was counted until a time. */
struct load_mark {
    uint64_t at, cpu_us; /* of this process, on all processors */
    uint64_t answered, failed;
};

struct vc__server_load {
    _Atomic uint64_t utilization; /* of the program: the bits of a double */
    unsigned processors;

    pthread_mutex_t lock; /* for the rest; never waited for */
    uint64_t due;
    struct load_mark older, newer; /* the rates are those since `older` */
    size_t len;
    uint8_t entry[VC__LOAD_ENTRY_MAX];
};

/* Returns how many processors this process may use. Called by
 * vc__server_load_new(), on its thread. */
static unsigned
processors_count(void)
{
    cpu_set_t set;
    long n;

    if (sched_getaffinity(0, sizeof set, &set) == 0)
        return (unsigned)CPU_COUNT(&set);
    n = sysconf(_SC_NPROCESSORS_ONLN); /* more than CPU_SETSIZE, perhaps */
    return n > 0 ? (unsigned)n : 1;
}

struct vc__server_load *
vc__server_load_new(void)
{
    struct vc__server_load *load = calloc(1, sizeof *load);

    if (load == NULL)
        return NULL;
    load->processors = processors_count();
    pthread_mutex_init(&load->lock, NULL);
    return load;
}

void
vc__server_load_free(struct vc__server_load *load)
{
    if (load == NULL)
        return;
    pthread_mutex_destroy(&load->lock);
    free(load);
}

/* --- making a report ------------------------------------------------------ */

/* Returns the microseconds of processor time that the process has used. Called
 * by mark_now(). */
static uint64_t
cpu_now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000u + (uint64_t)t.tv_nsec / 1000u;
}

/* Returns what was counted until now, of all parts together. Called by
 * load_measure(). Relaxed: a reply that another engine sends at this moment is
 * in this count or in the next. */
static struct load_mark
mark_now(const struct vc_server *server, uint64_t now)
{
    struct load_mark mark = {.at = now, .cpu_us = cpu_now()};

    for (unsigned i = 0; i < server->runtime->n; i++) {
        const struct vc__part_load *p = &server->parts[i].load;

        mark.answered +=
            atomic_load_explicit(&p->answered, memory_order_relaxed);
        mark.failed += atomic_load_explicit(&p->failed, memory_order_relaxed);
    }
    return mark;
}

/* Moves the window on, for load_measure(). Without replies for two windows the
 * rates begin anew. */
static void
window_move(struct vc__server_load *load, const struct load_mark *now)
{
    if (now->at - load->newer.at < WINDOW_US)
        return;
    load->older = now->at - load->newer.at < 2 * WINDOW_US ? load->newer : *now;
    load->newer = *now;
}

/* Called by load_renew(): moves the window on, and returns the report; its
 * rates are 0 when they begin anew. */
static struct vc__load_report
load_measure(struct vc__server_load *load, const struct vc_server *server,
             uint64_t now)
{
    struct load_mark mark = mark_now(server, now);
    struct vc__load_report report = {0};
    /* Relaxed: one number. */
    uint64_t bits =
        atomic_load_explicit(&load->utilization, memory_order_relaxed);
    double us;

    window_move(load, &mark);
    memcpy(&report.application_utilization, &bits, sizeof bits);
    us = (double)(mark.at - load->older.at);
    if (!(us > 0))
        return report;
    report.cpu_utilization =
        (double)(mark.cpu_us - load->older.cpu_us) / us / load->processors;
    report.rps = (double)(mark.answered - load->older.answered) * 1e6 / us;
    report.eps = (double)(mark.failed - load->older.failed) * 1e6 / us;
    return report;
}

/* Makes a report and its entry, for part_renew(). */
static void
load_renew(struct vc__server_load *load, const struct vc_server *server,
           uint64_t now)
{
    struct vc__load_report report = load_measure(load, server, now);
    uint8_t packed[VC__LOAD_REPORT_MAX];
    struct vc_metadata entry = {.key = VC__LOAD_REPORT_KEY, .value = packed};

    entry.length = vc__load_report_pack(packed, &report);
    load->len = entry.length == 0 ? 0 : vc__metadata_size(&entry);
    if (load->len > 0)
        vc__metadata_put(load->entry, &entry, true);
    load->due = now + REPORT_US;
}

/* --- for a reply ---------------------------------------------------------- */

/* The report of the part is 100 ms old: gets the one of the server, which
 * another part may have made. While another part has the lock, the former
 * report goes on, so that no part waits. For vc__server_load_reply(). */
static void
part_renew(struct vc__server_part *part)
{
    struct vc__server_load *load = part->server->load;
    uint64_t now = vc__now();

    if (pthread_mutex_trylock(&load->lock) != 0)
        return;
    if (now >= load->due)
        load_renew(load, part->server, now);
    memcpy(part->load.entry, load->entry, load->len);
    part->load.len = load->len;
    part->load.due = load->due;
    pthread_mutex_unlock(&load->lock);
}

/* Adds one to a count of which this thread is the only writer, for
 * vc__server_load_reply(). */
static void
load_count(_Atomic uint64_t *n)
{
    uint64_t before = atomic_load_explicit(n, memory_order_relaxed);

    atomic_store_explicit(n, before + 1, memory_order_relaxed);
}

void
vc__server_load_reply(struct vc_call *call, enum vc_status status,
                      size_t body_len)
{
    struct vc__server_part *part = vc__call_part(call);

    load_count(&part->load.answered);
    if (status != VC_OK)
        load_count(&part->load.failed);
    if (call->site.kind != 0)
        return;
    if (vc__now() >= part->load.due)
        part_renew(part);
    if (part->load.len > 0)
        vc__call_metadata_append(call, part->load.entry, part->load.len,
                                 body_len);
}

/* --- for the program ------------------------------------------------------ */

enum vc_status
vc_server_load_set(struct vc_server *server, double utilization)
{
    uint64_t bits;

    if (!vc__good(server, VC__SERVER))
        return vc__bad(server, VC__SERVER);
    if (!(utilization >= 0 && utilization <= DBL_MAX))
        return vc__fail(VC_INVALID_ARGUMENT,
                        "vc_server_load_set(): %g is no utilization: it is 0 "
                        "or more, and 1.0 if all is used",
                        utilization);
    if (server->load == NULL)
        return vc__fail(VC_FAILED_PRECONDITION,
                        "vc_server_load_set(): the server reports no load: set "
                        "vc_server_opts.load_reports");
    memcpy(&bits, &utilization, sizeof bits);
    atomic_store_explicit(&server->load->utilization, bits,
                          memory_order_relaxed);
    return VC_OK;
}
