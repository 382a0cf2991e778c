/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Messages about connections between the kernels of the simulated hosts, their
 * retries, and what ends an id on either side: after the kernel's ib_cm. Static
 * functions run on the thread of their caller: one thread of the world runs at
 * a time (world.h). */
#include <errno.h>
#include <string.h>

#include "fake/cm.h"

#define RETRY_AFTER    (6400 * FAKE__MS)
#define ASK_AGAIN      (4345 * FAKE__MS) /* of a datagram service */
#define RETRIES        15
#define TIMEWAIT       (2280 * FAKE__MS)
#define NEIGHBOUR_GONE (3100 * FAKE__MS)

#define REQ_DATA      56
#define REP_DATA      196
#define REJ_DATA      148
#define SIDR_REQ_DATA 180
#define SIDR_REP_DATA 136

static const struct {
    const char *name;
    uint8_t data_len; /* as in events */
} kinds[] = {
    [FAKE__REQ] = {"REQ", REQ_DATA},
    [FAKE__REP] = {"REP", REP_DATA},
    [FAKE__RTU] = {"RTU", 0},
    [FAKE__REJ] = {"REJ", REJ_DATA},
    [FAKE__DREQ] = {"DREQ", 0},
    [FAKE__DREP] = {"DREP", 0},
    [FAKE__SIDR_REQ] = {"SIDR_REQ", SIDR_REQ_DATA},
    [FAKE__SIDR_REP] = {"SIDR_REP", SIDR_REP_DATA},
};

/* --- sending ----------------------------------------------------------- */

/* Called by message_send(). */
static struct fake__fate
message_note(const struct fake__message *m)
{
    const char *who = m->from ? m->from->process->name : m->from_host->name;
    const char *what = kinds[m->kind].name;

    if (m->kind == FAKE__REJ || m->kind == FAKE__SIDR_REP)
        return fake__note("%s: %s %d -> %s", who, what, m->status,
                          m->to_host->name);
    return fake__note("%s: %s -> %s", who, what, m->to_host->name);
}

/* Called by message_send(). */
static void
message_alter(struct fake__message *m)
{
    if (m->data_len > 0)
        m->data[fake__random(m->data_len)] ^= (uint8_t)(1 << fake__random(8));
}

/* Messages of one id stay in order, except for faults. Called by
 * message_send(). */
static uint64_t
message_delay(const struct fake__message *m)
{
    uint64_t at = fake__world.now + fake__latency();

    if (m->from != NULL) {
        if (at < m->from->arrival)
            at = m->from->arrival;
        m->from->arrival = at;
    }
    return at - fake__world.now;
}

/* True if noise has it lost. Called by message_send(). */
static bool
unheard(const struct fake__message *m)
{
    const struct fake_noise *noise = fake__path_noise(m->from_host, m->to_host);

    if (!fake__chance(noise->unheard))
        return false;
    fake__path_counts(m->from_host, m->to_host)->lost++;
    return true;
}

/* Called by fake__wire_answer(), fake__wire_say(), say_data() and say_rej(). */
static void
message_send(struct fake__message *m)
{
    bool alive = m->from != NULL && !m->from->destroyed;
    struct fake__fate fate = message_note(m);

    /* A process killed at this moment has not sent the message. */
    if (alive && m->from->destroyed)
        return;
    if (fate.lose || fate.drop || !fake__reaches(m->from_host, m->to_host) ||
        unheard(m))
        return;
    if (fate.alter)
        message_alter(m);
    fake__path_send(m->from_host, m->to_host, message_delay(m) + fate.delay,
                    fake__wire_arrive, m, 0);
}

/* Called by fake__wire_answer() and message_of(). */
static struct fake__message *
message_new(enum fake__message_kind kind, struct fake_host *from,
            struct fake_host *to, int status)
{
    struct fake__message *m = fake__alloc(sizeof *m);

    m->kind = kind;
    m->status = status;
    m->from_host = from;
    m->to_host = to;
    m->data_len = kinds[kind].data_len;
    return m;
}

/* Answers a message for which the kernel has no id. Called in cm_peer.c. */
void
fake__wire_answer(const struct fake__message *m, enum fake__message_kind kind,
                  int status)
{
    struct fake__message *reply =
        message_new(kind, m->to_host, m->from_host, status);

    reply->to = m->from;
    message_send(reply);
}

