/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * bell-client TARGET TIMES: has it rung so often. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bell.vc.h"

static int
ask(const char *target, const char *times)
{
    House__Times request = HOUSE__TIMES__INIT;
    House__Sound *reply = NULL;
    struct vc_runtime *runtime = NULL;
    struct vc_channel *channel = NULL;
    int status = 1;

    request.times = (uint32_t)strtoul(times, NULL, 10);
    if (vc_runtime_new(NULL, &runtime) != VC_OK ||
        vc_channel_open(runtime, target, NULL, &channel) != VC_OK ||
        house_bell_ring(channel, &request, NULL, &reply) != VC_OK) {
        fprintf(stderr, "bell-client: %s\n", vc_error());
    } else {
        printf("%s\n", reply->sound);
        status = 0;
    }
    vc_message_free(reply);
    vc_channel_close(channel);
    vc_runtime_free(runtime);
    return status;
}

int
main(int argc, char **argv)
{
    if (argc != 3) {
        printf("usage: bell-client vc://HOST:PORT TIMES\n");
        return argc == 2 && strcmp(argv[1], "--help") == 0 ? 0 : 2;
    }
    return ask(argv[1], argv[2]);
}
