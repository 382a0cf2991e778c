/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Listening, and rejecting requests without a valid hello. See
 * cm/link/listener.h. */
#include "cm/link/listener.h"

#include <stdarg.h>
#include <stdlib.h>

#include "transport/core/engine.h"
#include "transport/core/log.h"

/* Counts a reject by its reason, if that has a counter. For
 * vc__listener_reject_with(). */
static void
reject_count(struct vc__ledger *l, unsigned reason)
{
    int counter = vc__reject_rule(reason)->counter;

    if (counter >= 0)
        vc__count(l, (enum vc__count)counter, 1);
}

/* Logs a reject. For vc__listener_reject_with(). */
static void
reject_log(struct vc__log *log, const struct vc__incoming *in,
           const struct vc__reject *reject)
{
    char peer[VC__ADDR_TEXT];

    if (vc__log_wants(log, VC__LOG_REJECT))
        vc__log(log, VC__LOG_REJECT, "link from %s: rejected: %s%s%s",
                vc__addr_text((const struct sockaddr *)&in->peer, peer),
                vc__reject_rule(reject->reason)->text,
                reject->text[0] == '\0' ? "" : ": ", reject->text);
}

void
vc__listener_reject_with(struct vc__engine *engine,
                         const struct vc__incoming *in,
                         struct vc__reject *reject)
{
    const struct vc__transport *t = in->context->transport;
    uint8_t bytes[VC__REJECT_SIZE];

    reject_count(&engine->ledger, reject->reason);
    reject_log(engine->log, in, reject);
    reject->version_min = VC__VERSION_MIN;
    reject->version_max = VC__VERSION_MAX;
    vc__reject_fit(reject, t->reject_max);
    vc__reject_put(bytes, reject);
    t->reject(in, bytes,
              t->reject_max < sizeof bytes ? t->reject_max : sizeof bytes);
}

void
vc__listener_reject(struct vc__engine *engine, const struct vc__incoming *in,
                    enum vc__reject_reason reason, uint32_t retry_ms,
                    const char *format, ...)
{
    struct vc__reject reject = {.reason = (uint8_t)reason,
                                .retry_ms = retry_ms};
    va_list args;

    va_start(args, format);
    vc__text_format(reject.text, sizeof reject.text, format, args);
    va_end(args);
    vc__listener_reject_with(engine, in, &reject);
}

/* Called by the ear, on the holder, for each connect request. Passes a good
 * hello to l->request(), unless this end lacks something for the link
 * (in->lack); rejects all others. */
static void
listener_on_request(struct vc__ear *ear, const struct vc__incoming *in,
                    const void *data, size_t len)
{
    struct vc__listener *l = ear->owner;
    struct vc__hello hello;
    enum vc__said said = vc__hello_get(&hello, data, len);
    enum vc__reject_reason reason =
        said == VC__SAID_VERSION ? VC__REJECT_VERSION : VC__REJECT_MALFORMED;

    if (said == VC__SAID_OK && in->lack != VC__LACK_NOTHING) {
        vc__listener_reject(in->context->engine, in, VC__REJECT_UNABLE, 0, "%s",
                            vc__lack_text(in->lack));
        return;
    }
    if (said == VC__SAID_OK) {
        l->request(l, in, &hello);
        return;
    }
    vc__listener_reject(in->context->engine, in, reason, 0, "%s",
                        vc__said_text(said));
}

/* Called by the ear, on the holder, when it has stopped listening, or could not
 * begin again. */
static void
on_lost(struct vc__ear *ear, const struct vc__error *why)
{
    struct vc__listener *l = ear->owner;

    l->lost(l, why);
}

/* Called by the ear of a group, on the holder, when it has joined that
 * again. */
static void
listener_on_back(struct vc__ear *ear)
{
    struct vc__listener *l = ear->owner;

    l->back(l);
}

/* Called by the ear of a group, on the holder, for each datagram. */
static void
listener_on_datagram(struct vc__ear *ear, const uint8_t *data, uint32_t len)
{
    struct vc__listener *l = ear->owner;

    l->datagram(l, data, len);
}

static const struct vc__ear_ops ear_ops = {.request = listener_on_request,
                                           .lost = on_lost,
                                           .back = listener_on_back,
                                           .datagram = listener_on_datagram};

/* Makes the ear, and has it listen by listen(), of the table. Called by
 * vc__listener_open() and vc__listener_again(). */
static enum vc_status
listener_open_by(struct vc__listener *l, struct vc__cm *cm,
                 const struct vc__transport *transport,
                 const struct sockaddr *addr, const struct vc__ear_opts *opts,
                 enum vc_status (*listen)(struct vc__ear *ear,
                                          const struct sockaddr *addr))
{
    struct vc__context *context;
    enum vc_status status = vc__cm_open(cm, transport, &context);
    struct vc__ear *ear;

    if (status != VC_OK)
        return status;
    ear = calloc(1, transport->ear_size);
    if (ear == NULL)
        return vc__fail(VC_RESOURCE_EXHAUSTED, "out of memory");
    ear->context = context;
    ear->ops = &ear_ops;
    ear->owner = l;
    ear->opts = *opts;
    status = listen(ear, addr);
    if (status == VC_OK)
        l->ear = ear;
    else
        free(ear);
    return status;
}

enum vc_status
vc__listener_open(struct vc__listener *l, struct vc__cm *cm,
                  const struct vc__transport *transport,
                  const struct sockaddr *addr, const struct vc__ear_opts *opts)
{
    return listener_open_by(l, cm, transport, addr, opts, transport->listen);
}

void
vc__listener_again(struct vc__listener *l, struct vc__cm *cm,
                   const struct vc__transport *transport,
                   const struct sockaddr *addr, const struct vc__ear_opts *opts)
{
    bool later = transport->listen_again != NULL;
    enum vc_status status;

    vc__listener_close(l);
    status =
        listener_open_by(l, cm, transport, addr, opts,
                         later ? transport->listen_again : transport->listen);
    if (status != VC_OK)
        l->lost(l, vc__error_last());
    else if (!later)
        l->back(l);
}

void
vc__listener_close(struct vc__listener *l)
{
    if (l->ear != NULL)
        l->ear->context->transport->unlisten(l->ear);
    free(l->ear);
    l->ear = NULL;
}

uint16_t
vc__listener_port(const struct vc__listener *l)
{
    return l->ear->context->transport->port(l->ear);
}
