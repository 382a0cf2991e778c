/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Carries out a plan for connecting (cm/connect/dial.h). Several links may try
 * at once; the first that is up wins, and the others are closed. The links
 * belong to the owner, each with a struct vc__try beside it. The holder of the
 * engine only, except vc__dial_run_init().
 *
 * Called by: pool_connect.c (init, start, stop), upgrade.c (init, start, stop),
 * dial_run.c (stop), pool_link.c (up, down). */
#ifndef VC_CM_DIAL_RUN_H
#define VC_CM_DIAL_RUN_H

#include "cm/connect/dial.h"
#include "cm/link/link.h"

struct vc__dial_run;

struct vc__try {
    struct vc__link *link;
    struct cds_list_head node;
    struct vc__dial_run *dial_run; /* the one that started the try */
    unsigned which;                /* index in the plan's ways */
    bool under_way;
    bool moved; /* a server has sent the client there */
};

/* Callbacks to the owner: pool_connect.c, or upgrade.c. On the holder, without
 * locks; also inside vc__dial_run_start() and vc__dial_run_down(). */
struct vc__dial_run_ops {
    /* The plan tries a way. Returns the try of a new link over this transport,
     * with try->link set. The link must end within ms milliseconds; its hello
     * is filled except what an offer contains. NULL, with vc__error_last(), if
     * no link can be made: then this way has failed, and missed() follows. */
    struct vc__try *(*link_new)(struct vc__dial_run *d,
                                const struct vc__transport *transport,
                                uint32_t ms);

    /* A way has failed, for this reason: its link could not be made, or went
     * down before it was up. Others may succeed. NULL: not reported. */
    void (*missed)(struct vc__dial_run *d,
                   const struct vc__transport *transport,
                   const struct vc__error *error);

    /* The run has ended: all ways have failed, the time is over, a server has
     * refused for good, or memory is short. `error` says most. No try is in
     * progress any more. Not called after vc__dial_run_stop(). */
    void (*failed)(struct vc__dial_run *d, const struct vc__error *error);
};

struct vc__dial_run {
    const struct vc__dial_run_ops *ops;
    struct vc__engine *engine;
    struct vc__dial *plan;          /* the plan; while active or advancing */
    struct sockaddr_storage source; /* address to bind to; AF_UNSPEC: any */
    struct vc__timer timer;
    struct cds_list_head tries; /* of struct vc__try */
    bool active;                /* true until up, failed or stopped */
    bool advancing;             /* true while tries begin: one may fail */
};

/* Initialises a dial run; source may be NULL. Called when its pool is made, on
 * any thread, before all else. */
void vc__dial_run_init(struct vc__dial_run *d, struct vc__engine *engine,
                       const struct vc__dial_run_ops *ops,
                       const struct sockaddr_storage *source);

/* Starts connecting, by a copy of opts whose family is that of the source. It
 * must not be active. May call ops before it returns. Called when an attempt
 * has addresses, and by the search for a better transport. */
void vc__dial_run_start(struct vc__dial_run *d,
                        const struct vc__dial_opts *opts);

/* Stops connecting and closes the links that try. No callback of d->ops is
 * called, only those of the links. Called when a try is up, the run has failed,
 * or its owner needs no link any more. */
void vc__dial_run_stop(struct vc__dial_run *d);

/* Called by pool_link.c when a link is up: this try has won, and the others are
 * closed. Does nothing if the try belongs to no run any more. */
void vc__dial_run_up(struct vc__try *t);

/* Called by pool_link_on_down(). Returns true if the link was still trying: its
 * failure is then handled here, and the pool has nothing to do. Returns false
 * if it had won, or was closed by the run. */
bool vc__dial_run_down(struct vc__try *t);

#endif
