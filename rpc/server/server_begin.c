/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Turns a request into a call that waits for its turn, or refuses it. See
 * rpc/server/server_handler.h. All of this file runs on the holder of the
 * engine, when a request is complete or refused. The steps, which have a
 * parameter `fault` and return a status, return VC_OK, or the status to refuse
 * the call with; then *fault is the text. */
#include <stdio.h>

#include <verbcall/call.h>

#include "rpc/codec/outgoing.h"
#include "rpc/server/server_handler.h"
#include "rpc/server/server_limit.h"
#include "rpc/server/server_link.h"
#include "rpc/server/server_reply.h"
#include "rpc/server/server_shed.h"

/* The text of a call that is shed for lack of memory: its client may try
 * again. */
static const char no_memory[] =
    "the server has no memory left for the request (max_memory): try again "
    "later";

/* True if the service that the session was opened for is still the server's.
 * Called by method_find() and is_served_again(). */
static bool
is_served(const struct vc__server_session *s)
{
    const struct vc__service_entry *entry = s->opened->entry;

    return entry != NULL && !atomic_load(&entry->removed);
}

/* Called by method_find() if is_served() is false: looks the service up again,
 * if no other call of the session runs. True if a service of this name was
 * added, perhaps in place of a former one. It serves existing sessions once
 * their calls of the former service have ended. */
static bool
is_served_again(struct vc__server_session *s)
{
    if (s->n_calls == 1)
        vc__server_session_renew(s);
    return is_served(s);
}

/* Sets *fault; returns status. Called by the steps of this file, not_found()
 * and request_fault(). */
static enum vc_status
server_begin_fails(const char **fault, enum vc_status status, const char *text)
{
    *fault = text;
    return status;
}

/* Called by method_find(): there is no such service or method. Returns
 * VC_UNIMPLEMENTED, with *fault. The client adds the name of the method to the
 * text. */
static enum vc_status
not_found(struct vc_call *call, const char **fault, const char *text)
{
    call->method = NULL;
    return server_begin_fails(fault, VC_UNIMPLEMENTED, text);
}

/* Called by method_find(): the session has no service, as the server does not
 * have it, or refuses the client's schema. Returns VC_UNIMPLEMENTED or
 * VC_FAILED_PRECONDITION, with *fault. */
static enum vc_status
not_served(struct vc_call *call, const char **fault)
{
    switch (call->site.session->opened->verdict) {
    case VC__SCHEMA_DIFFERS:
        call->method = NULL;
        return server_begin_fails(
            fault, VC_FAILED_PRECONDITION,
            "the client's schema of the service is not the server's: build "
            "both from the same .proto file, or have the server accept the "
            "older one (compat= of protoc-gen-verbcall)");
    case VC__SCHEMA_UNKNOWN:
        call->method = NULL;
        return server_begin_fails(
            fault, VC_FAILED_PRECONDITION,
            "the server compares schemas, and the client does not say which "
            "one it has of this service: build the client with a later "
            "Verbcall");
    default:
        return not_found(
            call, fault,
            "the server does not serve this service: see that it was added");
    }
}

/* Returns the server's number of the client's method, or VC__NO_METHOD. Called
 * by method_find() and refused_take(). */
static unsigned
method_number(const struct vc_call *call)
{
    const struct vc__opened *s = call->site.session->opened;
    unsigned i = call->site.method;

    if (i >= s->n_methods)
        return VC__NO_METHOD;
    return s->map != NULL ? s->map[i] : i;
}

/* The first step, called by call_take(): finds the method in the server's
 * table, and sets call->method and call->state. VC_UNIMPLEMENTED: there is none
 * that streams as the client expects. */
static enum vc_status
method_find(struct vc_call *call, const char **fault)
{
    struct vc__server_session *session = call->site.session;
    const struct vc__opened *s;
    unsigned i;

    if (!is_served(session) && !is_served_again(session))
        return not_served(call, fault);
    s = session->opened;
    i = method_number(call);
    if (i == VC__NO_METHOD)
        return not_found(call, fault,
                         "the server's service has no such method: see that "
                         "both ends have the same .proto file");
    call->method = &s->entry->service->methods[i];
    call->state = &s->entry->methods_state[i];
    if (call->state->kind != call->site.kind)
        return server_begin_fails(
            fault, VC_UNIMPLEMENTED,
            "the server's method of this name streams in another way: see that "
            "both ends have the same .proto file");
    return VC_OK;
}

/* Without memory for a call there is none for an answer: the session forgets
 * the call, and the link is closed, if there is one. Called by vc__call_begin()
 * and refused_take(). */
static void
call_starve(const struct vc__call_site *site)
{
    struct vc__server_link *sl = site->session->link;

    vc__server_session_skip(site->session, site->slot);
    if (!sl->is_group)
        vc__link_close(&sl->link, VC_RESOURCE_EXHAUSTED,
                       "the server has no memory for a call");
}

/* Called by request_unpack(): the request points into the assembly, whose
 * memory becomes the call's. Both have the account of the client. */
static void
request_adopt(struct vc_call *call, struct vc__assembly *whole)
{
    size_t size;
    uint8_t *block = vc__assembly_hand(whole, &size);

    _Static_assert(VC__ARENA_HEAD <= VC__ASSEMBLY_HEAD, "the arena has room");
    vc__arena_adopt(&call->arena, block, size);
}

/* Unpacks the request into the call's arena; does nothing if the client
 * streams. False, with the reason in *fault, if that fails. Called by
 * call_take(). */
