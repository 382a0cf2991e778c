/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See rpc/client/attempt.h. Static functions run on the owner's thread, those
 * about the reply on the holder, unless their comments say otherwise. */
#include "rpc/client/attempt.h"

#include <stdlib.h>
#include <string.h>

#include "rpc/balance/loads.h"
#include "rpc/client/method_config.h"
#include "rpc/client/packed.h"
#include "rpc/client/reply_error.h"
#include "rpc/codec/outgoing.h"
#include "rpc/codec/reply_arena.h"
#include "rpc/text.h"

/* --- the request ------------------------------------------------------- */

/* write() of a request that is not packed before: called by the link when it
 * fills the packet, on any thread, under the link's lock. */
static void
call_write(struct vc__send *send, uint8_t *out)
{
    struct vc__attempt *u = caa_container_of(send, struct vc__attempt, send);

    vc__codec_pack(&u->method->request, &u->packing, u->message, out);
}

bool
vc__attempt_renew(struct vc__attempt *u, unsigned attempt)
{
    struct vc__send *copy = vc__packed_copy(u->request.send, u->watch, attempt);

    if (copy == NULL)
        return false;
    vc__attempt_release(u);
    u->request.send = copy;
    u->attempt = attempt;
    u->has_pushback = u->answered = false;
    u->error.status = VC_OK;
    return true;
}

bool
vc__attempt_copy(struct vc__attempt *u, const struct vc__attempt *of,
                 unsigned attempt, void (*ended)(struct vc__attempt *u))
{
    struct vc__send *copy = vc__packed_copy(of->request.send, NULL, attempt);

    if (copy == NULL)
        return false;
    vc__attempt_init(u, of->channel, of->service,
                     (unsigned)(of->method - of->service->methods), NULL,
                     ended);
    u->request.replied = of->request.replied;
    u->reply_max = of->reply_max;
    u->before = of->before;
    u->key = of->key;
    u->request.send = copy;
    u->attempt = attempt;
    u->wants_all = of->wants_all;
    u->priority = of->priority;
    return true;
}

/* Packs the request's metadata, for vc__attempt_prepare_all(). Returns as
 * vc__metadata_pack(). */
static enum vc_status
metadata_prepare(struct vc__attempt *u)
{
    struct vc__frame *f = &u->send.frame;
    enum vc_status status =
        vc__metadata_pack(u->metadata, u->n_metadata, u->attempt, u->priority,
                          &u->packed, &f->metadata_len);

    f->metadata = u->packed;
    return status;
}

/* Frees the packed metadata, if there are any: for vc__attempt_release_all(),
 * and vc__attempt_prepare_all() when that fails. */
static void
metadata_drop(struct vc__attempt *u)
{
    free(u->packed);
    u->packed = NULL;
    u->send.frame.metadata_len = 0;
}

void
vc__attempt_drop(struct vc__attempt *u)
{
    vc__packed_put(u->request.send);
    u->request.send = &u->send;
}

void
vc__attempt_release_all(struct vc__attempt *u)
{
    vc__attempt_unhold(u);
    if (u->packed != NULL)
        metadata_drop(u);
    if (u->reply_metadata != NULL)
        vc__attempt_tell(u, NULL);
}

/* Returns why the request cannot be sent, as this thread's last error, for
 * vc__attempt_prepare_message(). */
static enum vc_status
attempt_message_refuse(struct vc__attempt *u, size_t peer_max)
{
    const struct vc__outgoing o = {
        .what = "request",
        .service = u->service->name,
        .method = u->method->name,
        .peer = "server",
        .peer_max = peer_max,
    };

    return vc__outgoing_measure(&o, &u->method->request, u->message,
                                &u->packing);
}

/* Measures the message and returns its errors. Packs the message, or has
 * call_write() pack it into the packet. */
enum vc_status
vc__attempt_prepare_message(struct vc__attempt *u)
{
    size_t size, max = vc__channel_request_max(u->channel);
    struct vc__send *packed;

    if (!vc__outgoing_fits(&u->method->request, u->message, max, &u->packing))
        return attempt_message_refuse(u, max);
    size = u->packing.size;
    if (!u->packs && !vc__body_is_long(size, u->send.frame.metadata_len)) {
        u->send.write = call_write;
    } else {
        packed = vc__packed_new(u, size);
        if (packed == NULL)
            return vc__fail(VC_RESOURCE_EXHAUSTED, "out of memory");
        u->request.send = packed;
    }
    u->request.send->frame.body_len = (uint32_t)size;
    return VC_OK;
}

