/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * scale-client TARGET ITEMS: has some items weighed. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scale.vc.h"

static int
ask(const char *target, const char *items)
{
    Shop__Load request = SHOP__LOAD__INIT;
    Shop__Mass *reply = NULL;
    struct vc_runtime *runtime = NULL;
    struct vc_channel *channel = NULL;
    int status = 1;

    request.items = (uint32_t)strtoul(items, NULL, 10);
    if (vc_runtime_new(NULL, &runtime) != VC_OK ||
        vc_channel_open(runtime, target, NULL, &channel) != VC_OK ||
        shop_scale_weigh(channel, &request, NULL, &reply) != VC_OK) {
        fprintf(stderr, "scale-client: %s\n", vc_error());
    } else {
        printf("%u g\n", reply->grams);
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
        printf("usage: scale-client vc://HOST:PORT ITEMS\n");
        return argc == 2 && strcmp(argv[1], "--help") == 0 ? 0 : 2;
    }
    return ask(argv[1], argv[2]);
}
