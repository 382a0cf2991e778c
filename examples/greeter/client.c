/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * greeter-client TARGET NAME: gets a greeting from a server. */
#include <stdio.h>

#include "greeter.vc.h"

int
main(int argc, char **argv)
{
    Demo__HelloRequest request = DEMO__HELLO_REQUEST__INIT;
    Demo__HelloReply *reply = NULL;
    struct vc_runtime *runtime = NULL;
    struct vc_channel *channel = NULL;
    int status = 1;

    if (argc != 3) {
        fprintf(stderr, "usage: greeter-client vc://HOST:PORT NAME\n");
        return 2;
    }
    request.name = argv[2];
    if (vc_runtime_new(NULL, &runtime) != VC_OK ||
        vc_channel_open(runtime, argv[1], NULL, &channel) != VC_OK ||
        demo_greeter_say_hello(channel, &request, NULL, &reply) != VC_OK) {
        fprintf(stderr, "greeter-client: %s\n", vc_error());
    } else {
        printf("%s\n", reply->message);
        status = 0;
    }
    vc_message_free(reply);
    vc_channel_close(channel);
    vc_runtime_free(runtime);
    return status;
}
