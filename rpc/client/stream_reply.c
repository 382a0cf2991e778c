/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * What a client's stream takes from the reply that ends it: the holder, without
 * locks. See rpc/client/stream_client.h. */
#include "rpc/client/reply_error.h"
#include "rpc/client/stream_client.h"
#include "rpc/codec/codec.h"
#include "rpc/codec/reply_arena.h"
#include "rpc/text.h"

/* For reply_keep(): unpacks the reply's message; false with *error set. */
static bool
stream_client_reply_unpack(struct vc__client_stream *c,
                           const struct vc__reply_frame *reply,
                           struct vc__error *error)
{
    struct vc__reply *r = vc__reply_take(c->stream.replies, c->stream.memory);
    struct vc__bytes from = {.data = reply->body, .len = reply->len};
    struct vc__message_fault fault = {.what = "out of memory"};
    char why[VC__ERROR_TEXT];
    void *message = NULL;

    if (r != NULL)
        message = vc__codec_unpack(&c->type->reply, &r->allocator,
                                   c->stream.memory, &from, &fault);
    if (message != NULL) {
        pthread_mutex_lock(&c->stream.lock);
        c->stream.last = message;
        pthread_mutex_unlock(&c->stream.lock);
        return true;
    }
    vc__message_fault_text(&fault, why, sizeof why);
    vc__error_put(error, r == NULL ? VC_RESOURCE_EXHAUSTED : VC_INTERNAL,
                  "%s.%s: the reply cannot be unpacked as %s: %s",
                  c->stream.service, c->type->name, c->type->reply.desc->name,
                  why);
    if (r != NULL)
        vc__reply_give(r);
    return false;
}

/* For vc__client_stream_reply(): keeps the reply's message, if its method
 * allows the length; false with *error set. */
static bool
reply_keep(struct vc__client_stream *c, const struct vc__reply_frame *reply,
           struct vc__error *error)
{
    uint32_t max = c->stream.max_reply;

    if (max == 0 || reply->len <= max)
        return stream_client_reply_unpack(c, reply, error);
    vc__error_put(error, VC_RESOURCE_EXHAUSTED,
                  max == c->type->max_reply ? VC__TEXT_MAX_REPLY
                                            : VC__TEXT_CONFIG_REPLY,
                  c->stream.service, c->type->name, reply->len, max);
    return false;
}

/* For vc__client_stream_reply(): keeps the reply's metadata for
 * vc_stream_result(); false with *error set. */
static bool
metadata_keep(struct vc__client_stream *c, const struct vc__reply_frame *reply,
              struct vc__error *error)
{
    const char *fault = NULL;
    struct vc__reply_metadata *b = NULL;

    if (reply->metadata.len == 0)
        return true;
    b = vc__reply_metadata_new(&reply->metadata, true, &fault);
    if (fault != NULL)
        vc__error_put(error, VC_INTERNAL, "%s.%s: the reply has %s",
                      c->stream.service, c->type->name, fault);
    else if (b == NULL)
        vc__error_put(error, VC_RESOURCE_EXHAUSTED,
                      "%s.%s: out of memory for the metadata of the reply",
                      c->stream.service, c->type->name);
    error->outcome = reply->outcome;
    pthread_mutex_lock(&c->stream.lock);
    c->reply_metadata = b;
    pthread_mutex_unlock(&c->stream.lock);
    return b != NULL;
}

/* Sets *error, for vc__client_stream_reply(). A call whose deadline has passed
 * ends as if this end had noticed it first. */
static void
error_of_reply(struct vc__client_stream *c, struct vc__error *error,
               const struct vc__reply_frame *reply)
{
    if (reply->status != VC_DEADLINE_EXCEEDED || c->stream.due > vc__now()) {
        vc__reply_error(error, reply, c->stream.service, c->type->name);
        return;
    }
    vc__stream_late(&c->stream, error);
    error->outcome = reply->outcome;
}

bool
vc__client_stream_reply(struct vc__client_stream *c,
                        const struct vc__reply_frame *reply,
                        struct vc__error *error)
{
    error->status = reply->status;
    error->lack = VC__LACK_NOTHING;
    error->outcome = reply->outcome;
    error->text[0] = '\0';
    if (!metadata_keep(c, reply, error))
        return false;
    if (error->status != VC_OK)
        error_of_reply(c, error, reply);
    else if (!vc__client_stream_down(c) && !reply_keep(c, reply, error))
        error->outcome = VC_OUTCOME_EXECUTED;
    return true;
}
