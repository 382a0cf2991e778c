/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The codec of metadata (doc/wire.md, section 4.11): entries packed one after
 * the other, as they stand in a frame. What a peer sent is checked once, and
 * read only after that. Pure: no state but the caller's, no allocation, any
 * thread. Writing: a client packs its request's entries on the thread that
 * begins an attempt, a Watch's on the one that makes the watch; a server its
 * reply's on the thread that has the call (its handler's, or after
 * vc_call_later() one of the program), a load report or the pushback of a
 * refused call on the holder. What has come is checked and unpacked on the
 * holder. Unpacked entries are searched there, for vc_call_metadata_find() on
 * the thread that has the call, and for a vc_result on the thread that fills
 * it. Seek: the thread that is about to send the request.
 *
 * Called by: modules/config/config_balance.c (key_fits, key_is_binary),
 * rpc/client/channel.c (key_fits), metadata.c (key_fits, key_is_binary, size,
 * find), cm/pool/session_reply.c (of), rpc/client/pick_facts.c (of),
 * rpc/server/server_session.c (of), rpc/balance/endpoint_metadata.c (fault),
 * rpc/client/result.c (fault, size, put, fits, check, memory, unpack, find_own,
 * number), rpc/intercept_metadata.c (fault, size, fits),
 * rpc/server/server_metadata.c (fault, size, put, fits, remove, check, memory,
 * unpack, find, find_own, number), rpc/server/server_load.c (size, put),
 * rpc/balance/health_watch.c (put), rpc/server/stream_server.c (initial),
 * rpc/balance/loads.c (find), rpc/balance/custom.c (seek). */
#ifndef VC_TRANSPORT_METADATA_H
#define VC_TRANSPORT_METADATA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <verbcall/metadata.h>

#include "transport/wire/packet.h"

/* Most packed bytes of one frame: so a packet of the smallest size that peers
 * agree on has room for them and for a first part, or the text of an error. A
 * program may give VC_METADATA_MAX; the rest is for the library's own
 * entries. */
#define VC__METADATA_MAX ((size_t)7168)

#define VC__METADATA_KEY_MAX 127u

/* Keys of the library's own entries. */
#define VC__METADATA_ATTEMPTS "grpc-previous-rpc-attempts" /* in requests */
#define VC__METADATA_PUSHBACK "grpc-retry-pushback-ms"     /* trailing */
#define VC__METADATA_DETAILS  "grpc-status-details-bin"    /* trailing */

/* True if a key may look so. Called by metadata.c for each entry, and for the
 * key that a channel hashes: by hash_metadata_check() (rpc/client/channel.c)
 * and hash_key_read() (modules/config/config_balance.c, which links no function
 * of the library). */
static inline bool
vc__metadata_key_fits(const char *key, size_t len)
{
    if (len < 1 || len > VC__METADATA_KEY_MAX)
        return false;
    for (size_t i = 0; i < len; i++) {
        char c = key[i];

        if (!(c >= 'a' && c <= 'z') && !(c >= '0' && c <= '9') && c != '_' &&
            c != '-' && c != '.')
            return false;
    }
    return true;
}

/* True if values of this key may have any bytes. Called by metadata.c and
 * hash_key_read(). */
static inline bool
vc__metadata_key_is_binary(const char *key, size_t len)
{
    return len >= 4 && memcmp(key + len - 4, "-bin", 4) == 0;
}

/* Packed entries. */
struct vc__metadata {
    const uint8_t *data;
    size_t len;
};

/* The metadata of a frame, unchecked; valid as long as its bytes. Called for
 * the first frame of a request (rpc/server/server_session.c), reply or message
 * (cm/pool/session_reply.c), on the holder; and for a request that is about to
 * be sent, by rpc/client/pick_facts.c, on the thread that chooses its
 * server. */
static inline struct vc__metadata
vc__metadata_of(const struct vc__frame *f)
{
    return (struct vc__metadata){.data = f->metadata, .len = f->metadata_len};
}

/* --- writing ----------------------------------------------------------- */

/* Why a program may not send this entry, in words; NULL if it may, unless it is
 * too long: see vc__metadata_fits(). Called for entries of a call's options, of
 * an interceptor, of a handler, and of a server that a resolver names, when the
 * program gives them; those of a call that blocks again for each further
 * attempt. */
