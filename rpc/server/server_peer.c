/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Clients by token. A token is random, so that no client can guess another's;
 * its low bits are the number of the engine that has the peer. The holder of
 * the engine only, except vc__server_peer_part(). See
 * rpc/server/server_peer.h. */
#include "rpc/server/server_peer.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "rpc/server/server_op.h"
#include "rpc/server/server_session.h"
#include "transport/core/invariant.h"

/* A client that reconnects within this time after it lost its last link finds
 * its sessions as they were. Longer than a connect timeout, since a call in
 * flight waits that long for a new link. */
#define RESUME_MS 10000
/* The most peers without a link, per engine. Beyond that, the one that lost its
 * last link first is forgotten. */
#define LONELY_MAX  1024u
#define PART_BITS   6
#define SEATS_FIRST 4u
_Static_assert(VC__ENGINES_MAX <= 1u << PART_BITS,
               "a token names each engine's part");

/* Returns the list in the part's hash table that a peer of this token is in.
 * Called by vc__server_peer_find() and vc__server_peer_new(). */
static struct cds_list_head *
bucket_of(struct vc__server_part *part, uint64_t token)
{
    return &part->peers[(token >> PART_BITS) % VC__SERVER_BUCKETS];
}

unsigned
vc__server_peer_part(uint64_t token, unsigned n_parts)
{
    return (unsigned)(token & ((1u << PART_BITS) - 1)) % n_parts;
}

struct vc__server_peer *
vc__server_peer_find(struct vc__server_part *part,
                     const struct vc__hello *hello)
{
    struct vc__server_peer *peer;

    if (hello->pool_token == 0)
        return NULL;
    cds_list_for_each_entry (peer, bucket_of(part, hello->pool_token), node) {
        if (peer->token == hello->pool_token &&
            memcmp(peer->instance, hello->instance, VC__ID_SIZE) == 0)
            return peer;
    }
    return NULL;
}

/* Returns the features that links of such a hello have. Called by
 * vc__server_peer_agrees() and vc__server_peer_new(). */
static uint32_t
features_for(const struct vc__hello *hello)
{
    return vc__features_of(vc__features_choose(hello->features, 0));
}

bool
vc__server_peer_agrees(const struct vc__server_peer *peer,
                       const struct vc__hello *hello)
{
    return peer->features == features_for(hello);
}

/* Returns a new token, for vc__server_peer_new(); 0 if the system has no random
 * numbers. */
static uint64_t
token_make(const struct vc__server_part *part)
{
    uint64_t token;

    if (getrandom(&token, sizeof token, 0) != (ssize_t)sizeof token)
        return 0;
    token = token << PART_BITS | part->index;
    return token >> PART_BITS == 0 ? 0 : token;
}

struct vc__server_peer *
vc__server_peer_new(struct vc__server_part *part, const struct vc__hello *hello)
{
    struct vc__server_peer *peer = calloc(1, sizeof *peer);

    if (peer == NULL)
        return NULL;
    peer->token = token_make(part);
    peer->share = peer->token == 0 ? NULL : vc__share_new();
    if (peer->share == NULL) {
        free(peer);
        return NULL;
    }
    peer->part = part;
    vc__account_init(&peer->account, &part->server->store);
    CDS_INIT_LIST_HEAD(&peer->spare);
    CDS_INIT_LIST_HEAD(&peer->queue);
    peer->critical = &peer->queue;
    peer->message_max = (size_t)1 << hello->log2_message;
    peer->features = features_for(hello);
    peer->service = hello->service;
    peer->fingerprint = hello->fingerprint;
    memcpy(peer->instance, hello->instance, VC__ID_SIZE);
    cds_list_add(&peer->node, bucket_of(part, peer->token));
    cds_list_add_tail(&peer->lonely, &part->lonely);
    part->n_peers++;
    part->n_lonely++;
    return peer;
}

size_t
vc__server_peer_message_max(const struct vc__server_peer *peer,
                            size_t metadata_len)
{
    size_t whole = VC__EAGER_MAX - metadata_len;

    return peer->features & VC__FEATURE_LONG || peer->message_max < whole
               ? peer->message_max
               : whole;
}

