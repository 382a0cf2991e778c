/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * What the client knows of the health of one server, by gRPC's proposal A17: it
 * keeps a call of grpc.health.v1.Health/Watch on the connection, and the server
 * gets calls only while its last answer is SERVING. Pure: events and the time
 * go in, the health and the time of the next Watch come out. Times are in
 * microseconds of vc__now(). A struct belongs to the holder of the engine;
 * functions without one may run on any thread.
 *
 * Where this differs from the text of A17:
 * - A Watch that has answered and ends is started again at once, but no sooner
 *   than VC__HEALTH_PACE_US after its start: a server that answers and ends
 *   each Watch, as one does that is about to stop, is asked once a second.
 * - A server that was unhealthy when its Watch ended stays so until it answers
 *   SERVING, also while the next Watch waits for its answer (as the sticky
 *   TRANSIENT_FAILURE of A62).
 * - A server that does not answer its first Watch in time counts as unhealthy
 *   until it does, so that calls do not wait for it longer than for a server
 *   that cannot be reached.
 *
 * Called by: health_watch.c (health_forget, health_begins, health_answers,
 * health_is_late, health_ends, health_word_name, health_answer_read,
 * health_request_write), rpc/client/channel.c (health_name_check). */
#ifndef VC_RPC_HEALTH_RULES_H
#define VC_RPC_HEALTH_RULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <verbcall/status.h>

/* gRPC's backoff of Watch: 1 s, times 1.6 for each further failure, 120 s at
 * most; a random 20 % more or less. */
#define VC__HEALTH_BACKOFF_US     UINT64_C(1000000)
#define VC__HEALTH_BACKOFF_MAX_US UINT64_C(120000000)

/* The least time from the start of one Watch to that of the next. */
#define VC__HEALTH_PACE_US UINT64_C(1000000)

enum vc__health {
    VC__HEALTH_UNKNOWN,     /* not asked yet, or not answered: calls wait */
    VC__HEALTH_SERVING,     /* the last answer */
    VC__HEALTH_NOT_SERVING, /* the last answer is another, or Watch failed */
    VC__HEALTH_UNCHECKED,   /* there is no Watch: counts as healthy */
};

/* ServingStatus of proto/grpc/health/v1/health.proto. Other numbers are of a
 * later version. */
enum vc__health_word {
    VC__HEALTH_WORD_UNKNOWN,
    VC__HEALTH_WORD_SERVING,
    VC__HEALTH_WORD_NOT_SERVING,
    VC__HEALTH_WORD_SERVICE_UNKNOWN,
};

/* Zeroed, with the seed set, before its first use. */
struct vc__health_rules {
    enum vc__health health;
    bool answered;     /* the Watch that runs, or was the last, has answered */
    unsigned failures; /* Watches in a row that ended without an answer */
    uint64_t began_us; /* the last Watch */
    uint64_t seed;
};

/* The connection is another, or there is none: nothing is known. This function
 * and the next four are called by health_watch.c, on the holder, when what they
 * say has happened. */
void vc__health_forget(struct vc__health_rules *h);

/* A Watch starts. */
void vc__health_begins(struct vc__health_rules *h, uint64_t now_us);

/* It has answered with this number. */
void vc__health_answers(struct vc__health_rules *h, uint32_t word);

/* It has not answered in time. True if the server is unhealthy by that; false
 * if it has answered, or its health is known from before. */
bool vc__health_is_late(struct vc__health_rules *h);

/* It has ended. Returns when the next one is to start; UINT64_MAX: never on
 * this connection, as there is no Watch. */
uint64_t vc__health_ends(struct vc__health_rules *h, enum vc_status status,
                         uint64_t now_us);

/* True if the server may get calls. Called by tests only. */
static inline bool
vc__health_is_good(enum vc__health health)
{
    return health == VC__HEALTH_SERVING || health == VC__HEALTH_UNCHECKED;
}

/* Returns the name of a ServingStatus; "a status of another version" for a
 * number that this version does not know. For an answer, on the holder. */
const char *vc__health_word_name(uint32_t word);

/* Reads a packed HealthCheckResponse of a peer. Returns false if it is none;
 * fields that this version does not know are skipped. For a message of a Watch:
 * on the holder, under the pool's lock. */
bool vc__health_answer_read(const uint8_t *data, size_t len, uint32_t *word);

/* Bytes of a packed HealthCheckRequest for this name, at most. */
#define VC__HEALTH_NAME_MAX    255u
#define VC__HEALTH_REQUEST_MAX (VC__HEALTH_NAME_MAX + 3u)

/* Checks the option health_service of a channel. Returns VC_OK; or
 * VC_INVALID_ARGUMENT, as this thread's last error: it is too long, or no
 * UTF-8. Called by vc_channel_open(), on its thread. */
enum vc_status vc__health_name_check(const char *name);

/* Packs the request to out. Returns its length. The name has
 * VC__HEALTH_NAME_MAX bytes at most. Called by vc__health_watch_new(), on its
 * thread. */
size_t vc__health_request_write(uint8_t *out, const char *name);

#endif
