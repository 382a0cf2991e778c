/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See tests/suite/feature.h. */
#include "tests/suite/feature.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct features_seen features_seen;

/* --- the gate ---------------------------------------------------------- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static bool gate_is_open; /* lock */

void
features_gate_open(void)
{
    pthread_mutex_lock(&lock);
    gate_is_open = true;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

static void
on_cancel(struct vc_call *call, void *arg)
{
    bool *cancelled = arg;

    (void)call;
    pthread_mutex_lock(&lock);
    *cancelled = true;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

/* False: the call was cancelled while it waited. */
static bool
gate_wait(struct vc_call *call)
{
    bool cancelled = false;

    if (vc_call_on_cancel(call, on_cancel, &cancelled) != VC_OK)
        return true;
    pthread_mutex_lock(&lock);
    while (!gate_is_open && !cancelled)
        pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
    vc_call_on_cancel(call, NULL, NULL);
    if (!cancelled || !vc_call_is_cancelled(call))
        return true;
    fixture_tell(&features_seen.cancelled);
    return false;
}

/* --- the service ------------------------------------------------------- */

static enum vc_status
work_run(struct vc_call *call, const Features__Order *order,
         Features__Report *report, const char *name)
{
    unsigned attempt = vc_call_attempt(call);

    /* The caller may be notified of the deadline before it checks its own
     * clock. */
    if (attempt <= order->holds && !gate_wait(call))
        return VC_CANCELLED;
    if (attempt <= order->failures) {
        if (order->pushes_back)
            vc_call_pushback(call, order->pushback_ms);
        return vc_call_fail(call, (enum vc_status)order->status,
                            "attempt %u failed by %s", attempt, name);
    }
    report->tag = order->tag;
    report->attempt = attempt;
    report->text = vc_call_sprintf(call, "%s by %s", order->text, name);
    return report->text != NULL ? VC_OK : VC_RESOURCE_EXHAUSTED;
}

static enum vc_status
work(struct vc_call *call, const Features__Order *order,
     Features__Report *report, void *arg)
{
    enum vc_status status;

    atomic_fetch_add(&features_seen.attempts, vc_call_attempt(call));
    fixture_tell(&features_seen.begun);
    status = work_run(call, order, report, arg);
    fixture_tell(&features_seen.ended);
    return status;
}

static enum vc_status
tell(struct vc_call *call, const Features__Order *order, void *arg)
{
    Features__Report report = FEATURES__REPORT__INIT;

    return work(call, order, &report, arg);
}

void
features_add(struct vc_server *server, const char *name)
{
    static const struct features_work_methods methods = {
        .once = work, .again = work, .look = work, .tell = tell, .wait = work};

    assert_status(VC_OK, features_work_add(server, &methods, (void *)name));
}

/* --- servers and clients ----------------------------------------------- */

static void
add_first(struct vc_server *server)
{
    features_add(server, "first");
}

static void
add_second(struct vc_server *server)
{
    features_add(server, "second");
}

void
features_reset(void)
{
    memset(&features_seen, 0, sizeof features_seen);
    pthread_mutex_lock(&lock);
    gate_is_open = false;
    pthread_mutex_unlock(&lock);
}

void
features_start(struct fixture *f, const struct vc_server_opts *server_opts,
               const struct vc_channel_opts *channel_opts)
{
    features_reset();
    if (fixture_add == NULL)
        fixture_add = add_first;
    fixture_start(f, 1, server_opts, channel_opts);
    fixture_add = NULL;
}

void
features_stop(struct fixture *f)
{
    features_gate_open();
    fixture_stop(f);
}

int
features_setup(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);

    features_start(f, NULL, NULL);
    assert_status(VC_OK, vc_runtime_start(f->runtime));
    *state = f;
    return 0;
}

int
features_teardown(void **state)
{
    features_stop(*state);
    free(*state);
    return 0;
}

void
features_start_second(struct fixture *second)
{
    memset(second, 0, sizeof *second);
    fixture_add = add_second;
    fixture_start_server(second, 1, NULL);
    fixture_add = NULL;
}

/* --- calls ------------------------------------------------------------- */

Features__Order
features_order(uint64_t tag, const char *text)
{
    Features__Order order = FEATURES__ORDER__INIT;

    order.tag = tag;
    order.text = (char *)text;
    return order;
}

void
features_done(enum vc_status status, Features__Report *report, void *arg)
{
    struct features_end *end = arg;

    end->status = status;
    if (status == VC_OK) {
        end->tag = report->tag;
        end->attempt = report->attempt;
    } else {
        end->outcome = vc_error_outcome();
    }
    snprintf(end->text, sizeof end->text, "%s",
             status == VC_OK ? report->text : vc_error());
    vc_message_free(report);
    fixture_tell(&end->ends);
}
