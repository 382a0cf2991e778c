/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Answers calls: with the message, which is packed when the link asks for it,
 * or with an error. The holder of the engine only, except vc__reply_measure()
 * and reply_is_unfit(). See rpc/server/server_reply.h. */
#include "rpc/server/server_reply.h"

#include <stdio.h>
#include <string.h>

#include <verbcall/call.h>

#include "rpc/codec/outgoing.h"
#include "rpc/codec/whole.h"
#include "rpc/server/server_deadline.h"
#include "rpc/server/server_limit.h"
#include "rpc/server/server_load.h"
#include "rpc/server/stream_server.h"
#include "rpc/text.h"

/* send->done, called by the link, under its lock: it has finished with the
 * reply, and the session releases the call or keeps it. On the holder, as only
 * that sends on a server's links. */
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

/* send->write, called by the link, under its lock, on the holder, when it sends
 * a reply of one packet: packs the message into out, which has room. */
static void
reply_write(struct vc__send *send, uint8_t *out)
{
    struct vc_call *call = caa_container_of(send, struct vc_call, send);

    vc__codec_pack(&call->method->reply, &call->packing, call->reply, out);
}

/* Called by reply_send() for a call that was counted: its reply, or the text of
 * its error, has len bytes. Not inlined, as few servers have limits. */
static __attribute__((noinline)) void
reply_count(struct vc_call *call, enum vc_status status, uint32_t len)
{
    if (call->counted & VC__COUNTED_LOAD)
        vc__server_load_reply(call, status, len);
    vc__limit_give(call);
}

/* The call no longer runs: gives its reply to the session; may free the call,
 * the session and the peer. Called by vc__reply_result(), reply_message() and
 * reply_error(). */
static void
reply_send(struct vc_call *call, enum vc_status status, uint8_t flags,
           uint32_t len)
{
    const struct vc__call_site *site = &call->site;

    if (call->counted != 0)
        reply_count(call, status, len);
    if (call->stream != NULL)
        vc__call_stream_end(call);
    call->send.done = reply_done;
    call->send.wants_ack = call->send.of_reply = true;
    call->send.frame = (struct vc__frame){
        .type = VC__FRAME_REPLY,
        .flags = flags,
        .slot = site->slot,
        .session = site->session->number,
        .sequence = site->session->slots[site->slot].sequence,
        .method = (uint16_t)status,
        .body_len = len,
        .metadata = call->metadata.said,
        .metadata_len = (uint16_t)call->metadata.said_len,
    };
    vc__handle_fini(&call->handle); /* its handler no longer uses it */
    vc__server_session_reply(site->session, site->slot);
}

/* An error is never sent in parts (doc/wire.md 4.4). Beside the metadata of the
 * program there is the advice when to retry; a load report counts as the
 * program's. */
_Static_assert(VC_METADATA_MAX + 64 + VC__SAID_TEXT <= VC__EAGER_MAX,
               "the longest text fits beside the most metadata");

/* Answers with an error, and the call's text if it has one. Called by
 * vc__reply_refuse(), vc__reply_result() and reply_message(). */
static void
reply_error(struct vc_call *call, enum vc_status status, uint8_t flags)
{
    call->send.body = (const uint8_t *)call->text;
    reply_send(call, status, flags,
               call->has_text ? (uint32_t)strlen(call->text) : 0);
}

void
vc__reply_refuse(struct vc_call *call, enum vc_status status, const char *text)
{
    if (call->method == NULL) /* the client adds the names itself */
        vc_call_fail(call, status, "%s", text);
    else if (text != call->text)
        vc__text_of_method(call->text, sizeof call->text,
                           call->site.session->opened->entry->service->name,
                           call->method->name, text);
    call->has_text = true;
    reply_error(call, status, VC__FRAME_NOT_EXECUTED);
}

void
vc__reply_forget(struct vc_call *call)
{
    vc__call_long_drop(call);
    call->has_text = true;
    snprintf(call->text, sizeof call->text,
             "%s.%s: the deadline passed before the reply could be sent",
             call->site.session->opened->entry->service->name,
             call->method->name);
    call->send.body = (const uint8_t *)call->text;
    call->send.frame.method = VC_DEADLINE_EXCEEDED;
    call->send.frame.metadata_len = 0;
    call->send.frame.body_len = (uint32_t)strlen(call->text);
}

