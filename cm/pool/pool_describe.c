/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Describes a pool: its links, and why they use no better transport. See
 * cm/pool/pool.h. Static functions run under the pool's lock, inside
 * vc__pool_describe(), on any thread, or inside vc__pool_log_transport(), on
 * the holder. */
#include <string.h>

#include "cm/pool/pool.h"
#include "transport/core/log.h"
#include "transport/core/words.h"

void
vc__pool_missed(struct vc__pool *p, const struct vc__transport *transport,
                const struct vc__error *error)
{
    unsigned i = vc__choice_rank(&p->opts.choice, transport);

    if (p->missed == NULL || i == p->opts.choice.n)
        return;
    vc__lock_take(&p->lock);
    if (error != NULL)
        p->missed[i] = *error;
    else
        p->missed[i].status = VC_OK;
    vc__lock_give(&p->lock);
}

/* For add_links(): adds a line about this link. What is written about a wire
 * does not change while it is up. */
static void
add_link(struct vc__words *w, const struct vc__pool_link *pl)
{
    const char *name = pl->link.accept.text;
    char peer[VC__ADDR_TEXT], what[VC__WIRE_TEXT];

    vc__wire_describe(pl->link.wire, what);
    vc__addr_text((const struct sockaddr *)&pl->link.wire->peer, peer);
    vc__words_add(w, "%s to %s%s%s%s: %u call%s under way%s%s\n",
                  pl->link.wire->transport->scheme, name,
                  name[0] == '\0' ? "" : " (", peer, name[0] == '\0' ? "" : ")",
                  pl->n_busy, vc__plural(pl->n_busy),
                  pl->scout     ? ", not used for calls"
                  : pl->leaving ? ", to be closed"
                                : "",
                  what);
}

/* For vc__pool_describe(): adds a line about each link, or one that says why
 * there is none. *rank becomes the best rank of their transports, if that is
 * lower. */
static void
add_links(struct vc__words *w, const struct vc__pool *p, unsigned *rank)
{
    const struct vc__pool_link *pl;

    if (p->peer != NULL) {
        cds_list_for_each_entry (pl, &p->peer->links, node) {
            unsigned its =
                vc__choice_rank(&p->opts.choice, pl->link.wire->transport);

            add_link(w, pl);
            if (its < *rank)
                *rank = its;
        }
    }
    if (w->len > 0)
        return;
    if (p->attempting)
        vc__words_add(w, "no connection yet: connecting\n");
    else if (p->failure.status != VC_OK)
        vc__words_add(w, "no connection: %s\n", p->failure.text);
    else if (p->lost.status != VC_OK)
        vc__words_add(w, "no connection since the last was lost: %s\n",
                      p->lost.text);
    else
        vc__words_add(w, "no connection: no call has been made yet\n");
}

/* For both functions of the head: the reason why transport i is not used. NULL:
 * not tried yet, or it has not failed since it last worked. */
static const char *
why_missed(const struct vc__pool *p, unsigned i)
{
    if (p->missed[i].status != VC_OK)
        return p->missed[i].text;
    if (p->opts.choice.best[i]->local && p->peer != NULL && !p->peer->has_local)
        return "the server has announced no shared-memory socket: let it "
               "listen at vc:// with shm among its transports";
    return NULL;
}

size_t
vc__pool_describe(struct vc__pool *p, char *text, size_t size)
{
    struct vc__words w;
    unsigned rank = p->opts.choice.n;

    vc__words_begin(&w, text, size);
    vc__lock_take(&p->lock);
    add_links(&w, p, &rank);
    for (unsigned i = 0; p->missed != NULL && i < rank; i++) {
        const char *why = why_missed(p, i);

        if (why == NULL && !p->attempting)
            why = "it was not tried yet";
        if (why != NULL)
            vc__words_add(&w, "not %s: %s\n", p->opts.choice.best[i]->scheme,
                          why);
    }
    vc__lock_give(&p->lock);
    return w.len;
}

/* --- in the log ---------------------------------------------------------- */

void
vc__pool_log_transport(struct vc__pool *p, unsigned rank, const char *what)
{
    struct vc__log *log = p->engine->log;
    char line[VC__LOG_LINE], target[VC__TARGET_TEXT];
    struct vc__words w;

    if (!vc__log_wants(log, VC__LOG_TRANSPORT))
        return;
    vc__words_begin(&w, line, sizeof line);
    vc__target_text(&p->opts.target, target); /* it is constant */
    vc__words_add(&w, "channel to %s: calls %s %s", target, what,
                  p->opts.choice.best[rank]->scheme);
    vc__lock_take(&p->lock);
    for (unsigned i = 0; p->missed != NULL && i < rank; i++) {
        const char *why = why_missed(p, i);

        if (why != NULL)
            vc__words_add(&w, "; not %s: %s", p->opts.choice.best[i]->scheme,
                          why);
    }
    vc__lock_give(&p->lock);
    vc__log(log, VC__LOG_TRANSPORT, "%s", line);
}

void
vc__pool_log_failing(struct vc__pool *p, const struct vc__error *why)
{
    struct vc__log *log = p->engine->log;
    char target[VC__TARGET_TEXT];
    uint64_t now = vc__now(), at;

    if (p->said_failing || !vc__log_wants(log, VC__LOG_FAILING))
        return;
    p->said_failing = true;
    vc__lock_take(&p->lock);
    at = p->not_before > p->refused_until ? p->not_before : p->refused_until;
    vc__lock_give(&p->lock);
    vc__target_text(&p->opts.target, target); /* it is constant */
    vc__log(log, VC__LOG_FAILING,
            "server %s is failing, and not tried again for %u ms: %s", target,
            at > now ? (unsigned)((at - now) / 1000) : 0, why->text);
}

void
vc__pool_log_ready(struct vc__pool *p)
{
    char target[VC__TARGET_TEXT];

    if (!p->said_failing || vc__pool_health(p) != VC__POOL_READY)
        return;
    p->said_failing = false;
    vc__target_text(&p->opts.target, target);
    vc__log(p->engine->log, VC__LOG_FAILING, "server %s is ready again",
            target);
}
