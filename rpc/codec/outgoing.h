/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * An outgoing message: a request, a reply or one of a stream. It is measured,
 * checked against the limits of its method and of the peer, and sent in one
 * packet or in parts. Any thread.
 *
 * Called by: outgoing.c (is_of, check), rpc/server/server_reply.c (is_of,
 * check), rpc/client/attempt.c (fits, measure), rpc/client/channel_intercept.c
 * (fits), rpc/stream/stream_send.c (fits, measure), rpc/client/publisher.c
 * (measure), rpc/client/stream_open.c (measure, pack),
 * rpc/protobuf_c/protobuf_c_server.c (pack). */
#ifndef VC_RPC_OUTGOING_H
#define VC_RPC_OUTGOING_H

#include "rpc/codec/codec.h"
#include "transport/core/error.h"

/* The text of a message that is longer than its receiver accepts. After the
 * words for the message: its bytes, the receiver, and the most that this
 * accepts. */
#define VC__OUTGOING_LONG                                                      \
    "has %zu bytes, the %s accepts %zu at most (its max_message): send less, " \
    "or raise it"

/* The text of one that is longer than the service config allows. After the
 * names: what it is, its bytes, and the limit. */
#define VC__OUTGOING_CONFIG                                                    \
    "%s.%s: the %s has %zu bytes, more than maxRequestMessageBytes of the "    \
    "service config, which is %u"

/* What the message is, and its limits. */
struct vc__outgoing {
    const char *what;             /* "request", "reply" or "message" */
    const char *service, *method; /* the names */
    const char *peer;             /* the receiver: "server", "client" */
    size_t reply_max;    /* most bytes that its method allows; 0: no limit */
    uint32_t config_max; /* that the service config allows; the same */
    size_t peer_max;     /* most bytes that the peer accepts */
};

/* True if `its` describes the same type in another copy of the generated code;
 * `its` may be no descriptor. Asked by vc__outgoing_is_of(). */
bool vc__outgoing_is_copy(const ProtobufCMessageDescriptor *desc,
                          const ProtobufCMessageDescriptor *its)
    __attribute__((cold));

/* True if the message is of this type, also by another copy of the generated
 * code. Asked by the functions below, and for a reply on its way out by
 * vc__reply_measure() and reply_is_unfit(). */
static inline bool
vc__outgoing_is_of(const struct vc_message_type *type, const void *message)
{
    const ProtobufCMessage *m = message;

    return m->descriptor == type->desc ||
           vc__outgoing_is_copy(type->desc, m->descriptor);
}

/* Measures a message: true with *packing set. False if vc__outgoing_measure()
 * would refuse it, with this peer_max and without a limit of the method. So a
 * caller needs a struct vc__outgoing only in that case. Called for a request by
 * rpc/client/attempt.c and vc__channel_intercept_request(), and for a message
 * of a stream by stream_send_measure(). */
static inline bool
vc__outgoing_fits(const struct vc_message_type *type, const void *message,
                  size_t peer_max, struct vc__packing *packing)
{
    return message != NULL && vc__outgoing_is_of(type, message) &&
           vc__codec_measure(type, message, packing) &&
           packing->size <= peer_max;
}

/* Measures a message. VC_INVALID_ARGUMENT if it is NULL or of another type, or
 * cannot be packed: a required field is not set, or a pointer is NULL.
 * Otherwise as vc__outgoing_check(). Errors are set by vc__fail(). Called by
 * attempt_message_refuse() and stream_send_message_refuse() when
 * vc__outgoing_fits() was false, and by call_pack()
 * (rpc/client/stream_open.c). */
enum vc_status vc__outgoing_measure(const struct vc__outgoing *o,
                                    const struct vc_message_type *type,
                                    const void *message,
                                    struct vc__packing *packing);

/* VC_RESOURCE_EXHAUSTED, set by vc__fail(), if the message is longer than the
 * method, the service config or the peer allows; else VC_OK. Called by
 * vc__outgoing_measure(), and by reply_deny() of a server. */
enum vc_status vc__outgoing_check(const struct vc__outgoing *o, size_t size);

/* Returns the packed message, to be freed by free(); NULL if memory is short.
 * Called by call_pack() for the request of a stream, and by reply_copy() of
 * rpc/protobuf_c. */
uint8_t *vc__outgoing_pack(const struct vc_message_type *type,
                           const void *message,
                           const struct vc__packing *packing);

#endif
