/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * What the files of the simulated libibverbs share. Each object has two sides.
 * The program holds the handle, which is freed when the program destroys the
 * object. The device's side, a struct fake__object, stays and is dead then. */
#ifndef FAKE_VERBS_H
#define FAKE_VERBS_H

#include "fake/world.h"

#define FAKE__MAX_SGE 32
#define FAKE__MAX_WR  1048576
#define FAKE__MAX_CQE 32767
#define FAKE__MAX_MSG 0x800000u
#define FAKE__MTU     1024u
#define FAKE__GRH     40u
#define FAKE__HOPS    64 /* hop limit */

/* --- objects ----------------------------------------------------------- */

enum fake__kind {
    FAKE__PD,
    FAKE__CHANNEL,
    FAKE__CQ,
    FAKE__SRQ,
    FAKE__QP,
    FAKE__MR,
    FAKE__MW,
    FAKE__AH,
};

struct fake__object {
    enum fake__kind kind;
    bool dead;
    struct fake__context *context;
    void *handle;
    unsigned users; /* objects that depend on this one */
    unsigned async_got, async_acked;
    struct fake__object *next, **link;
};

struct fake__async_event {
    struct fake__async_event *next;
    struct fake__object *object; /* NULL: the port, or the device */
    enum ibv_event_type type;
};

struct fake__context {
    struct fake__device *device;
    struct fake_process *process;
    struct ibv_context *handle;
    bool counted, dead;
    int async_fd;
    struct fake__object *objects;
    struct fake__async_event *events, *spare;
    struct fake__context *next;
};

struct fake__device {
    struct ibv_device pub; /* first: the program uses its address */
    struct fake_host *host;
    struct fake__device *former; /* predecessor that was removed; or NULL */
    bool gone;
    struct fake__context *contexts;
    struct fake__qp **qps; /* by number - FAKE__FIRST_QPN */
    unsigned n_qps, qps_size;
    struct fake__key **keys; /* by key >> 8 */
    unsigned n_keys, keys_size;
    unsigned n_ahs;
    struct fake__group *groups; /* multicast.c */
    struct fake__wqe *spare;
    struct fake__datagram *idle;
};

#define FAKE__FIRST_QPN 17u

struct fake__context *fake__context_of(struct ibv_context *context);

/* Counts and links the object; `handle` is the program's side. */
void fake__object_init(struct fake__object *o, enum fake__kind kind,
                       struct fake__context *context, void *handle);
/* Frees the program's side. */
void fake__object_free(struct fake__object *o);
/* The errno for creating an object: 0, or that of a removed device. */
int fake__context_err(const struct fake__context *context);
/* The size of a queue for which n entries are asked. */
unsigned fake__queue_size(unsigned n);

void fake__async(struct fake__object *o, enum ibv_event_type type);
/* Drops the object's unread events, and waits until those that were read are
 * acknowledged. */
void fake__async_settle(struct fake__object *o);

/* --- PDs, AHs ---------------------------------------------------------- */

struct fake__pd {
    struct fake__object obj;
};

struct fake__pd_handle {
    struct ibv_pd pub;
    struct fake__pd *pd;
};

struct fake__ah_handle {
    struct ibv_ah pub;
    struct fake__object *obj;
    struct fake__pd *pd;
    struct ibv_ah_attr attr;
};

void fake__ah_die(struct fake__object *o);

static inline struct fake__pd *
fake__pd_of(struct ibv_pd *pd)
{
    return ((struct fake__pd_handle *)pd)->pd;
}

/* --- completions ------------------------------------------------------- */

struct fake__channel {
    struct fake__object obj;
    int fd;
    struct fake__cq *first, *last; /* CQs with events */
};

struct fake__channel_handle {
    struct ibv_comp_channel pub;
    struct fake__channel *channel;
};

/* A completion and the fake's data for it. */
struct fake__cqe {
    struct ibv_wc wc;
    const char *op;
    struct fake__qp *qp;
    unsigned reset; /* resets of the QP before it */
    uint64_t seq;   /* number of a send */
    bool send, solicited;
};

enum fake__arm {
    FAKE__UNARMED,
    FAKE__SOLICITED,
    FAKE__ARMED
};

struct fake__cq {
    struct fake__object obj;
    struct fake__channel *channel;
    struct fake__cqe *ring;
    unsigned ring_size, head, n;
    unsigned cap;
    enum fake__arm armed;
    bool overrun;
    unsigned comp_pending, comp_got, comp_acked;
    struct fake__cq *next; /* in its channel's list */
};

struct fake__cq_handle {
    struct ibv_cq pub;
    struct fake__cq *cq;
};

static inline struct fake__cq *
fake__cq_of(struct ibv_cq *cq)
{
    return ((struct fake__cq_handle *)cq)->cq;
}

/* Notes the completion, and adds it to the queue unless a rule prevents
 * that. */
void fake__cq_complete(struct fake__cq *cq, const struct fake__cqe *e);
/* Removes the completions of a QP. */
void fake__cq_forget(struct fake__cq *cq, const struct fake__qp *qp);
void fake__cq_die(struct fake__cq *cq);
const char *fake__status_name(enum ibv_wc_status status);

