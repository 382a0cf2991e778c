/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See tests/suite/interop.h. */
#include "tests/suite/interop.h"

#include <stdbool.h>
#include <stddef.h>
#include <unistd.h>

#define REQUESTS_MOST 64 /* of a HalfDuplexCall, which stores them */

uint8_t interop_zeros[INTEROP_MOST];
atomic_uint interop_reading;

/* --- requests by metadata ----------------------------------------------- */

typedef enum vc_status add_to_reply(struct vc_call *call, const char *key,
                                    const void *value, size_t length);

/* Sends back a metadata entry of the caller, if it gave this key. */
static enum vc_status
echo(struct vc_call *call, const char *key, add_to_reply *add)
{
    size_t length;
    const void *value = vc_call_metadata_find(call, key, &length);

    return value == NULL ? VC_OK : add(call, key, value, length);
}

static enum vc_status
echo_metadata(struct vc_call *call)
{
    enum vc_status status =
        echo(call, INTEROP_ECHO_INITIAL, vc_call_add_initial);

    return status != VC_OK
               ? status
               : echo(call, INTEROP_ECHO_TRAILING, vc_call_add_trailing);
}

/* --- requests by message ------------------------------------------------ */

static enum vc_status
end_as_asked(struct vc_call *call, const Interop__EchoStatus *how)
{
    return vc_call_fail(call, (enum vc_status)how->code, "%s", how->message);
}

static enum vc_status
payload_fill(struct vc_call *call, Interop__PayloadType type, int32_t size,
             Interop__Payload *payload)
{
    interop__payload__init(payload);
    if (type != INTEROP__PAYLOAD_TYPE__COMPRESSABLE)
        return vc_call_fail(call, VC_INVALID_ARGUMENT, "no payload of type %d",
                            (int)type);
    if (size < 0 || size > INTEROP_MOST)
        return vc_call_fail(call, VC_INVALID_ARGUMENT,
                            "no payload of %d bytes, only up to %d", (int)size,
                            INTEROP_MOST);
    payload->body.data = interop_zeros;
    payload->body.len = (size_t)size;
    return VC_OK;
}

/* Sends all the replies to one request. The stream belongs to one of several
 * methods. */
static enum vc_status
answer(struct vc_call *call, const Interop__StreamingOutputCallRequest *request,
       struct vc_stream *stream)
{
    enum vc_status status = VC_OK;

    for (size_t i = 0; i < request->n_response_parameters && status == VC_OK;
         i++) {
        const Interop__ResponseParameters *p = request->response_parameters[i];
        Interop__StreamingOutputCallResponse reply =
            INTEROP__STREAMING_OUTPUT_CALL_RESPONSE__INIT;
        Interop__Payload payload;

        status = payload_fill(call, request->response_type, p->size, &payload);
        reply.payload = &payload;
        if (status == VC_OK && p->interval_us > 0)
            usleep((useconds_t)p->interval_us);
        if (status == VC_OK)
            status = vc_stream_send(stream, &reply);
    }
    return status;
}

/* --- unary -------------------------------------------------------------- */

static enum vc_status
empty_call(struct vc_call *call, const Interop__Empty *request,
           Interop__Empty *reply, void *arg)
{
    (void)call;
    (void)request;
    (void)reply;
    (void)arg;
    return VC_OK;
}

static enum vc_status
unary_call(struct vc_call *call, const Interop__SimpleRequest *request,
           Interop__SimpleResponse *reply, void *arg)
{
    enum vc_status status = echo_metadata(call);

    (void)arg;
    if (status != VC_OK)
        return status;
    if (request->response_status != NULL)
        return end_as_asked(call, request->response_status);
    reply->payload = vc_call_alloc(call, sizeof *reply->payload);
    if (reply->payload == NULL)
        return vc_call_fail(call, VC_RESOURCE_EXHAUSTED, "no memory");
    return payload_fill(call, request->response_type, request->response_size,
                        reply->payload);
}

/* --- streams ------------------------------------------------------------ */

static enum vc_status
streaming_output_call(
    struct vc_call *call, const Interop__StreamingOutputCallRequest *request,
    struct interop_test_service_streaming_output_call_server_stream *stream,
    void *arg)
{
    (void)arg;
    if (request->response_status != NULL)
        return end_as_asked(call, request->response_status);
    return answer(call, request, (struct vc_stream *)stream);
}

static enum vc_status
streaming_input_call(
    struct vc_call *call,
    struct interop_test_service_streaming_input_call_server_stream *stream,
    Interop__StreamingInputCallResponse *reply, void *arg)
{
    Interop__StreamingInputCallRequest *request;
    enum vc_status status;

    (void)call;
    (void)arg;
    atomic_fetch_add(&interop_reading, 1);
    while ((status = interop_test_service_streaming_input_call_server_receive(
                stream, &request)) == VC_OK &&
           request != NULL) {
        if (request->payload != NULL)
            reply->aggregated_payload_size +=
                (int32_t)request->payload->body.len;
        vc_message_free(request);
    }
    atomic_fetch_sub(&interop_reading, 1);
    return status;
}

static enum vc_status
full_duplex(struct vc_call *call,
            struct interop_test_service_full_duplex_call_server_stream *stream)
{
    Interop__StreamingOutputCallRequest *request;
    enum vc_status status;
    bool ends = false;

    do {
        status = interop_test_service_full_duplex_call_server_receive(stream,
                                                                      &request);
        if (status != VC_OK || request == NULL)
            return status;
        ends = request->response_status != NULL;
        status = ends ? end_as_asked(call, request->response_status)
                      : answer(call, request, (struct vc_stream *)stream);
        vc_message_free(request);
    } while (status == VC_OK && !ends);
    return status;
}

static enum vc_status
full_duplex_call(
    struct vc_call *call,
    struct interop_test_service_full_duplex_call_server_stream *stream,
    void *arg)
{
    enum vc_status status = echo_metadata(call);

    (void)arg;
    atomic_fetch_add(&interop_reading, 1);
    if (status == VC_OK)
        status = full_duplex(call, stream);
    atomic_fetch_sub(&interop_reading, 1);
    return status;
}

static enum vc_status
half_duplex_call(
    struct vc_call *call,
    struct interop_test_service_half_duplex_call_server_stream *stream,
    void *arg)
{
    Interop__StreamingOutputCallRequest *requests[REQUESTS_MOST];
    Interop__StreamingOutputCallRequest *request;
    enum vc_status status;
    size_t n = 0;

    (void)arg;
    while ((status = interop_test_service_half_duplex_call_server_receive(
                stream, &request)) == VC_OK &&
           request != NULL && n < REQUESTS_MOST)
        requests[n++] = request;
    if (status == VC_OK && request != NULL) {
        status = vc_call_fail(call, VC_RESOURCE_EXHAUSTED,
                              "only %d requests are kept", REQUESTS_MOST);
        vc_message_free(request);
    }
    for (size_t i = 0; i < n; i++) {
        if (status == VC_OK)
            status = answer(call, requests[i], (struct vc_stream *)stream);
        vc_message_free(requests[i]);
    }
    return status;
}

static const struct interop_test_service_methods methods = {
    .empty_call = empty_call,
    .unary_call = unary_call,
    .streaming_output_call = streaming_output_call,
    .streaming_input_call = streaming_input_call,
    .full_duplex_call = full_duplex_call,
    .half_duplex_call = half_duplex_call,
};

enum vc_status
interop_add(struct vc_server *server)
{
    return interop_test_service_add(server, &methods, NULL);
}
