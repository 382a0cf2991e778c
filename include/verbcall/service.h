/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The tables that protoc-gen-verbcall generates. Programs use the generated
 * functions and need none of these names. */
#ifndef VERBCALL_SERVICE_H
#define VERBCALL_SERVICE_H

#include <stddef.h>
#include <stdint.h>

#include <protobuf-c/protobuf-c.h>

#include <verbcall/export.h>
#include <verbcall/status.h>

VC_BEGIN_DECLS

struct vc_call;
struct vc_call_opts;
struct vc_channel;
struct vc_stream;

/* A message type and the functions that pack and unpack it. NULL stands for the
 * generic ones of protobuf-c, which need only desc; a generator that knows the
 * type can provide faster ones. Data from a peer reaches unpack only after it
 * was validated against desc. */
struct vc_message_type {
    const ProtobufCMessageDescriptor *desc;
    size_t (*packed_size)(const ProtobufCMessage *message);
    size_t (*pack)(const ProtobufCMessage *message, uint8_t *out);
    ProtobufCMessage *(*unpack)(ProtobufCAllocator *allocator, size_t length,
                                const uint8_t *data);
};

/* Runs one handler; methods is the generated structure of handlers. May run on
 * several threads at a time. */
typedef enum vc_status vc_method_run(struct vc_call *call, const void *methods,
                                     const void *request, void *reply,
                                     void *arg);

/* Runs one handler of a method that has a stream. request is NULL when the
 * client streams, and reply is NULL when the server streams. */
typedef enum vc_status vc_method_run_stream(struct vc_call *call,
                                            const void *methods,
                                            const void *request,
                                            struct vc_stream *stream,
                                            void *reply, void *arg);

struct vc_method {
    const char *name; /* as in the .proto file */
    uint32_t hash;    /* FNV-1a, 32 bits, of name: its id on the wire */
    uint32_t flags;   /* VC_METHOD_* */
    struct vc_message_type request;
    struct vc_message_type reply;
    vc_method_run *run;               /* NULL when either side streams */
    vc_method_run_stream *run_stream; /* NULL when neither does */
    /* (verbcall.method) of the .proto file; 0: not set there */
    uint32_t timeout_ms; /* for a call whose options set none */
    uint32_t max_calls;  /* at a time on a server, see vc_server_add() */
    uint32_t max_reply;  /* most bytes of a packed reply or stream message */
};

/* the idempotency_level of descriptor.proto */
#define VC_METHOD_NO_SIDE_EFFECTS 0x1u
#define VC_METHOD_IDEMPOTENT      0x2u
/* the side that sends any number of messages */
#define VC_METHOD_CLIENT_STREAM 0x4u
#define VC_METHOD_SERVER_STREAM 0x8u
/* The client does not wait for the reply; never set with a stream. */
#define VC_METHOD_ONE_WAY 0x10u
/* The handlers block, so each begins on a thread of its own. */
#define VC_METHOD_BLOCKING 0x20u

struct vc_service {
    const char *name;     /* full name, as "demo.Greeter" */
    uint64_t id;          /* FNV-1a, 64 bits, of name */
    uint32_t fingerprint; /* of its methods and messages; 0: none */
    uint32_t n_methods;
    const struct vc_method *methods;
    /* A packed google.protobuf.FileDescriptorSet without comments: all imported
     * files, then the service's .proto file as the last. NULL when there is
     * none. */
    const uint8_t *file;
    size_t file_length;
};

/* Stands before each initializer of a generated table; the initializers are in
 * the order of the fields. In C it names the field. In C++ it is empty, as C++
 * has designated initializers only since 2020. */
#ifdef __cplusplus
#define VC_FIELD(name)
#else
#define VC_FIELD(name) .name =
#endif

/* vc_channel_call - makes one blocking unary call for a generated client
 * function. A call of a VC_METHOD_ONE_WAY ends with VC_OK when the request has
 * been handed to the adapter: *reply is not changed, and the result of the call
 * is not reported. Any thread. On VC_OK the caller owns *reply and frees it by
 * vc_message_free(); otherwise it is not changed and vc_error() says more.
 * Codes besides those that the handler returns:
 * VC_INVALID_ARGUMENT   a required field of the request is not set, or the
 *                       server found it malformed; an option is not allowed
 * VC_DEADLINE_EXCEEDED  the call's deadline has passed, or the server knows
 *                       that it would pass before the handler has ended
 * VC_RESOURCE_EXHAUSTED request or reply are over the limit of an end or of the
 *                       method; the server has more calls than it may run, or
 *                       than it can serve in time; no memory
 * VC_UNIMPLEMENTED      the peer does not serve the service or the method
 * VC_UNAVAILABLE        no connection within the connect timeout, or it was
 *                       lost
 * VC_FAILED_PRECONDITION the server refuses the client's schema of the service
 *                       (schema_check in verbcall/server.h)
 * VC_CANCELLED          the channel was closed, or the call was cancelled
 * VC_INTERNAL           the reply does not fit its type */
VC_API enum vc_status vc_channel_call(struct vc_channel *channel,
                                      const struct vc_service *service,
                                      unsigned method, const void *request,
                                      const struct vc_call_opts *opts,
                                      void **reply);

/* vc_call_no_handler - called by a generated method runner for a handler that
 * is NULL. Returns VC_UNIMPLEMENTED and sets a text. */
VC_API enum vc_status vc_call_no_handler(struct vc_call *call);

VC_END_DECLS

#endif
