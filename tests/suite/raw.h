/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A raw end of a connection, for tests of bad peers. It connects or listens,
 * and sends any bytes it is given as hello, accept, reject and packets. Over
 * RDMA it uses rdma_cm and verbs (raw_rdma.h), over other transports a wire of
 * transport/transport.h (raw_wire.c). By default it keeps the rules of
 * doc/wire.md on sequences and credits; each test breaks those it wants to.
 * Every wait has a timeout, after which it returns RAW_NOTHING, NULL or false.
 * Only one thread at a time may use it. */
#ifndef VC_TESTS_SUITE_RAW_H
#define VC_TESTS_SUITE_RAW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include <verbcall/service.h>

#include "cm/connect/hello.h"
#include "transport/wire/packet.h"

#define RAW_SIZE    16384u /* of a buffer: twice Verbcall's maximum */
#define RAW_BUFFERS 32u    /* to receive into, and as many to send from */
#define RAW_MS      10000  /* timeout where no other is given */

struct raw_ops;

/* Events of a connection. */
enum raw_event {
    RAW_NOTHING = -1, /* no event came in time */
    RAW_REQUEST,      /* passive: a client connects */
    RAW_ACCEPTED,     /* active, without confirming it: the peer has accepted */
    RAW_ESTABLISHED,
    RAW_REJECTED,
    RAW_FAILED,       /* connecting has failed */
    RAW_DISCONNECTED, /* the peer has left, or broke the connection */
    RAW_OTHER,        /* an event of rdma_cm that tests do not wait for */
};

/* Further parameters of an rdma_cm event, as seen from the end that gets it. */
struct raw_parameters {
    uint8_t reads_in, reads_out; /* READs that this end accepts, and sends */
    uint8_t flow_control, retry_count, rnr_retry_count, srq;
    uint32_t qp_num;
};

struct raw {
    const struct raw_ops *ops; /* NULL: not connected yet */
    void *end;                 /* the connection; its type is that of `ops` */

    bool hoards;      /* true: receives are not reposted */
    bool unconfirmed; /* true: does not confirm the accept */
    /* Over RDMA only. receives: how many are posted at the beginning; 0 means
     * all. wishes: true if the end requests unlimited retries, and sets itself
     * how many RDMA READs it accepts and sends at a time; otherwise 6 retries,
     * and 1 and 1. */
    unsigned receives;
    bool wishes;
    uint8_t reads_in, reads_out;

    /* The last event, and the hello, accept or reject that came with it. */
    int event; /* enum raw_event */
    uint8_t said[256];
    size_t said_len;
    struct raw_parameters parameters; /* over RDMA only */
    bool ended; /* true: nothing can be sent or received */

    /* The link's sequence and credits, and the last packet that was read. */
    uint32_t sequence;
    uint16_t have;    /* credits to send */
    uint16_t window;  /* credits that this end has granted */
    uint32_t handled; /* packets that this end reports as received */
    STAILQ_HEAD(, raw_kept) kept; /* packets not read yet */
    uint8_t packet[RAW_SIZE];
    uint32_t packet_len;
    struct vc__packet_reader reader;
};

/* --- connecting ------------------------------------------------------- */

/* A valid hello. */
struct vc__hello raw_hello(const struct vc_service *service);

/* Connects to a target of any scheme with this hello, as the active end.
 * Returns RAW_ESTABLISHED, RAW_REJECTED, ... or RAW_NOTHING. r is zeroed except
 * for hoards, unconfirmed, receives and wishes. Close it by raw_close()
 * whatever the result was. */
int raw_connect(struct raw *r, const char *target, const void *data,
                size_t len);

/* Connects with this hello, and reads the accept. Returns false if there is
 * none. */
bool raw_open(struct raw *r, const char *target, const struct vc__hello *hello);

/* Waits ms for the next event. Answers a disconnection. */
int raw_wait(struct raw *r, int ms);

void raw_close(struct raw *r);

/* The passive end. */
struct raw_listener {
    const struct raw_ops *ops;
    void *ear; /* the listener; its type is that of `ops` */
    uint16_t port;
};

/* Listens at $VC_TEST_ADDR, at a port or name that no other process uses. */
bool raw_listen(struct raw_listener *l);
void raw_unlisten(struct raw_listener *l);

/* Waits for a request; r->said is its hello. */
bool raw_take(struct raw_listener *l, struct raw *r, int ms);

/* Answer the request. raw_accept() waits until the connection is established,
 * raw_accept_only() does not. */
bool raw_accept_only(struct raw *r, const void *data, size_t len);
bool raw_accept(struct raw *r, const void *data, size_t len);
bool raw_reject(struct raw *r, const void *data, size_t len);

/* --- building packets -------------------------------------------------- */

struct raw_packet {
    struct vc__packet head;
    uint32_t len;
    uint8_t bytes[RAW_SIZE];
};

/* Begins a packet with the next sequence of r and the credits that it has to
 * report; both count as sent. */
void raw_begin(struct raw *r, struct raw_packet *p);

/* Adds a frame with f.body_len bytes of f.body, after its metadata unless
 * f.metadata is NULL. */
void raw_add(struct raw_packet *p, struct vc__frame f);

/* Adds the OPEN that a Verbcall client would send. */
void raw_add_open(struct raw_packet *p, uint32_t session,
                  const struct vc_service *service);

/* --- sending and receiving ---------------------------------------------- */

/* Sends any bytes as a packet; false if the connection accepts no more. */
bool raw_send(struct raw *r, const void *bytes, size_t len);
bool raw_send_packet(struct raw *r, const struct raw_packet *p);

/* Reads the next received packet into r->packet; false if none arrives in ms.
 * Packets that arrive during a send are kept. */
bool raw_receive(struct raw *r, int ms);

/* Reads the next frame, from as many packets as needed. */
bool raw_next_frame(struct raw *r, struct vc__frame *f, int ms);

/* Sends one frame in a packet, waiting for a credit. */
bool raw_send_frame(struct raw *r, struct vc__frame f);

/* Opens this session for the service, with a packet of its own. */
bool raw_send_open(struct raw *r, uint32_t session,
                   const struct vc_service *service);

/* Sends len bytes as the message of a CALL, REPLY or MESSAGE, in parts if it is
 * long, and waits for credits. f has everything but the body, with metadata if
 * its flags say so; a server's MESSAGE has VC__FRAME_OF_REPLY. */
bool raw_send_message(struct raw *r, struct vc__frame f, const uint8_t *data,
                      uint32_t len);

/* Drops the packets that were not read. */
void raw_forget(struct raw *r);

#endif
