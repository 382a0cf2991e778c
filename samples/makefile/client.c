/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * dice-client TARGET SIDES: rolls once. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dice.vc.h"

static int
play(const char *target, uint32_t sides)
{
    Game__Range range = GAME__RANGE__INIT;
    Game__Spots *spots = NULL;
    struct vc_runtime *runtime = NULL;
    struct vc_channel *channel = NULL;
    int status = 1;

    range.low = 1;
    range.high = sides;
    if (vc_runtime_new(NULL, &runtime) != VC_OK ||
        vc_channel_open(runtime, target, NULL, &channel) != VC_OK ||
        game_dice_roll(channel, &range, NULL, &spots) != VC_OK) {
        fprintf(stderr, "dice-client: %s\n", vc_error());
    } else {
        printf("%u\n", spots->spots);
        status = 0;
    }
    vc_message_free(spots);
    vc_channel_close(channel);
    vc_runtime_free(runtime);
    return status;
}

int
main(int argc, char **argv)
{
    if (argc != 3) {
        printf("usage: dice-client vc://HOST:PORT SIDES\n");
        return argc == 2 && strcmp(argv[1], "--help") == 0 ? 0 : 2;
    }
    return play(argv[1], (uint32_t)strtoul(argv[2], NULL, 10));
}