enum vc_status
vc__attempt_prepare_all(struct vc__attempt *u)
{
    enum vc_status status;

    u->key.hashed =
        vc__channel_hash(u->channel, u->metadata, u->n_metadata, &u->key.hash);
    status = metadata_prepare(u);
    if (status == VC_OK)
        status = vc__attempt_prepare_message(u);
    if (status != VC_OK)
        metadata_drop(u);
    return status;
}

/* --- the reply --------------------------------------------------------- */

/* Counts at its server that the attempt has failed, as vc__servers_failed()
 * says. Called where u->error is set, on that thread, so that good replies pay
 * nothing. */
__attribute__((cold, noinline)) static void
attempt_failed(const struct vc__attempt *u)
{
    vc__servers_failed(&u->channel->servers, u->client, u->held);
}

/* Sets u->error, for call_replied(): the reply is longer than the method
 * allows. The server has another limit for replies, or none. */
static void
reply_too_long(struct vc__attempt *u, const struct vc__reply_frame *reply)
{
    vc__error_put(&u->error, VC_RESOURCE_EXHAUSTED, VC__TEXT_MAX_REPLY,
                  u->service->name, u->method->name, reply->len,
                  u->method->max_reply);
    u->error.outcome = VC_OUTCOME_EXECUTED;
    attempt_failed(u);
}

/* Sets u->error, for attempt_reply_unpack(): the reply cannot be unpacked. */
__attribute__((cold)) static void
reply_malformed(struct vc__attempt *u, const struct vc__message_fault *fault)
{
    char why[VC__ERROR_TEXT];

    vc__message_fault_text(fault, why, sizeof why);
    vc__error_put(
        &u->error, VC_INTERNAL, "%s.%s: the reply cannot be unpacked as %s: %s",
        u->service->name, u->method->name, u->method->reply.desc->name, why);
    u->error.outcome = VC_OUTCOME_EXECUTED;
    attempt_failed(u);
}

/* Unpacks the message of a good reply, for call_replied(). Sets u->reply, or
 * u->error if that fails. */
static void
attempt_reply_unpack(struct vc__attempt *u, const struct vc__reply_frame *reply)
{
    size_t memory = u->channel->reply_memory;
    struct vc__reply *r = vc__reply_take(&u->channel->runtime->replies, memory);
    struct vc__bytes from = {.data = reply->body, .len = reply->len};
    struct vc__message_fault fault;

    if (r == NULL) {
        vc__error_put(&u->error, VC_RESOURCE_EXHAUSTED,
                      "%s.%s: out of memory for the reply", u->service->name,
                      u->method->name);
        u->error.outcome = VC_OUTCOME_EXECUTED;
        attempt_failed(u);
        return;
    }
    u->reply = vc__codec_unpack(&u->method->reply, &r->allocator, memory, &from,
                                &fault);
    if (u->reply != NULL)
        return;
    vc__reply_give(r);
    reply_malformed(u, &fault);
}

/* Takes the reply's metadata, for call_replied() and call_replied_limited(): a
 * load report, a failed one's pushback, and all if u->wants_all. False with
 * u->error set: malformed, or memory is short. */
static bool
metadata_take(struct vc__attempt *u, const struct vc__reply_frame *reply)
{
    const char *fault;
    struct vc__reply_metadata *b =
        vc__reply_metadata_new(&reply->metadata, true, &fault);

    if (fault != NULL)
        vc__error_put(&u->error, VC_INTERNAL, "%s.%s: the reply has %s",
                      u->service->name, u->method->name, fault);
    else if (b == NULL)
        vc__error_put(&u->error, VC_RESOURCE_EXHAUSTED,
                      "%s.%s: out of memory for the metadata of the reply",
                      u->service->name, u->method->name);
    u->error.outcome = reply->outcome;
    if (b == NULL) {
        attempt_failed(u);
        return false;
    }
    if (u->channel->servers.loads != NULL)
        vc__loads_take(u->channel->servers.loads, u->client, &b->view);
    if (reply->status != VC_OK)
        u->has_pushback = vc__reply_metadata_pushback(b, &u->pushback_ms);
    if (u->wants_all)
        u->reply_metadata = b;
    else
        free(b);
    return true;
}

