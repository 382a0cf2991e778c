/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * bell-server [TARGET]: rings when it is asked to, until SIGINT or SIGTERM. */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "bell.vc.h"

static enum vc_status
ring(struct vc_call *call, const House__Times *times, House__Sound *sound,
     void *arg)
{
    (void)arg;
    if (times->times < 1 || times->times > 12)
        return vc_call_fail(call, VC_INVALID_ARGUMENT, "1 to 12 times, not %u",
                            times->times);
    sound->sound = vc_call_sprintf(call, "%.*s", (int)times->times * 5 - 1,
                                   "ding ding ding ding ding ding ding ding "
                                   "ding ding ding ding");
    return sound->sound != NULL ? VC_OK : VC_RESOURCE_EXHAUSTED;
}

static int
serve(const char *target)
{
    const struct house_bell_methods methods = {.ring = ring};
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
        house_bell_add(server, &methods, NULL) != VC_OK ||
        vc_server_listen(server, target) != VC_OK) {
        fprintf(stderr, "bell-server: %s\n", vc_error());
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
    const char *target = argc > 1 ? argv[1] : "vc://[::]:7477";

    if (argc > 2 || target[0] == '-') {
        printf("usage: bell-server [vc://ADDRESS:PORT]\n");
        return argc == 2 && strcmp(target, "--help") == 0 ? 0 : 2;
    }
    return serve(target);
}
