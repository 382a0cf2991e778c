/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See transport/ud/answers.h. */
#include "transport/ud/answers.h"

#include <string.h>

#include "transport/core/address.h"

#define BUCKETS 1024u
/* No answer is given again later than so: the server would give up the wire,
 * of which it has heard nothing (handshake_timeout_ms), before the client's
 * first datagram comes. */
#define AGAIN_US 1000000u

/* Guards the buckets, whose lists are chained by u->answered, and u->said of
 * the wires in them. */
static pthread_mutex_t answers_lock = PTHREAD_MUTEX_INITIALIZER;
static struct vc__ud_wire *answers[BUCKETS]; /* by the client's key */

/* Where the chain of this key begins. For the functions below. */
static struct vc__ud_wire **
answer_bucket(uint32_t key)
{
    return &answers[key % BUCKETS];
}

void
vc__ud_answer_keep(struct vc__ud_wire *u)
{
    struct vc__ud_wire **bucket = answer_bucket(u->theirs.key);

    pthread_mutex_lock(&answers_lock);
    u->answered = *bucket;
    u->is_answered = true;
    u->answered_at = vc__now();
    *bucket = u;
    pthread_mutex_unlock(&answers_lock);
}

void
vc__ud_answer_drop(struct vc__ud_wire *u)
{
    struct vc__ud_wire **at = answer_bucket(u->theirs.key);

    if (!u->is_answered)
        return;
    pthread_mutex_lock(&answers_lock);
    while (*at != u)
        at = &(*at)->answered;
    *at = u->answered;
    pthread_mutex_unlock(&answers_lock);
    u->is_answered = false;
}

/* True if both are of the same host: each request comes from a port of its own.
 * For answer_find(). */
static bool
host_same(const struct sockaddr_storage *a, const struct sockaddr_storage *b)
{
    struct sockaddr_storage x = *a, y = *b;

    vc__addr_port_set(&x, 0);
    vc__addr_port_set(&y, 0);
    return memcmp(&x, &y, sizeof x) == 0;
}

/* Copies the answer to the client with this introduction, at this address.
 * Returns its length; 0: the client has not been accepted lately. For
 * vc__ud_answer_again(). */
static uint8_t
answer_find(const struct vc__intro *theirs, const struct sockaddr_storage *peer,
            uint8_t said[VC__UD_SAID])
{
    const struct vc__ud_wire *u;
    uint8_t len = 0;

    pthread_mutex_lock(&answers_lock);
    u = *answer_bucket(theirs->key);
    while (u != NULL &&
           (u->theirs.key != theirs->key || u->theirs.qpn != theirs->qpn ||
            !host_same(&u->wire.peer, peer)))
        u = u->answered;
    if (u != NULL && vc__now() < u->answered_at + AGAIN_US) {
        len = (uint8_t)u->said_len;
        memcpy(said, u->said, len);
    }
    pthread_mutex_unlock(&answers_lock);
    return len;
}

bool
vc__ud_answer_again(struct rdma_cm_id *id, const struct vc__intro *theirs)
{
    uint8_t said[VC__UD_SAID];
    struct rdma_conn_param param = {.private_data = said};
    struct sockaddr_storage peer = {0}; /* all of it is compared */
    struct vc__intro ours;

    vc__addr_copy(&peer, rdma_get_peer_addr(id));
    param.private_data_len = answer_find(theirs, &peer, said);
    if (!vc__intro_get(&ours, said, param.private_data_len))
        return false;
    /* If it fails, the client asks once more. */
    param.qp_num = ours.qpn;
    rdma_accept(id, &param);
    rdma_destroy_id(id);
    return true;
}
