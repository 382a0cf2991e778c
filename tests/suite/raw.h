/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A raw end of a connection, for tests of bad peers. A raw end connects or
 * listens, and sends any bytes as hello, accept, reject and packets. Over RDMA
 * a raw end uses rdma_cm and verbs (raw_rdma.h, raw_ud.h), over other
 * transports a wire of transport/transport.h (raw_wire.c). By default a raw end
 * keeps the rules of doc/wire.md on sequences and credits; each test breaks the
 * rules it is about. Every wait has a timeout, reported as RAW_NOTHING, NULL or
 * false. One thread uses a raw end at a time. */
#ifndef VC_TESTS_SUITE_RAW_H
#define VC_TESTS_SUITE_RAW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include <verbcall/service.h>

#include "cm/connect/hello.h"
#include "transport/wire/packet.h"

#define RAW_SIZE    16384u /* of a buffer: twice the size that Verbcall takes */
#define RAW_BUFFERS 32u    /* receive buffers; there are as many send buffers */
#define RAW_MS      10000  /* the default timeout */

struct raw_ops;

/* Events of a connection. */
enum raw_event {
    RAW_NOTHING = -1, /* no event in time */
    RAW_REQUEST,      /* passive: a client's connection request */
    RAW_ACCEPTED,     /* active, without confirming: the peer has accepted */
    RAW_ESTABLISHED,
    RAW_REJECTED,
    RAW_FAILED,       /* connecting has failed */
    RAW_DISCONNECTED, /* the peer has disconnected or broken the connection */
    RAW_OTHER,        /* an event of rdma_cm that tests do not wait for */
};

/* Further parameters of an event of rdma_cm, as seen from the end that receives
 * the event. */
struct raw_parameters {
    uint8_t reads_in, reads_out; /* READs that the peer, this end may have
                                  * outstanding */
    uint8_t flow_control, retry_count, rnr_retry_count, srq;
    uint32_t qp_num;
};

struct raw {
    const struct raw_ops *ops; /* NULL: not started */
    void *end;                 /* the connection's state, private to ops */

    bool hoards;      /* true: receives are not posted again */
    bool unconfirmed; /* true: connects, but does not confirm the accept */
    /* Over RDMA only. receives: how many are posted at the start; 0 means all.
     * wishes: true if this end asks for 7 retries (for RNR: without limit), and
     * sends reads_in and reads_out as its READ limits; otherwise 6 retries, and
     * 1 and 1. */
    unsigned receives;
    bool wishes;
    uint8_t reads_in, reads_out;

    /* The last event, and the hello, accept or reject received with it. */
    int event; /* enum raw_event */
    uint8_t said[256];
    size_t said_len;
    struct raw_parameters parameters; /* over RDMA only */
    bool ended; /* true: nothing can be sent or received any more */

    /* The link's flow control, and the last packet that was read. */
    uint32_t sequence;
    uint16_t have;                /* packets that this end may send */
    uint16_t window;              /* packets that this end lets the peer send */
    uint32_t handled;             /* received packets that this end
                                   * acknowledges */
    STAILQ_HEAD(, raw_kept) kept; /* received, but not yet read */
    uint8_t packet[RAW_SIZE];
    uint32_t packet_len;
    struct vc__packet_reader reader;
};

/* --- connecting ------------------------------------------------------- */

/* Returns a hello that is valid in every way. */
struct vc__hello raw_hello(const struct vc_service *service);

/* Connects to a target of any scheme with this hello, as the active end.
 * Returns the event: RAW_ESTABLISHED, RAW_REJECTED, ... or RAW_NOTHING. r is
 * zeroed except hoards, unconfirmed, receives and wishes, and ops if they are
 * not the scheme's; the caller closes it by raw_close() whatever the result
 * is. */
int raw_connect(struct raw *r, const char *target, const void *data,
                size_t len);

/* Connects with this hello, and reads the accept. False if there is no valid
 * accept. */
bool raw_open(struct raw *r, const char *target, const struct vc__hello *hello);

/* Returns the next event within ms. A disconnection is answered. */
int raw_wait(struct raw *r, int ms);

void raw_close(struct raw *r);

/* The passive end. */
struct raw_listener {
    const struct raw_ops *ops;
    void *ear; /* private to ops */
    uint16_t port;
};

/* Listens at $VC_TEST_ADDR, at a port or name that is not in use. */
bool raw_listen(struct raw_listener *l);
void raw_unlisten(struct raw_listener *l);

/* Waits for a connection request; r->said is its hello. */
bool raw_take(struct raw_listener *l, struct raw *r, int ms);

/* Answer the request. raw_accept() waits until the connection is established,
 * raw_accept_only() does not. */
bool raw_accept_only(struct raw *r, const void *data, size_t len);
bool raw_accept(struct raw *r, const void *data, size_t len);
bool raw_reject(struct raw *r, const void *data, size_t len);

/* --- building packets ------------------------------------------------- */

struct raw_packet {
    struct vc__packet head;
    uint32_t len;
    uint8_t bytes[RAW_SIZE];
};

/* Starts a packet with the next sequence of r and the credits that r owes; both
 * count as sent. */
void raw_begin(struct raw *r, struct raw_packet *p);

/* Adds a frame with its metadata, unless f.metadata is NULL, and then
 * f.body_len bytes of f.body. */
void raw_add(struct raw_packet *p, struct vc__frame f);

/* Adds the OPEN that a Verbcall client would send. */
void raw_add_open(struct raw_packet *p, uint32_t session,
                  const struct vc_service *service);

/* --- sending and receiving --------------------------------------------- */

/* Sends any bytes as a packet; false when the connection takes no more. */
bool raw_send(struct raw *r, const void *bytes, size_t len);
bool raw_send_packet(struct raw *r, const struct raw_packet *p);

/* Reads the next received packet into r->packet; false when there is none
 * within ms. Packets that are received during sends are kept. */
bool raw_receive(struct raw *r, int ms);

/* Reads the next frame; reads further packets as needed. */
bool raw_next_frame(struct raw *r, struct vc__frame *f, int ms);

/* Sends one frame in a packet; waits for a credit. */
bool raw_send_frame(struct raw *r, struct vc__frame f);

/* Sends an OPEN of this session for the service, alone in its packet. */
bool raw_send_open(struct raw *r, uint32_t session,
                   const struct vc_service *service);

/* Sends len bytes as the message of a CALL, REPLY or MESSAGE, in parts when it
 * is long; waits for credits. f has all fields but the body, and metadata if f
 * has any. A MESSAGE of a server has VC__FRAME_OF_REPLY. */
bool raw_send_message(struct raw *r, struct vc__frame f, const uint8_t *data,
                      uint32_t len);

/* Drops the packets that have not been read. */
void raw_forget(struct raw *r);

#endif
