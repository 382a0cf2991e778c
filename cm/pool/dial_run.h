/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Carries out a plan of connecting (cm/connect/dial.h): several links may be
 * trying at once, the first that is up wins, and the others are closed. The
 * links are the owner's; each has a struct vc__try beside it. The holder of the
 * engine only. */
#ifndef VC_CM_DIAL_RUN_H
#define VC_CM_DIAL_RUN_H

#include "cm/connect/dial.h"
#include "cm/link/link.h"

struct vc__dial_run;

struct vc__try {
    struct vc__link *link;
    struct cds_list_head node;
    struct vc__dial_run *dial_run; /* whose it was */
    unsigned which;                /* of the plan's ways */
    bool under_way;
};

struct vc__dial_run_ops {
    /* A new link by this transport that ends within ms milliseconds, with its
     * hello filled but for what an offer has; sets try->link. NULL, and
     * vc__error_last() says why. */
    struct vc__try *(*link_new)(struct vc__dial_run *d,
                                const struct vc__transport *transport,
                                uint32_t ms);

    /* A way did not lead there, for this reason; others may. NULL: nobody wants
     * to know. */
    void (*missed)(struct vc__dial_run *d,
                   const struct vc__transport *transport,
                   const struct vc__error *error);

    /* No address can be connected to. No try is under way any more. */
    void (*failed)(struct vc__dial_run *d, const struct vc__error *error);
};

struct vc__dial_run {
    const struct vc__dial_run_ops *ops;
    struct vc__engine *engine;
    struct vc__dial *plan;          /* while it is active */
    struct sockaddr_storage source; /* to bind to; AF_UNSPEC: any */
    struct vc__timer timer;
    struct cds_list_head tries; /* of struct vc__try */
    bool active;                /* neither up, nor failed, nor stopped */
    bool advancing;             /* a try may fail while it begins */
};

/* source may be NULL. */
void vc__dial_run_init(struct vc__dial_run *d, struct vc__engine *engine,
                       const struct vc__dial_run_ops *ops,
                       const struct sockaddr_storage *source);

/* opts->family is set here. May call ops before it returns. It
 * is not active. */
void vc__dial_run_start(struct vc__dial_run *d,
                        const struct vc__dial_opts *opts);

/* Closes the links that try; nothing is called but their own ops. */
void vc__dial_run_stop(struct vc__dial_run *d);

/* From the link's ops->up(): it has won. */
void vc__dial_run_up(struct vc__try *t);

/* From the link's ops->down(): true if it was a try, which is seen to here;
 * false if it had won, or was closed by it. */
bool vc__dial_run_down(struct vc__try *t);

#endif
