/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A raw end of a connection, for tests of bad peers: it connects or listens by
 * rdma_cm, has an RC QP and buffers of its own, and sends whatever bytes it is
 * given as private data and as packets. By itself it keeps the rules of
 * doc/wire.md on sequences and credits; each test breaks those it wants to.
 * Every wait ends: what does not come in time is RAW_NOTHING, NULL or false.
 * One thread uses it at a time. */
#ifndef VC_TESTS_SUITE_RAW_H
#define VC_TESTS_SUITE_RAW_H

#include <rdma/rdma_cma.h>
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

#define RAW_NOTHING (-1) /* in place of an rdma_cm event: none came in time */

struct raw {
    struct rdma_event_channel *events;
    struct rdma_cm_id *id;
    struct ibv_pd *pd;
    struct ibv_comp_channel *channel;
    struct ibv_cq *cq;
    struct ibv_mr *mr;
    uint8_t *memory;

    bool hoards;       /* receives are not posted again */
    bool unconfirmed;  /* asks without a QP, and leaves the accept at that */
    unsigned receives; /* posted at the beginning; 0 stands for all */
    /* It asks for retries without end, and says itself how many RDMA READs it
     * takes and sends at a time; else 6 retries, and 1 and 1. */
    bool wishes;
    uint8_t reads_in, reads_out;
    unsigned posted, done; /* sends */
    enum ibv_wc_status wc; /* the first that was no success */

    /* The last rdma_cm event, or RAW_NOTHING, its private data and status. */
    int event;
    uint8_t said[256];
    size_t said_len;
    int status;

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

/* Connects to "rdma://ADDRESS:PORT" with these private data, as the active
 * end. The answer: RDMA_CM_EVENT_ESTABLISHED, _REJECTED, ... or RAW_NOTHING.
 * r is zeroed but for hoards, unconfirmed, receives and wishes, and closed by
 * raw_close() whatever the answer was. */
int raw_connect(struct raw *r, const char *target, const void *data,
                size_t len);

/* Connects with this hello, and reads the accept. False if there is none. */
bool raw_open(struct raw *r, const char *target, const struct vc__hello *hello);

/* The next rdma_cm event within ms. A disconnection is answered. */
int raw_wait(struct raw *r, int ms);

void raw_close(struct raw *r);

/* The passive end. */
struct raw_listener {
    struct rdma_event_channel *events;
    struct rdma_cm_id *id;
    uint16_t port;
};

/* At $VC_TEST_ADDR, at a port that the system picks. */
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

/* Sends them, whatever they are; false when the QP takes no more. */
bool raw_send(struct raw *r, const void *bytes, size_t len);
bool raw_send_packet(struct raw *r, const struct raw_packet *p);

/* Registered memory of a packet's size, until the next packet is sent. */
uint8_t *raw_room(struct raw *r);

/* Any work request on r's QP; its completion is waited for and returned, or
 * RAW_NOTHING. */
int raw_post(struct raw *r, struct ibv_send_wr *wr);

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

/* --- between raw.c and raw_packets.c ------------------------------------ */

/* The descriptor can be read before this time, by fixture_ms(). */
bool raw_readable(int fd, uint64_t until);

/* Lets a packet come into buffer i. */
bool raw_post_receive(struct raw *r, unsigned i);

/* Drops the packets that were not read. */
void raw_forget(struct raw *r);

#endif
