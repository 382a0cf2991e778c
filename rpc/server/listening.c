/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See rpc/server/listening.h. */
#include "rpc/server/listening.h"

#include "rpc/runtime.h"
#include "rpc/server/server_log.h"

/* Describes from where clients can connect. The permissions of a socket's file
 * may keep some out; no transport authenticates its clients. Returns a static
 * text. Called by vc__listening_log(). */
static const char *
openness_of(const struct vc__listening *l)
{
    const struct vc__ear *ear = l->listener.ear;

    if (ear->opts.is_drawn)
        return "for clients of this host that the server notifies";
    if (ear->context->transport->named)
        return "for this process only";
    if (ear->context->transport->local)
        return "for this host only";
    return vc__addr_is_loopback((const struct sockaddr *)&l->addr)
               ? "for this host only"
               : "for every host that reaches it: clients are not "
                 "authenticated";
}

void
vc__listening_log(const struct vc__listening *l, const char *again)
{
    const struct vc__ear *ear = l->listener.ear;
    struct sockaddr_storage addr = l->addr;
    char text[VC__ADDR_TEXT];

    if (!vc__log_wants(&l->server->runtime->log, VC__LOG_LISTEN))
        return;
    vc__addr_port_set(&addr, vc__listener_port(&l->listener));
    vc__server_log(l->server, VC__LOG_LISTEN, "listens %sat %s over %s, %s",
                   again, vc__addr_text((const struct sockaddr *)&addr, text),
                   ear->context->transport->scheme, openness_of(l));
}

void
vc__listening_list(struct vc__listening *l)
{
    pthread_mutex_lock(&l->server->lock);
    l->next = l->server->listening;
    l->server->listening = l;
    l->listed = true;
    if (l->listener.ear != NULL && !l->listener.ear->opts.is_drawn)
        l->server->port = vc__listener_port(&l->listener);
    pthread_mutex_unlock(&l->server->lock);
}
