/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * greeter-server TARGET: greets its clients, until SIGINT or SIGTERM. */
#include <signal.h>
#include <stdio.h>

#include "greeter.vc.h"

static enum vc_status
say_hello(struct vc_call *call, const Demo__HelloRequest *request,
          Demo__HelloReply *reply, void *arg)
{
    (void)arg;
    reply->message = vc_call_sprintf(call, "Hello, %s", request->name);
    return VC_OK;
}

int
main(int argc, char **argv)
{
    const char *target = argc > 1 ? argv[1] : "vc://[::]:7471";
    const struct demo_greeter_methods methods = {.say_hello = say_hello};
    struct vc_runtime *runtime = NULL;
    struct vc_server *server = NULL;
    sigset_t ends;
    int signal;

    sigemptyset(&ends);
    sigaddset(&ends, SIGINT);
    sigaddset(&ends, SIGTERM);
    sigprocmask(SIG_BLOCK, &ends, NULL); /* before threads are started */
    if (vc_runtime_new(NULL, &runtime) != VC_OK ||
        vc_server_new(runtime, NULL, &server) != VC_OK ||
        demo_greeter_add(server, &methods, NULL) != VC_OK ||
        vc_server_listen(server, target) != VC_OK) {
        fprintf(stderr, "greeter-server: %s\n", vc_error());
        return 1;
    }
    printf("listening on port %d\n", vc_server_port(server));
    fflush(stdout);
    sigwait(&ends, &signal);
    vc_server_free(server);
    vc_runtime_free(runtime);
    return 0;
}
