/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See tests/sim/reactor.h. */
#include "tests/sim/reactor.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <verbcall/call.h>

#define PATIENCE 60000000u /* us */
#define LOOK_US  500u

struct reactor_served reactor_served;

/* --- the service ----------------------------------------------------------- */

/* One stream at the server. */
struct served {
    struct vc_call *call;
    struct vc_stream *stream;
    Suite__EchoRequest *pending; /* TALK: no room yet for its reply */
    Suite__EchoReply *reply;     /* UP */
    uint64_t sum;
    uint32_t count, left; /* DOWN */
    bool is_down, half, over;
    atomic_bool inside, ended;
    pthread_t later;
    bool has_later;
};

static void
fault(const char *what)
{
    fprintf(stderr, "served: %s\n", what);
    atomic_fetch_add(&reactor_served.faults, 1);
}

static void
enter(struct served *s)
{
    if (atomic_exchange(&s->inside, true))
        fault("two callbacks at a time");
    if (atomic_load(&s->ended))
        fault("a callback behind the end");
}

static void
leave(struct served *s)
{
    atomic_store(&s->inside, false);
}

static void
end(struct served *s, enum vc_status status)
{
    if (s->over)
        return;
    s->over = true;
    vc_call_end(s->call, status);
}

static bool
reply_try(struct served *s, uint64_t tag, ProtobufCBinaryData payload)
{
    Suite__EchoReply reply = SUITE__ECHO_REPLY__INIT;
    enum vc_status status;
    bool sent = false;

    reply.tag = tag;
    reply.payload = payload;
    status = vc_stream_try_send(s->stream, &reply, &sent);
    if (status == VC_RESOURCE_EXHAUSTED)
        end(s, vc_call_fail(s->call, status, "%s", vc_error()));
    return sent; /* false: on_writable() or on_cancel() follows */
}

/* Replies to a message. If there is no room for the reply, no message is taken
 * until it was sent. */
static void
talk_answer(struct served *s, Suite__EchoRequest *request)
{
    if (reply_try(s, request->tag, request->payload)) {
        vc_message_free(request);
        return;
    }
    s->pending = request;
    vc_stream_pause(s->stream);
}

static void *
later_main(void *arg)
{
    struct served *s = arg;

    fake_sleep_us(2000);
    vc_call_end(s->call, VC_OK);
    return NULL;
}

static void *
resume_main(void *arg)
{
    struct served *s = arg;

    sim_await(&reactor_served.resume, PATIENCE);
    vc_stream_resume(s->stream);
    return NULL;
}

static void
talk_thread(struct served *s, void *(*run)(void *arg))
{
    s->has_later = pthread_create(&s->later, NULL, run, s) == 0;
}

static void
talk_take(struct served *s, Suite__EchoRequest *request)
{
    uint64_t mark = request->tag >> 32 << 32;

    if (mark == REACTOR_FAIL) {
        end(s, vc_call_fail(s->call, VC_NOT_FOUND, "as asked for"));
    } else if (mark == REACTOR_LATER) {
        s->over = true;
        talk_thread(s, later_main);
    } else if (mark == REACTOR_PAUSE) {
        vc_stream_pause(s->stream);
        talk_thread(s, resume_main);
    } else {
        talk_answer(s, request);
        return;
    }
    vc_message_free(request);
}

static void
on_message(struct vc_stream *stream, void *message, void *arg)
{
    struct served *s = arg;
    Suite__EchoRequest *request = message;

    (void)stream;
    enter(s);
    atomic_fetch_add(&reactor_served.messages, 1);
    if (s->half)
        fault("a message behind the half-close");
    s->sum += request->payload.len;
    if (s->reply != NULL)
        vc_message_free(request);
    else
        talk_take(s, request);
    leave(s);
}

static void
down_pour(struct served *s)
{
    static uint8_t zeros[1 << 20];
    ProtobufCBinaryData payload = {.data = zeros, .len = (size_t)s->sum};

    while (s->left > 0 && !s->over) {
        if (!reply_try(s, s->count - s->left, payload))
            return;
        s->left--;
    }
    end(s, VC_OK);
}

static void
on_writable(struct vc_stream *stream, void *arg)
{
    struct served *s = arg;
    Suite__EchoRequest *request = s->pending;

    enter(s);
    if (s->is_down) {
        down_pour(s);
    } else if (request != NULL) {
        s->pending = NULL;
        vc_stream_resume(stream);
        talk_answer(s, request);
        if (s->half && s->pending == NULL)
            end(s, VC_OK);
    }
    leave(s);
}

