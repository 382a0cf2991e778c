/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * fleet-server NAME [TARGET]: one of several servers of a service. At SIGINT or
 * SIGTERM it ends the calls that it has, and lets its clients send further ones
 * to the others; then it ends. */
#include <signal.h>
#include <stdio.h>

#include "fleet.vc.h"

#define DRAIN_MS 10000u

static enum vc_status
work(struct vc_call *call, const Fleet__WorkRequest *request,
     Fleet__WorkReply *reply, void *name)
{
    (void)request;
    reply->worker = vc_call_strdup(call, name);
    return reply->worker != NULL
               ? VC_OK
               : vc_call_fail(call, VC_RESOURCE_EXHAUSTED, "no memory");
}

int
main(int argc, char **argv)
{
    const char *target = argc > 2 ? argv[2] : "vc://[::]:7476";
    const struct fleet_worker_methods methods = {.work = work};
    struct vc_runtime *runtime = NULL;
    struct vc_server *server = NULL;
    int result = 0, signal;
    sigset_t ends;

    if (argc < 2) {
        fprintf(stderr, "usage: fleet-server NAME [vc://HOST:PORT]\n");
        return 2;
    }
    sigemptyset(&ends);
    sigaddset(&ends, SIGINT);
    sigaddset(&ends, SIGTERM);
    sigprocmask(SIG_BLOCK, &ends, NULL); /* before threads are started */
    if (vc_runtime_new(NULL, &runtime) != VC_OK ||
        vc_server_new(runtime, NULL, &server) != VC_OK ||
        fleet_worker_add(server, &methods, argv[1]) != VC_OK ||
        vc_server_listen(server, target) != VC_OK) {
        fprintf(stderr, "fleet-server: %s\n", vc_error());
        return 1;
    }
    printf("listening on port %d\n", vc_server_port(server));
    fflush(stdout);
    sigwait(&ends, &signal);
    if (vc_server_drain(server, NULL, DRAIN_MS) != VC_OK) {
        fprintf(stderr, "fleet-server: %s\n", vc_error());
        result = 1;
    }
    vc_server_free(server);
    vc_runtime_free(runtime);
    return result;
}