/* Called by fake__wire_say(), say_data() and say_rej(). */
static struct fake__message *
message_of(struct fake__id *id, enum fake__message_kind kind, int status)
{
    struct fake__message *m =
        message_new(kind, fake__id_device(id), id->remote, status);

    m->from = id;
    m->to = id->peer;
    m->ps = id->ps;
    m->src = id->src;
    m->dst = id->dst;
    m->qpn = id->qpn;
    m->psn = id->psn;
    m->responder = id->responder;
    m->initiator = id->initiator;
    m->retry = id->retry;
    m->rnr = id->own_rnr;
    m->srq = id->srq;
    m->flow_control = id->flow_control;
    m->tos = id->path_tos;
    return m;
}

/* Called in cm_peer.c and this file. */
void
fake__wire_say(struct fake__id *id, enum fake__message_kind kind)
{
    message_send(message_of(id, kind, 0));
}

/* Called by say_state() and fake__wire_accept(). */
static void
say_data(struct fake__id *id, enum fake__message_kind kind, int status)
{
    struct fake__message *m = message_of(id, kind, status);

    memcpy(m->data, id->data, m->data_len);
    message_send(m);
}

/* Called by fake__wire_reject() and say_goodbye(). */
static void
say_rej(struct fake__id *id, int reason, const void *data, uint8_t len)
{
    bool ud = fake__id_is_ud(id);
    struct fake__message *m =
        ud ? message_of(id, FAKE__SIDR_REP, FAKE__SIDR_REJECT)
           : message_of(id, FAKE__REJ, reason);

    if (len > 0)
        memcpy(m->data, data, len);
    message_send(m);
}

/* --- states and timers ------------------------------------------------- */

/* Called in cm_peer.c and this file. */
void
fake__wire_state_set(struct fake__id *id, enum fake__id_state state)
{
    id->state = state;
    id->round++;
    id->tries = 0;
}

/* fake__after() runs it later for fake__wire_timewait_enter(), on any
 * thread. */
static void
timewait_over(void *obj, uint64_t round)
{
    struct fake__id *id = obj;

    if (id->round != round || id->destroyed)
        return;
    fake__wire_state_set(id, FAKE__ENDED);
    fake__cm_tell(id, RDMA_CM_EVENT_TIMEWAIT_EXIT, 0);
}

/* Called in cm_peer.c and this file. */
void
fake__wire_timewait_enter(struct fake__id *id)
{
    fake__wire_state_set(id, FAKE__TIMEWAIT);
    fake__after(TIMEWAIT, timewait_over, id, id->round);
}

/* Gives DISCONNECTED at most once for each id. Called by on_dreq() and
 * on_drep() (cm_peer.c) and give_up(). */
void
fake__wire_tell_down(struct fake__id *id, int status)
{
    if (id->told_down)
        return;
    id->told_down = true;
    fake__cm_tell(id, RDMA_CM_EVENT_DISCONNECTED, status);
}

/* Called by retry(). */
static void
give_up(struct fake__id *id)
{
    if (id->state == FAKE__DREQ_SENT) {
        fake__wire_timewait_enter(id);
        fake__wire_tell_down(id, -ETIMEDOUT);
    } else {
        fake__wire_state_set(id, FAKE__ENDED);
        fake__cm_tell(id, RDMA_CM_EVENT_UNREACHABLE, -ETIMEDOUT);
    }
}

/* Sends the message of the id's state. Called by retry() and
 * fake__wire_state_say(). */
static void
say_state(struct fake__id *id)
{
    switch (id->state) {
    case FAKE__REQ_SENT:
        say_data(id, FAKE__REQ, 0);
        break;
    case FAKE__SIDR_SENT:
        say_data(id, FAKE__SIDR_REQ, 0);
        break;
    case FAKE__REP_SENT:
        say_data(id, FAKE__REP, 0);
        break;
    case FAKE__DREQ_SENT:
        fake__wire_say(id, FAKE__DREQ);
        break;
    default:
        break;
    }
}

/* The kernel reports that the neighbour is unreachable. This is a hint: the
 * kernel goes on trying. fake__after() runs it later for neighbour_watch(), on
 * any thread. */
static void
neighbour_gone(void *obj, uint64_t round)
{
    struct fake__id *id = obj;

    if (id->round == round && !id->destroyed &&
        !fake__reach_each_other(fake__id_device(id), id->remote))
        fake__cm_tell(id, RDMA_CM_EVENT_UNREACHABLE, -ETIMEDOUT);
}

/* Called by fake__wire_state_say(). */
static void
neighbour_watch(struct fake__id *id)
{
    if (id->state == FAKE__REQ_SENT && !id->remote->removed &&
        !fake__reach_each_other(fake__id_device(id), id->remote))
        fake__after(NEIGHBOUR_GONE, neighbour_gone, id, id->round);
}

