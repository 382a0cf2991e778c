/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See rpc/protobuf_c/protobuf_c_server.h. For the rest of the library every
 * call is answered later, even if its closure is called inside
 * protobuf_c_server_invoke().
 *
 * Services that were written for one dispatch loop take no locks, so their
 * calls take turns. A call that has to wait for its turn holds no thread: it
 * is put in a list, and the call before it posts it to its engine. Static
 * functions run on the thread of the function that calls them, and
 * vc_server_add_protobuf_c() on any thread of the program. */
#include "rpc/protobuf_c/protobuf_c_server.h"

#include <stdlib.h>

#include <verbcall/call.h>
#include <verbcall/protobuf_c.h>
#include <verbcall/server.h>

#include "rpc/codec/outgoing.h"
#include "rpc/codec/whole.h"
#include "rpc/protobuf_c/protobuf_c_table.h"
#include "rpc/server/server.h"
#include "rpc/server/server_call.h"

struct turn;

/* The server's state of a service; the server keeps a copy of this struct, as
 * it does of the handlers of any other service. */
struct served {
    ProtobufCService *service;
    struct vc__table *table;
    uint32_t flags;
    bool busy;                 /* table->turns; true while a call has the
                                * turn */
    struct turn *first, *last; /* table->turns; calls that wait for it */
};

/* A call that waits for its turn; allocated in the call's arena. */
struct turn {
    struct vc__task task;
    struct vc_call *call;
    struct vc__service_entry *entry;
    struct turn *next;
    atomic_uint steps;
    enum vc_status status; /* of the answer */
};

/* --- the reply --------------------------------------------------------- */

/* Copies the reply to call->reply: the service keeps its message only until the
 * closure has returned, and the holder of the engine packs the reply after
 * that. Called by protobuf_c_server_reply_take(). Returns the status of the
 * call. */
static enum vc_status
reply_copy(struct vc_call *call, const ProtobufCMessage *message)
{
    const struct vc_message_type *type = &call->method->reply;
    char gap[VC__GAP_TEXT];
    struct vc__packing packing;
    struct vc__bytes from = {.lasting = NULL};
    struct vc__message_fault fault;
    char why[VC__ERROR_TEXT];
    uint8_t *packed;
    void *copy;

    if (!vc__codec_measure(type, message, &packing)) {
        vc__message_gap(message, gap, sizeof gap);
        return vc__call_fault(call, VC_INTERNAL,
                              "the reply of the service cannot be packed: %s",
                              gap);
    }
    from.data = packed = vc__outgoing_pack(type, message, &packing);
    from.len = packing.size;
    if (packed == NULL)
        return vc__call_fault(call, VC_RESOURCE_EXHAUSTED,
                              "the server has no memory for the reply");
    copy =
        vc__codec_unpack(type, &call->arena.allocator, SIZE_MAX, &from, &fault);
    free(packed);
    if (copy == NULL) {
        vc__message_fault_text(&fault, why, sizeof why);
        return vc__call_fault(call, VC_INTERNAL,
                              "the reply of the service cannot be sent: %s",
                              why);
    }
    call->reply = copy;
    return VC_OK;
}

/* Called by protobuf_c_server_answer() and turn_answer(), with what the service
 * has given to its closure. Returns the status with which the call ends. */
static enum vc_status
protobuf_c_server_reply_take(struct vc_call *call,
                             const ProtobufCMessage *message)
{
    if (message == NULL)
        return vc__call_fault(call, VC_INTERNAL,
                              "the method of the service failed, without a "
                              "reason: it called its closure with NULL");
    if (message->descriptor != call->method->reply.desc)
        return vc__call_fault(call, VC_INTERNAL,
                              "the reply of the service is not of type %s",
                              call->method->reply.desc->name);
    return reply_copy(call, message);
}

/* The closure of a call whose method runs inside its handler. The service calls
 * it, before or after its method has returned, on any thread. */
static void
protobuf_c_server_answer(const ProtobufCMessage *message, void *closure_data)
{
    struct vc_call *call = closure_data;

    vc_call_end(call, protobuf_c_server_reply_take(call, message));
}

