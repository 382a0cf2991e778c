/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Long messages in parts: complete messages come out as they went in, and wrong
 * lengths and offsets are refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/resident.h"
#include "transport/core/le.h"
#include "transport/wire/assembly.h"

#define MAX 100000u

static uint8_t body[MAX + 8];
static struct vc__store store;
static struct vc__account account;

/* Sets the memory limit. */
static void
allow(size_t max)
{
    vc__store_init(&store, max, false);
    vc__account_init(&account, &store);
}

static size_t
taken(void)
{
    assert_int_equal(atomic_load(&store.used), atomic_load(&account.used));
    return atomic_load(&account.used);
}

/* The first frame of a message of total bytes; it carries len bytes. */
static struct vc__frame
first(uint32_t total, uint32_t len)
{
    vc__put32(body, total);
    return (struct vc__frame){.type = VC__FRAME_CALL,
                              .flags = VC__FRAME_MORE,
                              .body = body,
                              .body_len = len + 4};
}

static struct vc__frame
part(uint32_t at, uint32_t len, int last)
{
    return (struct vc__frame){.type = VC__FRAME_DATA,
                              .flags = last ? 0 : VC__FRAME_MORE,
                              .deadline = at,
                              .body = body + 4 + at,
                              .body_len = len};
}

static void
fill(void)
{
    for (size_t i = 0; i < sizeof body; i++)
        body[i] = (uint8_t)(i * 7 + i / 256);
}

static void
parts_become_the_message_and_the_budget_comes_back(void **state)
{
    struct vc__assembly a = {0};
    struct vc__frame f;

    (void)state;
    allow(200000);
    fill();
    f = first(60000, 20000);
    assert_true(vc__assembly_begin(&a, &f, MAX, &account));
    f = part(20000, 30000, 0);
    assert_int_equal(0, vc__assembly_add(&a, &f));
    f = part(50000, 10000, 1);
    assert_int_equal(1, vc__assembly_add(&a, &f));

    assert_int_equal(VC__ASSEMBLY_KEPT, a.loss);
    assert_int_equal(60000, a.total);
    assert_memory_equal(body + 4, a.data, 60000);
    assert_int_equal(60000 + VC__ASSEMBLY_ROOM, taken());
    vc__assembly_end(&a);
    assert_int_equal(0, taken());
    assert_int_equal(0, a.total);
}

static void
what_follows_the_lead_is_aligned(void **state)
{
    (void)state;
    fill();
    allow(200000);
    for (size_t lead = 0; lead < 40; lead++) {
        struct vc__assembly a = {.lead = lead};
        struct vc__frame f = first(100, 60);

        assert_true(vc__assembly_begin(&a, &f, MAX, &account));
        f = part(60, 40, 1);
        assert_int_equal(1, vc__assembly_add(&a, &f));
        assert_memory_equal(body + 4, a.data, 100);
        assert_true((uintptr_t)(a.data + lead) % VC__MEMORY_ALIGN == 0);
        assert_true(a.data >= a.block + VC__ASSEMBLY_HEAD);
        assert_true(a.data <= a.block + VC__ASSEMBLY_ROOM);
        vc__assembly_end(&a);
        assert_int_equal(0, taken());
    }
}

static void
its_memory_can_be_handed_over(void **state)
{
    struct vc__assembly a = {0};
    struct vc__frame f;
    uint8_t *block, *data;
    size_t size;

    (void)state;
    fill();
    allow(200000);
    f = first(100, 60);
    assert_true(vc__assembly_begin(&a, &f, MAX, &account));
    f = part(60, 40, 1);
    assert_int_equal(1, vc__assembly_add(&a, &f));
    data = a.data;
    block = vc__assembly_hand(&a, &size);
    assert_int_equal(0, vc__assembly_holds(&a));
    vc__assembly_end(&a);
    assert_int_equal(size, taken());
    assert_memory_equal(body + 4, data, 100);
    vc__memory_give(&account, block, size);
    assert_int_equal(0, taken());
}

static void
lies_of_a_first_part_are_refused(void **state)
{
    struct vc__assembly a = {0};
    struct vc__frame f;

    (void)state;
    allow(200000);
    f = first(100, 100); /* complete: needs no parts */
    assert_false(vc__assembly_begin(&a, &f, MAX, &account));
    f = first(100, 200); /* more than announced */
    assert_false(vc__assembly_begin(&a, &f, MAX, &account));
    f = first(0, 10);
    assert_false(vc__assembly_begin(&a, &f, MAX, &account));
    f = first(100, 0); /* only the length */
    assert_false(vc__assembly_begin(&a, &f, MAX, &account));
    f.body_len = 3;
    assert_false(vc__assembly_begin(&a, &f, MAX, &account));
    f = first(100, 10);
    assert_true(vc__assembly_begin(&a, &f, MAX, &account));
    assert_false(vc__assembly_begin(&a, &f, MAX, &account)); /* twice */
    vc__assembly_end(&a);
}

