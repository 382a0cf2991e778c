/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * grpc.health.v1.Health, a service like any other: it uses the public
 * interface only. */
#include <verbcall/health.h>

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <verbcall/call.h>
#include <verbcall/server.h>

#include "grpc/health/v1/health.vc.h"
#include "transport/error.h"

/* What is known of one name. */
struct state {
    struct state *next;
    bool serving;
    char name[];
};

struct vc_health {
    pthread_mutex_t lock;
    struct state *states; /* lock */
    unsigned n_states;    /* lock */
};

/* Where the pointer to it is, or would be. Under the lock. */
static struct state **
state_at(struct vc_health *h, const char *name)
{
    struct state **at = &h->states;

    while (*at != NULL && strcmp((*at)->name, name) != 0)
        at = &(*at)->next;
    return at;
}

/* --- for clients ------------------------------------------------------- */

/* False when nothing is known of it. */
static bool
state_get(struct vc_health *h, const char *name, bool *serving)
{
    const struct state *s;

    pthread_mutex_lock(&h->lock);
    s = *state_at(h, name);
    if (s != NULL)
        *serving = s->serving;
    pthread_mutex_unlock(&h->lock);
    return s != NULL;
}

static enum vc_status
check(struct vc_call *call, const Grpc__Health__V1__HealthCheckRequest *request,
      Grpc__Health__V1__HealthCheckResponse *reply, void *arg)
{
    bool serving;

    if (!state_get(arg, request->service, &serving))
        return vc_call_fail(call, VC_NOT_FOUND,
                            "the server has not said how service %s is",
                            request->service);
    reply->status =
        serving
            ? GRPC__HEALTH__V1__HEALTH_CHECK_RESPONSE__SERVING_STATUS__SERVING
            : GRPC__HEALTH__V1__HEALTH_CHECK_RESPONSE__SERVING_STATUS__NOT_SERVING;
    return VC_OK;
}

/* Watch belongs here: with streams, whoever watches a name waits for changes
 * in state_put() and vc_health_remove(), and is told SERVICE_UNKNOWN of a name
 * that is not known. Until then the .proto file has no Watch, and who calls it
 * is answered VC_UNIMPLEMENTED, which gRPC's clients take for "not
 * supported". */
static const struct grpc_health_v1_health_methods methods = {.check = check};

/* --- for the server ---------------------------------------------------- */

static struct state *
state_new(const char *name)
{
    size_t size = strlen(name) + 1;
    struct state *s = malloc(sizeof *s + size);

    if (s != NULL) {
        s->next = NULL;
        memcpy(s->name, name, size);
    }
    return s;
}

/* Under the lock. False without memory or room. */
static bool
state_put(struct vc_health *h, const char *name, bool serving)
{
    struct state **at = state_at(h, name);

    if (*at == NULL) {
        if (h->n_states == VC_HEALTH_MAX || (*at = state_new(name)) == NULL)
            return false;
        h->n_states++;
    }
    (*at)->serving = serving;
    return true;
}

enum vc_status
vc_health_set(struct vc_health *health, const char *service, bool serving)
{
    bool good;

    pthread_mutex_lock(&health->lock);
    good = state_put(health, service, serving);
    pthread_mutex_unlock(&health->lock);
    if (!good)
        return vc__fail(VC_RESOURCE_EXHAUSTED,
                        "no memory for the health of service %s, or %d names "
                        "are there: remove others",
                        service, VC_HEALTH_MAX);
    return VC_OK;
}

enum vc_status
vc_health_remove(struct vc_health *health, const char *service)
{
    struct state **at, *s;

    pthread_mutex_lock(&health->lock);
    at = state_at(health, service);
    s = *at;
    if (s != NULL) {
        *at = s->next;
        health->n_states--;
    }
    pthread_mutex_unlock(&health->lock);
    if (s == NULL)
        return vc__fail(VC_NOT_FOUND, "nothing was said of service %s",
                        service);
    free(s);
    return VC_OK;
}

static struct vc_health *
health_new(void)
{
    struct vc_health *h = calloc(1, sizeof *h);

    if (h == NULL)
        return NULL;
    pthread_mutex_init(&h->lock, NULL);
    if (state_put(h, "", true))
        return h;
    vc_health_free(h);
    return NULL;
}

enum vc_status
vc_health_add(struct vc_server *server, struct vc_health **health)
{
    struct vc_health *h = health_new();
    enum vc_status status;

    if (h == NULL)
        return vc__fail(VC_RESOURCE_EXHAUSTED, "out of memory");
    status = grpc_health_v1_health_add(server, &methods, h);
    if (status == VC_OK)
        *health = h;
    else
        vc_health_free(h);
    return status;
}

void
vc_health_free(struct vc_health *health)
{
    struct state *s, *next;

    if (health == NULL)
        return;
    for (s = health->states; s != NULL; s = next) {
        next = s->next;
        free(s);
    }
    pthread_mutex_destroy(&health->lock);
    free(health);
}
