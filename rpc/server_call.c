/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * One call after the other through its handler. Its memory is an arena that
 * goes back to the part's stock with it. */
#include "rpc/server_call.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <verbcall/call.h>

#include "rpc/arena.h"
#include "rpc/codec.h"
#include "rpc/server_link.h"

/* Memory that stays with a call in stock, and how many stay. */
#define CHUNK     8192
#define STOCK_MAX 256
/* What a handler may allocate beyond what its request took. */
#define HANDLER_MEMORY ((size_t)64 << 20)

struct vc_call {
    struct vc__call_site site;
    struct vc__task task; /* runs the handler */
    struct vc__send send; /* the reply */
    struct vc__arena arena;
    struct cds_list_head node; /* in the stock */

    const struct vc_method *method;
    const void *request;
    ProtobufCMessage *reply;
    struct vc__packing packing;
    uint8_t *long_reply;   /* packed, when it goes in parts */
    enum vc_status status; /* the handler's, when it was taken over */
    uint64_t turn;         /* handlers that had begun when it came */
    bool has_text;
    char text[VC__ERROR_TEXT];
};

/* --- for handlers ------------------------------------------------------ */

void *
vc_call_alloc(struct vc_call *call, size_t size)
{
    void *p = vc__arena_alloc(&call->arena, size);

    return p == NULL ? NULL : memset(p, 0, size);
}

char *
vc_call_strdup(struct vc_call *call, const char *text)
{
    size_t size = strlen(text) + 1;
    char *p = vc__arena_alloc(&call->arena, size);

    return p == NULL ? NULL : memcpy(p, text, size);
}

char *
vc_call_sprintf(struct vc_call *call, const char *format, ...)
{
    va_list args, again;
    char *p = NULL;
    int len;

    va_start(args, format);
    va_copy(again, args);
    len = vsnprintf(NULL, 0, format, args);
    if (len >= 0)
        p = vc__arena_alloc(&call->arena, (size_t)len + 1);
    if (p != NULL)
        vsnprintf(p, (size_t)len + 1, format, again);
    va_end(again);
    va_end(args);
    return p;
}

enum vc_status
vc_call_fail(struct vc_call *call, enum vc_status status, const char *format,
             ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(call->text, sizeof call->text, format, args);
    va_end(args);
    call->has_text = true;
    return status;
}

enum vc_status
vc_call_no_handler(struct vc_call *call)
{
    return vc_call_fail(
        call, VC_UNIMPLEMENTED, "the server has no handler for %s.%s",
        call->site.session->opened->entry->service->name, call->method->name);
}

uint64_t
vc_call_deadline_us(const struct vc_call *call)
{
    uint64_t now;

    if (call->site.due == VC__FOREVER)
        return UINT64_MAX;
    now = vc__now();
    return call->site.due > now ? call->site.due - now : 0;
}

/* --- memory ------------------------------------------------------------ */

static struct vc__server_part *
part_of(const struct vc_call *call)
{
    return call->site.session->peer->part;
}

static struct vc_call *
call_make(size_t memory)
{
    struct vc_call *call = calloc(1, sizeof *call);

    if (call == NULL)
        return NULL;
    if (vc__arena_init(&call->arena, CHUNK, memory) != 0) {
        free(call);
        return NULL;
    }
    return call;
}

static struct vc_call *
call_take(const struct vc__call_site *site)
{
    struct vc__server_part *part = site->session->peer->part;
    struct vc_call *call;

    if (cds_list_empty(&part->stock)) {
        call = call_make(part->server->request_memory + HANDLER_MEMORY);
    } else {
        call = cds_list_entry(part->stock.next, struct vc_call, node);
        cds_list_del(&call->node);
        part->n_stock--;
    }
    if (call != NULL) {
        call->site = *site;
        site->session->slots[site->slot].call = call;
    }
    return call;
}

static void
call_destroy(struct vc_call *call)
{
    vc__arena_fini(&call->arena);
    free(call);
}

void
vc__call_release(struct vc_call *call)
{
    struct vc__server_part *part = part_of(call);

    free(call->long_reply);
    call->long_reply = NULL;
    call->has_text = false;
    vc__arena_reset(&call->arena);
    if (part->n_stock < STOCK_MAX) {
        cds_list_add(&call->node, &part->stock);
        part->n_stock++;
    } else {
        call_destroy(call);
    }
}

