/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Calls between two attempts: nothing of them is known to a client or a
 * session, so it is here that the closing of their channel finds them.
 *
 * May run together: all of it. */
#ifndef VC_RPC_RETRY_WAIT_H
#define VC_RPC_RETRY_WAIT_H

#include <pthread.h>
#include <stdbool.h>

#include <urcu/list.h>

struct vc__retry_waits {
    pthread_mutex_t lock;
    struct cds_list_head list; /* lock; of struct vc__retry_wait */
    bool ended;                /* lock */
};

struct vc__retry_wait {
    struct cds_list_head node;
    /* The channel is being closed. Under the lock: it must not end the pause
     * itself. */
    void (*broken)(struct vc__retry_wait *p);
};

void vc__retry_waits_init(struct vc__retry_waits *ps);
void vc__retry_waits_fini(struct vc__retry_waits *ps);

/* Breaks all, and lets none begin any more. */
void vc__retry_waits_break(struct vc__retry_waits *ps);

/* False: none may begin any more. Else the end must follow, broken or not. */
bool vc__retry_wait_begin(struct vc__retry_waits *ps, struct vc__retry_wait *p);
void vc__retry_wait_end(struct vc__retry_waits *ps, struct vc__retry_wait *p);

#endif
