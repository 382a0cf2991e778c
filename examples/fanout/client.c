/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * fanout-client TARGET NAME KEY [MS]: gets a greeting and a value, within that
 * many milliseconds once it is connected. */
#include <stdio.h>

#include "../kv/number.h"
#include "fanout.vc.h"

static int
usage(void)
{
    fprintf(stderr,
            "usage: fanout-client vc://HOST:PORT NAME KEY [MILLISECONDS]\n");
    return 2;
}

int
main(int argc, char **argv)
{
    Fanout__WelcomeRequest request = FANOUT__WELCOME_REQUEST__INIT;
    Fanout__WelcomeReply *reply = NULL;
    struct vc_runtime *runtime = NULL;
    struct vc_channel *channel = NULL;
    uint64_t ms = 10000;
    enum vc_status status;

    if (argc < 4 || argc > 5 ||
        !number_parse(argv[3], 0, UINT64_MAX, &request.key) ||
        (argc == 5 && !number_parse(argv[4], 1, INT32_MAX, &ms)))
        return usage();
    request.name = argv[2];
    if ((status = vc_runtime_new(NULL, &runtime)) != VC_OK ||
        (status = vc_channel_open(runtime, argv[1], NULL, &channel)) != VC_OK ||
        (status = vc_channel_connect(channel, &fanout_front_service)) !=
            VC_OK ||
        (status = fanout_front_welcome(channel, &request,
                                       VC_CALL_OPTS(.timeout_ms = (uint32_t)ms),
                                       &reply)) != VC_OK)
        fprintf(stderr, "fanout-client: %s: %s\n", vc_status_name(status),
                vc_error());
    else
        printf("%s\n%.*s\n", reply->greeting, (int)reply->value.len,
               (const char *)reply->value.data);
    vc_message_free(reply);
    vc_channel_close(channel);
    vc_runtime_free(runtime);
    return status == VC_OK ? 0 : 1;
}
