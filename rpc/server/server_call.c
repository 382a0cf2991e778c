/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The memory of calls: each has an arena, which goes back to the part's stock
 * with it. Also the functions by which handlers read and fill in a call. The
 * section "memory" runs on the holder, except vc__call_free_stock() and
 * call_destroy(). Programs call the functions of verbcall/call.h on the
 * threads that it names. See rpc/server/server_call.h. */
#include "rpc/server/server_call.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <verbcall/call.h>

#include "rpc/server/server_deadline.h"
#include "rpc/server/server_link.h"
#include "rpc/server/stream_server.h"
#include "rpc/text.h"
#include "transport/core/error.h"

/* Memory that stays with a call in the stock, and the most calls in it. */
#define CHUNK     8192
#define STOCK_MAX 256
/* What a handler may allocate in addition to its request. */
#define HANDLER_MEMORY ((size_t)64 << 20)

/* --- for handlers ------------------------------------------------------ */

/* Also called by rpc/services/reflection.c and turn_new() (rpc/protobuf_c), on
 * the handler's thread. */
void *
vc_call_alloc(struct vc_call *call, size_t size)
{
    void *p;

    vc__must(call, VC__CALL);
    p = vc__arena_alloc(&call->arena, size);
    return p == NULL ? NULL : memset(p, 0, size);
}

char *
vc_call_strdup(struct vc_call *call, const char *text)
{
    size_t size = strlen(text) + 1;
    char *p;

    vc__must(call, VC__CALL);
    p = vc__arena_alloc(&call->arena, size);
    return p == NULL ? NULL : memcpy(p, text, size);
}

