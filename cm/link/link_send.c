/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * How a link sends messages: waiting messages are packed into as few packets as
 * possible, written directly to the buffer from which the wire sends. A message
 * longer than a packet is sent in parts, which take turns with other messages.
 * See cm/link/link.h. Static functions run on any thread, under the link's
 * lock, unless their comment says otherwise. */
#include <sched.h>
#include <string.h>

#include <urcu/system.h> /* CMM_LOAD_SHARED() */

#include "cm/link/link.h"
#include "transport/core/le.h"

/* --- packing ----------------------------------------------------------- */

uint32_t
vc__deadline_left(uint64_t due, uint64_t now)
{
    if (due == VC__FOREVER || due > now + VC__DEADLINE_NONE - 1)
        return VC__DEADLINE_NONE;
    return due <= now ? 0 : (uint32_t)(due - now);
}

/* Writes a frame's header and metadata; returns where its body goes. For the
 * three functions after it. */
static uint8_t *
head_write(uint8_t *out, const struct vc__frame *f)
{
    vc__frame_put(out, f);
    out += VC__FRAME_HEADER;
    if (f->metadata_len > 0)
        memcpy(out, f->metadata, f->metadata_len);
    return out + f->metadata_len;
}

/* Writes the frame of a message that is not long: its body is copied, or
 * s->write() writes it. For send_write(). */
static void
write_whole(struct vc__send *s, uint8_t *out)
{
    const struct vc__frame *f = &s->frame;

    out = head_write(out, f);
    if (s->body != NULL)
        memcpy(out, s->body, f->body_len);
    else if (f->body_len > 0)
        s->write(s, out);
    s->at = f->body_len;
}

/* Writes the first part of `take` bytes; returns how many bytes of the body it
 * contains. For send_write(). */
static uint32_t
write_first(struct vc__send *s, uint8_t *out, uint32_t take)
{
    struct vc__frame f = s->frame;
    uint32_t len;

    f.flags |= VC__FRAME_MORE;
    f.body_len = take - VC__FRAME_HEADER - f.metadata_len;
    len = f.body_len - VC__TOTAL_SIZE;
    out = head_write(out, &f);
    vc__put32(out, s->frame.body_len);
    memcpy(out + VC__TOTAL_SIZE, s->body, len);
    return len;
}

/* Writes a further part of `take` bytes, a DATA frame; returns how many bytes
 * of the body it contains. For send_write(). */
static uint32_t
write_further(struct vc__send *s, uint8_t *out, uint32_t take)
{
    struct vc__frame f = s->frame;

    f.flags = s->of_reply ? VC__FRAME_OF_REPLY : 0;
    f.type = VC__FRAME_DATA;
    f.method = 0;
    f.metadata_len = 0;
    f.body_len = take - VC__FRAME_HEADER;
    f.deadline = s->at;
    if (s->at + f.body_len < s->frame.body_len)
        f.flags |= VC__FRAME_MORE;
    out = head_write(out, &f);
    memcpy(out, s->body + s->at, f.body_len);
    return f.body_len;
}

/* The time left of a CALL; a long one may be up to vc__rough_us() too long. For
 * send_write(). */
static uint32_t
deadline_left_now(const struct vc__send *s)
{
    uint64_t now = vc__now_rough();

    return vc__deadline_left(s->due,
                             s->due < now + VC__FAR_US ? vc__now() : now);
}

/* Writes s->take bytes of a message, and advances s->at. A CALL gets the time
 * that is left now, unless that was just computed. For frames_write(). */
static void
send_write(const struct vc__link *link, struct vc__send *s, uint8_t *out)
{
    if (s->frame.type == VC__FRAME_CALL &&
        !(s->fresh && s->round == link->round))
        s->frame.deadline = deadline_left_now(s);
    if (vc__send_is_long(s))
        s->at += s->at == 0 ? write_first(s, out, s->take)
                            : write_further(s, out, s->take);
    else
        write_whole(s, out);
}

/* Writes the header of a packet with this many frames (0: the packet only
 * reports credits), and takes the credit that the packet costs. For
 * packet_send(), credits_tell() and vc__link_send_marked(). */
static void
header_write(struct vc__link *link, uint8_t *out, uint16_t count)
{
    struct vc__packet p = {.count = count};

    p.sequence = vc__credit_sent(&link->credit, &p.word);
    vc__packet_put(out, &p);
}

void
vc__link_send_end(struct vc__send *s, enum vc__send_end end)
{
    s->place = VC__SEND_OUT;
    if (s->done != NULL)
        s->done(s, end);
}

