/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Turns by bytes; see cm/link/schedule.h. A flow sends while it has bytes left
 * of its turn, even if the last message takes more. The surplus is deducted
 * from its next turns. This is the surplus variant of deficit round robin: a
 * message's length need not be known before its turn. Static functions run as
 * those that they are for: on any thread, under the link's lock. */
#include "cm/link/schedule.h"

/* Bytes of a turn for weight 1. */
#define QUANTUM 2048
/* Fewest body bytes of a part; if the packet has less room, the part waits for
 * the next packet. */
#define PART_MIN 512u

void
vc__schedule_init(struct vc__schedule *s)
{
    CDS_INIT_LIST_HEAD(&s->ring);
    s->stamp = 0;
}

void
vc__flow_init(struct vc__flow *f, uint32_t weight)
{
    CDS_INIT_LIST_HEAD(&f->node);
    CDS_INIT_LIST_HEAD(&f->sends);
    CDS_INIT_LIST_HEAD(&f->huge);
    f->weight = (uint16_t)weight;
    f->n_huge = 0;
    f->left = 0;
    f->urgent = false;
}

/* --- huge ones ---------------------------------------------------------- */

/* True if a message is huge and not begun, so it may have to wait. Messages
 * after it need not wait for it: to cancel it, a client takes it back and sends
 * another frame in its place. For vc__schedule_add() and part_taken(). */
static bool
is_huge(const struct vc__send *s)
{
    return s->frame.body_len >= VC__HUGE && s->at == 0 &&
           (s->frame.type == VC__FRAME_CALL ||
            s->frame.type == VC__FRAME_REPLY);
}

/* True if a huge message of the flow waits, and may begin now. For
 * flow_is_idle(), send_next_of_both() and huge_add(). */
static bool
huge_may_begin(struct vc__flow *f)
{
    return !cds_list_empty(&f->huge) && f->n_huge < VC__HUGE_MOST;
}

/* True if the flow has no message that may be sent now. For flow_remove(). */
static bool
flow_is_idle(struct vc__flow *f)
{
    return cds_list_empty(&f->sends) && !huge_may_begin(f);
}

/* Counts a huge message, whose first part is taken. For part_taken(). */
static void
huge_begin(struct vc__send *s)
{
    s->is_huge = true;
    s->flow->n_huge++;
}

/* Counts a message no longer, if it was counted. For part_taken() when its last
 * part is taken, and for vc__schedule_remove(). */
static void
huge_end(struct vc__send *s)
{
    if (s->is_huge)
        s->flow->n_huge--;
    s->is_huge = false;
}

/* The earlier of the flow's next ordinary message and its next huge one, if
 * that may begin. Called by send_next() when huge ones wait. */
static __attribute__((noinline)) struct vc__send *
send_next_of_both(struct vc__flow *f)
{
    struct vc__send *first, *huge;

    first = cds_list_entry(f->sends.next, struct vc__send, node);
    if (!huge_may_begin(f))
        return first;
    huge = cds_list_entry(f->huge.next, struct vc__send, node);
    if (cds_list_empty(&f->sends))
        return huge;
    return (int32_t)(huge->stamp - first->stamp) < 0 ? huge : first;
}

/* The flow's next message; never NULL, as a flow in the ring has one. For
 * vc__schedule_take(). */
static struct vc__send *
send_next(struct vc__flow *f)
{
    return cds_list_empty(&f->huge)
               ? cds_list_entry(f->sends.next, struct vc__send, node)
               : send_next_of_both(f);
}

/* --- flows --------------------------------------------------------------- */

/* Adds a flow with messages to the ring. A flow with bytes left still has its
 * turn, so that a long message continues. For vc__schedule_add() and
 * huge_add(). */
static void
flow_enter(struct vc__schedule *s, struct vc__flow *f)
{
    if (f->urgent || f->left > 0)
        cds_list_add(&f->node, &s->ring);
    else
        cds_list_add_tail(&f->node, &s->ring);
}

/* Adds a huge message that has not begun, for vc__schedule_add(). Out of line:
 * this case is rare. */
static __attribute__((noinline)) void
huge_add(struct vc__schedule *s, struct vc__send *send)
{
    struct vc__flow *f = send->flow;

    cds_list_add_tail(&send->node, &f->huge);
    if (cds_list_empty(&f->node) && huge_may_begin(f))
        flow_enter(s, f);
}

void
vc__schedule_add(struct vc__schedule *s, struct vc__send *send)
{
    struct vc__flow *f = send->flow;

    send->stamp = ++s->stamp;
    send->place = VC__SEND_QUEUED;
    if (is_huge(send)) {
        huge_add(s, send);
        return;
    }
    cds_list_add_tail(&send->node, &f->sends);
    if (cds_list_empty(&f->node))
        flow_enter(s, f);
}

