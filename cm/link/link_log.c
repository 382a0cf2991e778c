/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Log lines about a link: that it came up, and why it went down. The error
 * texts may start with the peer's name, which the line already contains. See
 * cm/link/link.h; the holder of the engine, without locks. */
#include <stdio.h>
#include <string.h>

#include "cm/link/link.h"
#include "transport/core/log.h"

/* How the line leads to the peer's name: "to" or "from". For up_log() and
 * end_log(). */
static const char *
direction_of(const struct vc__link *link)
{
    return link->active ? "to" : "from";
}

/* The link came up: logs it, if that is wanted. For vc__link_log(). */
static void
up_log(struct vc__link *link)
{
    struct vc__log *log = link->engine->log;
    const struct vc__wire *w = link->wire;
    char what[VC__WIRE_TEXT], keepalive[32] = "off";

    if (!vc__log_wants(log, VC__LOG_LINK_UP))
        return;
    vc__wire_describe(w, what);
    if (link->keepalive.wish_ms != 0)
        snprintf(keepalive, sizeof keepalive, "%u ms",
                 (unsigned)link->keepalive.wish_ms);
    vc__log(log, VC__LOG_LINK_UP,
            "link %s %s: up over %s%s, window of %u packets, keepalive %s",
            direction_of(link), vc__link_peer(link), w->transport->scheme, what,
            (unsigned)link->window.max, keepalive);
}

/* Copies the reason, without the peer's name if it starts with that. For
 * end_log(). */
static void
reason_put(char out[VC__ERROR_TEXT], struct vc__link *link)
{
    const char *text = link->error.text, *peer = vc__link_peer(link);
    size_t len = strlen(peer);

    if (strncmp(text, peer, len) == 0 && text[len] == ' ')
        snprintf(out, VC__ERROR_TEXT, "the peer%s", text + len);
    else if (strncmp(text, peer, len) == 0 && text[len] == ':')
        snprintf(out, VC__ERROR_TEXT, "%s", text + len + 2);
    else
        snprintf(out, VC__ERROR_TEXT, "%s", text);
}

/* The link went down, or never came up: logs it, if that is wanted. `how` says
 * which; the reason is link->error. For vc__link_log(). */
static void
end_log(struct vc__link *link, enum vc__log_kind kind, const char *how)
{
    struct vc__log *log = link->engine->log;
    char reason[VC__ERROR_TEXT];

    if (!vc__log_wants(log, kind))
        return;
    reason_put(reason, link);
    vc__log(log, kind, "link %s %s: %s: %s", direction_of(link),
            vc__link_peer(link), how, reason);
}

void
vc__link_log(struct vc__link *link, enum vc__link_state was,
             enum vc__link_event event)
{
    bool ended =
        link->state == VC__LINK_LEAVING || link->state == VC__LINK_GONE;

    if (was == link->state || was == VC__LINK_LEAVING)
        return;
    if (link->state == VC__LINK_UP)
        up_log(link);
    else if (ended && was != VC__LINK_UP)
        end_log(link, VC__LOG_LINK_FAILED, "not up");
    else if (ended && (event == VC__LINK_EV_CLOSE || event == VC__LINK_EV_LEFT))
        end_log(link, VC__LOG_LINK_CLOSED, "closed");
    else if (ended)
        end_log(link, VC__LOG_LINK_LOST, "lost");
}
