/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Services as protoc-gen-c makes them whose methods are calls on a channel. It
 * stands on calls that end in a function or a queue (verbcall/async.h), and
 * adds what destroying one promises: no closure is called afterwards.
 *
 * May run together: methods of a service, and the ends of their calls, on any
 * threads. Destroying it begins when no thread is about to invoke a method, but
 * for those in its closures. */
#include <pthread.h>
#include <stdlib.h>

#include <verbcall/async.h>
#include <verbcall/protobuf_c.h>

#include "rpc/client/attempts.h"
#include "rpc/client/call_opts.h"
#include "rpc/protobuf_c/protobuf_c_table.h"

struct vc_closures {
    struct vc_completions *queue; /* tags: struct pending */
    atomic_uint under_way;        /* ends that will come into it, or have */
};

/* The service, as the program has it. */
struct stub {
    ProtobufCService base;
    struct vc_channel *channel;
    const struct vc_service *service;
    struct vc_call_opts opts;
    struct vc_closures *closures; /* or NULL */

    pthread_mutex_t lock;
    pthread_cond_t changed;       /* starting, running */
    struct cds_list_head pending; /* lock; of struct pending */
    unsigned starting;            /* lock; calls that are being started */
    unsigned running;             /* lock; closures, but in stub_destroy() */
    unsigned holders;             /* lock; its owner, and calls to come to an
                                     end */
    bool destroyed;               /* lock */
};

/* A call whose closure was not called yet. */
struct pending {
    struct stub *stub;
    struct vc_async *call;
    ProtobufCClosure closure;
    void *closure_data;
    struct cds_list_head node; /* lock; in stub->pending */
    bool taken;                /* lock; its closure is called, or was */
};

/* A closure that runs on this thread. */
struct run {
    const struct stub *stub;
    struct run *outer;
};

static _Thread_local struct run *innermost;

static unsigned
runs_here(const struct stub *s)
{
    unsigned n = 0;

    for (const struct run *r = innermost; r != NULL; r = r->outer)
        n += r->stub == s;
    return n;
}

/* --- the service ------------------------------------------------------- */

/* Under the lock, which it lets go of. */
static void
stub_put(struct stub *s)
{
    bool last = --s->holders == 0;

    pthread_cond_broadcast(&s->changed);
    pthread_mutex_unlock(&s->lock);
    if (!last)
        return;
    pthread_cond_destroy(&s->changed);
    pthread_mutex_destroy(&s->lock);
    free(s);
}

/* --- the end of a call ------------------------------------------------- */

/* False: destroying its service has called the closure. */
static bool
pending_take(struct pending *p)
{
    struct stub *s = p->stub;
    bool mine;

    pthread_mutex_lock(&s->lock);
    mine = !p->taken;
    if (mine) {
        p->taken = true;
        cds_list_del(&p->node);
        s->running++;
    }
    pthread_mutex_unlock(&s->lock);
    return mine;
}

static void
closure_run(const struct pending *p, const ProtobufCMessage *reply)
{
    struct run run = {p->stub, innermost};

    innermost = &run;
    p->closure(reply, p->closure_data);
    innermost = run.outer;
}

/* The error, if there is no reply, is this thread's last. True if its closure
 * was called. */
static bool
pending_end(struct pending *p, void *reply)
{
    struct stub *s = p->stub;
    bool mine = pending_take(p);

    if (mine)
        closure_run(p, reply);
    vc_message_free(reply);
    vc_async_free(p->call);
    free(p);
    pthread_mutex_lock(&s->lock);
    s->running -= mine;
    stub_put(s);
    return mine;
}

static void
on_done(enum vc_status status, void *reply, void *arg)
{
    (void)status;
    pending_end(arg, reply);
}

/* --- its beginning ----------------------------------------------------- */

