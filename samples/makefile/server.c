/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * dice-server [TARGET]: rolls dice, until SIGINT or SIGTERM. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "dice.vc.h"

static enum vc_status
roll(struct vc_call *call, const Game__Range *range, Game__Spots *spots,
     void *arg)
{
    uint64_t sides = (uint64_t)range->high - range->low + 1, any;

    (void)arg;
    if (range->low > range->high)
        return vc_call_fail(call, VC_INVALID_ARGUMENT, "%u is more than %u",
                            range->low, range->high);
    if (getrandom(&any, sizeof(any), 0) != sizeof(any))
        return vc_call_fail(call, VC_UNAVAILABLE, "no chance at all");
    spots->spots = range->low + (uint32_t)(any % sides);
    return VC_OK;
}

static int
serve(const char *target)
{
    const struct game_dice_methods methods = {.roll = roll};
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
        game_dice_add(server, &methods, NULL) != VC_OK ||
        vc_server_listen(server, target) != VC_OK) {
        fprintf(stderr, "dice-server: %s\n", vc_error());
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
    const char *target = argc > 1 ? argv[1] : "vc://[::]:7472";

    if (argc > 2 || target[0] == '-') {
        printf("usage: dice-server [vc://ADDRESS:PORT]\n");
        return argc == 2 && strcmp(target, "--help") == 0 ? 0 : 2;
    }
    return serve(target);
}
