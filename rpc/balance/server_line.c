/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See rpc/balance/server_line.h. vc__server_line() calls the static functions,
 * line_ejected() by line_health().
 * What they read changes meanwhile, and each number counts for itself. */
#include "rpc/balance/server_line.h"

#include "rpc/balance/health_watch.h"
#include "transport/core/words.h"

/* Adds that the server is ejected, and for how long: at least, as an evaluation
 * ends it. */
static void
line_ejected(struct vc__words *w, const struct vc__outlier *o)
{
    uint64_t now = vc__now(), until = vc__outlier_until(o);

    if (until > now)
        vc__words_add(w, "ejected, for %.1f s more",
                      (double)(until - now) / 1e6);
    else
        vc__words_add(w, "ejected, until the next evaluation");
}

/* Adds the health. */
static void
line_health(struct vc__words *w, const struct vc__subchannel *s)
{
    char text[64];

    if (vc__outlier_is_ejected(&s->outlier))
        line_ejected(w, &s->outlier);
    else if (vc__subchannel_bars(s) & VC__BAR_TWIN)
        vc__words_add(w, "redirects to another of the servers");
    else if (s->watch != NULL &&
             vc__health_watch_describe(s->watch, text, sizeof text))
        vc__words_add(w, "%s", text);
    else
        vc__words_add(w, "%s", vc__pool_health_name(s->pool));
}

/* Adds the weight by which the server gets calls: that of its load reports, or
 * that of the resolver. */
static void
line_weight(struct vc__words *w, const struct vc__server_set *set, unsigned i,
            bool weighs)
{
    const struct vc__stride *stride = vc__server_set_stride(set);
    float used = vc__load_used(&set->sub[i]->load);

    if (stride == NULL || stride != set->by_load) {
        if (weighs)
            vc__words_add(w, ", weight %u", set->about[i].weight);
    } else if (used > 0) {
        vc__words_add(w, ", weight %.*f by load", used < 100 ? 2 : 0,
                      (double)used);
    } else {
        vc__words_add(w, ", weight by load unknown");
    }
}

size_t
vc__server_line(const struct vc__server_set *set, unsigned i, bool weighs,
                char *text, size_t size)
{
    const struct vc__subchannel *s = set->sub[i];
    uint64_t begun = vc__pool_calls_begun(s->pool);
    unsigned ejected = vc__outlier_times(&s->outlier);
    char target[VC__TARGET_TEXT];
    struct vc__words w;

    vc__words_begin(&w, text, size);
    vc__target_text(&s->pool->opts.target, target);
    vc__words_add(&w, "server %u of %u, %s: ", i + 1, set->n, target);
    line_health(&w, s);
    line_weight(&w, set, i, weighs);
    vc__words_add(&w, ", %llu call%s, %llu failed", (unsigned long long)begun,
                  vc__plural(begun),
                  (unsigned long long)vc__pool_calls_failed(s->pool));
    if (ejected > 0)
        vc__words_add(&w, ", ejected %u time%s", ejected, vc__plural(ejected));
    vc__words_add(&w, "\n");
    return w.len;
}
