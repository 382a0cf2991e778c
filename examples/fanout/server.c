/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * fanout-server GREETER KV [TARGET]: answers each call by two calls of its own,
 * to a greeter-server and a kv-server, until SIGINT or SIGTERM. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "fanout.vc.h"
#include "greeter.vc.h"
#include "kv.vc.h"

#define MAX_LATE_MS 500u /* of a call's time, to report a timeout */
/* A server that does not answer is considered busy, not dead: the deadlines of
 * the callers handle that. */
#define KEEPALIVE_MS 10000u

/* The two servers that are called. */
struct back {
    const char *greeter_target, *kv_target;
    struct vc_channel *greeter, *kv;
};

/* --- two calls at a time -------------------------------------------------- */

/* A call to one of them. vc_error() is per thread, so its text is copied. */
struct part {
    const struct back *back;
    const Fanout__WelcomeRequest *request;
    struct vc_call_opts opts;
    enum vc_status status;
    Demo__HelloReply *hello; /* of the greeter */
    Kv__GetReply *value;     /* of the store */
    char error[200];
};

static void
part_end(struct part *p, const char *who, const char *target,
         enum vc_status status)
{
    p->status = status;
    if (status != VC_OK)
        snprintf(p->error, sizeof p->error, "%s at %s: %s", who, target,
                 vc_error());
}

static void *
greet(void *arg)
{
    Demo__HelloRequest request = DEMO__HELLO_REQUEST__INIT;
    struct part *p = arg;

    request.name = p->request->name;
    part_end(p, "the greeter", p->back->greeter_target,
             demo_greeter_say_hello(p->back->greeter, &request, &p->opts,
                                    &p->hello));
    return NULL;
}

static void
fetch(struct part *p)
{
    Kv__GetRequest request = KV__GET_REQUEST__INIT;

    request.key = p->request->key;
    part_end(p, "the store", p->back->kv_target,
             kv_key_value_get(p->back->kv, &request, &p->opts, &p->value));
}

/* Makes one call in a second thread, the other one in this thread. */
static int
both(struct part *greeting, struct part *value)
{
    pthread_t thread;
    int error = pthread_create(&thread, NULL, greet, greeting);

    if (error != 0)
        return error;
    fetch(value);
    pthread_join(thread, NULL);
    return 0;
}

/* --- the handler ---------------------------------------------------------- */

/* A call that is made for another one has the deadline of that one, and ends
 * when that one is cancelled. Its timeout is a little shorter, by a quarter at
 * most, so that this server can still report which of the two was late. */
static struct vc_call_opts
opts_of(struct vc_call *call)
{
    struct vc_call_opts opts = VC_CALL_OPTS_INIT;
    uint32_t ms = vc_call_time_left_ms(call);

    opts.parent = call;
    opts.timeout_ms = VC_NO_DEADLINE; /* the parent's deadline still holds */
    if (ms == VC_NO_DEADLINE)
        return opts;
    ms -= ms / 4 < MAX_LATE_MS ? ms / 4 : MAX_LATE_MS;
    opts.timeout_ms = ms > 0 ? ms : 1;
    return opts;
}

/* The reply lives longer than the replies of the two calls: it gets copies. */
static enum vc_status
answer(struct vc_call *call, const struct part *greeting,
       const struct part *value, Fanout__WelcomeReply *reply)
{
    const ProtobufCBinaryData *bytes = &value->value->value;

    reply->greeting = vc_call_strdup(call, greeting->hello->message);
    reply->value.data = vc_call_alloc(call, bytes->len);
    if (reply->greeting == NULL ||
        (reply->value.data == NULL && bytes->len > 0))
        return vc_call_fail(call, VC_RESOURCE_EXHAUSTED,
                            "no memory for the answer");
    if (bytes->len > 0)
        memcpy(reply->value.data, bytes->data, bytes->len);
    reply->value.len = bytes->len;
    return VC_OK;
}

/* Makes one result of both calls. */
static enum vc_status
conclude(struct vc_call *call, const struct part *greeting,
         const struct part *value, Fanout__WelcomeReply *reply)
{
    if (greeting->status != VC_OK && value->status != VC_OK)
        return vc_call_fail(call, greeting->status,
                            "both failed: %.110s; %s: %s", greeting->error,
                            vc_status_name(value->status), value->error);
    if (greeting->status != VC_OK)
        return vc_call_fail(call, greeting->status, "%s", greeting->error);
    if (value->status != VC_OK)
        return vc_call_fail(call, value->status, "%s", value->error);
    return answer(call, greeting, value, reply);
}

static enum vc_status
welcome(struct vc_call *call, const Fanout__WelcomeRequest *request,
        Fanout__WelcomeReply *reply, void *back)
{
    struct part greeting = {
        .back = back, .request = request, .opts = opts_of(call)};
    struct part value = greeting;
    enum vc_status status;
    int error;

    error = both(&greeting, &value);
    if (error != 0)
        return vc_call_fail(call, VC_RESOURCE_EXHAUSTED,
                            "no thread to call the greeter: %s",
                            strerror(error));
    status = conclude(call, &greeting, &value, reply);
    vc_message_free(greeting.hello);
    vc_message_free(value.value);
    return status;
}

/* --- the program ---------------------------------------------------------- */

/* The channels use the server's runtime. */
static enum vc_status
start(struct vc_runtime *runtime, struct vc_server *server, struct back *back,
      const char *target)
{
    const struct fanout_front_methods methods = {.welcome = welcome};
    const struct vc_channel_opts *opts =
        VC_CHANNEL_OPTS(.keepalive_ms = KEEPALIVE_MS);
    enum vc_status status;

    status =
        vc_channel_open(runtime, back->greeter_target, opts, &back->greeter);
    if (status == VC_OK)
        status = vc_channel_open(runtime, back->kv_target, opts, &back->kv);
    if (status == VC_OK)
        status = fanout_front_add(server, &methods, back);
    if (status == VC_OK)
        status = vc_server_listen(server, target);
    return status;
}

static int
run(struct back *back, const char *target)
{
    struct vc_runtime *runtime = NULL;
    struct vc_server *server = NULL;
    int result = 0, signal;
    sigset_t ends;

    sigemptyset(&ends);
    sigaddset(&ends, SIGINT);
    sigaddset(&ends, SIGTERM);
    sigprocmask(SIG_BLOCK, &ends, NULL); /* before threads are started */
    if (vc_runtime_new(NULL, &runtime) != VC_OK ||
        vc_server_new(runtime, NULL, &server) != VC_OK ||
        start(runtime, server, back, target) != VC_OK) {
        fprintf(stderr, "fanout-server: %s\n", vc_error());
        result = 1;
    } else {
        printf("listening on port %d\n", vc_server_port(server));
        fflush(stdout);
        sigwait(&ends, &signal);
    }
    vc_server_free(server); /* before the channels, which its handlers use */
    vc_channel_close(back->greeter);
    vc_channel_close(back->kv);
    vc_runtime_free(runtime);
    return result;
}

int
main(int argc, char **argv)
{
    struct back back = {0};

    if (argc < 3 || argc > 4) {
        fprintf(stderr, "usage: fanout-server GREETER KV [TARGET]\n"
                        "each of them vc://HOST:PORT\n");
        return 2;
    }
    back.greeter_target = argv[1];
    back.kv_target = argv[2];
    return run(&back, argc > 3 ? argv[3] : "vc://[::]:7475");
}
