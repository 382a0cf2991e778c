/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * What a program does with a stream that it has opened, except sending and
 * receiving: on any of its threads, also inside callbacks. verbcall/stream.h
 * says what each function does and returns. */
#include <verbcall/call.h>

#include "rpc/client/stream_client.h"
#include "rpc/interceptor.h"
#include "rpc/stream/stream_events.h"

/* --- ending ------------------------------------------------------------- */

/* For vc_stream_finish(): receives and drops the remaining messages; otherwise
 * the server would wait for room. Returns how the call has ended, or why a
 * message could not be received. */
static enum vc_status
rest_drop(struct vc_stream *s)
{
    enum vc_status status;
    void *message;

    do {
        status = vc_stream_receive(s, &message);
        if (status == VC_OK)
            vc_message_free(message);
    } while (status == VC_OK && message != NULL);
    return status;
}

enum vc_status
vc_stream_finish(struct vc_stream *s, void **reply)
{
    struct vc__client_stream *c = vc__client_stream_of(s);
    enum vc_status status;

    if (!vc__good(s, VC__STREAM))
        return vc__bad(s, VC__STREAM);
    if (s->of_server)
        return vc__fail(VC_INVALID_ARGUMENT,
                        "%s.%s: a handler ends its stream by returning",
                        s->service, s->method);
    if (s->events != NULL)
        return vc__fail(VC_FAILED_PRECONDITION,
                        "%s.%s: the stream has callbacks: wait for on_end()",
                        s->service, s->method);
    status = vc__client_stream_up(c) ? vc_stream_half_close(s) : VC_OK;
    if (status == VC_OK && vc__client_stream_down(c))
        status = rest_drop(s);
    if (status != VC_OK)
        return status;
    vc__stream_await(s);
    status = vc__stream_status(s);
    if (reply == NULL)
        return status;
    pthread_mutex_lock(&s->lock);
    *reply = s->last;
    s->last = NULL;
    pthread_mutex_unlock(&s->lock);
    if (*reply != NULL && s->interception != NULL)
        vc__interception_message(s->interception, VC_MESSAGE_REPLY, *reply);
    return status;
}

enum vc_status
vc_stream_result(struct vc_stream *s, struct vc_result *result)
{
    struct vc__client_stream *c = vc__client_stream_of(s);
    struct vc__reply_metadata *b;
    struct vc__error error;
    bool ended;

    if (!vc__good(s, VC__STREAM))
        return vc__bad(s, VC__STREAM);
    if (s->of_server)
        return vc__fail(VC_INVALID_ARGUMENT,
                        "%s.%s: a handler's stream has no result", s->service,
                        s->method);
    if (vc__result_check(result) != VC_OK)
        return VC_INVALID_ARGUMENT;
    pthread_mutex_lock(&s->lock);
    ended = s->state == VC__STREAM_ENDED;
    error = s->error;
    b = ended ? c->reply_metadata : NULL;
    if (ended)
        c->reply_metadata = NULL;
    pthread_mutex_unlock(&s->lock);
    if (!ended)
        return vc__fail(VC_FAILED_PRECONDITION,
                        "%s.%s: the stream has not ended: vc_stream_finish() "
                        "waits for that",
                        s->service, s->method);
    vc__result_fill(result, &error, c->attempts.number, b);
    return VC_OK;
}

const struct vc_metadata *
vc_stream_initial(struct vc_stream *s, size_t *n)
{
    const struct vc__reply_metadata *b = NULL;

    vc__must(s, VC__STREAM);
    *n = 0;
    if (s->of_server)
        return NULL;
    pthread_mutex_lock(&s->lock);
    b = vc__client_stream_of(s)->initial;
    pthread_mutex_unlock(&s->lock);
    if (b == NULL)
        return NULL;
    *n = b->view.n_initial;
    return b->view.entries;
}

void
vc_stream_cancel(struct vc_stream *s)
{
    vc__must(s, VC__STREAM);
    if (!s->of_server)
        vc__client_stream_cancel(s);
}

void
vc_stream_close(struct vc_stream *s)
{
    if (vc__nothing_to_free(s, VC__STREAM) || s->of_server)
        return;
    vc_stream_cancel(s);
    if (s->events != NULL) {
        vc__stream_events_close(s);
        vc__client_stream_user_leave(vc__client_stream_of(s));
    } else if (s->interception != NULL) {
        vc__client_stream_seen(s);
    }
    vc__stream_put(s);
}