/* Called by frames_write() when s->take bytes of s were written: queues the
 * rest of it again; if there is none, has it wait for its acknowledgement, or
 * calls done(). If done is NULL, the owner may free s at any moment after
 * `gone` is set, also by another thread. */
static void
send_written(struct vc__link *link, struct vc__send *s)
{
    bool more = s->at < s->frame.body_len;
    bool over = !more && !s->wants_ack && s->done != NULL;

    s->place = VC__SEND_OUT;
    if (more) {
        vc__schedule_add(&link->schedule, s);
    } else if (s->wants_ack) {
        s->place = VC__SEND_SENT;
        cds_list_add_tail(&s->node, &link->sent);
    }
    /* Release: pairs with the acquire of a thread that finds `gone` set and
     * then reads the rest. */
    atomic_store_explicit(&s->gone, true, memory_order_release);
    if (over)
        s->done(s, VC__SEND_HANDED);
}

/* A packet could not be sent: has the holder end the link, by link_on_broken().
 * For packet_commit(). */
static void
link_is_ill(struct vc__link *link)
{
    link->open = false;
    if (!link->ill) {
        link->ill = true;
        vc__engine_post(link->engine, &link->broken);
    }
}

/* Sends the packet written at packet_reserve(). False: it could not be sent,
 * and the link ends. For packet_send(), credits_tell() and
 * vc__link_send_marked(). */
static bool
packet_commit(struct vc__link *link, uint32_t len)
{
    if (link->wire->transport->commit(link->wire, len) == 0) {
        vc__tally_add(&link->tally, VC__LINK_PACKETS_SENT, 1);
        vc__tally_add(&link->tally, VC__LINK_BYTES_SENT, len);
        return true;
    }
    link_is_ill(link);
    return false;
}

/* Returns where to write the next packet; NULL if there is not even room for
 * its header. For packet_send(), credits_tell() and vc__link_send_marked(). */
static uint8_t *
packet_reserve(struct vc__link *link, uint32_t *room)
{
    uint8_t *out = link->wire->transport->reserve(link->wire, room);

    return out == NULL || *room < VC__PACKET_HEADER ? NULL : out;
}

/* Takes the message that goes next, if the next frame of it has no more than
 * `room` bytes; else NULL. One that is alone takes no turn. For
 * frames_write(). */
static struct vc__send *
next_take(struct vc__link *link, uint32_t room)
{
    struct vc__send *s = link->alone;
    uint32_t whole;

    if (s == NULL)
        return vc__schedule_take(&link->schedule, room);
    whole = vc__send_whole(s);
    if (whole > room)
        return NULL;
    link->alone = NULL;
    s->take = whole;
    return s;
}

/* Writes waiting frames after the packet's header; returns the packet's length.
 * A packet takes one part of a long message, which fills it. *count is set to
 * the number of frames, which may be 0. For packet_send(). */
static uint32_t
frames_write(struct vc__link *link, uint8_t *out, uint32_t room,
             uint16_t *count)
{
    uint32_t len = VC__PACKET_HEADER;
    uint16_t most = vc__link_frames_max(link);
    struct vc__send *s;

    *count = 0;
    while (*count < most && (s = next_take(link, room - len)) != NULL) {
        send_write(link, s, out + len);
        len += s->take;
        ++*count;
        s->packet = link->credit.tx_next;
        send_written(link, s);
    }
    return len;
}

/* True if no message waits to be sent. For packet_send() and
 * vc__link_enter(). */
static bool
nothing_waits(struct vc__link *link)
{
    return link->alone == NULL && vc__schedule_is_empty(&link->schedule);
}

/* Sends one packet of waiting messages; returns false if none can be sent now,
 * or sending failed. For queue_flush(). */
static bool
packet_send(struct vc__link *link)
{
    uint32_t room, len;
    uint16_t count;
    uint8_t *out;

    if (!link->open || nothing_waits(link) ||
        !vc__credit_can_send(&link->credit))
        return false;
    out = packet_reserve(link, &room);
    if (out == NULL)
        return false;
    len = frames_write(link, out, room, &count);
    if (count == 0)
        return false;
    header_write(link, out, count);
    return packet_commit(link, len);
}

/* Sends a packet without frames, to report credits. If there is no buffer, the
 * completion that frees one leads here again. For queue_flush(). */
static void
credits_tell(struct vc__link *link)
{
    uint32_t room;
    uint8_t *out = packet_reserve(link, &room);

    if (out == NULL)
        return;
    header_write(link, out, 0);
    if (packet_commit(link, VC__PACKET_HEADER))
        vc__tally_add(&link->tally, VC__LINK_PACKETS_OF_CREDITS, 1);
}

