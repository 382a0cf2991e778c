/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The passive side of connecting: a request with a good hello becomes a link.
 * See cm/link/link.h; the holder of the engine only. */
#include "cm/link/link.h"

/* Called by vc__link_accept(): prepares the wire and sends the accept. Returns
 * VC_OK, or the error of the transport, with vc__error_last(). */
static enum vc_status
link_accept_send(struct vc__link *link)
{
    struct vc__wire *w = link->wire;
    size_t most = w->transport->accept_max;
    uint8_t accept[VC__ACCEPT_SIZE];
    enum vc_status status = vc__link_prepare(link);

    if (status != VC_OK)
        return status;
    link->accept.credits = (uint16_t)w->promised;
    link->accept.log2_eager = VC__PACKET_LOG2;
    link->accept.features = vc__features_choose(
        link->hello.features, link->has_local ? VC__FEATURE_LOCAL : 0);
    link->features = vc__features_of(link->accept.features);
    vc__accept_fit(&link->accept, most);
    vc__accept_put(accept, &link->accept);
    return w->transport->accept(w, accept,
                                most < sizeof accept ? most : sizeof accept);
}

/* Called by vc__link_accept() when the accept was sent: confirms the connection
 * and opens sending. If the peer has left meanwhile, ends the link. */
static void
link_accept_accepted(struct vc__link *link)
{
    if (link->wire->transport->confirm(link->wire) == VC_OK)
        vc__link_open_io(link, link->hello.credits);
    else
        vc__link_fail(link, VC__LINK_EV_BROKEN, vc__error_last());
}

enum vc_status
vc__link_accept(struct vc__link *link, const struct vc__incoming *in,
                const struct vc__hello *hello)
{
    struct vc__wire *w = link->wire;
    struct vc__error error;
    enum vc_status status;

    link->hello = *hello;
    w->peer = in->peer;
    w->transport->take(w, in);
    status = link_accept_send(link);
    if (status != VC_OK) {
        error = *vc__error_last(); /* fini() may run other links' callbacks */
        w->transport->fini(w);
        return vc__error_raise(&error);
    }
    vc__link_event(link, VC__LINK_EV_ACCEPT);
    vc__link_timer(link, link->timeout_ms);
    if (link->state == VC__LINK_OFFERED)
        link_accept_accepted(link);
    return VC_OK;
}
