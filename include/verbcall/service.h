/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * What protoc-gen-verbcall generates tables of. Programs use the generated
 * functions and need none of this by name. */
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

/* A message type and the functions that pack and unpack it. NULL stands for
 * protobuf-c's generic ones, which need only desc; a generator that knows the
 * type can give better ones. Peer input reaches unpack only after it was
 * checked against desc. */
struct vc_message_type {
    const ProtobufCMessageDescriptor *desc;
    size_t (*packed_size)(const ProtobufCMessage *message);
    size_t (*pack)(const ProtobufCMessage *message, uint8_t *out);
    ProtobufCMessage *(*unpack)(ProtobufCAllocator *allocator, size_t length,
                                const uint8_t *data);
};

/* Runs one handler: methods is the generated structure of handlers. May run on
 * several threads at a time. */
typedef enum vc_status vc_method_run(struct vc_call *call, const void *methods,
                                     const void *request, void *reply,
                                     void *arg);

/* Runs one handler of a method that has a stream. request is NULL when the
 * client streams, and reply when the server does. */
typedef enum vc_status vc_method_run_stream(struct vc_call *call,
                                            const void *methods,
                                            const void *request,
                                            struct vc_stream *stream,
                                            void *reply, void *arg);

struct vc_method {
    const char *name; /* as in the .proto file */
    uint32_t hash;    /* FNV-1a, 32 bits, of name: names it on the wire */
    uint32_t flags;   /* VC_METHOD_* */
    struct vc_message_type request;
    struct vc_message_type reply;
    vc_method_run *run;               /* NULL when one side streams or both */
    vc_method_run_stream *run_stream; /* and this when none does */
    /* (verbcall.method) of the .proto file; 0: it does not say */
    uint32_t timeout_ms; /* of a call whose options say none */
    uint32_t max_calls;  /* that a server runs at a time, see vc_server_add() */
    uint32_t max_reply;  /* bytes of a packed reply, or of each of a stream */
};

/* descriptor.proto's idempotency_level */
#define VC_METHOD_NO_SIDE_EFFECTS 0x1u
#define VC_METHOD_IDEMPOTENT      0x2u
/* which side sends any number of messages */
#define VC_METHOD_CLIENT_STREAM 0x4u
#define VC_METHOD_SERVER_STREAM 0x8u
/* The client does not wait for the reply; never with a stream. */
#define VC_METHOD_ONE_WAY 0x10u
/* Its handlers begin on a thread of their own, as they block. */
#define VC_METHOD_BLOCKING 0x20u

struct vc_service {
    const char *name;     /* full name, as "demo.Greeter" */
    uint64_t id;          /* FNV-1a, 64 bits, of name */
    uint32_t fingerprint; /* FNV-1a, 32 bits, of what the .proto file says */
    uint32_t n_methods;
    const struct vc_method *methods;
    /* A packed google.protobuf.FileDescriptorSet: the service's .proto file, as
     * the last, behind all that it imports, without comments. NULL when there
     * is none. */
    const uint8_t *file;
    size_t file_length;
};

/* In front of each initializer of a generated table, which has all fields in
 * their order: C is told their names, and C++, which knows them only since 2020,
 * is not. */
#ifdef __cplusplus
#define VC_FIELD(name)
#else
#define VC_FIELD(name) .name =
#endif

/* vc_channel_call - one blocking unary call of a generated client function.
 * That of a VC_METHOD_ONE_WAY ends with VC_OK when the request has been handed
 * to the adapter: *reply is left as it is, and nobody hears what becomes of it.
 * Any thread. On VC_OK *reply is the caller's and freed by vc_message_free();
 * otherwise it is untouched and vc_error() says more. Besides the codes that
 * the handler returns:
 * VC_INVALID_ARGUMENT   the request lacks something that must be set, or the
 *                       server found it malformed; an option may not be
 * VC_DEADLINE_EXCEEDED  the call's time ran out, or the server knows that it
 *                       would before the handler has ended
 * VC_RESOURCE_EXHAUSTED request or reply are over the limit of an end or of
 *                       the method; the server has more calls than it may, or
 *                       than it can serve in time; no memory
 * VC_UNIMPLEMENTED      the peer does not serve the service or the method
 * VC_UNAVAILABLE        no connection within the connect timeout, or lost
 * VC_CANCELLED          the channel was closed, or the call was cancelled
 * VC_INTERNAL           the reply does not fit its type */
VC_API enum vc_status vc_channel_call(struct vc_channel *channel,
                                      const struct vc_service *service,
                                      unsigned method, const void *request,
                                      const struct vc_call_opts *opts,
                                      void **reply);

/* vc_call_no_handler - what a generated method runner answers for a handler
 * that is NULL: VC_UNIMPLEMENTED with a text. */
VC_API enum vc_status vc_call_no_handler(struct vc_call *call);

VC_END_DECLS

#endif
