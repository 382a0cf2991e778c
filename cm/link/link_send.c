/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * How a link sends messages: those that wait are packed into as few packets
 * as they fit in, each written straight to where the wire sends it from. A
 * message longer than a packet goes in parts, taking turns with the others. */
#include <sched.h>
#include <string.h>

#include <urcu/system.h> /* CMM_LOAD_SHARED() */

#include "cm/link/link.h"
#include "transport/core/fence.h"
#include "transport/core/le.h"

/* --- packing ----------------------------------------------------------- */

uint32_t
vc__deadline_left(uint64_t due, uint64_t now)
{
    if (due == VC__FOREVER || due > now + VC__DEADLINE_NONE - 1)
        return VC__DEADLINE_NONE;
    return due <= now ? 0 : (uint32_t)(due - now);
}

/* A frame's header and metadata; where its body goes. */
static uint8_t *
head_write(uint8_t *out, const struct vc__frame *f)
{
    vc__frame_put(out, f);
    out += VC__FRAME_HEADER;
    if (f->metadata_len > 0)
        memcpy(out, f->metadata, f->metadata_len);
    return out + f->metadata_len;
}

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

/* The first part, in `take` bytes; how much of the message is in it. */
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

static void
send_write(const struct vc__link *link, struct vc__send *s, uint8_t *out)
{
    if (s->frame.type == VC__FRAME_CALL &&
        !(s->fresh && s->round == link->round))
        s->frame.deadline = vc__deadline_left(s->due, vc__now());
    if (vc__send_is_long(s))
        s->at += s->at == 0 ? write_first(s, out, s->take)
                            : write_further(s, out, s->take);
    else
        write_whole(s, out);
}

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

/* s was written, as far as s->take reaches. Without a done() it may be freed
 * at any moment after `gone` is set, with one by that. */
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
    /* Release: pairs with whoever takes it for gone and reads the rest. */
    atomic_store_explicit(&s->gone, true, memory_order_release);
    if (over)
        s->done(s, VC__SEND_HANDED);
}

/* Under the lock, from any thread: the holder is to end the link. */
static void
link_is_ill(struct vc__link *link)
{
    link->open = false;
    if (!link->ill) {
        link->ill = true;
        vc__engine_post(link->engine, &link->broken);
    }
}

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

/* Where the next packet goes; NULL: there is no room even for its header. */
static uint8_t *
packet_reserve(struct vc__link *link, uint32_t *room)
{
    uint8_t *out = link->wire->transport->reserve(link->wire, room);

    return out == NULL || *room < VC__PACKET_HEADER ? NULL : out;
}

/* Frames of what waits, behind the header of a packet: its length. Of a long
 * message each packet takes one part: it fills the packet. */
static uint32_t
frames_write(struct vc__link *link, uint8_t *out, uint32_t room,
             uint16_t *count)
{
    uint32_t len = VC__PACKET_HEADER;
    uint16_t most = vc__link_frames_max(link);
    struct vc__send *s;

    *count = 0;
    while (*count < most &&
           (s = vc__schedule_take(&link->schedule, room - len)) != NULL) {
        send_write(link, s, out + len);
        len += s->take;
        ++*count;
        s->packet = link->credit.tx_next;
        send_written(link, s);
    }
    return len;
}