/* The holder, under the lock. Before the first packet of the active side, that
 * side must send an OPEN or a PING, and the passive side nothing (iWARP). */
bool
vc__link_send_marked(struct vc__link *link, uint32_t *ticket)
{
    const struct vc__transport *t = link->wire->transport;
    uint32_t begun =
        link->active ? link->credit.tx_next : vc__credit_next(&link->credit);
    uint32_t room;
    uint8_t *out;

    if (!link->open || begun == 0 || !vc__credit_can_send(&link->credit))
        return false;
    out = packet_reserve(link, &room);
    if (out == NULL)
        return false;
    *ticket = t->mark(link->wire);
    header_write(link, out, 0);
    packet_commit(link, VC__PACKET_HEADER);
    if (t->flush != NULL)
        t->flush(link->wire);
    return true;
}

/* The message that is alone has to wait, so others may come. For
 * queue_flush(). */
static __attribute__((noinline)) void
alone_wait(struct vc__link *link)
{
    vc__schedule_add(&link->schedule, link->alone);
    link->alone = NULL;
}

/* Sends all that can be sent. The packets sent carry all credit updates due so
 * far. For packets handled later, the holder sends updates: packet_handled().
 * Called by vc__link_flush() and vc__link_push_entered(). */
static void
queue_flush(struct vc__link *link)
{
    bool sent = false;

    while (packet_send(link))
        sent = true;
    link->round++;
    if (!link->open)
        return;
    if (link->alone != NULL)
        alone_wait(link);
    if (!vc__schedule_is_empty(&link->schedule))
        vc__tally_add(&link->tally,
                      vc__credit_can_send(&link->credit)
                          ? VC__LINK_STALLS_BUFFERS
                          : VC__LINK_STALLS_CREDITS,
                      1);
    if (!sent && vc__credit_must_tell(&link->credit))
        credits_tell(link);
    if (link->wire->transport->flush != NULL)
        link->wire->transport->flush(link->wire);
}

/* --- appending and pushing --------------------------------------------- */

/* ThreadSanitizer does not instrument liburcu. These two functions show it that
 * data written before a message was appended is read only after it was taken.
 * arrival_add() calls the first, without the lock; arrival_take() and
 * arrival_await() call the second. */
#ifdef __SANITIZE_THREAD__
static atomic_uint appended;

static void
say_appended(void)
{
    atomic_fetch_add_explicit(&appended, 1, memory_order_release);
}

static void
see_appended(void)
{
    atomic_load_explicit(&appended, memory_order_acquire);
}
#else
#define say_appended() ((void)0)
#define see_appended() ((void)0)
#endif

/* True if no appended message waits. For arrival_take(), and without the lock
 * for link_send_leave() and vc__link_push_arrived(). It is cds_wfcq_empty(),
 * inline, because it is called twice for each packet. */
static bool
arrivals_none(const struct vc__link *link)
{
    return CMM_LOAD_SHARED(link->arrivals.node.next) == NULL &&
           CMM_LOAD_SHARED(link->arrivals_tail.p) == &link->arrivals.node;
}

/* Removes and returns the next appended message. Returns NULL if there is none,
 * or the thread that appends it is not done yet; that thread will push it. For
 * arrivals_take(). */
static struct vc__send *
arrival_take(struct vc__link *link)
{
    struct cds_wfcq_node *node = NULL;

    if (!arrivals_none(link))
        node = __cds_wfcq_dequeue_nonblocking(&link->arrivals,
                                              &link->arrivals_tail);
    if (node == NULL || node == CDS_WFCQ_WOULDBLOCK)
        return NULL;
    see_appended();
    return caa_container_of(node, struct vc__send, arrival);
}

/* Removes and returns the next appended message; NULL if there is none. Waits
 * for a thread that is in the middle of appending, because messages of this
 * thread may come after its message. For vc__link_arrivals_take(). */
static struct vc__send *
arrival_await(struct vc__link *link)
{
    struct cds_wfcq_node *node =
        __cds_wfcq_dequeue_blocking(&link->arrivals, &link->arrivals_tail);

    if (node == NULL)
        return NULL;
    see_appended();
    return caa_container_of(node, struct vc__send, arrival);
}

/* A message is to be sent: puts it into the schedule, or ends it as lost if
 * sending is closed. Called for each message taken from the queue, and by
 * vc__link_enter(). */