static void
lies_of_a_further_part_are_refused(void **state)
{
    struct vc__assembly a = {0};
    struct vc__frame f = first(100, 10);
    struct vc__frame bad[] = {
        part(10, 91, 1), /* past the end */
        part(10, 90, 0), /* reaches the end, but is not marked last */
        part(10, 89, 1), /* marked last, but does not reach the end */
        part(11, 10, 0), /* a gap */
        part(9, 10, 0),  /* a repetition */
        part(10, 0, 0),  /* empty */
        part(10, UINT32_MAX, 1),
    };
    struct vc__assembly idle = {0};

    (void)state;
    allow(200000);
    assert_true(vc__assembly_begin(&a, &f, MAX, &account));
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_int_equal(-1, vc__assembly_add(&a, &bad[i]));
    assert_int_equal(-1, vc__assembly_add(&idle, &bad[0]));
    f = part(10, 90, 1);
    assert_int_equal(1, vc__assembly_add(&a, &f));
    vc__assembly_end(&a);
    assert_int_equal(0, taken());
}

static void
a_message_over_the_limit_is_counted_to_its_end_and_not_kept(void **state)
{
    struct vc__assembly a = {0};
    struct vc__frame f = first(90000, 1000);

    (void)state;
    allow(200000);
    assert_true(vc__assembly_begin(&a, &f, 50000, &account));
    assert_int_equal(0, taken());
    f = part(1000, 89000, 1);
    assert_int_equal(1, vc__assembly_add(&a, &f));
    assert_int_equal(VC__ASSEMBLY_TOO_LONG, a.loss);
    assert_null(a.data);
    vc__assembly_end(&a);
}

/* Another message takes its memory. */
static void
a_message_that_loses_its_memory_is_counted_to_its_end(void **state)
{
    struct vc__assembly a = {0};
    struct vc__frame f = first(60000, 20000);

    (void)state;
    allow(60000 + VC__ASSEMBLY_ROOM);
    assert_true(vc__assembly_begin(&a, &f, MAX, &account));
    assert_int_equal(60000 + VC__ASSEMBLY_ROOM, vc__assembly_holds(&a));
    vc__assembly_lose(&a);
    assert_int_equal(0, vc__assembly_holds(&a));
    assert_int_equal(0, taken());
    f = part(20000, 40000, 1);
    assert_int_equal(1, vc__assembly_add(&a, &f));
    assert_int_equal(VC__ASSEMBLY_NO_MEMORY, a.loss);
    vc__assembly_end(&a);

    /* Without an account the message has no memory from the first part on. */
    f = first(60000, 20000);
    assert_true(vc__assembly_begin(&a, &f, MAX, NULL));
    assert_int_equal(VC__ASSEMBLY_NO_MEMORY, a.loss);
    vc__assembly_end(&a);
}

static void
metadata_are_kept_with_the_message_and_within_the_budget(void **state)
{
    static const uint8_t metadata[500] = {1, 2, 3};
    struct vc__assembly a = {0};
    struct vc__frame f = first(60000, 20000);

    (void)state;
    allow(200000);
    f.metadata = metadata;
    f.metadata_len = sizeof metadata;
    assert_true(vc__assembly_begin(&a, &f, MAX, &account));
    assert_true(taken() >= 20000 + sizeof metadata);
    f = part(20000, 40000, 1);
    f.metadata = metadata + 1; /* ignored there */
    f.metadata_len = 10;
    assert_int_equal(1, vc__assembly_add(&a, &f));
    assert_int_equal(vc__assembly_metadata(&a).len, sizeof metadata);
    assert_memory_equal(vc__assembly_metadata(&a).data, metadata,
                        sizeof metadata);
    vc__assembly_end(&a);
    assert_int_equal(0, taken());
    assert_int_equal(vc__assembly_metadata(&a).len, 0);
}

