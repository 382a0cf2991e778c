/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Handles what the server sends to a session: replies, and messages of streams.
 * See cm/pool/session.h. All of it runs inside vc__session_reply(): on the
 * holder of the engine, under the pool's lock. A function that returns bool
 * returns false if the frame breaks the protocol, unless its comment says
 * otherwise. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cm/pool/pool.h"
#include "cm/pool/session.h"
#include "transport/core/le.h"

/* --- replies ----------------------------------------------------------- */

/* A frame of the server breaks a rule; the link's error will name this fault.
 * Returns false, as does the caller. For all functions below that check a
 * frame. */
static bool
session_reply_breach(struct vc__session *s, const char *rule)
{
    return vc__link_breach(&s->link->link, rule);
}

#define NO_MEMORY "there is no memory for it"

/* Writes why a reply, or a message of a stream, was not kept. For reply_more()
 * and message_more(). */
static void
loss_text(const struct vc__session *s, const struct vc__assembly *a,
          char text[VC__ASSEMBLY_LOSS_TEXT])
{
    if (a->loss == VC__ASSEMBLY_TOO_LONG)
        snprintf(text, VC__ASSEMBLY_LOSS_TEXT,
                 "it has %u bytes, the channel accepts %u at most (its "
                 "max_message): raise it",
                 a->total, vc__pool_message_max(s->peer->pool));
    else
        strcpy(text, NO_MEMORY);
}

/* The reply was not kept: the request gets this error, with the text in
 * reply->lost, as vc__reply_is_lost() knows. For reply_begin() and
 * reply_more(). */
static void
reply_lost(struct vc__reply_frame *reply)
{
    reply->status = VC_RESOURCE_EXHAUSTED;
    reply->body = (const uint8_t *)reply->lost;
    reply->len = (uint32_t)strlen(reply->lost);
}

/* The request gets its answer, as *r; NULL if no caller waits for it any more.
 * The slot stays busy. For session_reply_take() and reply_begin(). */
static void
session_reply_request_take(struct vc__session *s, struct vc__slot *slot,
                           struct vc__request **r)
{
    *r = slot->request;
    if (*r != NULL) {
        vc__request_complete(s->peer->pool, *r);
        s->bytes -= (*r)->send->frame.body_len;
    }
    slot->request = NULL;
}

/* The reply is complete, in one frame or with its last part: its slot is free
 * for the next call. *r as above: the request, or NULL. For reply_first() and
 * reply_more(). */
static void
session_reply_take(struct vc__session *s, const struct vc__frame *f,
                   struct vc__request **r)
{
    session_reply_request_take(s, &s->slots[f->slot], r);
    vc__session_slot_end(s, f->slot);
}

/* For reply_first() and message_first(): true while further parts of a message
 * or reply are awaited. */
static bool
has_parts(const struct vc__slot *slot)
{
    return slot->assembly != NULL || slot->wasted;
}

/* For reply_begin() and message_first(): keeps the first part. If out of
 * memory, the parts are dropped and slot->wasted is set. */
static bool
assembly_begin(struct vc__session *s, struct vc__slot *slot,
               const struct vc__frame *f)
{
    struct vc__pool *p = s->peer->pool;
    bool good;

    slot->assembly = calloc(1, sizeof *slot->assembly);
    slot->wasted = slot->assembly == NULL;
    good = slot->wasted ||
           vc__assembly_begin(slot->assembly, f, vc__pool_message_max(p),
                              &p->replies);
    vc__pool_count_replies(p);
    return good || session_reply_breach(s, "an invalid first part");
}

/* For reply_first(): begins a reply in parts. If out of memory, the call ends
 * now, with *r and *reply; its slot stays busy until the last part has come. */
static bool
reply_begin(struct vc__session *s, const struct vc__frame *f,
            struct vc__request **r, struct vc__reply_frame *reply)
{
    struct vc__slot *slot = &s->slots[f->slot];