static void
arrival_put(struct vc__link *link, struct vc__send *s)
{
    s->round = link->round;
    if (link->open)
        vc__schedule_add(&link->schedule, s);
    else
        vc__link_send_end(s, VC__SEND_LOST);
}

/* Takes all messages appended before this call. */
void
vc__link_arrivals_take(struct vc__link *link)
{
    struct vc__send *s;

    while ((s = arrival_await(link)) != NULL)
        arrival_put(link, s);
}

/* Takes the appended messages that are complete. Returns false if there were
 * none. For vc__link_flush() and vc__link_enter(). */
static bool
arrivals_take(struct vc__link *link)
{
    struct vc__send *s;
    bool took = false;

    while ((s = arrival_take(link)) != NULL) {
        took = true;
        arrival_put(link, s);
    }
    return took;
}

bool
vc__link_flush(struct vc__link *link)
{
    bool took = arrivals_take(link);

    queue_flush(link);
    return took;
}

/* Takes the lock if it is free, or needed by nobody else: true. For
 * vc__link_enter() and vc__link_push(). */
static bool
link_lock_try(struct vc__link *link)
{
    return !link->active || vc__lock_try(&link->lock);
}

/* Unlocks. Returns true if messages were appended meanwhile: threads that did
 * not get the lock have returned, so this thread must send them. For
 * vc__link_unlock() and vc__link_push(). */
static bool
link_send_leave(struct vc__link *link)
{
    if (!link->active)
        return false;
    /* Fenced: the unlock is visible before the queue is read. */
    vc__lock_give_fenced(&link->lock);
    return !arrivals_none(link);
}

void
vc__link_unlock(struct vc__link *link)
{
    if (link_send_leave(link))
        vc__link_push(link);
}

/* Without the lock. A message that is in the queue but cannot be taken is being
 * appended right now, by a thread that may have failed to get the lock in its
 * push. sched_yield() lets that thread finish. */
void
vc__link_push(struct vc__link *link)
{
    bool took, more;

    do {
        if (!link_lock_try(link))
            return;
        took = vc__link_flush(link);
        more = link_send_leave(link);
        if (more && !took)
            sched_yield();
    } while (more);
}

void
vc__link_push_arrived(struct vc__link *link)
{
    if (!arrivals_none(link))
        vc__link_push(link);
}

/* The link begins to use a message. Without the lock. For vc__link_append() and
 * vc__link_enter(). */
static void
send_begin(struct vc__send *s)
{
    s->at = 0;
    s->place = VC__SEND_OUT;
    if (s->hold != NULL)
        s->hold(s);
    atomic_store_explicit(&s->gone, false, memory_order_relaxed);
}

/* Adds a message to the lock-free queue. Without the lock. For
 * vc__link_append() and vc__link_enter(). */
static void
arrival_add(struct vc__link *link, struct vc__send *s)
{
    cds_wfcq_node_init(&s->arrival);
    say_appended();
    cds_wfcq_enqueue(&link->arrivals, &link->arrivals_tail, &s->arrival);
}

void
vc__link_append(struct vc__link *link, struct vc__send *s)
{
    send_begin(s);
    arrival_add(link, s);
}

/* Messages that were appended before go first, also those after one that
 * another thread is in the middle of appending. */
bool
vc__link_enter(struct vc__link *link, struct vc__send *s)
{
    send_begin(s);
    if (!link_lock_try(link)) {
        arrival_add(link, s);
        return false;
    }
    if (!arrivals_none(link)) {
        arrivals_take(link);
        if (!arrivals_none(link)) {
            arrival_add(link, s);
            return true;
        }
    }
    if (!link->open || !nothing_waits(link) || vc__send_is_long(s)) {
        arrival_put(link, s);
    } else {
        s->round = link->round;
        link->alone = s;
    }
    return true;
}

void
vc__link_push_entered(struct vc__link *link)
{
    queue_flush(link);
    vc__link_unlock(link);
}

void
vc__link_push_held(struct vc__link *link, bool entered)
{
    if (entered)
        vc__link_push_entered(link);
    else
        vc__link_push(link);
    /* Release: the link ends after everything done here. */
    if (atomic_fetch_sub_explicit(&link->pushers, 1, memory_order_acq_rel) ==
        (VC__LINK_REAPED | 1))
        vc__engine_post(link->engine, &link->reap);
}

/* The holder, without the lock. If the lock is free, the message need not go
 * through the queue. */
void
vc__link_send(struct vc__link *link, struct vc__send *s)
{
    if (vc__link_enter(link, s))
        vc__link_push_entered(link);
    else
        vc__link_push(link);
}
