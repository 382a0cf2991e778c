/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The log of a runtime (include/verbcall/log.h). Every line is of a kind, which
 * has a level and a rate limit of its own: a hostile peer that causes lines of
 * one kind cannot push out lines of the others. Nothing on the data path logs.
 *
 * Any thread may log. The caller of vc__log() must hold no lock, as the
 * program's function runs inside it.
 *
 * Called by: rpc/runtime.c (init, fini, level_find), many files (wants, log).
 */
#ifndef VC_TRANSPORT_LOG_H
#define VC_TRANSPORT_LOG_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <verbcall/log.h>

#define VC__LOG_LINE 512 /* bytes of a line, terminator included */
#define VC__LOG_MOST 50u /* lines of a kind in a second */

/* Name, level, and what lines of the kind are about. */
#define VC__LOG_KINDS(X)                                                       \
    X(LINK_UP, INFO, "links that came up")                                     \
    X(LINK_CLOSED, INFO, "links that were closed")                             \
    X(LINK_LOST, WARNING, "links that were lost")                              \
    X(LINK_FAILED, DEBUG, "links that did not come up")                        \
    X(TRANSPORT, INFO, "transports that calls use")                            \
    X(LISTEN, INFO, "addresses that servers listen at")                        \
    X(LISTEN_LOST, ERROR, "addresses that servers have lost")                  \
    X(SERVERS, INFO, "servers that come and go")                               \
    X(SERVER_NAMED, INFO, "servers that resolvers add or remove")              \
    X(FAILING, INFO, "servers that fail, or are ready again")                  \
    X(EJECTED, WARNING, "servers that are ejected, or come back")              \
    X(HEALTH, WARNING, "servers that are unhealthy, or healthy again")         \
    X(RESOLVER, WARNING, "targets that are not resolved")                      \
    X(CONFIG, INFO, "service configs that are in force")                       \
    X(CONFIG_REFUSED, WARNING, "service configs that are refused")             \
    X(SERVER, INFO, "servers that are drained or closed")                      \
    X(WAITS, WARNING, "servers whose end waits for calls")                     \
    X(OVERLOAD, WARNING, "servers that shed calls")                            \
    X(REJECT, INFO, "clients that were rejected")                              \
    X(SCHEMA, WARNING, "clients whose schemas differ")                         \
    X(STARVED, WARNING, "clients that wait for memory or descriptors")         \
    X(STRANGER, DEBUG, "connections without a hello")                          \
    X(EMPTIES, WARNING, "paths that drop packets without bytes")               \
    X(DEVICE_OPEN, INFO, "devices that were opened")                           \
    X(DEVICE_LOST, WARNING, "devices that were lost")

enum vc__log_kind {
#define VC__LOG_KIND_ENUM(name, level, what) VC__LOG_##name,
    VC__LOG_KINDS(VC__LOG_KIND_ENUM)
#undef VC__LOG_KIND_ENUM
    VC__LOG_N_KINDS
};

/* The lines of a kind in the second that began at `since`. */
struct vc__log_limit {
    uint64_t since;
    unsigned logged;
    uint64_t left_out;
};

struct vc__log {
    unsigned level; /* the least important one logged; 0: nothing */
    vc_log_fn *fn;
    void *arg;
    pthread_mutex_t lock;
    struct vc__log_limit limits[VC__LOG_N_KINDS]; /* lock */
};

/* Called by vc_runtime_new(). fn: NULL logs to stderr. level: of enum
 * vc_log_level, or 0. */
void vc__log_init(struct vc__log *log, vc_log_fn *fn, void *arg,
                  unsigned level);
/* Logs how many lines were left out last. No thread may log any more. Does
 * nothing to a log whose bytes are all 0. Called by vc_runtime_free(), also
 * when vc_runtime_new() fails. */
void vc__log_fini(struct vc__log *log);

/* Finds the level of this name, "none" included, which is 0. Returns false if
 * there is no such level; then *level is unchanged. Called by vc_runtime_new()
 * for the level that the environment names. */
bool vc__log_level_find(const char *name, unsigned *level);

extern const uint8_t vc__log_levels[VC__LOG_N_KINDS];

/* True if lines of the kind are logged: a caller that must build a text for
 * vc__log() asks first. log may be NULL, which logs nothing. */
static inline bool
vc__log_wants(const struct vc__log *log, enum vc__log_kind kind)
{
    return log != NULL && vc__log_levels[kind] <= log->level;
}

/* Logs a line, if its kind is logged and its limit was not reached. Leaves
 * errno and vc_error() unchanged. Called on the holder for events of links,
 * pools, listeners, devices, and servers of a channel (ejections.c,
 * health_watch.c); on any thread by changes.c and change_log.c, when a resolver
 * names servers or fails, by channel_config.c, when a service config is taken
 * or refused, and by vc__server_log(). */
void vc__log(struct vc__log *log, enum vc__log_kind kind, const char *format,
             ...) __attribute__((format(printf, 3, 4), cold));

#endif
