/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * For linking into a program that knows nothing of the fake: its whole run is
 * one world, with one host and one process. FAKE_SEED, FAKE_PROFILE=strict and
 * FAKE_SWITCH (another thread at one call in so many) choose the world. A leak
 * makes the program fail. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fake.h"

static unsigned long
number(const char *name, unsigned long otherwise)
{
    const char *text = getenv(name);

    return text == NULL ? otherwise : strtoul(text, NULL, 0);
}

static void
world_end(void)
{
    if (fake_end() > 0)
        _exit(98);
}

static void __attribute__((constructor)) world_begin(void)
{
    const char *profile = getenv("FAKE_PROFILE");
    const struct fake_opts opts = {
        .seed = number("FAKE_SEED", 1),
        .profile = profile != NULL && strcmp(profile, "strict") == 0
                       ? FAKE_STRICT
                       : FAKE_RXE,
        .switch_every = (unsigned)number("FAKE_SWITCH", 0),
    };

    setenv("VC_TEST_ADDR", "10.9.0.1", 0);
    fake_begin(&opts);
    atexit(world_end);
}
