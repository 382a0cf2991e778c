/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A raw end of a connection, for tests of bad peers: it connects or listens,
 * and sends whatever bytes it is given as hello, accept, reject and packets.
 * Over RDMA it is made of rdma_cm and verbs (raw_rdma.h), over other
 * transports of a wire of transport/transport.h (raw_wire.c). By itself it
 * keeps the rules of doc/wire.md on sequences and credits; each test breaks
 * those it wants to. Every wait ends: what does not come in time is
 * RAW_NOTHING, NULL or false. One thread uses it at a time. */
#ifndef VC_TESTS_SUITE_RAW_H
#define VC_TESTS_SUITE_RAW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include <verbcall/service.h>

#include "cm/connect/hello.h"
#include "transport/wire/packet.h"

#define RAW_SIZE    16384u /* of a buffer: twice what Verbcall takes */
#define RAW_BUFFERS 32u    /* to receive into, and as many to send from */
#define RAW_MS      10000  /* patience where nothing else is said */

struct raw_ops;

/* What becomes of a connection. */
enum raw_event {
    RAW_NOTHING = -1, /* no event came in time */
    RAW_REQUEST,      /* passive: a client asks */
    RAW_ACCEPTED,     /* active, without confirming it: the peer has accepted */
    RAW_ESTABLISHED,
    RAW_REJECTED,
    RAW_FAILED,       /* connecting has */
    RAW_DISCONNECTED, /* the peer has left, or broke the connection */
    RAW_OTHER,        /* an event of rdma_cm that tests do not wait for */
};

/* What else an event of rdma_cm says, as seen from the end that gets it. */
struct raw_parameters {
    uint8_t reads_in, reads_out; /* that this end may be asked for, and ask */
    uint8_t flow_control, retry_count, rnr_retry_count, srq;
    uint32_t qp_num;
};

struct raw {
    const struct raw_ops *ops; /* NULL: it has not begun */
    void *end;                 /* the connection, as these know it */

    bool hoards;      /* receives are not posted again */
    bool unconfirmed; /* asks, and leaves the accept at that */
    /* Over RDMA only. Receives that are posted at the beginning; 0 stands for
     * all. wishes: the end asks for retries without end, and says itself how
     * many RDMA READs it takes and sends at a time; else 6 retries, and 1 and
     * 1. */
    unsigned receives;
    bool wishes;
    uint8_t reads_in, reads_out;

    /* The last event, and the hello, accept or reject that came with it. */
    int event; /* enum raw_event */
    uint8_t said[256];
    size_t said_len;
    struct raw_parameters parameters; /* over RDMA only */
    bool ended; /* nothing can be sent or received any more */

    /* The link's account, and the last packet that was read. */
    uint32_t sequence;
    uint16_t have;                /* packets that may go */
    uint16_t window;              /* packets that may come, as we say */
    uint32_t handled;             /* packets that came, as we say */
    STAILQ_HEAD(, raw_kept) kept; /* that were not read yet */
    uint8_t packet[RAW_SIZE];
    uint32_t packet_len;
    struct vc__packet_reader reader;
};

/* --- connecting ------------------------------------------------------- */

/* A hello that is good in every way. */
struct vc__hello raw_hello(const struct vc_service *service);

/* Connects to a target of any scheme with this hello, as the active end. The
 * answer: RAW_ESTABLISHED, RAW_REJECTED, ... or RAW_NOTHING. r is zeroed but
 * for hoards, unconfirmed, receives and wishes, and closed by raw_close()
 * whatever the answer was. */
int raw_connect(struct raw *r, const char *target, const void *data,
                size_t len);

/* Connects with this hello, and reads the accept. False if there is none. */
bool raw_open(struct raw *r, const char *target, const struct vc__hello *hello);

/* The next event within ms. A disconnection is answered. */
int raw_wait(struct raw *r, int ms);

void raw_close(struct raw *r);

/* The passive end. */
struct raw_listener {
    const struct raw_ops *ops;
    void *ear; /* as these know it */
    uint16_t port;
};

/* At $VC_TEST_ADDR, at a port or name that nobody else has. */
bool raw_listen(struct raw_listener *l);
void raw_unlisten(struct raw_listener *l);

/* Waits for a request, of which r->said is the hello. */
bool raw_take(struct raw_listener *l, struct raw *r, int ms);

/* Answers it. raw_accept() waits until the connection is there,
 * raw_accept_only() does not. */
bool raw_accept_only(struct raw *r, const void *data, size_t len);
bool raw_accept(struct raw *r, const void *data, size_t len);
bool raw_reject(struct raw *r, const void *data, size_t len);

/* --- packets in the making -------------------------------------------- */

struct raw_packet {
    struct vc__packet head;
    uint32_t len;
    uint8_t bytes[RAW_SIZE];
};

/* With the next sequence of r and the credits that it owes; they count as
 * sent. */
void raw_begin(struct raw *r, struct raw_packet *p);

/* Adds a frame with f.body_len bytes of f.body, behind its metadata unless
 * f.metadata is NULL. */
void raw_add(struct raw_packet *p, struct vc__frame f);

/* Adds the OPEN that a Verbcall client would send. */
void raw_add_open(struct raw_packet *p, uint32_t session,
                  const struct vc_service *service);

/* --- moving bytes ------------------------------------------------------ */

/* Sends them as a packet, whatever they are; false when the connection takes
 * no more. */
bool raw_send(struct raw *r, const void *bytes, size_t len);
bool raw_send_packet(struct raw *r, const struct raw_packet *p);

/* The next packet that came, in r->packet; false when there is none in ms.
 * None is lost while others are sent. */
bool raw_receive(struct raw *r, int ms);

/* The next frame, of as many packets as it takes. */
bool raw_next_frame(struct raw *r, struct vc__frame *f, int ms);

/* Sends one frame in a packet, waiting for a credit. */
bool raw_send_frame(struct raw *r, struct vc__frame f);

/* Opens this session for the service, alone in its packet. */
bool raw_send_open(struct raw *r, uint32_t session,
                   const struct vc_service *service);

/* Sends len bytes as the message of a CALL, REPLY or MESSAGE, in parts when it
 * is long, waiting for credits. f has all but the body; metadata, if it says
 * that it has any; a MESSAGE of a server has VC__FRAME_OF_REPLY. */
bool raw_send_message(struct raw *r, struct vc__frame f, const uint8_t *data,
                      uint32_t len);

/* Drops the packets that were not read. */
void raw_forget(struct raw *r);

#endif
