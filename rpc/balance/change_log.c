/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See rpc/balance/change_log.h. */
#include "rpc/balance/change_log.h"

void
vc__change_begin(struct vc__change *c, const struct vc__log *log)
{
    c->come = c->gone = c->n_named = 0;
    c->answers = false;
    c->names = vc__log_wants(log, VC__LOG_SERVER_NAMED);
}

void
vc__change_note(struct vc__change *c, struct vc__subchannel *s, bool comes)
{
    if (s->pool->opts.nowhere)
        return;
    c->come += comes;
    c->gone += !comes;
    if (!c->names || c->n_named == VC__LOG_MOST)
        return;
    vc__subchannel_hold(s);
    c->named[c->n_named].sub = s;
    c->named[c->n_named++].comes = comes;
}

void
vc__change_log(const struct vc__change *c, struct vc__log *log,
               const char *target, unsigned n)
{
    char server[VC__TARGET_TEXT];

    if (c->answers && vc__log_wants(log, VC__LOG_RESOLVER))
        vc__log(log, VC__LOG_RESOLVER,
                "channel to %.200s: the resolver has an answer again", target);
    if ((c->come > 0 || c->gone > 0) && vc__log_wants(log, VC__LOG_SERVERS))
        vc__log(log, VC__LOG_SERVERS,
                "channel to %.200s: %u servers, %u new, %u gone", target, n,
                c->come, c->gone);
    for (unsigned i = 0; i < c->n_named; i++) {
        vc__target_text(&c->named[i].sub->pool->opts.target, server);
        vc__log(log, VC__LOG_SERVER_NAMED, "channel to %.160s: server %s: %s",
                target, c->named[i].comes ? "added" : "removed", server);
    }
}

void
vc__change_end(struct vc__change *c)
{
    while (c->n_named > 0)
        vc__subchannel_put(c->named[--c->n_named].sub);
}
