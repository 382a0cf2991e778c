/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * till-client TARGET ITEM CENTS: has one thing added. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "till.vc.h"

static int
buy(const char *target, char *name, int64_t cents)
{
    Shop__Money price = SHOP__MONEY__INIT;
    Shop__Item item = SHOP__ITEM__INIT;
    Shop__Total *total = NULL;
    struct vc_runtime *runtime = NULL;
    struct vc_channel *channel = NULL;
    int status = 1;

    price.cents = cents;
    item.name = name;
    item.price = &price;
    if (vc_runtime_new(NULL, &runtime) != VC_OK ||
        vc_channel_open(runtime, target, NULL, &channel) != VC_OK ||
        shop_till_ring(channel, &item, NULL, &total) != VC_OK) {
        fprintf(stderr, "till-client: %s\n", vc_error());
    } else {
        printf("%" PRIu32 " items, %" PRId64 " cents\n", total->items,
               total->sum != NULL ? total->sum->cents : 0);
        status = 0;
    }
    vc_message_free(total);
    vc_channel_close(channel);
    vc_runtime_free(runtime);
    return status;
}

int
main(int argc, char **argv)
{
    if (argc != 4) {
        printf("usage: till-client vc://HOST:PORT ITEM CENTS\n");
        return argc == 2 && strcmp(argv[1], "--help") == 0 ? 0 : 2;
    }
    return buy(argv[1], argv[2], strtoll(argv[3], NULL, 10));
}
