/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A message on its way out, be it a request, a reply or one of a stream: it is
 * measured, held against the limits of its method and of the peer, and goes in
 * one packet or in parts. Any thread. */
#ifndef VC_RPC_OUTGOING_H
#define VC_RPC_OUTGOING_H

#include "rpc/codec/codec.h"
#include "transport/core/error.h"

/* Whose message it is, and what limits it. */
struct vc__outgoing {
    const char *what;             /* "request", "reply", "message": for texts */
    const char *service, *method; /* their names */
    const char *peer;             /* who takes it: "server", "client" */
    size_t reply_max; /* bytes that its method allows; 0: no limit */
    size_t peer_max;  /* bytes that the peer takes */
};

/* Is it of another copy of the generated code, and of this type? its may be no
 * descriptor. */
bool vc__outgoing_is_copy(const ProtobufCMessageDescriptor *desc,
                          const ProtobufCMessageDescriptor *its)
    __attribute__((cold));

static inline bool
vc__outgoing_is_of(const struct vc_message_type *type, const void *message)
{
    const ProtobufCMessage *m = message;

    return m->descriptor == type->desc ||
           vc__outgoing_is_copy(type->desc, m->descriptor);
}

/* Measures a message; false when vc__outgoing_measure() would refuse it, with
 * this for what the peer takes and no limit of the method: for who builds a
 * struct vc__outgoing only then. */
static inline bool
vc__outgoing_fits(const struct vc_message_type *type, const void *message,
                  size_t peer_max, struct vc__packing *packing)
{
    return message != NULL && vc__outgoing_is_of(type, message) &&
           vc__codec_measure(type, message, packing) &&
           packing->size <= peer_max;
}

/* VC_INVALID_ARGUMENT when it is of another type, or cannot be packed as a field
 * that must be set is not, or a pointer is NULL; else as vc__outgoing_check(). With vc__fail(). */
enum vc_status vc__outgoing_measure(const struct vc__outgoing *o,
                                    const struct vc_message_type *type,
                                    const void *message,
                                    struct vc__packing *packing);

/* VC_RESOURCE_EXHAUSTED when it is longer than the method or the peer allows.
 * With vc__fail(). */
enum vc_status vc__outgoing_check(const struct vc__outgoing *o, size_t size);

/* The packed message, in memory that free() takes back. NULL without memory. */
uint8_t *vc__outgoing_pack(const struct vc_message_type *type,
                           const void *message,
                           const struct vc__packing *packing);

#endif
