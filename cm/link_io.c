/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * How a link moves messages: those that wait are packed into as few packets
 * as they fit in, each written straight into a registered buffer or, when
 * short, into the work request itself. A message longer than a packet goes in
 * parts, taking turns with the others. What arrives is checked for its
 * sequence and credits and handed up frame by frame. */
#include <string.h>

#include "cm/link.h"
#include "transport/le.h"
#include "transport/rdma/device.h"

/* Receives promised to one peer, and sends of ours under way. */
#define WINDOW_MIN 4u
/* A part of a long message shorter than this waits for the next packet. */
#define PART_MIN 512u
/* The total length that begins the first part of a long message. */
#define TOTAL_SIZE 4u

/* --- packing ----------------------------------------------------------- */

/* Can s only go in parts? */
static bool
send_is_long(const struct vc__send *s)
{
    return s->frame.body_len > VC__EAGER_MAX;
}

/* Bytes of the next part of s, with its header, in a packet with `room` left;
 * 0 when it must wait. */
static uint32_t
part_take(const struct vc__send *s, uint32_t room)
{
    uint64_t rest = VC__FRAME_HEADER + (uint64_t)s->frame.body_len - s->at;

    if (s->at == 0)
        rest += TOTAL_SIZE;
    if (rest <= room)
        return (uint32_t)rest;
    return room < VC__FRAME_HEADER + PART_MIN ? 0 : room;
}

/* Bytes that s takes in a packet with `room` left; 0 when it must wait. */
static uint32_t
send_take(const struct vc__send *s, uint32_t room)
{
    uint32_t whole;

    if (send_is_long(s))
        return part_take(s, room);
    whole = VC__FRAME_HEADER + s->frame.body_len;
    return whole <= room ? whole : 0;
}

uint32_t
vc__deadline_left(uint64_t due, uint64_t now)
{
    if (due == VC__FOREVER || due > now + VC__DEADLINE_NONE - 1)
        return VC__DEADLINE_NONE;
    return due <= now ? 0 : (uint32_t)(due - now);
}

static void
write_whole(struct vc__send *s, uint8_t *out)
{
    const struct vc__frame *f = &s->frame;

    vc__frame_put(out, f);
    out += VC__FRAME_HEADER;
    if (s->body != NULL)
        memcpy(out, s->body, f->body_len);
    else if (f->body_len > 0)
        s->write(s, out);
    s->at = f->body_len;
}

static void
write_part(struct vc__send *s, uint8_t *out, uint32_t take)
{
    struct vc__frame f = s->frame;
    uint32_t total = f.body_len;
    uint8_t *body = out + VC__FRAME_HEADER;
    uint32_t len = take - VC__FRAME_HEADER;

    f.body_len = len;
    if (s->at == 0) {
        vc__put32(body, total);
        body += TOTAL_SIZE;
        len -= TOTAL_SIZE;
        f.flags |= VC__FRAME_MORE;
    } else {
        f.flags = f.type == VC__FRAME_REPLY ? VC__FRAME_OF_REPLY : 0;
        f.type = VC__FRAME_DATA;
        f.method = 0;
        f.deadline = s->at;
        if (s->at + len < total)
            f.flags |= VC__FRAME_MORE;
    }
    vc__frame_put(out, &f);
    memcpy(body, s->body + s->at, len);
    s->at += len;
}

static void
send_write(struct vc__send *s, uint8_t *out)
{
    if (!s->fresh && s->frame.type == VC__FRAME_CALL)
        s->frame.deadline = vc__deadline_left(s->due, vc__now());
    if (send_is_long(s))
        write_part(s, out, s->take);
    else
        write_whole(s, out);
    s->gone = true;
}

/* What the next packet will hold. */
struct plan {
    uint32_t len;
    uint16_t count;
};

static struct plan
packet_plan(struct vc__link *link)
{
    struct plan plan = {VC__PACKET_HEADER, 0};
    struct vc__send *s;

    cds_list_for_each_entry (s, &link->queue, node) {
        s->take = send_take(s, VC__BUFFER_SIZE - plan.len);
        if (s->take == 0 || plan.count == UINT16_MAX)
            break;
        plan.len += s->take;
        plan.count++;
    }
    return plan;
}

static void
header_write(struct vc__link *link, uint8_t *out, uint16_t count)
{
    struct vc__packet p = {.sequence = link->tx_sequence++,
                           .credits = vc__credit_sent(&link->credit),
                           .count = count};

    vc__packet_put(out, &p);
}

static void
queue_rotate(struct vc__link *link, struct vc__send *s)
{
    cds_list_del(&s->node);
    cds_list_add_tail(&s->node, &link->queue);
}