    if (f->method != VC_OK)
        return session_reply_breach(s, "an error reply in several parts");
    if (!assembly_begin(s, slot, f))
        return false;
    if (slot->wasted) {
        session_reply_request_take(s, slot, r);
        reply->outcome = VC_OUTCOME_EXECUTED;
        reply->metadata = (struct vc__metadata){.len = 0};
        strcpy(reply->lost, NO_MEMORY);
        reply_lost(reply);
    }
    return true;
}

/* For reply_more(): handles a part that is not kept. Returns true. */
static bool
part_wasted(struct vc__session *s, const struct vc__frame *f)
{
    struct vc__slot *slot = &s->slots[f->slot];

    slot->wasted = f->flags & VC__FRAME_MORE;
    if (!slot->wasted && !slot->in_message)
        vc__session_slot_end(s, f->slot);
    return true;
}

/* For reply_first(): if the server streams, a good reply has no message. */
static bool
reply_fits(const struct vc__slot *slot, const struct vc__frame *f)
{
    return !(slot->stream & VC__FRAME_SERVER_STREAM) || f->method != VC_OK ||
           f->body_len == 0;
}

#define BETWEEN_PARTS "a frame between the parts of a message"

/* Handles a REPLY frame: a whole reply, or its first part. Also false if out of
 * memory for a CANCEL: the link then ends, too. For vc__session_reply(). */
static bool
reply_first(struct vc__session *s, const struct vc__frame *f,
            struct vc__request **r, struct vc__reply_frame *reply)
{
    struct vc__slot *slot = &s->slots[f->slot];

    if (slot->request != NULL && vc__send_is_long(slot->request->send) &&
        !vc__session_request_stop(s, f->slot))
        return false;
    if (has_parts(slot))
        return session_reply_breach(s, BETWEEN_PARTS);
    if (!reply_fits(slot, f))
        return session_reply_breach(
            s, "a reply with a message where the server streams");
    if (f->flags & VC__FRAME_MORE)
        return reply_begin(s, f, r, reply);
    if (f->flags & VC__FRAME_NOT_EXECUTED && f->method == VC_OK)
        return session_reply_breach(
            s, "a reply with OK to a call that was not executed");
    reply->status = (enum vc_status)f->method;
    reply->outcome = f->flags & VC__FRAME_NOT_EXECUTED ? VC_OUTCOME_NOT_EXECUTED
                                                       : VC_OUTCOME_EXECUTED;
    reply->body = f->body;
    reply->len = f->body_len;
    reply->metadata = vc__metadata_of(f);
    session_reply_take(s, f, r);
    return true;
}

/* A message of a stream is complete, or lost (loss is not NULL): gives it to
 * the request, if its caller still waits. For message_first() and
 * message_more(). */
static bool
message_whole(struct vc__session *s, struct vc__slot *slot,
              struct vc__metadata m, const uint8_t *body, uint32_t len,
              const char *loss)
{
    /* request is NULL if no caller waits any more. */
    return slot->request == NULL ||
           slot->request->message(slot->request, &m, body, len, loss) ||
           session_reply_breach(s, "a MESSAGE over its window");
}

/* Handles a MESSAGE frame: a whole message, or its first part. For
 * vc__session_reply(). */
static bool
message_first(struct vc__session *s, const struct vc__frame *f)
{
    struct vc__slot *slot = &s->slots[f->slot];

    if (!(slot->stream & VC__FRAME_SERVER_STREAM))
        return session_reply_breach(
            s, "a MESSAGE of a server that does not stream");
    if (has_parts(slot))
        return session_reply_breach(s, BETWEEN_PARTS);
    slot->in_message = true;
    if (f->flags & VC__FRAME_MORE)
        return assembly_begin(s, slot, f) &&
               (!slot->wasted ||
                message_whole(s, slot, vc__metadata_of(f), NULL,
                              vc__get32(f->body), NO_MEMORY));
    return message_whole(s, slot, vc__metadata_of(f), f->body, f->body_len,
                         NULL);
}