static void
on_half_close(struct vc_stream *stream, void *arg)
{
    struct served *s = arg;

    (void)stream;
    enter(s);
    if (s->half)
        fault("two half-closes");
    s->half = true;
    if (s->reply != NULL)
        s->reply->tag = s->sum;
    if (s->pending == NULL)
        end(s, VC_OK);
    leave(s);
}

static void
on_cancel(struct vc_stream *stream, enum vc_status status, void *arg)
{
    struct served *s = arg;

    (void)stream;
    enter(s);
    atomic_store(&reactor_served.last, (int)status);
    atomic_fetch_add(&reactor_served.cancels, 1);
    end(s, vc_call_fail(s->call, status, "%s", vc_error()));
    leave(s);
}

static void
on_end(struct vc_stream *stream, enum vc_status status, void *arg)
{
    struct served *s = arg;

    (void)stream;
    enter(s);
    if (!s->over)
        fault("an end that nobody asked for");
    atomic_store(&s->ended, true);
    if (atomic_load(&reactor_served.last) < 0)
        atomic_store(&reactor_served.last, (int)status);
    if (s->has_later)
        pthread_join(s->later, NULL);
    vc_message_free(s->pending);
    free(s);
    atomic_fetch_add(&reactor_served.ended, 1);
}

/* The blocking handler of WAIT. */
static enum vc_status
wait_talk(struct vc_stream *stream)
{
    Suite__EchoRequest *request;
    enum vc_status status;

    while ((status = vc_stream_receive(stream, (void **)&request)) == VC_OK &&
           request != NULL) {
        Suite__EchoReply reply = SUITE__ECHO_REPLY__INIT;

        reply.tag = request->tag;
        reply.payload = request->payload;
        status = vc_stream_send(stream, &reply);
        vc_message_free(request);
        if (status != VC_OK)
            break;
    }
    return status;
}

static enum vc_status
run_wait(struct vc_call *call, const void *methods, const void *request,
         struct vc_stream *stream, void *reply, void *arg)
{
    enum vc_status status;

    (void)call, (void)methods, (void)request, (void)reply, (void)arg;
    atomic_fetch_add(&reactor_served.began, 1);
    status = wait_talk(stream);
    atomic_fetch_add(&reactor_served.ended, 1);
    return status;
}

static enum vc_status
run(struct vc_call *call, const void *methods, const void *message,
    struct vc_stream *stream, void *reply, void *arg)
{
    static const struct vc_stream_events events = {
        sizeof events, on_message, on_writable, on_half_close,
        on_cancel,     on_end,     NULL};
    const Suite__EchoRequest *request = message;
    struct served *s = calloc(1, sizeof *s);
    enum vc_status status;

    (void)methods, (void)arg;
    if (s == NULL)
        return vc_call_fail(call, VC_RESOURCE_EXHAUSTED, "out of memory");
    s->call = call;
    s->stream = stream;
    s->reply = reply;
    s->is_down = request != NULL;
    status = vc_stream_serve(call, stream, &events, s);
    if (status == VC_RESOURCE_EXHAUSTED || status == VC_INTERNAL) {
        free(s);
        return status;
    }
    atomic_fetch_add(&reactor_served.began, 1);
    if (s->is_down) {
        s->count = s->left = request->reply_size;
        s->sum = request->payload.len;
        down_pour(s); /* no callback runs before the return */
    }
    return status;
}

#define METHOD(method, kind, runs)                                             \
    {                                                                          \
        .name = #method, .hash = method + 1, .flags = (kind),                  \
        .request = {.desc = &suite__echo_request__descriptor},                 \
        .reply = {.desc = &suite__echo_reply__descriptor}, .run_stream = runs  \
    }
#define BOTH (VC_METHOD_CLIENT_STREAM | VC_METHOD_SERVER_STREAM)

static const struct vc_method methods[] = {
    METHOD(TALK, BOTH, run),
    METHOD(DOWN, VC_METHOD_SERVER_STREAM, run),
    METHOD(UP, VC_METHOD_CLIENT_STREAM, run),
    METHOD(WAIT, BOTH, run_wait),
};

const struct vc_service reactor_service = {.name = "sim.Reactor",
                                           .id = UINT64_C(0xa91b45cfd1041cb8),
                                           .n_methods = 4,
                                           .methods = methods};

enum vc_status
reactor_add(struct vc_server *server, struct sim_server *s)
{
    static const int none;

    return vc_server_add(server, &reactor_service, &none, sizeof none, s);
}

/* --- clients --------------------------------------------------------------- */