void
vc__call_free_stock(struct vc__server_part *part)
{
    struct vc_call *call, *next;

    cds_list_for_each_entry_safe (call, next, &part->stock, node)
        call_destroy(call);
    CDS_INIT_LIST_HEAD(&part->stock);
    part->n_stock = 0;
}

/* --- replies ----------------------------------------------------------- */

static void
reply_done(struct vc__send *send, enum vc__send_end end)
{
    struct vc_call *call = caa_container_of(send, struct vc_call, send);

    vc__server_session_sent(call->site.session, call->site.slot, end);
}

struct vc__send *
vc__call_send(struct vc_call *call)
{
    return &call->send;
}

static void
reply_write(struct vc__send *send, uint8_t *out)
{
    struct vc_call *call = caa_container_of(send, struct vc_call, send);

    vc__codec_pack(&call->method->reply, &call->packing, call->reply, out);
}

static void
reply_send(struct vc_call *call, enum vc_status status, uint8_t flags,
           uint32_t len)
{
    const struct vc__call_site *site = &call->site;

    call->send.done = reply_done;
    call->send.wants_ack = true;
    call->send.frame = (struct vc__frame){
        .type = VC__FRAME_REPLY,
        .flags = flags,
        .slot = site->slot,
        .session = site->session->number,
        .sequence = site->session->slots[site->slot].sequence,
        .method = (uint16_t)status,
        .body_len = len,
    };
    vc__server_session_reply(site->session, site->slot);
}

static void
reply_error(struct vc_call *call, enum vc_status status, uint8_t flags)
{
    call->send.body = (const uint8_t *)call->text;
    reply_send(call, status, flags,
               call->has_text ? (uint32_t)strlen(call->text) : 0);
}

static void
reply_refuse(struct vc_call *call, enum vc_status status, const char *text)
{
    vc_call_fail(call, status, "%s", text);
    reply_error(call, status, VC__FRAME_NOT_EXECUTED);
}

static void
reply_message(struct vc_call *call)
{
    const struct vc_message_type *type = &call->method->reply;
    size_t size = call->packing.size;
    size_t max = call->site.session->peer->message_max;

    call->send.body = NULL;
    call->send.write = reply_write;
    if (size > max) {
        vc_call_fail(call, VC_RESOURCE_EXHAUSTED,
                     "the reply of %s has %zu bytes, the client takes %zu",
                     call->method->name, size, max);
        reply_error(call, VC_RESOURCE_EXHAUSTED, 0);
        return;
    }
    if (size > VC__EAGER_MAX) {
        call->send.body = call->long_reply = malloc(size);
        if (call->long_reply == NULL) {
            vc_call_fail(call, VC_RESOURCE_EXHAUSTED,
                         "the server has no memory for the reply");
            reply_error(call, VC_RESOURCE_EXHAUSTED, 0);
            return;
        }
        vc__codec_pack(type, &call->packing, call->reply, call->long_reply);
    }
    reply_send(call, VC_OK, 0, (uint32_t)size);
}

static void
reply_result(struct vc_call *call, enum vc_status status)
{
    if (status == VC_OK &&
        !vc__codec_measure(&call->method->reply, call->reply, &call->packing))
        status = vc_call_fail(call, VC_INTERNAL,
                              "the handler of %s left a field of its reply "
                              "unset that must be set",
                              call->method->name);
    if (status == VC_OK)
        reply_message(call);
    else
        reply_error(call,
                    (unsigned)status > VC_UNAUTHENTICATED ? VC_UNKNOWN : status,
                    0);
}

/* --- running ----------------------------------------------------------- */

static ProtobufCMessage *
reply_new(struct vc_call *call)
{
    const ProtobufCMessageDescriptor *desc = call->method->reply.desc;
    ProtobufCMessage *reply =
        vc__arena_alloc(&call->arena, desc->sizeof_message);

    if (reply != NULL)
        protobuf_c_message_init(desc, reply);
    return reply;
}

/* Nobody is there for the reply; who comes back for it sends it again. */
static void
call_skip(struct vc_call *call)
{
    struct vc__call_site site = call->site;

    vc__call_release(call);
    vc__server_session_skip(site.session, site.slot);
}