/* Called by retry() and fake__wire_state_say(). */
static uint64_t
retry_after(const struct fake__id *id)
{
    return id->state == FAKE__SIDR_SENT ? ASK_AGAIN : RETRY_AFTER;
}

/* fake__after() runs it later for retry() and fake__wire_state_say(), on any
 * thread. */
static void
retry(void *obj, uint64_t round)
{
    struct fake__id *id = obj;

    if (id->round != round || id->destroyed)
        return;
    if (id->tries++ == RETRIES) {
        give_up(id);
        return;
    }
    fake__after(retry_after(id), retry, id, round);
    say_state(id);
}

/* Sets the state and sends its message, until there is an answer. Called in
 * cm_peer.c and this file. */
void
fake__wire_state_say(struct fake__id *id, enum fake__id_state state)
{
    fake__wire_state_set(id, state);
    fake__after(retry_after(id), retry, id, id->round);
    neighbour_watch(id);
    say_state(id);
}

/* --- calls of the program ---------------------------------------------- */

/* Called by rdma_connect() (cm_conn.c). */
void
fake__wire_connect(struct fake__id *id)
{
    fake__wire_state_say(id,
                         fake__id_is_ud(id) ? FAKE__SIDR_SENT : FAKE__REQ_SENT);
}

/* Called by accept_send() (cm_conn.c). */
void
fake__wire_accept(struct fake__id *id)
{
    if (id->state == FAKE__SIDR_RCVD) {
        fake__wire_state_set(id, FAKE__ENDED);
        say_data(id, FAKE__SIDR_REP, 0);
    } else {
        fake__wire_state_say(id, FAKE__REP_SENT);
    }
}

/* Called by accept_send() and rdma_reject() (cm_conn.c). */
bool
fake__wire_reject(struct fake__id *id, const void *data, uint8_t len)
{
    switch (id->state) {
    case FAKE__REQ_SENT:
    case FAKE__REQ_RCVD:
    case FAKE__REP_RCVD:
    case FAKE__SIDR_RCVD:
        fake__wire_state_set(id, FAKE__ENDED);
        break;
    case FAKE__REP_SENT:
        fake__wire_timewait_enter(id);
        break;
    default:
        return false;
    }
    say_rej(id, FAKE__REJ_CONSUMER, data, len);
    return true;
}

/* Called by fake__conn_response() and rdma_establish() (cm_conn.c). */
bool
fake__wire_establish(struct fake__id *id)
{
    if (id->state != FAKE__REP_RCVD)
        return false;
    fake__wire_state_set(id, FAKE__ESTABLISHED);
    fake__wire_say(id, FAKE__RTU);
    return true;
}

/* Called by rdma_disconnect() (cm_conn.c). */
void
fake__wire_disconnect(struct fake__id *id)
{
    if (id->state == FAKE__ESTABLISHED) {
        fake__wire_state_say(id, FAKE__DREQ_SENT);
    } else if (id->state == FAKE__DREQ_RCVD) {
        fake__wire_timewait_enter(id);
        fake__wire_say(id, FAKE__DREP);
    }
}

/* A destroyed id sends its last message once. Called by
 * fake__wire_destroy(). */
static void
say_goodbye(struct fake__id *id, enum fake__id_state state)
{
    switch (state) {
    case FAKE__REQ_SENT:
        say_rej(id, FAKE__REJ_TIMEOUT, NULL, 0);
        break;
    case FAKE__REQ_RCVD:
    case FAKE__REP_SENT:
    case FAKE__REP_RCVD:
    case FAKE__SIDR_RCVD:
        say_rej(id, FAKE__REJ_CONSUMER, NULL, 0);
        break;
    case FAKE__ESTABLISHED:
        fake__wire_say(id, FAKE__DREQ);
        break;
    case FAKE__DREQ_RCVD:
        fake__wire_say(id, FAKE__DREP);
        break;
    default:
        break;
    }
}

/* Called by rdma_destroy_id() (cm.c) and child_refuse() and fake__cm_exit()
 * (cm_event.c). */
void
fake__wire_destroy(struct fake__id *id)
{
    enum fake__id_state state = id->state;

    if (id->destroyed)
        return;
    id->destroyed = true;
    fake__members_drop(id);
    fake__wire_state_set(id, FAKE__ENDED);
    say_goodbye(id, state);
}

/* Called by fake__cm_device_gone() (cm_event.c). */
void
fake__wire_forget(struct fake__id *id)
{
    fake__wire_state_set(id, FAKE__ENDED);
}