/* Called by peer_forget() or vc__server_peer_release(), when a forgotten peer
 * has no running call any more: frees it. */
static void
peer_free(struct vc__server_peer *peer)
{
    struct vc__server_part *part = peer->part;

    vc__invariant(peer->n_held == 0);
    vc__server_sessions_free(peer);
    vc__opened_put(peer->opened);
    vc__share_put(peer->share);
    free(peer->seats);
    free(peer);
    part->n_peers--;
    vc__server_ops_check(part);
}

/* Ends the peer's sessions, and frees it once no call of it runs. Called by
 * on_forget(), by vc__server_peer_leave() and vc__server_peer_unless_used(),
 * and by vc__server_peers_forget() when the server closes. */
static void
peer_forget(struct vc__server_peer *peer)
{
    vc__timer_stop(&peer->part->progress->engine.timers, &peer->forget);
    cds_list_del(&peer->node);
    cds_list_del(&peer->lonely);
    peer->part->n_lonely--;
    for (uint32_t i = 0; i < peer->n_seats; i++) {
        if (peer->seats[i].session != NULL)
            vc__server_session_close(peer->seats[i].session);
    }
    peer->forgotten = true;
    if (peer->n_calls == 0)
        peer_free(peer);
}

/* The timer of vc__server_peer_leave(), on the holder: the client has not come
 * back within RESUME_MS. */
static void
on_forget(struct vc__timer *timer)
{
    peer_forget(caa_container_of(timer, struct vc__server_peer, forget));
}

void
vc__server_peer_join(struct vc__server_peer *peer)
{
    if (peer->n_links++ > 0)
        return;
    vc__timer_stop(&peer->part->progress->engine.timers, &peer->forget);
    cds_list_del(&peer->lonely);
    peer->part->n_lonely--;
}

void
vc__server_peer_leave(struct vc__server_peer *peer)
{
    struct vc__server_part *part = peer->part;

    if (--peer->n_links > 0)
        return;
    cds_list_add_tail(&peer->lonely, &part->lonely);
    if (++part->n_lonely > LONELY_MAX)
        peer_forget(
            cds_list_entry(part->lonely.next, struct vc__server_peer, lonely));
    if (part->closing || peer->n_sessions == 0 ||
        !vc__timer_start(&part->progress->engine.timers, &peer->forget,
                         vc__after_ms(vc__now(), RESUME_MS), on_forget))
        peer_forget(peer);
}

void
vc__server_peer_unless_used(struct vc__server_peer *peer)
{
    if (peer->n_links == 0 && peer->n_sessions == 0)
        peer_forget(peer);
}

void
vc__server_peer_release(struct vc__server_peer *peer)
{
    peer->n_calls--;
    if (peer->forgotten && peer->n_calls == 0)
        peer_free(peer);
}

bool
vc__server_peer_may_have(const struct vc__server_peer *peer, uint32_t number)
{
    return number >= 1 && number <= peer->part->server->max_sessions;
}

struct vc__server_seat *
vc__server_peer_seat(struct vc__server_peer *peer, uint32_t number)
{
    uint32_t n = peer->n_seats == 0 ? SEATS_FIRST : peer->n_seats;
    struct vc__server_seat *seats;

    if (!vc__server_peer_may_have(peer, number))
        return NULL;
    while (n < number)
        n *= 2;
    if (n == peer->n_seats)
        return &peer->seats[number - 1];
    seats = realloc(peer->seats, n * sizeof *seats);
    if (seats == NULL)
        return NULL;
    memset(seats + peer->n_seats, 0, (n - peer->n_seats) * sizeof *seats);
    peer->seats = seats;
    peer->n_seats = n;
    return &peer->seats[number - 1];
}

void
vc__server_peers_forget(struct vc__server_part *part)
{
    struct vc__server_peer *peer, *next;

    cds_list_for_each_entry_safe (peer, next, &part->lonely, lonely)
        peer_forget(peer);
}
