/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The calls that wait between two attempts, which no client and no session
 * knows, and streams with callbacks: the closing of their channel finds them
 * here.
 *
 * Any thread may call any of these functions at any time;
 * vc__retry_waits_init() and vc__retry_waits_fini() when no other uses the
 * channel.
 *
 * Called by: channel.c (retry_waits_init, retry_waits_fini, retry_waits_break),
 * async.c (begin, end), call.c (begin, end), stream_again.c (begin, end),
 * stream_open.c (begin), stream_client.c (end). */
#ifndef VC_RPC_RETRY_WAIT_H
#define VC_RPC_RETRY_WAIT_H

#include <pthread.h>
#include <stdbool.h>

#include <urcu/list.h>

struct vc__retry_waits {
    pthread_mutex_t lock;      /* also to add clients: vc__client_opts.lock */
    struct cds_list_head list; /* lock; of struct vc__retry_wait */
    bool ended;                /* lock */
};

struct vc__retry_wait {
    struct cds_list_head node;
    /* The channel is being closed. Called under the lock, so it must not call
     * vc__retry_wait_end(). */
    void (*broken)(struct vc__retry_wait *p);
};

/* Makes the list, which is empty. Called by vc_channel_open(). */
void vc__retry_waits_init(struct vc__retry_waits *ps);
/* No call waits any more. Called by vc_channel_close(), or by vc_channel_open()
 * if that fails. */
void vc__retry_waits_fini(struct vc__retry_waits *ps);

/* Calls broken() of all waits, and lets no other begin. Called by
 * vc_channel_close(). */
void vc__retry_waits_break(struct vc__retry_waits *ps);

/* Adds a wait to the list. Called before a call or a stream waits for its next
 * attempt, and when a stream with callbacks is opened. False if the channel is
 * being closed: no wait may begin any more. Otherwise vc__retry_wait_end() must
 * follow, whether the wait was broken or not. The caller has set p->broken. */
bool vc__retry_wait_begin(struct vc__retry_waits *ps, struct vc__retry_wait *p);
/* Takes the wait from the list. Called when the wait has ended for any reason;
 * for a stream with callbacks, after on_end(). Afterwards broken() does not run
 * and will not. */
void vc__retry_wait_end(struct vc__retry_waits *ps, struct vc__retry_wait *p);

#endif