const char *vc__metadata_fault(const struct vc_metadata *entry);

/* Bytes of an entry without fault when it is packed. Called to make room before
 * vc__metadata_put(), and to measure what a program gives. */
size_t vc__metadata_size(const struct vc_metadata *entry);

/* Packs an entry to out, which has vc__metadata_size() bytes, and returns where
 * the next one goes. Called for a request by vc__metadata_pack()
 * (rpc/client/result.c), and its pack_begin() for the library's own entries;
 * for a Watch by watch_metadata() (rpc/balance/health_watch.c); for a reply by
 * server_metadata_say(), and for its load report by load_renew(). */
uint8_t *vc__metadata_put(uint8_t *out, const struct vc_metadata *entry,
                          bool trailing);

/* True if a program that has given `taken` bytes may give this entry, too
 * (VC_METADATA_MAX); else its status is VC_RESOURCE_EXHAUSTED. Called after
 * vc__metadata_fault(), but for a server of a resolver; also for an error's
 * details (vc_call_details()). */
bool vc__metadata_fits(size_t taken, const struct vc_metadata *entry);

/* Removes all entries with this key from `len` bytes of checked entries;
 * returns the bytes left. Called by server_metadata_unsay(), for an entry of
 * the reply that another replaces. */
size_t vc__metadata_remove(uint8_t *data, size_t len, const char *key);

/* Copies the initial entries among `len` bytes of checked ones to `out`, unless
 * that is NULL; returns their bytes. Called by server_initial()
 * (rpc/server/stream_server.c) before the first message of a stream, on the
 * thread that sends it. */
size_t vc__metadata_initial(const uint8_t *data, size_t len, uint8_t *out);

/* --- reading ----------------------------------------------------------- */

/* What is malformed, in words; NULL if nothing is. may_trail is false for a
 * request, which has no trailing entries, and for the first message of a
 * stream. *n is the number of entries, if nothing is malformed. This, memory
 * and unpack are called one after the other: by vc__call_metadata_take() for a
 * request, by vc__reply_metadata_new() for a reply or message. */
const char *vc__metadata_check(const struct vc__metadata *m, bool may_trail,
                               size_t *n);

/* Checked entries unpacked, each kind in its order: initial first, then
 * trailing, then the library's own. */
struct vc__metadata_view {
    const struct vc_metadata *entries;
    size_t n_initial, n_trailing, n_own;
};

/* Bytes of memory that unpacking the n entries takes. */
size_t vc__metadata_memory(const struct vc__metadata *m, size_t n);

/* Unpacks checked entries into vc__metadata_memory() bytes of memory, aligned
 * for any type: it holds all that the view points to. */
void vc__metadata_unpack(struct vc__metadata_view *view, void *memory,
                         const struct vc__metadata *m, size_t n);

/* The first of n entries with this key; NULL if there is none. Called by
 * vc__metadata_find_own(); by rpc/server/server_metadata.c, for a call's
 * priority on the holder, for vc_call_metadata_find() on the thread that has
 * the call; and by vc__loads_take() on the holder, for the load report of a
 * reply. */
const struct vc_metadata *vc__metadata_find(const struct vc_metadata *entries,
                                            size_t n, const char *key);

/* The first of the library's own entries with this key, or NULL. Called for the
 * number of earlier attempts (server), a pushback and an error's details
 * (client). */
const struct vc_metadata *
vc__metadata_find_own(const struct vc__metadata_view *view, const char *key);

/* Sets *found to the first of a program's own entries with this key, which is
 * not copied, among packed ones that this process has checked; false if there
 * is none. Its value is not followed by a NUL. Called for a policy of the
 * program's own, when a request of a client is about to be sent. */
bool vc__metadata_seek(const struct vc__metadata *m, const char *key,
                       struct vc_metadata *found);

/* --- numbers ----------------------------------------------------------- */

/* Reads a value as a decimal number, which may be negative. Returns true with
 * it in *number; false if it is none, or beyond 32 bits. Called for the number
 * of earlier attempts (server) and a pushback (client). */
bool vc__metadata_number(const struct vc_metadata *entry, int32_t *number);

#endif
