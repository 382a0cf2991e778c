/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A channel of c-ares on an engine: its sockets and its timeouts. It is made
 * anew when resolv.conf has changed. On the holder, but for
 * vc__dns_asker_open() and vc__dns_asker_close().
 *
 * Called by: dns.c (all). */
#ifndef VC_DNS_ASKER_H
#define VC_DNS_ASKER_H

#include <ares.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include <verbcall/resolver.h>

/* What tells that a file has changed; zeroed if there is none. */
struct vc__dns_file {
    dev_t dev;
    ino_t ino;
    off_t size;
    struct timespec mtime;
};

struct vc__dns_asker {
    struct vc_resolver *resolver;
    const char *server; /* the target's, or "" */
    void (*ready)(void *state, int fd);

    ares_channel channel;     /* NULL: not made yet */
    struct vc__dns_file conf; /* as the channel has read it */
    bool is_unwatched;        /* true: a socket could not be watched */
    char servers[160];        /* which are asked, for texts */
};

/* Prepares c-ares. `server` must stay valid, and `ready` must call
 * vc__dns_asker_process(). Returns ARES_SUCCESS, or why not; then nothing must
 * be closed. On the thread of vc_channel_open(), by dns_open(). */
int vc__dns_asker_open(struct vc__dns_asker *asker, struct vc_resolver *r,
                       const char *server, void (*ready)(void *state, int fd));

/* Ends all questions: their callbacks run now. Frees the channel. On the thread
 * of dns_close(), which calls it. */
void vc__dns_asker_close(struct vc__dns_asker *asker);

/* Makes the channel, or makes it anew if resolv.conf has changed. No question
 * may be under way: called when a round begins. Returns ARES_SUCCESS, or why
 * there is no channel. */
int vc__dns_asker_renew(struct vc__dns_asker *asker);

/* Lets c-ares read and write fd, or with ARES_SOCKET_BAD only see the time.
 * Callbacks of questions run inside. Called by dns_ready() and dns_fire(). */
void vc__dns_asker_process(struct vc__dns_asker *asker, ares_socket_t fd);

/* Returns the milliseconds until c-ares must see the time again, `most` at
 * most. Called by dns_sleep() while a round is under way. */
uint32_t vc__dns_asker_wait(struct vc__dns_asker *asker, uint32_t most);

#endif