char *
vc_call_sprintf(struct vc_call *call, const char *format, ...)
{
    va_list args, again;
    char *p = NULL;
    int len;

    vc__must(call, VC__CALL);
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

const char *
vc_call_service(const struct vc_call *call)
{
    vc__must(call, VC__CALL);
    return call->site.session->opened->entry->service->name;
}

const char *
vc_call_method(const struct vc_call *call)
{
    vc__must(call, VC__CALL);
    return call->method->name;
}

const char *
vc_call_peer(const struct vc_call *call)
{
    vc__must(call, VC__CALL);
    return call->origin->text;
}

/* Also called by the library, where it fails or refuses a call: on the holder,
 * the handler's thread, the thread of vc_call_end(), or that of a stream's last
 * callback. Returns status. */
enum vc_status
vc_call_fail(struct vc_call *call, enum vc_status status, const char *format,
             ...)
{
    va_list args;

    vc__must(call, VC__CALL);
    va_start(args, format);
    vc__text_format(call->text, sizeof call->text, format, args);
    va_end(args);
    call->has_text = true;
    return status;
}

/* Returns the name of the call's service. Called by vc__call_fault() and
 * vc__call_explain(), on their threads. */
static const char *
service_name(const struct vc_call *call)
{
    return call->site.session->opened->entry->service->name;
}

enum vc_status
vc__call_fault(struct vc_call *call, enum vc_status status, const char *format,
               ...)
{
    char text[VC__ERROR_TEXT];
    va_list args;

    va_start(args, format);
    vc__text_format(text, sizeof text, format, args);
    va_end(args);
    return vc_call_fail(call, status, "%s.%s: %s", service_name(call),
                        call->method->name, text);
}

/* A text that the handler has set stays. A handler passes on the error of a
 * call that it made, or of another function, by returning its status. */
void
vc__call_explain(struct vc_call *call, enum vc_status status)
{
    const struct vc__error *e = vc__error_within();

    if (call->has_text && call->text[0] != '\0')
        return;
    if (e != NULL && e->status == status)
        vc_call_fail(call, status, "%s", e->text);
    else if ((unsigned)status > VC_UNAUTHENTICATED)
        vc__call_fault(call, status,
                       "the handler ended with %d, which is no status",
                       (int)status);
    else
        vc_call_fail(call, status, VC__TEXT_BARE, service_name(call),
                     call->method->name, vc_status_name(status));
}

/* Declared in verbcall/service.h. Called by a generated method runner, or by
 * vc__protobuf_c_run(), on the handler's thread, if the program has no such
 * handler. Returns VC_UNIMPLEMENTED; the reply says "not executed". */
enum vc_status
vc_call_no_handler(struct vc_call *call)
{
    vc__must(call, VC__CALL);
    call->refused = true;
    return vc__call_fault(call, VC_UNIMPLEMENTED,
                          "the server has no handler for this method");
}

/* --- memory ------------------------------------------------------------ */

/* Counts for as long as the call is allocated, in use or in the stock. */
#define WHOLE (sizeof(struct vc_call) + CHUNK)

bool
vc__call_may_begin(const struct vc_call *call)
{
    const struct vc__server_peer *peer = call->site.session->peer;

    return vc__memory_may_have(&peer->account, peer->n_held * WHOLE);
}

/* Called by vc__call_take() when the stock is empty: makes a call with an
 * arena. NULL without memory. */
static struct vc_call *
call_make(struct vc_server *server)
{
    size_t memory = server->request_memory + HANDLER_MEMORY;
    struct vc_call *call = calloc(1, sizeof *call);

    if (call == NULL)
        return NULL;
    if (vc__arena_init(&call->arena, CHUNK, memory) != 0) {
        free(call);
        return NULL;
    }
    vc__store_add(&server->store, WHOLE);
    return call;
}

struct vc_call *
vc__call_take(const struct vc__call_site *site)
{
    struct vc__server_part *part = site->session->peer->part;
    struct vc_call *call;

    if (cds_list_empty(&part->stock)) {
        call = call_make(part->server);
    } else {
        call = cds_list_entry(part->stock.next, struct vc_call, node);
        cds_list_del(&call->node);
        part->n_stock--;
    }
    if (call != NULL) {
        call->site = *site;
        call->origin = vc__origin_get(site->session->link->origin);
        vc__handle_init(&call->handle, VC__CALL);
        call->arena.account = &site->session->peer->account;
        call->parent.due = site->due;
        call->parent.priority = VC_PRIORITY_DEFAULT;
        call->stream = NULL;
        call->reply = NULL;
        site->session->slots[site->slot].call = call;
        site->session->peer->n_held++;
    }
    return call;
}

/* Frees a call and its arena: called by vc__call_release() on the holder when
 * the stock is full or memory is scarce, and by vc__call_free_stock() on any
 * thread. */
static void
call_destroy(struct vc__server_part *part, struct vc_call *call)
{
    vc__arena_fini(&call->arena);
    free(call);
    vc__store_sub(&part->server->store, WHOLE);
}

/* Adds n to the counter of open streams. Called by vc__call_stream_open() and
 * vc__call_stream_end(). */
static void
streams_count(struct vc_call *call, int64_t n)
{
    vc__count(&vc__call_part(call)->progress->engine.ledger,
              VC__COUNT_streams_server, n);
}

bool
vc__call_stream_open(struct vc_call *call)
{
    if (!vc__stream_server_open(call))
        return false;
    vc__parent_ask(&call->parent); /* its client decides how long it takes */
    vc__count(&vc__call_part(call)->progress->engine.ledger,
              VC__COUNT_streams_server_opened, 1);
    streams_count(call, 1);
    return true;
}

void
vc__call_stream_end(struct vc_call *call)
{
    vc__stream_server_end(call);
    streams_count(call, -1);
}

void
vc__call_long_drop(struct vc_call *call)
{
    vc__server_deadline_unwatch(call);
    vc__memory_give(&call->site.session->peer->account, call->long_reply,
                    call->packing.size);
    call->long_reply = NULL;
    vc__trimmer_note(&vc__call_part(call)->trimmer);
}

void
vc__call_release(struct vc_call *call)
{
    struct vc__server_part *part = vc__call_part(call);

    if (call->stream != NULL) /* its handler never ran */
        vc__call_stream_end(call);
    if (call->long_reply != NULL)
        vc__call_long_drop(call);
    call->has_text = call->unwanted = false;
    atomic_store_explicit(&call->parent.cancelled, false, memory_order_relaxed);
    atomic_store_explicit(&call->parent.asked, false, memory_order_relaxed);
    vc__call_metadata_reset(&call->metadata);
    atomic_store_explicit(&call->later, 0, memory_order_relaxed);
    call->refused = false;
    call->interception = NULL;
    if (vc__arena_reset(&call->arena) || call->site.kind != 0)
        vc__trimmer_note(&part->trimmer);
    call->site.session->peer->n_held--;
    vc__origin_put(call->origin);
    if (part->n_stock < STOCK_MAX &&
        !vc__store_is_scarce(&part->server->store)) {
        cds_list_add(&call->node, &part->stock);
        part->n_stock++;
    } else {
        call_destroy(part, call);
    }
}

void
vc__call_free_stock(struct vc__server_part *part)
{
    struct vc_call *call, *next;

    cds_list_for_each_entry_safe (call, next, &part->stock, node)
        call_destroy(part, call);
    CDS_INIT_LIST_HEAD(&part->stock);
    part->n_stock = 0;
}