/* Called by reply_check(): gives a reply that exceeds a limit its text. Returns
 * VC_RESOURCE_EXHAUSTED. */
static enum vc_status
reply_deny(struct vc_call *call, size_t peer_max)
{
    const struct vc__outgoing o = {
        .what = "reply",
        .service = call->site.session->opened->entry->service->name,
        .method = call->method->name,
        .peer = "client",
        .reply_max = call->method->max_reply,
        .peer_max = peer_max,
    };

    vc__outgoing_check(&o, call->packing.size);
    return vc_call_fail(call, VC_RESOURCE_EXHAUSTED, "%s", vc_error());
}

/* VC_OK: the reply, which was measured, is short enough for both ends; else
 * VC_RESOURCE_EXHAUSTED. Called by reply_message(). */
static enum vc_status
reply_check(struct vc_call *call)
{
    size_t size = call->packing.size;
    size_t peer_max = vc__server_peer_message_max(call->site.session->peer,
                                                  call->metadata.said_len);

    if (vc__codec_reply_fits(call->method, size) && size <= peer_max)
        return VC_OK;
    return reply_deny(call, peer_max);
}

/* Called by reply_message(): packs a reply that goes in parts, since the
 * handler's message is freed before all parts are sent. VC_OK;
 * VC_RESOURCE_EXHAUSTED without memory. */
static enum vc_status
reply_pack(struct vc_call *call)
{
    call->long_reply =
        vc__memory_take(&call->site.session->peer->account, call->packing.size);
    if (call->long_reply == NULL)
        return vc__call_fault(call, VC_RESOURCE_EXHAUSTED,
                              "the server has no memory for the reply "
                              "(max_memory)");
    vc__codec_pack(&call->method->reply, &call->packing, call->reply,
                   call->long_reply);
    if (call->metadata.said_len == 0) { /* else the arena has the metadata */
        vc__arena_reset(&call->arena);
        call->metadata.said_room = 0; /* a load report may follow */
    }
    vc__server_deadline_watch(call);
    return VC_OK;
}

/* Called by vc__reply_result(): answers with the reply, which was measured; or
 * with an error. */
static void
reply_message(struct vc_call *call)
{
    enum vc_status status = reply_check(call);
    size_t size = call->packing.size;

    call->send.write = reply_write;
    if (status == VC_OK && vc__body_is_long(size, call->metadata.said_len))
        status = reply_pack(call);
    call->send.body = call->long_reply;
    if (status == VC_OK)
        reply_send(call, VC_OK, 0, (uint32_t)size);
    else
        reply_error(call, status, 0);
}

/* Called by vc__reply_measure(): fails a reply that cannot be packed, with the
 * reason. Returns VC_INTERNAL. Not inlined: else every reply pays for its
 * frame, 16 instructions. */
static __attribute__((cold, noinline)) enum vc_status
reply_is_unfit(struct vc_call *call)
{
    char gap[VC__GAP_TEXT];

    if (!vc__outgoing_is_of(&call->method->reply, call->reply))
        return vc__call_fault(call, VC_INTERNAL,
                              "the reply of the handler is not of type %s",
                              call->method->reply.desc->name);
    vc__message_gap(call->reply, gap, sizeof gap);
    return vc__call_fault(call, VC_INTERNAL,
                          "the reply of the handler cannot be packed: %s", gap);
}

enum vc_status
vc__reply_measure(struct vc_call *call)
{
    const struct vc_message_type *type = &call->method->reply;

    return vc__outgoing_is_of(type, call->reply) &&
                   vc__codec_measure(type, call->reply, &call->packing)
               ? VC_OK
               : reply_is_unfit(call);
}

void
vc__reply_result(struct vc_call *call, enum vc_status status)
{
    if (call->site.kind & VC__FRAME_SERVER_STREAM && status == VC_OK) {
        call->send.body = (const uint8_t *)"";
        reply_send(call, VC_OK, 0, 0);
        return;
    }
    if (status == VC_OK)
        status = vc__reply_measure(call);
    if (status == VC_OK)
        reply_message(call);
    else
        reply_error(call,
                    (unsigned)status > VC_UNAUTHENTICATED ? VC_UNKNOWN : status,
                    call->refused ? VC__FRAME_NOT_EXECUTED : 0);
}
