/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The codec of packets and frames (doc/wire.md, sections 3 and 4). A packet is
 * one SEND: a header and any number of frames, each a header, metadata and a
 * body. Pure: no state but the caller's, no allocation, any thread.
 *
 * Called by: cm/link/link_send.c (put, frame_put), cm/link/link_io.c (open,
 * frame_next). */
#ifndef VC_TRANSPORT_PACKET_H
#define VC_TRANSPORT_PACKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "transport/wire/credit.h"

#define VC__PACKET_HEADER 12 /* bytes on the wire */
#define VC__FRAME_HEADER  24 /* bytes on the wire */

/* Bytes of a packet, header included, that every end can receive. */
#define VC__PACKET_LOG2 13
#define VC__PACKET_MAX  (1u << VC__PACKET_LOG2)

struct vc__packet {
    uint32_t sequence; /* counts the packets of one direction of a link */
    struct vc__credit_word word; /* of the other direction */
    uint16_t count;              /* frames that follow; 0: only credits */
};

enum vc__frame_type {
    VC__FRAME_OPEN = 1, /* opens a session: service name, method hashes */
    VC__FRAME_CALL,     /* a request, or its first part */
    VC__FRAME_REPLY,    /* a reply, or its first part */
    VC__FRAME_DATA,     /* a further part of a request or reply */
    VC__FRAME_CLOSE,    /* ends a session; answered by another one */
    VC__FRAME_CANCEL,   /* the caller has cancelled the call */
    VC__FRAME_PING,     /* asks whether the process lives, or answers that */
    VC__FRAME_GOAWAY,   /* the server is going out of service */
    VC__FRAME_MESSAGE,  /* a message of a stream, or its first part */
    VC__FRAME_HALF,     /* the client sends no more messages */
    VC__FRAME_WINDOW,   /* how much of a stream may be sent */
};

/* CALL, REPLY and MESSAGE: the body is the first part only; it begins with the
 * length of the whole message, 4 bytes. DATA frames carry the rest in order;
 * all but the last have this flag. */
#define VC__FRAME_MORE 0x01u
/* REPLY with an error: the handler has not run and will not. */
#define VC__FRAME_NOT_EXECUTED 0x02u
/* DATA: a part of what the server sends, not the client. */
#define VC__FRAME_OF_REPLY 0x04u
/* PING: answers the one with this sequence. */
#define VC__FRAME_ANSWER 0x08u
/* CALL: the client, or the server, sends a stream of messages; otherwise it
 * sends one, in the CALL or the REPLY. */
#define VC__FRAME_CLIENT_STREAM 0x10u
#define VC__FRAME_SERVER_STREAM 0x20u
#define VC__FRAME_STREAMS       (VC__FRAME_CLIENT_STREAM | VC__FRAME_SERVER_STREAM)

#define VC__DEADLINE_NONE UINT32_MAX

struct vc__frame {
    uint8_t type;      /* enum vc__frame_type */
    uint8_t flags;     /* VC__FRAME_* */
    uint16_t slot;     /* of the session */
    uint32_t session;  /* chosen by the client */
    uint32_t sequence; /* of the calls on this slot, of the PING, or of the
                        * binding (OPEN, CLOSE) */
    uint16_t method;   /* CALL: index into OPEN's list; REPLY: the status */
    uint16_t metadata_len;
    uint32_t body_len;
    /* OPEN: fingerprint of the client's schema, 0 for none; CALL: microseconds
     * left, VC__DEADLINE_NONE for no deadline (or more than 71 minutes); DATA:
     * offset of this part in the message; WINDOW: the end of what may be sent
     * (rpc/stream_flow.h). */
    uint32_t deadline;

    /* Set by vc__frame_next(); they point into the packet. */
    const uint8_t *metadata;
    const uint8_t *body;
};

/* Write the wire form of a header to out. Called by header_write() and
 * head_write() of cm/link/link_send.c, on any thread that sends, under the
 * link's lock. */
void vc__packet_put(uint8_t out[VC__PACKET_HEADER], const struct vc__packet *p);
void vc__frame_put(uint8_t out[VC__FRAME_HEADER], const struct vc__frame *f);

/* Reads a packet's frames one after the other. */
struct vc__packet_reader {
    const uint8_t *at;
    const uint8_t *end;
    unsigned left;      /* frames that must still follow */
    const char *breach; /* the rule that a malformed frame breaks */
};

/* Begins to read len bytes at data. Returns true with the header in *p, false
 * if they hold no packet header. Called by vc__link_on_received(), on the
 * holder. */
bool vc__packet_open(struct vc__packet_reader *r, const void *data, size_t len,
                     struct vc__packet *p);

/* Returns 1 if *f is the next frame, whole within the packet and of a known
 * type, with flags that this type may have. If it begins a message of several
 * parts, that message's length is in it; a PING, GOAWAY, HALF or WINDOW has no
 * body. Returns 0 if no frame was left and no bytes follow. Returns -1 if
 * malformed, see r->breach; so do all later calls. Called by frames_handle()
 * (cm/link/link_io.c), on the holder, until it returns another value than 1. */
int vc__frame_next(struct vc__packet_reader *r, struct vc__frame *f);

#endif
