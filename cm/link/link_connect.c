/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The active side of connecting: the hello, and the handling of the peer's
 * answer. See cm/link/link.h; the holder of the engine only. */
#include <stdio.h>
#include <string.h>

#include "cm/connect/target.h"
#include "cm/link/link.h"

/* Called by vc__link_connect(): starts to find a route to the peer, or ends the
 * link. */
static void
link_connect_dial(struct vc__link *link)
{
    struct vc__wire *w = link->wire;

    if (vc__target_reaches(w->transport, &w->peer, "connect to") != VC_OK ||
        vc__target_reaches(w->transport, &w->source, "connect from") != VC_OK ||
        w->transport->dial(w, link->timeout_ms) != VC_OK)
        vc__link_fail(link, VC__LINK_EV_NO_WAY, vc__error_last());
}

void
vc__link_connect(struct vc__link *link, const struct sockaddr *addr)
{
    struct vc__wire *w = link->wire;

    link->active = true;
    vc__addr_copy(&w->peer, addr);
    vc__link_event(link, VC__LINK_EV_CONNECT);
    vc__link_timer(link, link->timeout_ms);
    if (link->state == VC__LINK_DIALLING)
        link_connect_dial(link);
}

/* Called by link_act() when the route to the peer is known. If the hello cannot
 * be sent, ends the link. */
void
vc__link_ask(struct vc__link *link)
{
    struct vc__wire *w = link->wire;
    uint8_t hello[VC__HELLO_SIZE];
    enum vc_status status = vc__link_prepare(link);

    if (status == VC_OK) {
        link->hello.credits = (uint16_t)w->promised;
        link->hello.log2_eager = VC__PACKET_LOG2;
        vc__hello_put(hello, &link->hello);
        status = w->transport->hello(w, hello, sizeof hello);
    }
    if (status != VC_OK)
        vc__link_fail(link, VC__LINK_EV_NO_WAY, vc__error_last());
}

/* What is wrong with the peer's accept; NULL if nothing. For
 * vc__link_on_answered(). */
static const char *
accept_fault(const struct vc__link *link, const struct vc__accept *a)
{
    if (a->version < link->hello.version_min ||
        a->version > link->hello.version_max)
        return "it chose a version that was not offered";
    if (a->features & ~link->hello.features ||
        (a->features != 0 && !(a->features & VC__FEATURES_SAID)))
        return "it chose features that were not offered";
    return NULL;
}

/* Takes over the chosen features. If the server lacks one that this client
 * needs, ends the link and returns false. For vc__link_on_answered(). */
static bool
features_take(struct vc__link *link)
{
    const char *missing;

    link->features = vc__features_of(link->accept.features);
    missing = vc__features_missing(link->features);
    if (missing == NULL)
        return true;
    vc__link_end(
        link, VC__LINK_EV_REFUSED, VC_UNIMPLEMENTED,
        "%s does not support %s, which this client needs: update the server",
        vc__link_peer(link), missing);
    return false;
}

/* Puts the server's name, without control characters, before its address in all
 * later texts. For vc__link_on_answered(). */
static void
link_connect_name_take(struct vc__link *link)
{
    struct vc__wire *w = link->wire;
    char name[sizeof link->accept.text], addr[VC__ADDR_TEXT];

    vc__words_put(name, sizeof name, link->accept.text,
                  strlen(link->accept.text));
    memcpy(link->accept.text, name, sizeof name);
    if (name[0] == '\0')
        return;
    vc__addr_text((const struct sockaddr *)&w->peer, addr);
    snprintf(w->peer_text, sizeof w->peer_text, "%s (%s)", name, addr);
}

/* Ends the link, as the accept has this fault. One of another program, such as
 * a server that accepts without data, is no fault of a Verbcall server: the
 * text says what to look at. For vc__link_on_answered(). */
static void
accept_refuse(struct vc__link *link, enum vc__said said, const char *fault)
{
    vc__link_end(link, VC__LINK_EV_REFUSED, VC_INTERNAL,
                 "%s sent an invalid accept: %s%s", vc__link_peer(link), fault,
                 said == VC__SAID_FOREIGN
                     ? ", so no Verbcall server listens there: see that the "
                       "address and the port are right"
                     : "");
}

/* Called by the transport: the peer has accepted. In any state but ASKED that
 * is ignored. A good accept is confirmed, and the link is up. Any other, a
 * missing feature or a failed confirm() ends the link. */
void
vc__link_on_answered(struct vc__wire *w, const void *data, size_t len)
{
    struct vc__link *link = vc__link_of(w);
    struct vc__accept *a = &link->accept;
    enum vc_status status;
    enum vc__said said;
    const char *fault;

    if (link->state != VC__LINK_ASKED)
        return;
    said = vc__accept_get(a, data, len);
    fault = said != VC__SAID_OK ? vc__said_text(said) : accept_fault(link, a);
    if (fault != NULL) {
        accept_refuse(link, said, fault);
        return;
    }
    link_connect_name_take(link);
    if (!features_take(link))
        return;
    status = w->transport->confirm(w);
    if (status != VC_OK) {
        vc__link_fail(link,
                      status == VC_UNAVAILABLE ? VC__LINK_EV_REFUSED
                                               : VC__LINK_EV_NO_WAY,
                      vc__error_last());
        return;
    }
    vc__link_open_io(link, a->credits);
    vc__link_event(link, VC__LINK_EV_RESPONSE);
    vc__link_trust(link);
}

/* Ends the link with the reason of the server's reject. For
 * vc__link_on_refused(). */
static void
refused_by_verbcall(struct vc__link *link, const struct vc__reject *r)
{
    const struct vc__reject_rule *rule = vc__reject_rule(r->reason);
    char retry[48] = "";
    char words[sizeof r->text];

    vc__words_put(words, sizeof words, r->text, strlen(r->text));
    if (r->retry_ms > 0)
        snprintf(retry, sizeof retry, "; it may be tried again after %u ms",
                 (unsigned)r->retry_ms);
    vc__link_end(link, VC__LINK_EV_REFUSED, rule->status,
                 "%s refused: %s%s%s%s", vc__link_peer(link), rule->text,
                 words[0] == '\0' ? "" : ": ", words, retry);
}

/* Called by the transport: the connection was rejected. Keeps what the plan of
 * connecting must know, and ends the link. `why` is the reason without a reject
 * of Verbcall; again: a retry at once may succeed. */
void
vc__link_on_refused(struct vc__wire *w, const void *data, size_t len,
                    const struct vc__error *why, bool again)
{
    struct vc__link *link = vc__link_of(w);

    link->heard = true;
    link->has_reject = vc__reject_get(&link->reject, data, len) == VC__SAID_OK;
    if (link->has_reject) {
        vc__count(&link->engine->ledger, VC__COUNT_rejects_got, 1);
        refused_by_verbcall(link, &link->reject);
    } else {
        link->stale = again;
        vc__link_fail(link, VC__LINK_EV_REFUSED, why);
    }
}

/* Called by the transport. Ends a link that is not up yet. While the link is up
 * it is only a hint, which is counted. */
void
vc__link_on_unreachable(struct vc__wire *w, const struct vc__error *why)
{
    struct vc__link *link = vc__link_of(w);

    if (link->state == VC__LINK_UP)
        vc__count(&link->engine->ledger, VC__COUNT_cm_hints, 1);
    vc__link_fail(link, VC__LINK_EV_NO_WAY, why);
}