void
vc__attempt_tell(struct vc__attempt *u, struct vc_result *result)
{
    vc__result_fill(result, &u->error, u->attempt, u->reply_metadata);
    u->reply_metadata = NULL;
}

/* For call_replied() and call_replied_limited(): reports the reply to the
 * throttle. An overloaded server sends a pushback; one whose limits are reached
 * does not. While the server sheds no calls nothing is counted. */
static inline void
throttle_tell(struct vc__attempt *u, const struct vc__reply_frame *reply)
{
    bool shed = u->has_pushback && reply->status == VC_RESOURCE_EXHAUSTED &&
                reply->outcome == VC_OUTCOME_NOT_EXECUTED;

    if (shed || vc__throttle_is_on(&u->client->pool->throttle))
        vc__throttle_answered(&u->client->pool->throttle, shed);
}

/* Sets u->error, for call_replied(): the reply is an error. */
static void
reply_is_error(struct vc__attempt *u, const struct vc__reply_frame *reply)
{
    vc__reply_error(&u->error, reply, u->service->name, u->method->name);
    attempt_failed(u);
}

/* replied() of the request: called by the pool on the holder, without locks.
 * Sets u->reply or u->error, and calls ended(). */
static void
call_replied(struct vc__request *r, const struct vc__reply_frame *reply)
{
    struct vc__attempt *u = caa_container_of(r, struct vc__attempt, request);

    u->answered = true;
    if (reply->metadata.len > 0 && !metadata_take(u, reply))
        u->reply = NULL;
    else if (reply->status != VC_OK)
        reply_is_error(u, reply);
    else if (!vc__codec_reply_fits(u->method, reply->len))
        reply_too_long(u, reply);
    else
        attempt_reply_unpack(u, reply);
    vc__servers_judge(&u->channel->servers, u->held, u->error.status == VC_OK);
    throttle_tell(u, reply);
    u->ended(u);
}

/* replied() of a request whose reply has a limit by the service config: as
 * call_replied(), which handles all others. */
static void
call_replied_limited(struct vc__request *r, const struct vc__reply_frame *reply)
{
    struct vc__attempt *u = caa_container_of(r, struct vc__attempt, request);

    if (reply->status != VC_OK || reply->len <= u->reply_max) {
        call_replied(r, reply);
        return;
    }
    u->answered = true;
    if (reply->metadata.len == 0 || metadata_take(u, reply)) {
        vc__error_put(&u->error, VC_RESOURCE_EXHAUSTED, VC__TEXT_CONFIG_REPLY,
                      u->service->name, u->method->name, reply->len,
                      u->reply_max);
        u->error.outcome = VC_OUTCOME_EXECUTED;
        attempt_failed(u);
    }
    vc__servers_judge(&u->channel->servers, u->held, false);
    throttle_tell(u, reply);
    u->ended(u);
}

/* failed() of the request: called by the pool on the holder, inside
 * vc__client_start(), or on any thread while the channel is being closed. Sets
 * u->error, and calls ended(). */
static void
call_failed(struct vc__request *r, const struct vc__error *error)
{
    struct vc__attempt *u = caa_container_of(r, struct vc__attempt, request);

    vc__error_copy(&u->error, error);
    vc__text_name(&u->error, u->service->name, u->method->name);
    if (error->outcome != VC_OUTCOME_NOT_EXECUTED &&
        error->status != VC_CANCELLED) {
        attempt_failed(u);
        vc__servers_judge(&u->channel->servers, u->held, false);
    }
    u->ended(u);
}

/* --- starting and abandoning ------------------------------------------- */

/* Field by field: clearing all of it, texts included, would cost as much as
 * packing a small message. */
void
vc__attempt_init(struct vc__attempt *u, struct vc_channel *channel,
                 const struct vc_service *service, unsigned method,
                 const void *message, void (*ended)(struct vc__attempt *u))
{
    u->request.replied = call_replied;
    u->request.failed = call_failed;
    u->request.message = NULL;
    u->request.send = &u->send;
    vc__send_clear(&u->send);
    u->channel = channel;
    u->held = NULL;
    u->before = NULL;
    u->answered = false;
    u->service = service;
    u->method = &service->methods[method];
    u->message = message;
    u->ended = ended;
    u->n_metadata = 0;
    u->priority = VC_PRIORITY_DEFAULT;
    u->attempt = 1;
    u->wants_all = false;
    u->key.hashed = u->key.of_stream = false;
    u->key.n_tried = 0;
    u->packs = false;
    u->watch = NULL;
    u->packed = NULL;
    u->reply = NULL;
    u->reply_metadata = NULL;
    u->has_pushback = false;
    u->error.status = VC_OK;
}