int fake__poll_cq(struct ibv_cq *cq, int n, struct ibv_wc *wc);
int fake__req_notify_cq(struct ibv_cq *cq, int solicited_only);

/* --- work requests ----------------------------------------------------- */

struct fake__wqe {
    struct fake__wqe *next;
    uint64_t wr_id, seq;
    struct ibv_sge *sge;
    unsigned n_sge, sge_size;
    uint32_t length; /* of all sges */
    enum ibv_wr_opcode opcode;
    unsigned flags;
    uint32_t imm; /* or rkey to invalidate */
    uint64_t remote_addr, compare_add, swap;
    uint32_t rkey;
    union ibv_gid dgid; /* UD: destination */
    uint32_t remote_qpn, remote_qkey;
    uint64_t late; /* UD: a rule delays it by so many nanoseconds */
    struct fake__key *mw;
    uint32_t mw_rkey, mr_lkey;
    uint64_t bind_addr, bind_length;
    unsigned bind_access;
    uint8_t *data; /* inline */
    uint32_t data_size;
    bool noted;
    bool sent;    /* it has its psn */
    bool flies;   /* as a packet, and no answer has come */
    bool twice;   /* it arrives twice, the second time `again` ns later */
    uint32_t psn; /* of an RC request */
    uint64_t again;
    unsigned tries, rnr_tries;
    enum ibv_wc_status status;
};

struct fake__queue {
    struct fake__wqe *head, *tail;
    unsigned n;
};

struct fake__wqe *fake__wqe_new(struct fake__device *d, uint64_t wr_id,
                                const struct ibv_sge *sge, int n);
void fake__wqe_free(struct fake__device *d, struct fake__wqe *w);
void fake__queue_push(struct fake__queue *q, struct fake__wqe *w);
struct fake__wqe *fake__queue_pop(struct fake__queue *q);

struct fake__srq {
    struct fake__object obj;
    struct fake__pd *pd;
    struct fake__queue queue;
    unsigned cap, max_sge, limit;
};

struct fake__srq_handle {
    struct ibv_srq pub;
    struct fake__srq *srq;
};

static inline struct fake__srq *
fake__srq_of(struct ibv_srq *srq)
{
    return ((struct fake__srq_handle *)srq)->srq;
}

struct fake__wqe *fake__srq_take(struct fake__srq *srq);
int fake__post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr,
                        struct ibv_recv_wr **bad);

/* --- keys -------------------------------------------------------------- */

struct fake__key {
    struct fake__object obj;
    struct fake__pd *pd;
    uint32_t lkey, rkey;
    uint64_t start, length;
    uint8_t *memory; /* memory at start */
    unsigned access;
    unsigned windows; /* of an MR: windows bound to it */
    /* Of a window: */
    enum ibv_mw_type type;
    struct fake__key *mr; /* NULL: not bound */
    struct fake__qp *qp;
};

/* A piece of the program's memory. */
struct fake__piece {
    uint8_t *at;
    size_t length;
};

/* Finds the memory of the sges, at most FAKE__MAX_SGE; false when a key forbids
 * it. */
bool fake__local_pieces(struct fake__device *d, const struct fake__pd *pd,
                        const struct fake__wqe *w, unsigned access,
                        struct fake__piece *pieces);
/* Finds the memory that a peer may access through qp; false when a key forbids
 * it. */
bool fake__remote_piece(struct fake__qp *qp, uint32_t rkey, uint64_t addr,
                        size_t length, unsigned access,
                        struct fake__piece *piece);
/* False if rkey is not a window that this QP could invalidate. */
bool fake__key_invalidate(struct fake__qp *qp, uint32_t rkey);
bool fake__window_bind(struct fake__qp *qp, const struct fake__wqe *w);
void fake__key_die(struct fake__key *key);
struct fake__key *fake__mw_key(struct ibv_mw *mw);

struct ibv_mw *fake__alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type);
int fake__dealloc_mw(struct ibv_mw *mw);
int fake__bind_mw(struct ibv_qp *qp, struct ibv_mw *mw,
                  struct ibv_mw_bind *bind);

/* --- QPs --------------------------------------------------------------- */

struct fake__qp {
    struct fake__object obj;
    struct fake__device *device;
    struct fake__pd *pd;
    struct fake__cq *send_cq, *recv_cq;
    struct fake__srq *srq;
    uint32_t number;
    enum ibv_qp_type type;
    bool signal_all;
    struct ibv_qp_cap cap;
    struct ibv_qp_attr attr; /* qp_state: the current state */
    struct fake__queue sq, rq;
    unsigned groups; /* multicast groups that it is attached to */
    unsigned resets;
    /* Strict: the number of the next send, and of the oldest one whose slot is
     * not free yet. */
    uint64_t posted, retired;
    uint64_t held[2]; /* earliest next completion: receives, sends */
    /* The engine: the first send that is not carried out; whether a step of it
     * is scheduled; whether it has stopped for good. Scheduled steps of an
     * older epoch are ignored. */
    struct fake__wqe *out;
    bool busy, stuck;
    uint64_t epoch, ack_at;
    /* `out` was sent or lost, and waits for an answer until the timer of this
     * number. */
    bool waits, flew; /* flew: a send flies, or has */
    uint64_t timer;
    uint64_t ahead; /* timer while run_ahead() is scheduled */
    /* PSNs: of the next send, and of the next request that is carried out; the
     * result of the last atomic operation of the peer. */
    uint32_t next_psn, expected;
    uint64_t replay;
};

