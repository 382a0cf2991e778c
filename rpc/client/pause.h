/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Calls between two attempts: nothing of them is known to a client or a
 * session, so it is here that the closing of their channel finds them.
 *
 * May run together: all of it. */
#ifndef VC_RPC_PAUSE_H
#define VC_RPC_PAUSE_H

#include <pthread.h>
#include <stdbool.h>

#include <urcu/list.h>

struct vc__pauses {
    pthread_mutex_t lock;
    struct cds_list_head list; /* lock; of struct vc__pause */
    bool ended;                /* lock */
};

struct vc__pause {
    struct cds_list_head node;
    /* The channel is being closed. Under the lock: it must not end the pause
     * itself. */
    void (*broken)(struct vc__pause *p);
};

void vc__pauses_init(struct vc__pauses *ps);
void vc__pauses_fini(struct vc__pauses *ps);

/* Breaks all, and lets none begin any more. */
void vc__pauses_break(struct vc__pauses *ps);

/* False: none may begin any more. Else the end must follow, broken or not. */
bool vc__pause_begin(struct vc__pauses *ps, struct vc__pause *p);
void vc__pause_end(struct vc__pauses *ps, struct vc__pause *p);

#endif