static _Thread_local struct reactor *starting;

static void
client_fault(struct reactor *r, const char *what)
{
    fprintf(stderr, "client: %s\n", what);
    atomic_fetch_add(&r->faults, 1);
}

static void
client_enter(struct reactor *r)
{
    if (starting == r)
        client_fault(r, "inside of the function that starts it");
    if (atomic_exchange(&r->inside, true))
        client_fault(r, "two callbacks at a time");
    if (atomic_load(&r->ends) > 0)
        client_fault(r, "a callback behind the end");
}

static void
client_leave(struct reactor *r)
{
    atomic_store(&r->inside, false);
}

static void
client_message(struct vc_stream *stream, void *message, void *arg)
{
    struct reactor *r = arg;
    Suite__EchoReply *reply = message;

    client_enter(r);
    if (stream != r->stream)
        client_fault(r, "another stream");
    if (r->in_order && reply->tag != r->came)
        client_fault(r, "out of order");
    r->sum = reply->tag;
    r->came++;
    vc_message_free(reply);
    if (r->at_message != NULL)
        r->at_message(r);
    client_leave(r);
}

static void
client_writable(struct vc_stream *stream, void *arg)
{
    struct reactor *r = arg;

    (void)stream;
    client_enter(r);
    r->writable++;
    if (r->at_writable != NULL)
        r->at_writable(r);
    reactor_pump(r);
    client_leave(r);
}

static void
client_end(struct vc_stream *stream, enum vc_status status, void *arg)
{
    struct reactor *r = arg;

    (void)stream;
    client_enter(r);
    r->status = status;
    if (status != VC_OK) {
        r->outcome = vc_error_outcome();
        snprintf(r->text, sizeof r->text, "%s", vc_error());
    }
    if (r->at_end != NULL)
        r->at_end(r);
    client_leave(r);
    atomic_fetch_add(&r->ends, 1);
}

enum vc_status
reactor_start(struct reactor *r, struct vc_channel *channel, unsigned method,
              const struct vc_call_opts *opts, uint32_t count, size_t size)
{
    static uint8_t zeros[1 << 20];
    struct vc_stream_events events = VC_STREAM_EVENTS_INIT;
    Suite__EchoRequest request = SUITE__ECHO_REQUEST__INIT;
    struct reactor *outer = starting;
    enum vc_status status;

    events.on_message = client_message;
    events.on_writable = client_writable;
    events.on_end = client_end;
    pthread_mutex_init(&r->pumping, NULL);
    r->size = size;
    r->in_order = method != UP;
    request.payload.data = zeros;
    request.payload.len = size;
    request.reply_size = count;
    starting = r;
    status = vc_stream_start(channel, &reactor_service, method,
                             method == DOWN ? &request : NULL, opts, &events, r,
                             &r->stream);
    starting = outer;
    memset(&events, 0xff, sizeof events); /* the library has copied them */
    return status;
}

static enum vc_status
pump(struct reactor *r)
{
    static uint8_t zeros[1 << 20];

    while (r->sent < r->to_send) {
        Suite__EchoRequest request = SUITE__ECHO_REQUEST__INIT;
        enum vc_status status;
        bool sent;

        request.payload.data = zeros;
        request.payload.len = r->size;
        request.tag = r->tag;
        if (r->sent + 1 == r->to_send)
            request.tag += r->mark;
        status = vc_stream_try_send(r->stream, &request, &sent);
        if (status != VC_OK)
            return status;
        if (!sent) {
            r->full++;
            return VC_OK;
        }
        r->tag++;
        r->sent++;
    }
    return r->keeps_open || r->to_send == 0 ? VC_OK
                                            : vc_stream_half_close(r->stream);
}

enum vc_status
reactor_pump(struct reactor *r)
{
    enum vc_status status;

    pthread_mutex_lock(&r->pumping);
    status = pump(r);
    pthread_mutex_unlock(&r->pumping);
    return status;
}

bool
reactor_await_word(atomic_uint *word, unsigned at_least)
{
    uint64_t until = fake_now_us() + PATIENCE;

    while (atomic_load(word) < at_least && fake_now_us() < until)
        fake_sleep_us(LOOK_US);
    return atomic_load(word) >= at_least;
}

bool
reactor_await(struct reactor *r)
{
    return reactor_await_word(&r->ends, 1);
}

const char *
reactor_fault(const struct reactor *r)
{
    if (atomic_load(&r->faults) > 0)
        return "a callback was not as it should be";
    if (atomic_load(&r->ends) != 1)
        return "it was not told its end once";
    return NULL;
}
