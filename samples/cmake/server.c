/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * scale-server [TARGET]: weighs what it is given, until SIGINT or SIGTERM. */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "scale.vc.h"

static enum vc_status
weigh(struct vc_call *call, const Shop__Load *load, Shop__Mass *mass, void *arg)
{
    (void)arg;
    if (load->items > 1000)
        return vc_call_fail(call, VC_INVALID_ARGUMENT,
                            "%u items are more than the scale bears",
                            load->items);
    mass->grams = load->items * 250;
    return VC_OK;
}

static int
serve(const char *target)
{
    const struct shop_scale_methods methods = {.weigh = weigh};
    struct vc_runtime *runtime = NULL;
    struct vc_server *server = NULL;
    int status = 1, signal;
    sigset_t ends;

    sigemptyset(&ends);
    sigaddset(&ends, SIGINT);
    sigaddset(&ends, SIGTERM);
    sigprocmask(SIG_BLOCK, &ends, NULL); /* before threads are started */
    if (vc_runtime_new(NULL, &runtime) != VC_OK ||
        vc_server_new(runtime, NULL, &server) != VC_OK ||
        shop_scale_add(server, &methods, NULL) != VC_OK ||
        vc_server_listen(server, target) != VC_OK) {
        fprintf(stderr, "scale-server: %s\n", vc_error());
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
    const char *target = argc > 1 ? argv[1] : "vc://[::]:7476";

    if (argc > 2 || target[0] == '-') {
        printf("usage: scale-server [vc://ADDRESS:PORT]\n");
        return argc == 2 && strcmp(target, "--help") == 0 ? 0 : 2;
    }
    return serve(target);
}