/* Handles a WINDOW frame: the server takes more messages of the stream. For
 * vc__session_reply(). */
static bool
window_take(struct vc__session *s, const struct vc__slot *slot,
            const struct vc__frame *f)
{
    if (!slot->stream)
        return session_reply_breach(s, "a WINDOW without a stream");
    return slot->request == NULL ||
           slot->request->window(slot->request, f->deadline) ||
           session_reply_breach(s, "a WINDOW with an invalid value");
}

/* For reply_more(): the last part of a stream's message has come. Ends
 * *done. */
static bool
message_more(struct vc__session *s, struct vc__slot *slot,
             struct vc__assembly *done)
{
    bool lost = done->loss != VC__ASSEMBLY_KEPT, good;
    char text[VC__ASSEMBLY_LOSS_TEXT];

    if (lost)
        loss_text(s, done, text);
    good = message_whole(s, slot, vc__assembly_metadata(done), done->data,
                         done->total, lost ? text : NULL);
    vc__assembly_end(done);
    vc__pool_count_replies(s->peer->pool);
    return good;
}

/* Handles a DATA frame: a further part of a reply or message. The last part of
 * a reply sets *r and *reply, whose body is in *done. For
 * vc__session_reply(). */
static bool
reply_more(struct vc__session *s, const struct vc__frame *f,
           struct vc__request **r, struct vc__reply_frame *reply,
           struct vc__assembly *done)
{
    struct vc__slot *slot = &s->slots[f->slot];
    int got;

    if (slot->wasted)
        return part_wasted(s, f);
    if (slot->assembly == NULL)
        return session_reply_breach(s, "DATA without a message");
    got = vc__assembly_add(slot->assembly, f);
    vc__pool_count_replies(s->peer->pool);
    if (got < 0)
        return session_reply_breach(s, "DATA that is not the next part");
    if (got == 0)
        return true;
    *done = *slot->assembly;
    free(slot->assembly);
    slot->assembly = NULL;
    if (slot->in_message)
        return message_more(s, slot, done);
    reply->outcome = VC_OUTCOME_EXECUTED;
    reply->metadata = vc__assembly_metadata(done);
    if (done->loss != VC__ASSEMBLY_KEPT) {
        loss_text(s, done, reply->lost);
        reply_lost(reply);
    } else {
        reply->status = VC_OK;
        reply->body = done->data;
        reply->len = done->total;
    }
    session_reply_take(s, f, r);
    return true;
}

#define OF_NO_CALL "an answer to an unknown call"

bool
vc__session_reply(struct vc__session *s, const struct vc__frame *f,
                  struct vc__request **r, struct vc__reply_frame *reply,
                  struct vc__assembly *done)
{
    const struct vc__request *asked;

    *r = NULL;
    if (s->client == NULL)
        return true; /* sent before the peer saw the CLOSE */
    if (f->slot >= s->n_slots || !s->slots[f->slot].busy ||
        s->slots[f->slot].sequence != f->sequence)
        return session_reply_breach(s, OF_NO_CALL);
    /* A request that still waits for a credit cannot have an answer, and must
     * not end while it is in the link's queue. */
    asked = s->slots[f->slot].request;
    if (asked != NULL &&
        !atomic_load_explicit(&asked->send->gone, memory_order_acquire))
        return session_reply_breach(s, OF_NO_CALL);
    s->known = true;
    switch (f->type) {
    case VC__FRAME_REPLY:
        s->slots[f->slot].in_message = false;
        return reply_first(s, f, r, reply);
    case VC__FRAME_MESSAGE:
        return message_first(s, f);
    case VC__FRAME_WINDOW:
        return window_take(s, &s->slots[f->slot], f);
    default:
        break;
    }
    return reply_more(s, f, r, reply, done);
}