/* One packet of what waits; false when none can go now. */
static bool
packet_send(struct vc__link *link)
{
    uint32_t room, len;
    uint16_t count;
    uint8_t *out;

    if (!link->open || vc__schedule_is_empty(&link->schedule) ||
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

/* A packet without frames. Without room for it, the completion that brings
 * some leads here again. */
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

/* Sends all that can go. What has gone told the peer all that there was to tell;
 * what is handled from then on, its holder looks after (packet_handled()). */
static void
queue_flush(struct vc__link *link)
{
    bool told = false;

    while (packet_send(link))
        told = true;
    link->round++;
    if (!link->open)
        return;
    if (!vc__schedule_is_empty(&link->schedule))
        vc__tally_add(&link->tally,
                      vc__credit_can_send(&link->credit)
                          ? VC__LINK_STALLS_BUFFERS
                          : VC__LINK_STALLS_CREDITS,
                      1);
    if (!told && vc__credit_must_tell(&link->credit))
        credits_tell(link);
    if (link->wire->transport->flush != NULL)
        link->wire->transport->flush(link->wire);
}

/* --- appending and pushing --------------------------------------------- */

/* The thread sanitizer does not see into liburcu: these two tell it that what
 * was written before a message was appended is read after it was taken up. */
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

/* cds_wfcq_empty(), inline: it is asked twice for each packet. */
static bool
arrivals_none(const struct vc__link *link)
{
    return CMM_LOAD_SHARED(link->arrivals.node.next) == NULL &&
           CMM_LOAD_SHARED(link->arrivals_tail.p) == &link->arrivals.node;
}

/* The next that was appended; NULL when there is none, or the thread that
 * appends it is not done yet and will push it. */
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

/* Waits for a thread that is in the middle of appending: what this one has
 * appended may be behind. */
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

static void
arrival_put(struct vc__link *link, struct vc__send *s)
{
    s->round = link->round;
    if (link->open)
        vc__schedule_add(&link->schedule, s);
    else
        vc__link_send_end(s, VC__SEND_LOST);
}

/* Under the lock. All that was appended before. */
void
vc__link_arrivals_take(struct vc__link *link)
{
    struct vc__send *s;

    while ((s = arrival_await(link)) != NULL)
        arrival_put(link, s);
}

/* Under the lock. False when there was none. */
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

/* True when there is more by now. Whoever had the lock looks, for those who
 * did not get it have gone away. */
static bool
link_send_leave(struct vc__link *link)
{
    pthread_mutex_unlock(&link->lock);
    /* Full: the unlocking is seen before the queue is looked at. */
    vc__fence();
    return !arrivals_none(link);
}

void
vc__link_unlock(struct vc__link *link)
{
    if (link_send_leave(link))
        vc__link_push(link);
}

/* What is there, but cannot be taken up, is being appended right now by a
 * thread that may have pushed in vain meanwhile: it gets the processor. */
void
vc__link_push(struct vc__link *link)
{
    bool took, more;

    do {
        if (pthread_mutex_trylock(&link->lock) != 0)
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

static void
send_begin(struct vc__send *s)
{
    s->at = 0;
    s->place = VC__SEND_OUT;
    if (s->hold != NULL)
        s->hold(s);
    atomic_store_explicit(&s->gone, false, memory_order_relaxed);
}

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

void
vc__link_push_held(struct vc__link *link)
{
    vc__link_push(link);
    /* Release: the link's end comes after what was done here. */
    if (atomic_fetch_sub_explicit(&link->pushers, 1, memory_order_acq_rel) ==
        (VC__LINK_REAPED | 1))
        vc__engine_post(link->engine, &link->reap);
}

/* With the lock free there is no need to queue for it. */
void
vc__link_send(struct vc__link *link, struct vc__send *s)
{
    send_begin(s);
    if (pthread_mutex_trylock(&link->lock) != 0) {
        arrival_add(link, s);
        vc__link_push(link);
        return;
    }
    arrivals_take(link);
    arrival_put(link, s);
    queue_flush(link);
    vc__link_unlock(link);
}

bool
vc__link_unsend(struct vc__link *link, struct vc__send *s)
{
    bool back;

    pthread_mutex_lock(&link->lock);
    vc__link_arrivals_take(link);
    back = s->place == VC__SEND_QUEUED && !atomic_load(&s->gone);
    if (back) {
        vc__schedule_remove(s);
        vc__link_send_end(s, VC__SEND_LOST);
    }
    queue_flush(link);
    vc__link_unlock(link);
    return back;
}

/* Without a flush: nobody else appends to, or locks, the link of a server, so
 * there are no arrivals whose push was in vain; and its reply still waits only
 * when a client breaks the rules, by a call in a slot that is not free. */
void
vc__link_withdraw(struct vc__link *link, struct vc__send *s)
{
    pthread_mutex_lock(&link->lock);
    vc__link_arrivals_take(link);
    if (s->place == VC__SEND_QUEUED) {
        vc__schedule_remove(s);
        vc__link_send_end(s, VC__SEND_LOST);
    } else if (s->place == VC__SEND_SENT) {
        cds_list_del(&s->node);
        vc__link_send_end(s, VC__SEND_LOST);
    }
    vc__link_unlock(link);
}

bool
vc__link_drop(struct vc__link *link, struct vc__flow *flow)
{
    struct vc__send *s;
    bool open = false;

    pthread_mutex_lock(&link->lock);
    vc__link_arrivals_take(link);
    while ((s = vc__flow_any(flow)) != NULL) {
        open |= s->frame.type == VC__FRAME_OPEN;
        vc__schedule_remove(s);
        vc__link_send_end(s, VC__SEND_LOST);
    }
    queue_flush(link);
    vc__link_unlock(link);
    return open;
}