/* --- the service ------------------------------------------------------- */

/* Returns the index of the call's method, for vc__protobuf_c_run() and
 * protobuf_c_server_invoke(). */
static unsigned
index_of(const struct served *s, const struct vc_call *call)
{
    return (unsigned)(call->method - s->table->methods);
}

/* Asked by vc__protobuf_c_run(): true if the method may be called. A generated
 * service has its functions right after the struct in memory, and calls them
 * without a check for NULL. */
static bool
has_function(const struct served *s, unsigned index)
{
    void (*const *functions)(void) = (const void *)(s->service + 1);

    return s->service->invoke != protobuf_c_service_invoke_internal ||
           functions[index] != NULL;
}

/* Runs the service's method. Called by vc__protobuf_c_run() and run_in_turn()
 * on the handler's thread, and by protobuf_c_server_turn_run() on its own. */
static void
protobuf_c_server_invoke(const struct served *s, const struct vc_call *call,
                         ProtobufCClosure closure, void *closure_data)
{
    s->service->invoke(s->service, index_of(s, call), call->request, closure,
                       closure_data);
}

/* --- turns ------------------------------------------------------------- */

static void protobuf_c_server_turn_run(struct vc__task *task);

/* A task, posted by turn_pass(), on the holder: queues the service's code like
 * a handler. */
static void
turn_come(struct vc__task *task)
{
    struct turn *t = caa_container_of(task, struct turn, task);

    task->run = protobuf_c_server_turn_run;
    vc__engine_handle(&vc__call_part(t->call)->progress->engine, task);
}

/* Called by run_in_turn(). True: the call has the turn. False: another call has
 * it; this one is put in the list, and gets the turn from the one before. */
static bool
turn_take(struct served *s, struct turn *t)
{
    bool mine;

    pthread_mutex_lock(&s->table->turns);
    mine = !s->busy;
    s->busy = true;
    if (!mine && s->first == NULL)
        s->first = t;
    else if (!mine)
        s->last->next = t;
    if (!mine)
        s->last = t;
    pthread_mutex_unlock(&s->table->turns);
    return mine;
}

/* Called by run_in_turn() and protobuf_c_server_turn_run(), on the thread that
 * had the turn: its method has returned, or was not run. Posts the task of the
 * next call, which has the turn now; if there is none, the turn is free. */
static void
turn_pass(struct served *s)
{
    struct turn *next;

    pthread_mutex_lock(&s->table->turns);
    next = s->first;
    if (next != NULL)
        s->first = next->next;
    s->busy = next != NULL;
    pthread_mutex_unlock(&s->table->turns);
    if (next != NULL)
        vc__engine_post(&vc__call_part(next->call)->progress->engine,
                        &next->task);
}

/* The handler of a call that had to wait returns without waiting for the turn.
 * Such a call is over when its method has returned as well, and its closure was
 * called. The second of these steps ends the call; after the first one the
 * caller must not touch the call any more. */
#define TURN_RETURNED 1u
#define TURN_ANSWERED 2u

/* Notes a step; the second one ends the call. Called by
 * protobuf_c_server_turn_run(), by turn_lose() on its thread, and by
 * turn_answer() on any. */
static void
turn_step(struct turn *t, unsigned step)
{
    /* The release of the first step pairs with the acquire of the second, which
     * sees the answer. */
    if (atomic_fetch_or_explicit(&t->steps, step, memory_order_acq_rel) != 0)
        vc_call_end(t->call, t->status);
}

/* The closure of a call that had to wait. The service calls it, on any
 * thread. */
static void
turn_answer(const ProtobufCMessage *message, void *closure_data)
{
    struct turn *t = closure_data;

    t->status = protobuf_c_server_reply_take(t->call, message);
    turn_step(t, TURN_ANSWERED);
}

/* Called by protobuf_c_server_turn_run(). At its turn the call is cancelled
 * already: ends it without its method. */
