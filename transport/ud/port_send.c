/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The send queue of a port: its header goes from memory of the work request's
 * own, the data from the packet that is kept for sending again. All of it runs
 * on any thread, under the lock of the port. See transport/ud/port.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "transport/ud/port.h"

_Static_assert(sizeof(struct vc__ud_packet) + VC__DATAGRAM_HEADER <=
                   VC__UD_PACKET_HEAD,
               "the head of a packet, and a header, fit before its bytes");

/* --- packets ------------------------------------------------------------- */

struct vc__ud_packet *
vc__ud_packet_new(struct vc__ud_port *p, uint32_t len)
{
    struct vc__buffers *pool =
        len + VC__UD_PACKET_HEAD <= p->small.size ? &p->small : &p->large;
    struct vc__ud_packet *packet;
    struct vc__buffer *b;

    if (pool->n_free == 0 && vc__buffers_reserve(pool, 1) != VC_OK)
        return NULL;
    b = vc__buffers_take(pool);
    packet = (struct vc__ud_packet *)(void *)b->data;
    *packet = (struct vc__ud_packet){.buffer = b, .pool = pool};
    return packet;
}

void
vc__ud_packet_release(struct vc__ud_packet *packet)
{
    if (packet->refs == 0 && packet->unacked == 0)
        vc__buffers_give(packet->pool, packet->buffer);
}

/* --- address handles ----------------------------------------------------- */

/* True if both lead to the same port of the same host. For vc__ud_ah_get(). */
static bool
ah_is_same(const struct ibv_ah_attr *a, const struct ibv_ah_attr *b)
{
    return a->dlid == b->dlid && a->sl == b->sl &&
           a->src_path_bits == b->src_path_bits &&
           a->is_global == b->is_global && a->port_num == b->port_num &&
           memcmp(&a->grh.dgid, &b->grh.dgid, sizeof a->grh.dgid) == 0 &&
           a->grh.sgid_index == b->grh.sgid_index &&
           a->grh.traffic_class == b->grh.traffic_class;
}

struct vc__ud_ah *
vc__ud_ah_find(struct vc__ud_port *p, const struct ibv_ah_attr *attr)
{
    struct vc__ud_ah *ah;

    cds_list_for_each_entry (ah, &p->ahs, node) {
        if (ah_is_same(&ah->attr, attr))
            return ah;
    }
    return NULL;
}

/* Makes the address handle of these attributes, without users. NULL: errno says
 * why. For vc__ud_ah_get(). */
static struct vc__ud_ah *
ah_make(struct vc__ud_port *p, const struct ibv_ah_attr *attr)
{
    struct ibv_ah_attr wanted = *attr;
    struct vc__ud_ah *ah = calloc(1, sizeof *ah);

    if (ah == NULL)
        return NULL;
    ah->attr = *attr;
    ah->ah = ibv_create_ah(p->device->pd, &wanted);
    if (ah->ah == NULL) {
        free(ah);
        return NULL;
    }
    cds_list_add(&ah->node, &p->ahs);
    p->idle_ahs++;
    return ah;
}

struct vc__ud_ah *
vc__ud_ah_get(struct vc__ud_port *p, const struct ibv_ah_attr *attr)
{
    struct vc__ud_ah *ah = vc__ud_ah_find(p, attr);

    if (ah == NULL)
        ah = ah_make(p, attr);
    if (ah != NULL && ah->users++ == 0)
        p->idle_ahs--;
    return ah;
}

/* Destroys an address handle without users. For the two functions after it. */
static void
ah_destroy(struct vc__ud_port *p, struct vc__ud_ah *ah)
{
    cds_list_del(&ah->node);
    ibv_destroy_ah(ah->ah);
    free(ah);
    p->idle_ahs--;
}

void
vc__ud_ahs_trim(struct vc__ud_port *p, unsigned most)
{
    struct vc__ud_ah *ah, *next;

    cds_list_for_each_entry_safe (ah, next, &p->ahs, node) {
        if (p->idle_ahs <= most)
            return;
        if (ah->users == 0)
            ah_destroy(p, ah);
    }
}

void
vc__ud_ah_put(struct vc__ud_port *p, struct vc__ud_ah *ah)
{
    if (--ah->users > 0)
        return;
    p->idle_ahs++;
    cds_list_del(&ah->node);
    cds_list_add_tail(&ah->node, &p->ahs); /* the oldest is trimmed first */
    if (p->idle_ahs > 2 * VC__UD_IDLE_AHS)
        vc__ud_ahs_trim(p, VC__UD_IDLE_AHS);
}

/* --- the send queue ------------------------------------------------------ */

void
vc__ud_retire(struct vc__ud_port *p, uint32_t number)
{
    while (p->retired != number) {
        struct vc__ud_packet *packet = p->reads[p->retired % VC__UD_SENDS];

        p->retired++;
        if (packet == NULL)
            continue;
        packet->refs--;
        vc__ud_packet_release(packet);
    }
}