static bool
request_unpack(struct vc_call *call, struct vc__bytes *from,
               struct vc__assembly *whole, struct vc__message_fault *fault)
{
    call->request = NULL;
    if (call->site.kind & VC__FRAME_CLIENT_STREAM)
        return true;
    call->request = vc__codec_unpack(
        &call->method->request, &call->arena.allocator,
        vc__call_part(call)->server->request_memory, from, fault);
    if (from->in_use)
        request_adopt(call, whole);
    return call->request != NULL;
}

/* Called by call_take() when request_unpack() has failed for the reason *wrong.
 * Returns VC_RESOURCE_EXHAUSTED or VC_INVALID_ARGUMENT, with *fault. */
__attribute__((cold)) static enum vc_status
request_fault(struct vc_call *call, const struct vc__message_fault *wrong,
              const char **fault)
{
    char text[VC__ERROR_TEXT];

    if (wrong->what == vc__codec_no_memory)
        return server_begin_fails(fault, VC_RESOURCE_EXHAUSTED, no_memory);
    vc__message_fault_text(wrong, text, sizeof text);
    vc__call_fault(call, VC_INVALID_ARGUMENT,
                   "the request cannot be unpacked as %s: %s",
                   call->method->request.desc->name, text);
    return server_begin_fails(fault, VC_INVALID_ARGUMENT, call->text);
}

/* The second step, called by call_take(): checks, while memory is scarce,
 * whether the client may have one more call in memory, except for health and
 * reflection; then checks the limits, and counts the call in these. VC_OK, or
 * VC_RESOURCE_EXHAUSTED with *fault. */
static enum vc_status
call_admit(struct vc_call *call, const char **fault)
{
    struct vc_server *server = vc__call_part(call)->server;
    const char *text;

    if (vc__store_is_scarce(&server->store) &&
        !call->site.session->opened->entry->exempt && !vc__call_may_begin(call))
        return server_begin_fails(fault, VC_RESOURCE_EXHAUSTED, no_memory);
    if (vc__limit_is_set(server) && (text = vc__limit_take(call)) != NULL)
        return server_begin_fails(fault, VC_RESOURCE_EXHAUSTED, text);
    return VC_OK;
}

/* Called by vc__call_begin(): all steps, before the call waits for its turn.
 * Unlike vc__call_take(), which finds the memory for the call. VC_OK, or the
 * status of the step that fails. */
static enum vc_status
call_take(struct vc_call *call, struct vc__bytes *from,
          struct vc__assembly *whole, const char **fault)
{
    enum vc_status status = method_find(call, fault);
    struct vc__message_fault wrong;

    if (status == VC_OK)
        status = call_admit(call, fault);
    if (status == VC_OK && call->site.metadata.len > 0)
        status = vc__call_metadata_take(call, fault);
    if (status != VC_OK)
        return status;
    if (!request_unpack(call, from, whole, &wrong))
        return request_fault(call, &wrong, fault);
    if (call->site.kind != 0 && !vc__call_stream_open(call))
        return server_begin_fails(fault, VC_RESOURCE_EXHAUSTED,
                                  "the server has no memory for the stream");
    return VC_OK;
}

/* Answers a request that is refused; `text` is the library's, or call->text.
 * Called by vc__call_begin(), vc__call_refuse() and vc__call_refuse_lost(). */
static void
server_begin_refuse(struct vc_call *call, enum vc_status status,
                    const char *text)
{
    if (text == no_memory)
        vc__shed(call, VC__SHED_MEMORY);
    vc__reply_refuse(call, status, text);
}

void
vc__call_begin(const struct vc__call_site *site, const uint8_t *body,
               uint32_t len, struct vc__assembly *whole)
{
    struct vc__bytes from = {
        .data = body,
        .len = len,
        .lasting = whole != NULL ? whole->data : NULL,
    };
    struct vc_call *call = vc__call_take(site);
    enum vc_status status;
    const char *fault;

    if (call == NULL) {
        call_starve(site);
        return;
    }
    status = call_take(call, &from, whole, &fault);
    if (status != VC_OK) {
        server_begin_refuse(call, status, fault);
        return;
    }
    vc__call_came(call);
}

/* Returns the call of a request that is refused before it was read; NULL
 * without memory. Called by vc__call_refuse() and vc__call_refuse_lost(). */
static struct vc_call *
refused_take(const struct vc__call_site *site)
{
    struct vc_call *call = vc__call_take(site);
    const struct vc__service_entry *entry = site->session->opened->entry;
    unsigned i;

    if (call == NULL) {
        call_starve(site);
        return NULL;
    }
    i = entry == NULL ? VC__NO_METHOD : method_number(call);
    call->method = i == VC__NO_METHOD ? NULL : &entry->service->methods[i];
    return call;
}

void
vc__call_refuse(const struct vc__call_site *site, enum vc_status status,
                const char *text)
{
    struct vc_call *call = refused_take(site);

    if (call != NULL)
        server_begin_refuse(call, status, text);
}

void
vc__call_refuse_lost(const struct vc__call_site *site,
                     const struct vc__assembly *a)
{
    struct vc_call *call = refused_take(site);
    char text[VC__ASSEMBLY_LOSS_TEXT];
    size_t max;

    if (call == NULL)
        return;
    if (a->loss != VC__ASSEMBLY_TOO_LONG) {
        server_begin_refuse(call, VC_RESOURCE_EXHAUSTED, no_memory);
        return;
    }
    max = (size_t)1 << vc__call_part(call)->server->log2_message;
    snprintf(text, sizeof text, "the request " VC__OUTGOING_LONG,
             (size_t)a->total, "server", max);
    vc_call_pushback(call, -1); /* a retry would be as long */
    server_begin_refuse(call, VC_RESOURCE_EXHAUSTED, text);
}