static void
turn_lose(struct turn *t)
{
    t->call->refused = true;
    t->status =
        vc__call_fault(t->call, VC_CANCELLED,
                       "the call was cancelled before its method could run");
    turn_step(t, TURN_ANSWERED);
}

/* The task that turn_come() queues, which runs like a handler: on the holder,
 * which releases the engine meanwhile. Runs the method, or ends a cancelled
 * call, and passes the turn on. After the last step the call and its session
 * may be freed; the entry is still held. */
static void
protobuf_c_server_turn_run(struct vc__task *task)
{
    struct turn *t = caa_container_of(task, struct turn, task);
    struct vc__service_entry *entry = t->entry;
    struct vc__handler_run *handler_run = vc__engine_release(
        &vc__call_part(t->call)->progress->engine, NULL, NULL);

    if (vc_call_is_cancelled(t->call))
        turn_lose(t);
    else
        protobuf_c_server_invoke(entry->methods, t->call, turn_answer, t);
    turn_pass(entry->methods);
    turn_step(t, TURN_RETURNED);
    vc__engine_resume(handler_run);
    vc__service_put(entry);
}

/* Called by run_in_turn(). Returns zeroed memory of the call, which is freed
 * with it; NULL if memory is short. */
static struct turn *
turn_new(struct vc_call *call, struct vc__service_entry *entry)
{
    struct turn *t = vc_call_alloc(call, sizeof *t);

    if (t == NULL)
        return NULL;
    t->task.run = turn_come;
    t->call = call;
    t->entry = entry;
    atomic_init(&t->steps, 0);
    return t;
}

/* Called by vc__protobuf_c_run() on the handler's thread: runs the method now,
 * or leaves it to protobuf_c_server_turn_run(). Returns VC__LATER, or the error
 * without memory. */
static enum vc_status
run_in_turn(struct vc_call *call, struct vc__service_entry *entry)
{
    struct served *s = entry->methods;
    struct turn *t = turn_new(call, entry);

    if (t == NULL)
        return vc__call_fault(call, VC_RESOURCE_EXHAUSTED,
                              "the server has no memory for the call");
    /* A reference for protobuf_c_server_turn_run(). Relaxed: the call's session
     * holds one already. */
    atomic_fetch_add_explicit(&entry->refs, 1, memory_order_relaxed);
    if (turn_take(s, t)) {
        protobuf_c_server_invoke(s, call, protobuf_c_server_answer, call);
        turn_pass(s);
        vc__service_put(entry);
    }
    return vc_call_later(call);
}

enum vc_status
vc__protobuf_c_run(struct vc_call *call, const void *methods,
                   const void *request, void *reply, void *arg)
{
    struct vc__service_entry *entry = call->site.session->opened->entry;
    const struct served *s = methods;

    (void)request;
    (void)reply;
    (void)arg;
    if (!has_function(s, index_of(s, call)))
        return vc_call_no_handler(call);
    if (!(s->flags & VC_SERVICE_PARALLEL))
        return run_in_turn(call, entry);
    protobuf_c_server_invoke(s, call, protobuf_c_server_answer, call);
    return vc_call_later(call);
}

/* --- adding ------------------------------------------------------------ */

enum vc_status
vc_server_add_protobuf_c(struct vc_server *server, ProtobufCService *service,
                         uint32_t flags)
{
    struct served served = {.service = service, .flags = flags};

    if (!vc__good(server, VC__SERVER))
        return vc__bad(server, VC__SERVER);
    if (service == NULL)
        return vc__fail(VC_INVALID_ARGUMENT, "the service is NULL");
    if (flags & ~VC_SERVICE_PARALLEL)
        return vc__fail(VC_INVALID_ARGUMENT,
                        "flags: 0x%x has bits that are unknown; known is "
                        "VC_SERVICE_PARALLEL",
                        (unsigned)flags);
    served.table = vc__table_get(server->runtime, service->descriptor);
    if (served.table == NULL)
        return vc__error_last()->status;
    return vc__services_add(&server->services, &served.table->service, &served,
                            sizeof served, NULL,
                            !(flags & VC_SERVICE_PARALLEL));
}
