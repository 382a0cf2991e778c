/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See rpc/client/method_config.h. */
#include "rpc/client/method_config.h"

#include <stdlib.h>
#include <string.h>

#include "rpc/client/config_module.h"
#include "rpc/client/service_config.h"
#include "transport/core/rcu.h"

/* The entries of a service's methods: NULL where there is none. */
struct config_service {
    const struct vc_service *service;
    struct config_service *next;
    const struct vc__method_config *methods[];
};

/* Constant but for the list of services, which only grows: as long as the
 * number of services that the program calls. */
struct vc__config {
    struct vc__service_config *parsed;
    _Atomic(struct config_service *) services;
};

/* --- finding an entry ---------------------------------------------------- */

/* For service_resolve(): notes the entry of a name for the methods that it
 * names. */
static void
name_resolve(struct config_service *s, const char *method,
             const struct vc__method_config *entry)
{
    for (unsigned i = 0; i < s->service->n_methods; i++) {
        if (strcmp(s->service->methods[i].name, method) == 0)
            s->methods[i] = entry;
    }
}

/* For service_add(): finds the entries of all methods. That of the method
 * counts, else that of the service, else that of all services. */
static void
service_resolve(struct config_service *s, const struct vc__service_config *c)
{
    const struct vc__method_config *all = NULL, *own = NULL;

    for (unsigned i = 0; i < c->n_names; i++) {
        const struct vc__config_name *name = &c->names[i];
        const struct vc__method_config *entry = &c->entries[name->entry];

        if (name->service[0] == '\0')
            all = entry;
        else if (strcmp(name->service, s->service->name) != 0)
            continue;
        else if (name->method[0] == '\0')
            own = entry;
        else
            name_resolve(s, name->method, entry);
    }
    for (unsigned i = 0; i < s->service->n_methods; i++) {
        if (s->methods[i] == NULL)
            s->methods[i] = own != NULL ? own : all;
    }
}

/* For service_get(): adds a service, at its first call. NULL if memory is
 * short. Two threads may add the same; then the newer one is found. */
static struct config_service *
service_add(struct vc__config *c, const struct vc_service *service)
{
    struct config_service *s =
        calloc(1, sizeof *s + service->n_methods * sizeof s->methods[0]);

    if (s == NULL)
        return NULL;
    s->service = service;
    service_resolve(s, c->parsed);
    s->next = atomic_load(&c->services);
    /* Release: publishes the entry. Pairs with the load in service_get(). */
    while (!atomic_compare_exchange_weak_explicit(
        &c->services, &s->next, s, memory_order_release, memory_order_relaxed))
        ;
    return s;
}

/* For vc__config_opts_take(), inside its RCU section: the entries of a service,
 * added at its first call; NULL if memory is short. */
static const struct config_service *
service_get(struct vc__config *c, const struct vc_service *service)
{
    const struct config_service *s =
        atomic_load_explicit(&c->services, memory_order_acquire);

    while (s != NULL && s->service != service)
        s = s->next;
    return s != NULL ? s : service_add(c, service);
}

/* --- a call's options ---------------------------------------------------- */

/* For policy_fill(): true if the entry's hedge is for this call: it has no
 * other and may be sent twice, as neither the method nor the program forbids
 * that. */
static bool
entry_hedges(const struct vc__method_config *e, const struct vc_method *m,
             const struct vc_call_opts *opts)
{
    const uint32_t never =
        VC_METHOD_ONE_WAY | VC_METHOD_CLIENT_STREAM | VC_METHOD_SERVER_STREAM;

    return e->hedge_ms != 0 && opts->hedge_ms == 0 &&
           m->flags & VC_METHOD_NO_SIDE_EFFECTS && !(m->flags & never) &&
           !(opts->flags & VC_CALL_NO_RETRY);
}

/* For vc__config_opts_take(): fills the call's policy from the entry: limits of
 * the messages and retries; and sets opts->hedge_ms if the entry hedges it. */