enum vc_status
vc__attempt_limit(struct vc__attempt *u, const struct vc__call_policy *policy)
{
    struct vc__packing packing;

    if (policy->reply_max != 0) {
        u->request.replied = call_replied_limited;
        u->reply_max = policy->reply_max;
    }
    /* Another fault of the request is found by vc__attempt_prepare(). */
    if (policy->request_max == 0 ||
        !vc__outgoing_fits(&u->method->request, u->message, VC__MESSAGE_MAX,
                           &packing) ||
        packing.size <= policy->request_max)
        return VC_OK;
    return vc__fail(VC_RESOURCE_EXHAUSTED, VC__OUTGOING_CONFIG,
                    u->service->name, u->method->name, "request", packing.size,
                    policy->request_max);
}

/* Ends the attempt inside vc__attempt_start(), with this status and text. */
static void
fail_unsent(struct vc__attempt *u, enum vc_status status, const char *text)
{
    u->error.status = status;
    u->error.outcome = VC_OUTCOME_NOT_EXECUTED;
    u->error.lack = VC__LACK_NOTHING;
    vc__text_of_method(u->error.text, sizeof u->error.text, u->service->name,
                       u->method->name, text);
    u->ended(u);
}

/* For vc__attempt_start(): true if the call must fail here, as the server sheds
 * most calls of this process. Counts such calls. */
static bool
is_throttled(struct vc_channel *channel, struct vc__pool *pool, uint64_t now)
{
    uint64_t seed = atomic_fetch_add_explicit(
        &channel->chance, UINT64_C(0x9e3779b97f4a7c15), memory_order_relaxed);

    if (!vc__throttle_refuses(&pool->throttle, now, &seed))
        return false;
    vc__pool_count_one(pool, VC__POOL_CALLS_THROTTLED);
    return true;
}

/* For vc__attempt_start(): gives the request to the client. An attempt whose
 * owner has set `packs` may end and be freed on the holder before this returns:
 * so its server, if it is to be put, is held, and the channel entered. Others
 * are freed by the thread that starts them: a blocked caller, or the holder. */
static inline void
attempt_send(struct vc__attempt *u)
{
    struct vc__subchannel *held = u->held;
    struct vc_channel *channel = u->channel;

    if (held == NULL || !u->packs) {
        vc__client_start(u->client, &u->request);
        return;
    }
    vc__channel_enter(channel);
    vc__subchannel_hold(held);
    vc__client_start(u->client, &u->request);
    vc__subchannel_put(held);
    vc__channel_leave(channel);
}

void
vc__attempt_start(struct vc__attempt *u, uint64_t now, uint64_t due)
{
    struct vc__send *send = u->request.send;

    u->client = vc__channel_pick_quick(u->channel, u->service, u->before, now,
                                       &u->key, &u->held);
    if (u->client == NULL) {
        u->before = NULL; /* it may be gone */
        u->answered = true;
        fail_unsent(u, vc__error_last()->status, vc_error());
        return;
    }
    u->before = u->client->pool;
    if (vc__throttle_is_on(&u->client->pool->throttle) &&
        u->priority != VC_PRIORITY_CRITICAL &&
        is_throttled(u->channel, u->client->pool, now)) {
        u->client = NULL;
        fail_unsent(u, VC_RESOURCE_EXHAUSTED,
                    "the call was not sent, as the server is overloaded and "
                    "sheds most calls of this process: try again later");
        return;
    }
    vc__engine_catch_up(&u->channel->progress->engine, now);
    send->frame.method = (uint16_t)(u->method - u->service->methods);
    send->due = due;
    send->frame.deadline = vc__deadline_left(due, now);
    send->fresh = true;
    attempt_send(u);
}

bool
vc__attempt_abandon(struct vc__attempt *u, enum vc_outcome *outcome)
{
    /* Without a client the attempt has failed. */
    return u->client != NULL &&
           vc__client_abandon(u->client, &u->request, outcome);
}
