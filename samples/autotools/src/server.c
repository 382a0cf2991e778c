/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * till-server [TARGET]: adds up, until SIGINT or SIGTERM. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "till.vc.h"

/* Handlers run on several threads. */
struct till {
    pthread_mutex_t lock;
    int64_t cents;
    uint32_t items;
};

static enum vc_status
ring(struct vc_call *call, const Shop__Item *item, Shop__Total *total,
     void *arg)
{
    struct till *till = arg;

    if (item->price == NULL || item->price->cents < 0)
        return vc_call_fail(call, VC_INVALID_ARGUMENT, "no price for '%s'",
                            item->name);
    total->sum = vc_call_alloc(call, sizeof(*total->sum));
    if (total->sum == NULL)
        return vc_call_fail(call, VC_RESOURCE_EXHAUSTED, "no memory");
    shop__money__init(total->sum);
    pthread_mutex_lock(&till->lock);
    total->sum->cents = till->cents += item->price->cents;
    total->items = ++till->items;
    pthread_mutex_unlock(&till->lock);
    return VC_OK;
}

static int
serve(const char *target, struct till *till)
{
    const struct shop_till_methods methods = {.ring = ring};
    struct vc_runtime *runtime = NULL;
    struct vc_server *server = NULL;
    int status = 1, signal;
    sigset_t ends;

    sigemptyset(&ends);
    sigaddset(&ends, SIGINT);
    sigaddset(&ends, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &ends, NULL); /* before threads are started */
    if (vc_runtime_new(NULL, &runtime) != VC_OK ||
        vc_server_new(runtime, NULL, &server) != VC_OK ||
        shop_till_add(server, &methods, till) != VC_OK ||
        vc_server_listen(server, target) != VC_OK) {
        fprintf(stderr, "till-server: %s\n", vc_error());
    } else {
        printf("listening on port %d\n", vc_server_port(server));
        fflush(stdout);
        status = sigwait(&ends, &signal);
    }
    vc_server_free(server);
    vc_runtime_free(runtime);
    return status;
}

int
main(int argc, char **argv)
{
    struct till till = {.lock = PTHREAD_MUTEX_INITIALIZER};
    const char *target = argc > 1 ? argv[1] : "vc://[::]:7471";

    if (argc > 2 || target[0] == '-') {
        printf("usage: till-server [vc://ADDRESS:PORT]\n");
        return argc == 2 && strcmp(target, "--help") == 0 ? 0 : 2;
    }
    return serve(target, &till);
}
