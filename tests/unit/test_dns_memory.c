/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The module for dns: targets when memory is short: each allocation of it and
 * of c-ares fails once. The program is linked with --wrap for malloc and
 * calloc. A second of the module is shorter here. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <ares.h>
#include <cmocka.h>

#include "tests/unit/dns_rig.h"

#define TARGET "dns://127.0.0.1:%u/a.example:1,_v.example,10.0.0.9:4"
#define NEVER  (-1L)

/* So many allocations succeed before one fails; NEVER: all do. */
static long left = NEVER;
static bool has_failed;

static struct vc_resolver rig;
static struct dns_fake fake;

static const struct dns_record records[] = {
    {"a.example", FAKE_A, 1, "127.0.0.1"},
    {"a.example", FAKE_AAAA, 1, "::1"},
    {"_v.example", FAKE_SRV, 1, "1 1 1 b.example"},
    {"b.example", FAKE_A, 1, "127.0.0.2"},
};

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);

static bool
fails_now(void)
{
    if (left == NEVER || left-- > 0)
        return false;
    left = NEVER;
    has_failed = true;
    return true;
}

void *
__wrap_malloc(size_t size)
{
    return fails_now() ? NULL : __real_malloc(size);
}

void *
__wrap_calloc(size_t n, size_t size)
{
    return fails_now() ? NULL : __real_calloc(n, size);
}

static void *
ares_realloc(void *at, size_t size)
{
    return fails_now() ? NULL : realloc(at, size);
}

/* Opens, has one round, and then a good one. */
static void
one_life(void)
{
    if (rig_try(&rig, &fake, TARGET) != VC_OK) {
        assert_true(has_failed);
        assert_non_null(strstr(rig.why, "no memory"));
        return;
    }
    while (rig.sets + rig.fails == 0)
        rig_turn(&rig);
    left = NEVER;
    for (unsigned i = 0; rig.n != 4 && i < 10; i++)
        rig_servers(&rig);
    assert_int_equal(rig.n, 4);
    rig_close(&rig);
}

/* With ASan it leaves nothing. By TCP more is allocated. */
static void
a_failed_allocation_is_a_failed_round(void **state)
{
    static const enum dns_manner manners[] = {FAKE_HONEST, FAKE_TRUNCATED};

    (void)state;
    for (size_t m = 0; m < 2; m++) {
        long n = 0;

        fake.manner = manners[m];
        do {
            has_failed = false;
            left = n++;
            one_life();
        } while (has_failed);
        assert_true(n > 60);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_failed_allocation_is_a_failed_round),
    };
    int failed;

    ares_library_init_mem(ARES_LIB_INIT_ALL, __wrap_malloc, free, ares_realloc);
    vc__dns_setting = (struct vc__dns_setting){10, "/nonexistent", 0};
    dns_fake_open(&fake);
    fake.records = records;
    fake.n_records = sizeof records / sizeof records[0];
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    dns_fake_close(&fake);
    ares_library_cleanup();
    return failed;
}