struct fake__qp_handle {
    struct ibv_qp pub;
    struct fake__qp *qp;
};

struct fake__qp *fake__device_qp(struct fake__device *d, uint32_t number);
void fake__qp_die(struct fake__qp *qp);
bool fake__qp_receives(const struct fake__qp *qp);
/* Complete a work request and free it. */
void fake__qp_sent(struct fake__qp *qp, struct fake__wqe *w,
                   enum ibv_wc_status status);
void fake__qp_received(struct fake__qp *qp, struct fake__wqe *w,
                       struct fake__cqe *e);

int fake__post_send(struct ibv_qp *qp, struct ibv_send_wr *wr,
                    struct ibv_send_wr **bad);
int fake__post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr,
                    struct ibv_recv_wr **bad);

/* Runs the engine, as there are sends to carry out. */
void fake__wire_kick(struct fake__qp *qp);
const char *fake__op_name(enum ibv_wr_opcode opcode);

/* Carries out the work request at the peer; own is the sender's memory. Returns
 * the sender's status, or FAKE__NOT_READY if there was no receive. */
#define FAKE__NOT_READY ((enum ibv_wc_status) - 1)
#define FAKE__LOST      ((enum ibv_wc_status) - 2)
enum ibv_wc_status fake__respond(struct fake__qp *qp, struct fake__qp *peer,
                                 struct fake__wqe *w, struct fake__piece *own,
                                 size_t n);
/* The status for a forbidden access to the sender's own memory. */
enum ibv_wc_status fake__protection(void);
/* Copies bytes; changes both arrays of pieces. */
void fake__pieces_copy(struct fake__piece *to, size_t n_to,
                       struct fake__piece *from, size_t n_from);

/* --- packets ----------------------------------------------------------- */

/* Gives the request of an RC QP its PSN, unless it has one. */
void fake__psn_take(struct fake__qp *qp, struct fake__wqe *w);
/* fake__respond(), if it is the turn of the request's PSN. A PSN that was
 * carried out before changes nothing. FAKE__LOST: an earlier one is missing,
 * and there is no answer. */
enum ibv_wc_status fake__request_take(struct fake__qp *qp,
                                      struct fake__qp *peer,
                                      struct fake__wqe *w,
                                      struct fake__piece *own, size_t n);

/* Sends a copy of the request along a path that is not plain. The answer goes
 * to fake__wire_answered(). */
void fake__packet_send(struct fake__qp *qp, const struct fake__wqe *w,
                       struct fake_host *to, const struct fake__piece *own,
                       size_t n);
struct fake__answer {
    enum ibv_wc_status status;
    unsigned rnr_timer; /* of the peer, if it was not ready */
};
/* An answer to the QP's request with this PSN arrives; `data`: what a READ or
 * an atomic operation reads. */
void fake__wire_answered(struct fake__qp *qp, uint64_t epoch, uint32_t psn,
                         const struct fake__answer *answer,
                         struct fake__piece *data);
/* The QP to which an RC QP's packets to this address go; NULL: none. */
struct fake__qp *fake__wire_peer(struct fake__qp *qp, const union ibv_gid *gid,
                                 uint32_t number);

/* --- datagrams --------------------------------------------------------- */

/* A datagram on its way. */
struct fake__datagram {
    struct fake__datagram *next; /* in a list of idle or leaving ones */
    struct fake__device *device; /* of its sender */
    struct fake_host *to;
    union ibv_gid dgid;
    uint32_t qpn, qkey, src_qpn;
    enum ibv_wr_opcode opcode;
    unsigned flags;
    uint32_t imm;
    bool twice; /* by a rule, as are: */
    uint64_t late, again;
    uint32_t length; /* of the header and the data */
    uint8_t bytes[FAKE__GRH + FAKE__MTU];
};

/* Sends it; more than an MTU vanishes. */
void fake__datagram_send(const struct fake__qp *qp, const struct fake__wqe *w,
                         const struct fake__piece *own, size_t n);
/* Gives it to a QP that may have it; without a receive it is dropped. */
void fake__respond_datagram(struct fake__qp *peer, struct fake__datagram *g);
/* The same for any QP, or NULL: it may be of another kind or key. */
void fake__datagram_take(struct fake__qp *peer, struct fake__datagram *g);

/* --- multicast groups -------------------------------------------------- */

#define FAKE__GROUP_QPN 0xffffffu /* where datagrams to a group are sent */

bool fake__group_hears(const struct fake__device *d, const union ibv_gid *gid);
void fake__group_give(struct fake__device *d, struct fake__datagram *g);
const char *fake__group_name(const union ibv_gid *gid, char *name, size_t size);
void fake__qp_detach(struct fake__qp *qp);

#endif