static void
a_message_that_is_not_kept_keeps_no_metadata(void **state)
{
    static const uint8_t metadata[500];
    static const struct {
        uint32_t max;
        size_t budget;
        enum vc__assembly_loss loss;
    } table[] = {{50000, 200000, VC__ASSEMBLY_TOO_LONG},
                 {MAX, 499, VC__ASSEMBLY_NO_MEMORY},
                 {MAX, 600, VC__ASSEMBLY_NO_MEMORY},
                 {MAX, 40000, VC__ASSEMBLY_NO_MEMORY}};

    (void)state;
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        struct vc__assembly a = {0};
        struct vc__frame f = first(60000, 1000);

        allow(table[i].budget);
        f.metadata = metadata;
        f.metadata_len = sizeof metadata;
        assert_true(vc__assembly_begin(&a, &f, table[i].max, &account));
        f = part(1000, 59000, 1);
        assert_int_equal(1, vc__assembly_add(&a, &f));
        assert_int_equal(table[i].loss, a.loss);
        assert_int_equal(vc__assembly_metadata(&a).len, 0);
        assert_int_equal(0, taken());
        vc__assembly_end(&a);
        assert_int_equal(0, taken());
    }
}

/* The total is charged to the account, but no memory is used yet. */
static void
an_announcement_alone_takes_little_memory(void **state)
{
    struct vc__assembly a = {0};
    struct vc__frame f = first(1u << 30, 100);
    size_t before = resident();

    (void)state;
    allow((size_t)1 << 31);
    assert_true(vc__assembly_begin(&a, &f, 1u << 30, &account));
    assert_int_equal((1u << 30) + VC__ASSEMBLY_ROOM, taken());
    if (resident_is_known())
        assert_in_range(resident(), 0, before + 64 * 4096u);
    vc__assembly_end(&a);
    assert_int_equal(0, taken());
}

/* What a first part takes of a budget beside VC__ASSEMBLY_ROOM bytes, and
 * whether the message is kept. */
static void
a_first_part_takes_what_it_needs_to_the_byte(void **state)
{
    static const uint8_t metadata[500];
    static const struct {
        uint32_t total, len, max, metadata;
        size_t budget, taken;
        enum vc__assembly_loss loss;
    } table[] = {
        {60000, 100, MAX, 0, 60000, 60000, VC__ASSEMBLY_KEPT},
        {60000, 59999, MAX, 0, 60000, 60000, VC__ASSEMBLY_KEPT},
        {60000, 100, MAX, 0, 59999, 0, VC__ASSEMBLY_NO_MEMORY},
        {90000, 100, MAX, 0, 90000, 90000, VC__ASSEMBLY_KEPT},
        {90000, 100, MAX, 0, 89999, 0, VC__ASSEMBLY_NO_MEMORY},
        {100, 10, 100, 0, 100, 100, VC__ASSEMBLY_KEPT},
        {100, 10, 99, 0, 100, 0, VC__ASSEMBLY_TOO_LONG},
        {100, 10, 100, 0, 99, 0, VC__ASSEMBLY_NO_MEMORY},
        {100, 10, 100, 500, 600, 600, VC__ASSEMBLY_KEPT},
        {100, 10, 100, 500, 599, 0, VC__ASSEMBLY_NO_MEMORY},
        {100, 10, 100, 500, 500, 0, VC__ASSEMBLY_NO_MEMORY},
        {100, 10, 100, 500, 499, 0, VC__ASSEMBLY_NO_MEMORY},
    };

    (void)state;
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        struct vc__assembly a = {0};
        struct vc__frame f = first(table[i].total, table[i].len);

        allow(table[i].budget + VC__ASSEMBLY_ROOM);
        f.metadata = metadata;
        f.metadata_len = (uint16_t)table[i].metadata;
        assert_true(vc__assembly_begin(&a, &f, table[i].max, &account));
        if (a.loss != table[i].loss ||
            taken() !=
                table[i].taken +
                    (a.loss == VC__ASSEMBLY_KEPT ? VC__ASSEMBLY_ROOM : 0))
            fail_msg("row %zu: loss %d, %zu bytes", i, (int)a.loss, taken());
        vc__assembly_end(&a);
        assert_int_equal(0, taken());
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_become_the_message_and_the_budget_comes_back),
        cmocka_unit_test(what_follows_the_lead_is_aligned),
        cmocka_unit_test(its_memory_can_be_handed_over),
        cmocka_unit_test(lies_of_a_first_part_are_refused),
        cmocka_unit_test(lies_of_a_further_part_are_refused),
        cmocka_unit_test(
            a_message_over_the_limit_is_counted_to_its_end_and_not_kept),
        cmocka_unit_test(a_message_that_loses_its_memory_is_counted_to_its_end),
        cmocka_unit_test(
            metadata_are_kept_with_the_message_and_within_the_budget),
        cmocka_unit_test(a_message_that_is_not_kept_keeps_no_metadata),
        cmocka_unit_test(an_announcement_alone_takes_little_memory),
        cmocka_unit_test(a_first_part_takes_what_it_needs_to_the_byte),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
