/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See tests/suite/fixture.h: the transport that the program runs over, and its
 * targets. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/suite/fixture.h"

pid_t fixture_program;

bool
fixture_is_inproc(void)
{
    return strcmp(getenv("VC_TEST_ADDR"), "inproc") == 0;
}

bool
fixture_has_names(void)
{
    return fixture_is_inproc() || strcmp(fixture_scheme(), "shm") == 0;
}

const char *
fixture_scheme(void)
{
    const char *scheme = getenv("VC_TEST_SCHEME");

    return scheme != NULL ? scheme : fixture_is_inproc() ? "inproc" : "rdma";
}

bool
fixture_is_rdma(void)
{
    return !fixture_is_inproc() && strcmp(fixture_scheme(), "rdma") == 0;
}

void
fixture_needs_rdma(const char *why)
{
    if (fixture_is_rdma())
        return;
    print_message("skipped: %s\n", why);
    skip();
}

uint16_t
fixture_free_number(void)
{
    static uint16_t names;

    return fixture_has_names() ? (uint16_t)(getpid() * 8 + ++names) : 0;
}

const char *
fixture_target(uint16_t port, char out[80])
{
    const char *addr = getenv("VC_TEST_ADDR");

    if (fixture_is_inproc())
        snprintf(out, 80, "inproc://suite-%u", port);
    else if (fixture_has_names())
        snprintf(out, 80, "shm:suite-%d-%u", (int)fixture_program, port);
    else
        snprintf(out, 80, strchr(addr, ':') ? "%s://[%s]:%u" : "%s://%s:%u",
                 fixture_scheme(), addr, port);
    return out;
}