static void
policy_fill(struct vc__call_policy *p, const struct vc__method_config *e,
            const struct vc_channel *channel, const struct vc_method *m,
            struct vc_call_opts *opts)
{
    bool retries = e->has_policy && e->hedge_ms == 0;

    p->request_max = e->request_max;
    p->reply_max = e->reply_max;
    p->hedges = entry_hedges(e, m, opts);
    p->retry = retries || p->hedges ? e->retry : channel->retry;
    if (p->hedges)
        opts->hedge_ms = e->hedge_ms;
}

/* For vc__config_opts_take(): the smaller timeout counts. One that only method
 * or channel set by default does not count here. */
static void
timeout_fill(struct vc_call_opts *opts, const struct vc__method_config *e,
             uint32_t default_ms)
{
    if (e != NULL && e->timeout_ms != 0 &&
        (opts->timeout_ms == 0 || opts->timeout_ms > e->timeout_ms))
        opts->timeout_ms = e->timeout_ms;
    if (opts->timeout_ms == 0)
        opts->timeout_ms = default_ms;
}

/* Called by vc__channel_opts_take() and configured_call(). If memory is short
 * the call goes without an entry: it fails by itself, or there is memory by
 * then. */
enum vc_status
vc__config_opts_take(struct vc_call_opts *out, const struct vc_call_opts *opts,
                     struct vc_channel *channel,
                     const struct vc_service *service, unsigned method,
                     struct vc__call_policy *room,
                     const struct vc__call_policy **policy)
{
    const struct vc_method *m = &service->methods[method];
    const struct vc__method_config *e = NULL;
    const struct config_service *s = NULL;
    struct urcu_bp_reader *reader;
    struct vc__config *config;
    enum vc_status status = vc__call_opts_take(out, opts, 0);

    if (status != VC_OK)
        return status;
    reader = vc__rcu_lock();
    /* Acquire: pairs with the exchange in vc__method_config_replace(). */
    config = atomic_load_explicit(&channel->config, memory_order_acquire);
    if (config != NULL)
        s = service_get(config, service);
    if (s != NULL)
        e = s->methods[method];
    timeout_fill(out, e, vc__channel_call_ms(channel, m));
    if (e != NULL && e->waits)
        out->flags |= VC_CALL_WAIT_FOR_READY;
    if (e != NULL && room != NULL) {
        policy_fill(room, e, channel, m, out);
        *policy = room;
    }
    vc__rcu_unlock(reader);
    return VC_OK;
}

bool
vc__method_config_hash_metadata(const struct vc_channel *channel, char *name)
{
    struct urcu_bp_reader *reader;
    struct vc__config *config;
    bool has = false;

    if (!vc__channel_is_configured(channel))
        return false;
    reader = vc__rcu_lock();
    config = atomic_load_explicit(&channel->config, memory_order_acquire);
    if (config != NULL) {
        memcpy(name, config->parsed->hash_metadata, VC__SERVICE_CONFIG_KEY);
        has = name[0] != '\0';
    }
    vc__rcu_unlock(reader);
    return has;
}

/* --- changing ------------------------------------------------------------ */

/* For vc__method_config_replace(): frees a config that no call reads any
 * more. */
static void
config_drop(struct vc__config *c)
{
    struct config_service *s, *next;

    for (s = atomic_load(&c->services); s != NULL; s = next) {
        next = s->next;
        free(s);
    }
    vc__config_module_free(c->parsed);
    free(c);
}

struct vc__config *
vc__method_config_new(struct vc__service_config *parsed)
{
    struct vc__config *c = calloc(1, sizeof *c);

    if (c != NULL)
        c->parsed = parsed;
    return c;
}

void
vc__method_config_replace(struct vc_channel *channel, struct vc__config *c)
{
    struct vc__config *former =
        atomic_exchange_explicit(&channel->config, c, memory_order_acq_rel);

    vc__retry_resize(&channel->budget, c == NULL ? 0 : c->parsed->tokens,
                     c == NULL ? 0 : c->parsed->token_ratio);
    if (former == NULL)
        return;
    vc__rcu_await();
    config_drop(former);
}