static enum vc_status
protobuf_c_client_start(struct pending *p, unsigned method,
                        const ProtobufCMessage *input)
{
    struct stub *s = p->stub;
    struct vc_closures *c = s->closures;
    enum vc_status status;

    if (c == NULL)
        return vc_channel_call_async(s->channel, s->service, method, input,
                                     &s->opts, on_done, p, &p->call);
    atomic_fetch_add(&c->under_way, 1);
    status = vc_channel_call_queued(s->channel, s->service, method, input,
                                    &s->opts, c->queue, p, &p->call);
    if (status != VC_OK)
        atomic_fetch_sub(&c->under_way, 1);
    return status;
}

/* False: it is being destroyed. */
static bool
pending_join(struct pending *p)
{
    struct stub *s = p->stub;
    bool joins;

    pthread_mutex_lock(&s->lock);
    joins = !s->destroyed;
    if (joins) {
        cds_list_add_tail(&p->node, &s->pending);
        s->holders++;
        s->starting++;
    }
    pthread_mutex_unlock(&s->lock);
    return joins;
}

/* The call was started, and may be over; or it never was. */
static void
pending_started(struct stub *s, struct pending *unborn)
{
    pthread_mutex_lock(&s->lock);
    s->starting--;
    if (unborn == NULL) {
        pthread_cond_broadcast(&s->changed);
        pthread_mutex_unlock(&s->lock);
        return;
    }
    cds_list_del(&unborn->node);
    stub_put(s);
    free(unborn);
}

static enum vc_status
protobuf_c_client_call(struct stub *s, unsigned method,
                       const ProtobufCMessage *input, ProtobufCClosure closure,
                       void *closure_data)
{
    struct pending *p;
    enum vc_status status;

    if (method >= s->service->n_methods)
        return vc__fail(VC_INVALID_ARGUMENT,
                        "service %s has %u methods, and none is number %u",
                        s->service->name, s->service->n_methods, method);
    p = calloc(1, sizeof *p);
    if (p == NULL)
        return vc__fail(VC_RESOURCE_EXHAUSTED, "out of memory");
    p->stub = s;
    p->closure = closure;
    p->closure_data = closure_data;
    if (!pending_join(p)) {
        free(p);
        return vc__fail(VC_CANCELLED, "the service was destroyed");
    }
    status = protobuf_c_client_start(p, method, input);
    pending_started(s, status == VC_OK ? NULL : p);
    return status;
}

static void
stub_invoke(ProtobufCService *service, unsigned method,
            const ProtobufCMessage *input, ProtobufCClosure closure,
            void *closure_data)
{
    struct stub *s = caa_container_of(service, struct stub, base);

    if (protobuf_c_client_call(s, method, input, closure, closure_data) !=
        VC_OK)
        closure(NULL, closure_data);
}

/* --- its destruction --------------------------------------------------- */

/* Under the lock, which it lets go of in between: its closure is called here,
 * its end comes later, and finds it taken. */
static void
pending_cancel(struct stub *s, struct pending *p)
{
    static const struct vc__error error = {
        .status = VC_CANCELLED,
        .outcome = VC_OUTCOME_UNKNOWN,
        .text = "the service was destroyed",
    };
    const struct pending copy = *p;

    p->taken = true;
    cds_list_del(&p->node);
    vc_async_cancel(p->call);
    pthread_mutex_unlock(&s->lock);
    vc__error_raise(&error);
    closure_run(&copy, NULL);
    pthread_mutex_lock(&s->lock);
}

static void
stub_destroy(ProtobufCService *service)
{
    struct stub *s = caa_container_of(service, struct stub, base);

    pthread_mutex_lock(&s->lock);
    s->destroyed = true;
    while (s->starting > 0)
        pthread_cond_wait(&s->changed, &s->lock);
    while (!cds_list_empty(&s->pending))
        pending_cancel(s,
                       cds_list_entry(s->pending.next, struct pending, node));
    while (s->running > runs_here(s))
        pthread_cond_wait(&s->changed, &s->lock);
    stub_put(s);
}

/* --- making one -------------------------------------------------------- */

