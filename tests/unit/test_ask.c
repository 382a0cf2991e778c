/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * When a client of datagrams asks again: transport/ud/ask.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "transport/ud/ask.h"

#define CLIENTS 1000u
#define MOST_MS 12000u /* with the random part */

static void
each_wait_is_twice_the_one_before_and_at_most_half_more(void **state)
{
    uint32_t ms = VC__ASK_AGAIN_MS;

    (void)state;
    for (unsigned ask = 1; ask <= 20; ask++) {
        for (uint64_t seed = 1; seed <= 100; seed++) {
            uint64_t s = seed;

            assert_in_range(vc__ask_wait_ms(ask, &s), ms, ms + ms / 2 - 1);
        }
        if (ms < 8000)
            ms *= 2;
    }
}

/* In no tenth of the time in which they may come more than twice a tenth. */
static void
clients_that_ask_together_do_not_ask_again_together(void **state)
{
    unsigned at[10] = {0};

    (void)state;
    for (uint64_t client = 0; client < CLIENTS; client++) {
        uint64_t seed = client;
        uint32_t ms = vc__ask_wait_ms(1, &seed) - VC__ASK_AGAIN_MS;

        at[ms * 10 / (VC__ASK_AGAIN_MS / 2)]++;
    }
    for (unsigned i = 0; i < 10; i++)
        assert_in_range(at[i], 1, CLIENTS / 5);
}

static void
a_wait_has_an_end_however_often_was_asked(void **state)
{
    uint64_t seed = 7;

    (void)state;
    assert_in_range(vc__ask_wait_ms(UINT32_MAX, &seed), 1, MOST_MS);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            each_wait_is_twice_the_one_before_and_at_most_half_more),
        cmocka_unit_test(clients_that_ask_together_do_not_ask_again_together),
        cmocka_unit_test(a_wait_has_an_end_however_often_was_asked),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