/* s has nothing more to send. */
static void
send_retire(struct vc__send *s, struct cds_list_head *finished)
{
    cds_list_del_init(&s->node);
    if (s->done != NULL)
        cds_list_add_tail(&s->node, finished);
}

/* Writes what was planned. Messages that are whole move to `finished`, one
 * that is not goes behind the others. */
static void
packet_write(struct vc__link *link, uint8_t *out, struct plan plan,
             struct cds_list_head *finished)
{
    uint32_t at = VC__PACKET_HEADER;

    header_write(link, out, plan.count);
    while (plan.count-- > 0) {
        struct vc__send *s =
            cds_list_entry(link->queue.next, struct vc__send, node);

        send_write(s, out + at);
        at += s->take;
        if (s->at == s->frame.body_len)
            send_retire(s, finished);
        else
            queue_rotate(link, s);
    }
}

/* Under the lock, from any thread: the holder is to end the link. */
static void
link_is_ill(struct vc__link *link)
{
    link->open = false;
    if (!link->ill) {
        link->ill = true;
        vc__engine_post(link->cm->engine, &link->broken);
    }
}

static bool
packet_post(struct vc__link *link, const uint8_t *data, uint32_t len)
{
    if (vc__qp_send(&link->qp, data, len) == 0)
        return true;
    link_is_ill(link);
    return false;
}

/* One packet of what waits; false when none can go now. */
static bool
packet_send(struct vc__link *link, struct cds_list_head *finished)
{
    uint8_t small[512];
    uint8_t *out = small;
    struct plan plan;

    if (!link->open || cds_list_empty(&link->queue) ||
        !vc__credit_can_send(&link->credit) || !vc__qp_has_room(&link->qp))
        return false;
    plan = packet_plan(link);
    if (plan.len > link->qp.max_inline) {
        if (!vc__qp_has_buffer(&link->qp))
            return false;
        out = vc__qp_buffer(&link->qp);
    }
    packet_write(link, out, plan, finished);
    return packet_post(link, out, plan.len);
}

/* Sends all that can go. */
static void
queue_flush(struct vc__link *link, struct cds_list_head *finished)
{
    while (packet_send(link, finished))
        continue;
    if (link->open && vc__credit_must_tell(&link->credit) &&
        vc__qp_has_room(&link->qp)) {
        uint8_t out[VC__PACKET_HEADER];

        header_write(link, out, 0);
        packet_post(link, out, sizeof out);
    }
}

static void
finish(struct cds_list_head *finished)
{
    while (!cds_list_empty(finished)) {
        struct vc__send *s =
            cds_list_entry(finished->next, struct vc__send, node);

        cds_list_del_init(&s->node);
        s->done(s);
    }
}

bool
vc__link_send(struct vc__link *link, struct vc__send *const *sends, unsigned n)
{
    CDS_LIST_HEAD(finished);
    bool open;

    pthread_mutex_lock(&link->lock);
    open = link->open;
    for (unsigned i = 0; open && i < n; i++) {
        sends[i]->at = 0;
        sends[i]->gone = false;
        cds_list_add_tail(&sends[i]->node, &link->queue);
    }
    if (open)
        queue_flush(link, &finished);
    /* Those that wait. The others are still there: without the lock no reply
     * can be taken that would end them. */
    for (unsigned i = 0; open && i < n; i++)
        sends[i]->fresh = false;
    pthread_mutex_unlock(&link->lock);
    finish(&finished);
    return open;
}

bool
vc__link_unsend(struct vc__link *link, struct vc__send *s)
{
    const struct vc__send *queued;
    bool back = false;

    pthread_mutex_lock(&link->lock);
    cds_list_for_each_entry (queued, &link->queue, node) {
        if (queued == s)
            back = !s->gone;
    }
    if (back)
        cds_list_del_init(&s->node);
    pthread_mutex_unlock(&link->lock);
    return back;
}

/* --- what comes in ----------------------------------------------------- */

static struct vc__link *
link_of(struct vc__qp *qp)
{
    return caa_container_of(qp, struct vc__link, qp);
}

static void
link_malformed(struct vc__link *link, const char *what)
{
    vc__link_end(link, VC__LINK_EV_BROKEN, VC_INTERNAL,
                 "%s broke the protocol: %s", link->peer, what);
}

/* The packet took a credit and brought some; with them, what waited may go. */
static bool
credits_take(struct vc__link *link, uint32_t credits)
{
    CDS_LIST_HEAD(finished);
    bool good;

    pthread_mutex_lock(&link->lock);
    good = vc__credit_arrived(&link->credit) &&
           vc__credit_got(&link->credit, credits);
    vc__credit_reposted(&link->credit, 1);
    if (good)
        queue_flush(link, &finished);
    pthread_mutex_unlock(&link->lock);
    finish(&finished);
    return good;
}

