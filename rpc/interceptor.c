/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See rpc/interceptor.h; static functions run on the thread of their caller. */
#include "rpc/interceptor.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rpc/options.h"
#include "transport/core/clock.h"

/* For vc__interceptors_add() and vc__interceptors_none(): a chain without
 * interceptors, with one reference; NULL if memory is short. */
static struct vc__interceptors *
chain_new(void)
{
    struct vc__interceptors *chain = calloc(1, sizeof *chain);

    if (chain != NULL)
        atomic_init(&chain->refs, 1);
    return chain;
}

enum vc_status
vc__interceptors_none(struct vc__interceptors **chain)
{
    *chain = chain_new();
    return *chain != NULL ? VC_OK
                          : vc__fail(VC_RESOURCE_EXHAUSTED, "out of memory");
}

void
vc__interceptors_hold(struct vc__interceptors *chain)
{
    atomic_fetch_add(&chain->refs, 1);
}

void
vc__interceptors_put(struct vc__interceptors *chain)
{
    if (chain != NULL && atomic_fetch_sub(&chain->refs, 1) == 1)
        free(chain);
}

enum vc_status
vc__interceptors_add(struct vc__interceptors **chain,
                     const struct vc_interceptor *interceptor)
{
    static const struct vc__options kind = {
        .name = "vc_interceptor",
        .macros = "VC_INTERCEPTOR_INIT or VC_INTERCEPTOR()",
        .size = sizeof *interceptor,
    };
    struct vc_interceptor copy;

    if (vc__options_size_check(&kind, interceptor) != VC_OK ||
        vc__options_copy(&copy, &kind, interceptor) != VC_OK)
        return VC_INVALID_ARGUMENT;
    if (*chain == NULL && (*chain = chain_new()) == NULL)
        return vc__fail(VC_RESOURCE_EXHAUSTED, "out of memory");
    if ((*chain)->n == VC_INTERCEPTORS_MAX)
        return vc__fail(VC_RESOURCE_EXHAUSTED,
                        "there are %d interceptors already: let one of them "
                        "do the work of several",
                        VC_INTERCEPTORS_MAX);
    (*chain)->items[(*chain)->n++] = copy;
    return VC_OK;
}

void
vc__interception_init(struct vc_interception *i,
                      const struct vc__interceptors *chain,
                      const struct vc_service *service,
                      const struct vc_method *method, uint64_t now,
                      uint64_t due)
{
    i->chain = chain;
    i->service = service;
    i->method = method;
    i->call = NULL;
    i->came = NULL;
    i->opts = NULL;
    i->began = now;
    i->due = due;
    i->n_started = 0;
    i->starting = false;
    i->entries = NULL;
    i->added_size = 0;
    i->text[0] = '\0';
    memset(i->states, 0, chain->n * sizeof i->states[0]);
}

/* --- running the chain ------------------------------------------------- */

/* For vc__interception_start(): runs the start callback of interceptor k, if it
 * has one. Returns its status, or VC_UNKNOWN in place of a value that is
 * none. */
static enum vc_status
start_one(struct vc_interception *i, unsigned k)
{
    const struct vc_interceptor *item = &i->chain->items[k];
    enum vc_status status = VC_OK;

    i->n_started = k + 1;
    if (item->start != NULL)
        status = item->start(i, &i->states[k], item->arg);
    if (status == VC_OK)
        i->text[0] = '\0';
    return (unsigned)status > VC_UNAUTHENTICATED ? VC_UNKNOWN : status;
}

enum vc_status
vc__interception_start(struct vc_interception *i)
{
    enum vc_status status = VC_OK;

    i->starting = true;
    for (unsigned k = 0; k < i->chain->n && status == VC_OK; k++)
        status = start_one(i, k);
    i->starting = false;
    if (status != VC_OK && i->text[0] == '\0')
        snprintf(i->text, sizeof i->text,
                 "%s.%s: an interceptor has refused the call", i->service->name,
                 i->method->name);
    return status;
}

/* For vc__interception_message(): runs the message callback of interceptor k,
 * if it has one. */
static void
message_one(struct vc_interception *i, unsigned k, enum vc_message_kind kind,
            const ProtobufCMessage *message)
{
    const struct vc_interceptor *item = &i->chain->items[k];

    if (item->message != NULL)
        item->message(i, kind, message, &i->states[k], item->arg);
}

void
vc__interception_message(struct vc_interception *i, enum vc_message_kind kind,
                         const ProtobufCMessage *message)
{
    unsigned n = i->chain->n;

    for (unsigned k = 0; k < n; k++)
        message_one(i, kind == VC_MESSAGE_REQUEST ? k : n - 1 - k, kind,
                    message);
}

void
vc__interception_finish(struct vc_interception *i,
                        struct vc_interception_end *end, uint64_t now)
{
    end->us = now - i->began;
    for (unsigned k = i->n_started; k-- > 0;) {
        const struct vc_interceptor *item = &i->chain->items[k];

        if (item->finish != NULL)
            item->finish(i, end, &i->states[k], item->arg);
    }
    vc__interception_drop_metadata(i);
}

/* --- for interceptors -------------------------------------------------- */

/* They call these functions in their callbacks, on the thread of those. */

const char *
vc_interception_service(const struct vc_interception *call)
{
    return call->service->name;
}

const char *
vc_interception_method(const struct vc_interception *call)
{
    return call->method->name;
}

/* Also called by channel_intercept_ms_left(), before a call is sent. */
uint64_t
vc_interception_deadline_us(const struct vc_interception *call)
{
    uint64_t now;

    if (call->due == VC__FOREVER)
        return UINT64_MAX;
    now = vc__now();
    return call->due > now ? call->due - now : 0;
}

struct vc_call *
vc_interception_call(const struct vc_interception *call)
{
    return call->call;
}

/* NULL except during start, since later the parent may have ended; NULL also on
 * a server. */
const struct vc_call *
vc_interception_parent(const struct vc_interception *call)
{
    return call->starting && call->opts != NULL ? call->opts->parent : NULL;
}

enum vc_status
vc_interception_fail(struct vc_interception *call, enum vc_status status,
                     const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vc__text_format(call->text, sizeof call->text, format, args);
    va_end(args);
    return status;
}