static void
handlers_count(struct vc_call *call, int64_t n)
{
    vc__count(&part_of(call)->progress->engine.ledger,
              VC__COUNT_handlers_running, n);
}

/* The handler was taken over and has ended: back on the holder. */
static void
call_finish(struct vc__task *task)
{
    struct vc_call *call = caa_container_of(task, struct vc_call, task);

    handlers_count(call, -1);
    reply_result(call, call->status);
}

/* While the handler runs the engine may go on without us: nothing but the
 * call is ours then. It holds its session, which holds the entry. */
static void
call_handle(struct vc_call *call, const struct vc__service_entry *entry)
{
    struct vc__engine *engine = &part_of(call)->progress->engine;
    struct vc__stint *stint;
    enum vc_status status;

    vc__count(&engine->ledger, VC__COUNT_handlers_started, 1);
    handlers_count(call, 1);
    stint = vc__engine_release(engine);
    status = call->method->run(call, entry->methods, call->request, call->reply,
                               entry->arg);
    if (vc__engine_resume(stint)) {
        handlers_count(call, -1);
        reply_result(call, status);
        return;
    }
    call->status = status;
    call->task.run = call_finish;
    vc__engine_post(engine, &call->task);
}

static uint64_t
handlers_begun(const struct vc_call *call)
{
    return vc__count_get(&part_of(call)->progress->engine.ledger,
                         VC__COUNT_handlers_started);
}

/* The clock is asked only if it had to wait for others. */
static bool
is_late(const struct vc_call *call)
{
    return handlers_begun(call) != call->turn && vc_call_deadline_us(call) == 0;
}

static void
call_run(struct vc__task *task)
{
    struct vc_call *call = caa_container_of(task, struct vc_call, task);
    const struct vc__service_entry *entry = call->site.session->opened->entry;

    if (call->site.session->link == NULL)
        call_skip(call);
    else if (is_late(call))
        reply_refuse(call, VC_DEADLINE_EXCEEDED,
                     "the deadline passed before the handler could run");
    else if ((call->reply = reply_new(call)) == NULL)
        reply_refuse(call, VC_RESOURCE_EXHAUSTED,
                     "the server has no memory for the call");
    else
        call_handle(call, entry);
}

/* The method that the client means; NULL with what to answer. */
static const struct vc_method *
method_find(const struct vc__call_site *site, const char **fault)
{
    const struct vc__opened *s = site->session->opened;
    unsigned i = site->method;

    *fault = "the server does not serve this service";
    if (s->entry == NULL || atomic_load(&s->entry->removed))
        return NULL;
    *fault = "the server's service has no such method";
    if (i >= s->n_methods)
        return NULL;
    if (s->map != NULL)
        i = s->map[i];
    return i == VC__NO_METHOD ? NULL : &s->entry->service->methods[i];
}

/* Without memory for a call there is none for an answer: the link ends. */
static void
call_starve(const struct vc__call_site *site)
{
    struct vc__server_link *sl = site->session->link;

    vc__server_session_skip(site->session, site->slot);
    vc__link_close(&sl->link, VC_RESOURCE_EXHAUSTED, "out of memory");
}

void
vc__call_begin(const struct vc__call_site *site, const uint8_t *body,
               uint32_t len)
{
    struct vc_call *call = call_take(site);
    const char *fault;

    if (call == NULL) {
        call_starve(site);
        return;
    }
    call->method = method_find(site, &fault);
    if (call->method == NULL) {
        reply_refuse(call, VC_UNIMPLEMENTED, fault);
        return;
    }
    call->request = vc__codec_unpack(
        &call->method->request, &call->arena.allocator,
        part_of(call)->server->request_memory, body, len, &fault);
    if (call->request == NULL) {
        reply_refuse(call, VC_INVALID_ARGUMENT, fault);
        return;
    }
    call->task.run = call_run;
    call->turn = handlers_begun(call);
    vc__engine_handle(&part_of(call)->progress->engine, &call->task);
}

void
vc__call_refuse(const struct vc__call_site *site, enum vc_status status,
                const char *text)
{
    struct vc_call *call = call_take(site);

    if (call == NULL)
        call_starve(site);
    else
        reply_refuse(call, status, text);
}
