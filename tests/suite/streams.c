/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See tests/suite/streams.h and tests/suite/suite.proto. */
#include "tests/suite/streams.h"

#include <verbcall/call.h>

/* Sends until a send fails; returns the status of that. */
static enum vc_status
flood(struct suite_streams_talk_server_stream *stream)
{
    static uint8_t bytes[8000];
    Suite__EchoReply reply = SUITE__ECHO_REPLY__INIT;
    enum vc_status status;

    reply.payload.data = bytes;
    reply.payload.len = sizeof bytes;
    do {
        status = suite_streams_talk_server_send(stream, &reply);
    } while (status == VC_OK);
    return status;
}

static enum vc_status
talk_answer(struct vc_call *call,
            struct suite_streams_talk_server_stream *stream,
            const Suite__EchoRequest *request)
{
    Suite__EchoReply reply = SUITE__ECHO_REPLY__INIT;

    if (request->tag == 1)
        return vc_call_fail(call, VC_NOT_FOUND, "as asked for");
    if (request->tag == 2)
        return flood(stream);
    reply.tag = request->tag;
    reply.payload = request->payload;
    return suite_streams_talk_server_send(stream, &reply);
}

static enum vc_status
talk(struct vc_call *call, struct suite_streams_talk_server_stream *stream,
     void *arg)
{
    Suite__EchoRequest *request;
    enum vc_status status;

    (void)arg;
    while ((status = suite_streams_talk_server_receive(stream, &request)) ==
               VC_OK &&
           request != NULL) {
        status = talk_answer(call, stream, request);
        vc_message_free(request);
        if (status != VC_OK)
            break;
    }
    return status;
}

static enum vc_status
down(struct vc_call *call, const Suite__EchoRequest *request,
     struct suite_streams_down_server_stream *stream, void *arg)
{
    Suite__EchoReply reply = SUITE__ECHO_REPLY__INIT;
    enum vc_status status = VC_OK;

    (void)call;
    (void)arg;
    reply.payload = request->payload;
    for (uint32_t i = 0; i < request->reply_size && status == VC_OK; i++)
        status = suite_streams_down_server_send(stream, &reply);
    return status;
}

static enum vc_status
up(struct vc_call *call, struct suite_streams_up_server_stream *stream,
   Suite__EchoReply *reply, void *arg)
{
    Suite__EchoRequest *request;
    enum vc_status status;

    (void)call;
    (void)arg;
    while ((status = suite_streams_up_server_receive(stream, &request)) ==
               VC_OK &&
           request != NULL) {
        reply->tag += request->payload.len;
        vc_message_free(request);
    }
    return status;
}

const struct suite_streams_methods streams_methods = {
    .talk = talk, .down = down, .up = up};
