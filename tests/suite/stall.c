/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See tests/suite/stall.h. */
#include "tests/suite/stall.h"

#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#include "tests/suite/fixture.h"

#define PRINTED_MS 100 /* a smaller gap is irrelevant */

static pthread_t ticker;
static atomic_bool ends;
static unsigned most; /* written by the ticker until it is joined */

static void *
tick(void *arg)
{
    uint64_t last = fixture_ms();

    while (!atomic_load(&ends)) {
        uint64_t now;

        usleep(STALL_STEP_MS * 1000);
        now = fixture_ms();
        if (now - last > most)
            most = (unsigned)(now - last);
        last = now;
    }
    return arg;
}

void
stall_begin(void)
{
    most = 0;
    atomic_store(&ends, false);
    assert_int_equal(0, pthread_create(&ticker, NULL, tick, NULL));
}

unsigned
stall_end(void)
{
    atomic_store(&ends, true);
    assert_int_equal(0, pthread_join(ticker, NULL));
    return most;
}

void
stall_print(unsigned ms)
{
    if (ms >= PRINTED_MS)
        printf("# stalled %u ms\n", ms);
}