static enum vc_status
opts_take(struct vc_call_opts *out, const struct vc_call_opts *opts)
{
    enum vc_status status = vc__call_opts_take(out, opts, 0);

    if (status == VC_OK && out->result != NULL)
        return vc__fail(VC_INVALID_ARGUMENT,
                        "vc_call_opts.result: of which call? closures have "
                        "vc_error()");
    if (status == VC_OK && out->hedge_ms != 0)
        return vc__fail(
            VC_INVALID_ARGUMENT,
            "vc_call_opts.hedge_ms: protobuf-c does not say which methods may "
            "run twice");
    return status;
}

enum vc_status
vc_channel_service(struct vc_channel *channel,
                   const ProtobufCServiceDescriptor *descriptor,
                   const struct vc_call_opts *user_opts,
                   struct vc_closures *closures, ProtobufCService **service)
{
    struct vc__table *table = vc__table_get(channel->runtime, descriptor);
    struct vc_call_opts opts;
    struct stub *s;

    if (table == NULL || opts_take(&opts, user_opts) != VC_OK)
        return vc__error_last()->status;
    s = calloc(1, sizeof *s);
    if (s == NULL)
        return vc__fail(VC_RESOURCE_EXHAUSTED, "out of memory");
    s->base.descriptor = descriptor;
    s->base.invoke = stub_invoke;
    s->base.destroy = stub_destroy;
    s->channel = channel;
    s->service = &table->service;
    s->opts = opts;
    s->closures = closures;
    s->holders = 1;
    pthread_mutex_init(&s->lock, NULL);
    pthread_cond_init(&s->changed, NULL);
    CDS_INIT_LIST_HEAD(&s->pending);
    *service = &s->base;
    return VC_OK;
}

/* --- closures that wait for a thread ----------------------------------- */

enum vc_status
vc_closures_new(struct vc_runtime *runtime, struct vc_closures **closures)
{
    struct vc_closures *c = calloc(1, sizeof *c);
    enum vc_status status;

    if (c == NULL)
        return vc__fail(VC_RESOURCE_EXHAUSTED, "out of memory");
    status = vc_completions_new(runtime, &c->queue);
    if (status != VC_OK) {
        free(c);
        return status;
    }
    *closures = c;
    return VC_OK;
}

/* False if its closure was called before, by who destroyed its service. */
static bool
end_told(struct vc_closures *c, const struct vc_completion *end)
{
    struct vc__error error;

    if (end->status != VC_OK) {
        vc__error_put(&error, end->status, "%s", end->text);
        error.outcome = end->outcome;
        vc__error_raise(&error);
    }
    atomic_fetch_sub(&c->under_way, 1);
    return pending_end(end->tag, end->reply);
}

static uint32_t
protobuf_c_client_ms_left(uint64_t until)
{
    uint64_t now = vc__now();

    if (until == VC__FOREVER)
        return VC_NO_DEADLINE;
    return now >= until ? 0 : (uint32_t)((until - now + 999) / 1000);
}

enum vc_status
vc_closures_run(struct vc_closures *c, uint32_t timeout_ms)
{
    uint64_t until = vc__due(vc__now(), timeout_ms);
    uint32_t ms = timeout_ms;
    struct vc_completion end;
    enum vc_status status;

    do {
        status = vc_completions_next(c->queue, ms, &end);
        ms = protobuf_c_client_ms_left(until);
    } while (status == VC_OK && !end_told(c, &end));
    return status;
}

int
vc_closures_fd(struct vc_closures *c)
{
    return vc_completions_fd(c->queue);
}

/* What is under way was cancelled when its service was destroyed. */
void
vc_closures_free(struct vc_closures *c)
{
    struct vc_completion end;

    if (c == NULL)
        return;
    while (atomic_load(&c->under_way) > 0 &&
           vc_completions_next(c->queue, VC_NO_DEADLINE, &end) == VC_OK)
        end_told(c, &end);
    vc_completions_free(c->queue);
    free(c);
}