/* Takes a message out of its flow. A flow that has none left which may be sent
 * now (huge ones may have to wait) is taken off the ring, and loses the bytes
 * that are left of its turn. For vc__schedule_take(), part_taken() and
 * vc__schedule_remove(). */
static void
flow_remove(struct vc__send *send)
{
    struct vc__flow *f = send->flow;

    cds_list_del(&send->node);
    send->place = VC__SEND_OUT;
    if (!flow_is_idle(f))
        return;
    cds_list_del_init(&f->node);
    /* Unused bytes are lost, overdrawn bytes stay owed. */
    if (f->left > 0)
        f->left = 0;
}

void
vc__schedule_remove(struct vc__send *send)
{
    huge_end(send);
    flow_remove(send);
}

/* Bytes before the body's bytes in the next part of s. For part_take() and
 * send_has_more(). */
static uint32_t
part_head(const struct vc__send *s)
{
    return s->at > 0
               ? VC__FRAME_HEADER
               : VC__FRAME_HEADER + s->frame.metadata_len + VC__TOTAL_SIZE;
}

/* Bytes of the next part of s, with its header, in a packet with `room` bytes
 * left; 0 if it must wait. For send_take(). */
static uint32_t
part_take(const struct vc__send *s, uint32_t room)
{
    uint32_t head = part_head(s);
    uint64_t rest = head + (uint64_t)s->frame.body_len - s->at;

    if (rest <= room)
        return (uint32_t)rest;
    return room < head + PART_MIN ? 0 : room;
}

/* Bytes of the next frame of s, a part or the whole, in a packet with `room`
 * bytes left; 0 if it must wait. For vc__schedule_take(). */
static uint32_t
send_take(const struct vc__send *s, uint32_t room)
{
    uint32_t whole;

    if (vc__send_is_long(s))
        return part_take(s, room);
    whole = vc__send_whole(s);
    return whole <= room ? whole : 0;
}

/* The flow's turn ends. For flow_next() and flow_pay(). */
static void
flow_to_the_end(struct vc__schedule *s, struct vc__flow *f)
{
    cds_list_del(&f->node);
    cds_list_add_tail(&f->node, &s->ring);
}

/* Returns the flow whose turn it is; the ring is not empty. For
 * vc__schedule_take(). */
static struct vc__flow *
flow_next(struct vc__schedule *s)
{
    for (;;) {
        struct vc__flow *f =
            cds_list_entry(s->ring.next, struct vc__flow, node);

        if (f->urgent)
            return f;
        if (f->left <= 0)
            f->left += (int32_t)(QUANTUM * f->weight);
        if (f->left > 0)
            return f;
        flow_to_the_end(s, f);
    }
}

/* True if more parts of a long message follow this one. For part_taken(). */
static bool
send_has_more(const struct vc__send *s)
{
    return s->at + (s->take - part_head(s)) < s->frame.body_len;
}

/* Charges a flow for `take` bytes; its turn ends when no bytes are left. For
 * vc__schedule_take(). */
static void
flow_pay(struct vc__schedule *s, struct vc__flow *f, uint32_t take)
{
    if (f->urgent)
        return;
    f->left -= (int32_t)take;
    if (f->left <= 0)
        flow_to_the_end(s, f);
}

/* Removes a long message, of which a part is taken; while more of it follows,
 * the flow keeps the bytes that are left of its turn, if any. For
 * vc__schedule_take(). */
static void
part_taken(struct vc__send *send)
{
    int32_t left = send->flow->left;
    bool more = send_has_more(send);

    if (!more)
        huge_end(send);
    else if (is_huge(send))
        huge_begin(send);
    flow_remove(send);
    if (more)
        send->flow->left = left;
}

struct vc__send *
vc__schedule_take(struct vc__schedule *s, uint32_t room)
{
    struct vc__flow *f;
    struct vc__send *send;

    /* A part of a long message fills its packet, so no turn passes while its
     * flow is outside the ring. */
    if (cds_list_empty(&s->ring) || room < VC__FRAME_HEADER)
        return NULL;
    f = flow_next(s);
    send = send_next(f);
    send->take = send_take(send, room);
    if (send->take == 0)
        return NULL;
    flow_pay(s, f, send->take);
    if (vc__send_is_long(send)) {
        part_taken(send);
        return send;
    }
    flow_remove(send);
    return send;
}

struct vc__send *
vc__flow_any(struct vc__flow *f)
{
    struct cds_list_head *list =
        cds_list_empty(&f->sends) ? &f->huge : &f->sends;

    return cds_list_empty(list)
               ? NULL
               : cds_list_entry(list->next, struct vc__send, node);
}

struct vc__send *
vc__schedule_clear(struct vc__schedule *s)
{
    struct vc__send *send;

    if (cds_list_empty(&s->ring))
        return NULL;
    send = vc__flow_any(cds_list_entry(s->ring.next, struct vc__flow, node));
    vc__schedule_remove(send);
    return send;
}