static void
frames_handle(struct vc__link *link, struct vc__packet_reader *reader)
{
    struct vc__frame f;
    int got;

    while ((got = vc__frame_next(reader, &f)) == 1) {
        if (!link->ops->frame(link, &f)) {
            link_malformed(link, "a frame that does not fit its state");
            return;
        }
        if (link->state != VC__LINK_UP)
            return;
    }
    if (got < 0)
        link_malformed(link, "a malformed frame");
}

static void
io_received(struct vc__qp *qp, const uint8_t *data, uint32_t len)
{
    struct vc__link *link = link_of(qp);
    struct vc__packet_reader reader;
    struct vc__packet p;

    /* A packet may overtake the ESTABLISHED event, and says the same. */
    if (link->state != VC__LINK_UP)
        vc__link_event(link, VC__LINK_EV_ESTABLISHED);
    if (link->state != VC__LINK_UP)
        return;
    if (!vc__packet_open(&reader, data, len, &p))
        link_malformed(link, "a packet without a header");
    else if (p.sequence != link->rx_sequence++)
        link_malformed(link, "a packet out of sequence");
    else if (!link->active && p.sequence == 0 && p.count == 0)
        link_malformed(link, "a first packet without an OPEN");
    else if (!credits_take(link, p.credits))
        link_malformed(link, "credits that it does not have");
    else
        frames_handle(link, &reader);
}

static void
io_sent(struct vc__qp *qp, uint32_t number)
{
    struct vc__link *link = link_of(qp);
    CDS_LIST_HEAD(finished);

    pthread_mutex_lock(&link->lock);
    vc__qp_retire(qp, number);
    queue_flush(link, &finished);
    pthread_mutex_unlock(&link->lock);
    finish(&finished);
}

static void
io_failed(struct vc__qp *qp, enum ibv_wc_status why)
{
    struct vc__link *link = link_of(qp);

    vc__link_end(link, VC__LINK_EV_BROKEN, VC_UNAVAILABLE,
                 "the connection to %s broke: %s", link->peer,
                 ibv_wc_status_str(why));
}

const struct vc__qp_ops vc__link_qp_ops = {
    .received = io_received, .sent = io_sent, .failed = io_failed};

/* --- opening and closing ----------------------------------------------- */

/* Few links get full windows, many share what there is. */
static unsigned
window_for(unsigned links)
{
    unsigned window = VC__WINDOW_MAX;

    for (unsigned n = 64; links >= n && window > WINDOW_MIN; n *= 4)
        window /= 2;
    return window;
}

static enum vc_status
prepare_with(struct vc__link *link, unsigned window)
{
    enum vc_status status = vc__device_grant(link->device, window);

    if (status != VC_OK)
        return status;
    link->granted = window;
    status = vc__qp_init(&link->qp, link->device, &vc__link_qp_ops, window * 2,
                         window / 2);
    if (status != VC_OK)
        vc__link_unprepare(link);
    return status;
}

enum vc_status
vc__link_prepare(struct vc__link *link, struct ibv_context *verbs)
{
    enum vc_status status = vc__cm_device(link->cm, verbs, &link->device);
    unsigned window;

    if (status != VC_OK)
        return status;
    window = window_for(link->device->n_qps);
    if (link->credits_max != 0 && link->credits_max < window)
        window = link->credits_max;
    do {
        status = prepare_with(link, window);
        window /= 2;
    } while (status == VC_RESOURCE_EXHAUSTED && window >= WINDOW_MIN);
    return status;
}

void
vc__link_unprepare(struct vc__link *link)
{
    vc__qp_fini(&link->qp);
    if (link->granted > 0)
        vc__device_ungrant(link->device, link->granted);
    link->granted = 0;
}

void
vc__link_open_io(struct vc__link *link, uint32_t peer_credits)
{
    pthread_mutex_lock(&link->lock);
    vc__credit_init(&link->credit, link->granted, peer_credits);
    link->open = true;
    pthread_mutex_unlock(&link->lock);
}

void
vc__link_close_io(struct vc__link *link)
{
    CDS_LIST_HEAD(lost);

    pthread_mutex_lock(&link->lock);
    link->open = false;
    while (!cds_list_empty(&link->queue))
        send_retire(cds_list_entry(link->queue.next, struct vc__send, node),
                    &lost);
    pthread_mutex_unlock(&link->lock);
    finish(&lost);
}
