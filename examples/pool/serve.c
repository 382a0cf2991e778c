/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See serve.h. */
#include "serve.h"

#include <signal.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "pool.vc.h"

/* Tells this server process from former ones at the same target. */
static uint64_t instance;

static enum vc_status
echo(struct vc_call *call, const Pool__EchoRequest *request,
     Pool__EchoReply *reply, void *arg)
{
    (void)call;
    (void)arg;
    reply->session = request->session;
    reply->number = request->number;
    reply->data = request->data; /* lives until the reply is packed */
    reply->instance = instance;
    return VC_OK;
}

int
serve(const char *target)
{
    const struct pool_pool_methods methods = {.echo = echo};
    struct vc_runtime *runtime = NULL;
    struct vc_server *server = NULL;
    int result = 0, signal;
    sigset_t ends;

    instance = (uint64_t)time(NULL) << 24 ^ (uint64_t)getpid();
    sigemptyset(&ends);
    sigaddset(&ends, SIGINT);
    sigaddset(&ends, SIGTERM);
    sigprocmask(SIG_BLOCK, &ends, NULL); /* before threads are started */
    if (vc_runtime_new(NULL, &runtime) != VC_OK ||
        vc_server_new(runtime, NULL, &server) != VC_OK ||
        pool_pool_add(server, &methods, NULL) != VC_OK ||
        vc_server_listen(server, target) != VC_OK) {
        fprintf(stderr, "verbcall_pool: %s\n", vc_error());
        result = 1;
    } else {
        printf("listening on port %d\n", vc_server_port(server));
        fflush(stdout);
        sigwait(&ends, &signal);
    }
    vc_server_free(server);
    vc_runtime_free(runtime);
    return result;
}
