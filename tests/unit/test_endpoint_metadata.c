/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The metadata of endpoints: what is refused, and what copies hold. The memory
 * that a copy takes is exactly what the check says, so that the address
 * sanitizer sees a copy that takes more. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "rpc/balance/endpoint_metadata.h"

#define BYTES VC_ENDPOINT_METADATA_BYTES

static char long_value[BYTES + 1];

static struct vc_metadata
text_entry(const char *key, const char *value)
{
    return (struct vc_metadata){
        .key = key, .value = value, .length = strlen(value)};
}

static enum vc_status
check(const struct vc_metadata *entries, size_t n)
{
    struct vc_endpoint e = VC_ENDPOINT_INIT;
    size_t room = 0;

    e.metadata = entries;
    e.n_metadata = n;
    return vc__endpoint_metadata_check(&e, &room);
}

static void
refused(const struct vc_metadata *entries, size_t n, const char *why)
{
    assert_int_equal(VC_INVALID_ARGUMENT, check(entries, n));
    if (strstr(vc_error(), why) == NULL)
        fail_msg("\"%s\" is not in: %s", why, vc_error());
}

/* --- limits --------------------------------------------------------------- */

static void
more_entries_than_the_limit_are_refused_and_not_read(void **state)
{
    static struct vc_metadata many[VC_ENDPOINT_METADATA_MAX];

    (void)state;
    for (unsigned i = 0; i < VC_ENDPOINT_METADATA_MAX; i++)
        many[i] = text_entry("key", "value");
    assert_int_equal(VC_OK, check(many, VC_ENDPOINT_METADATA_MAX));
    refused(many, VC_ENDPOINT_METADATA_MAX + 1,
            "vc_endpoint.n_metadata: 65 is more than 64");
    refused(many, SIZE_MAX, "is more than 64");
    refused(NULL, SIZE_MAX / sizeof(struct vc_metadata) + 2, "is more than 64");
    refused(NULL, 1, "vc_endpoint.metadata is NULL, and n_metadata is 1");
    assert_int_equal(VC_OK, check(NULL, 0));
}

static void
keys_and_values_have_a_limit_together(void **state)
{
    struct vc_metadata two[2] = {text_entry("a", "b"),
                                 {.key = "c-bin", .value = long_value}};

    (void)state;
    two[1].length = BYTES - 2 - 5;
    assert_int_equal(VC_OK, check(two, 2));
    two[1].length++;
    refused(two, 2,
            "vc_endpoint.metadata: keys and values take more than 4096 bytes, "
            "with entry 1");
    two[1].length = BYTES - 5;
    assert_int_equal(VC_OK, check(&two[1], 1));
    two[1].length++;
    refused(&two[1], 1, "more than 4096 bytes, with entry 0");
}

/* The value is not read: it has one byte only. */
static void
a_length_that_cannot_be_is_refused_before_the_value_is_read(void **state)
{
    char *value = malloc(1);
    struct vc_metadata two[2] = {text_entry("a", "b"), {.key = "c"}};

    (void)state;
    assert_non_null(value);
    *value = 'x';
    two[1].value = value;
    for (size_t length = SIZE_MAX; length > SIZE_MAX - 8; length--) {
        two[1].length = length;
        refused(two, 2, "more than 4096 bytes, with entry 1");
    }
    two[1].length = BYTES + 1;
    refused(two, 2, "more than 4096 bytes, with entry 1");
    free(value);
}

static void
entries_that_no_call_may_have_are_refused(void **state)
{
    struct vc_metadata two[2] = {text_entry("zone", "b"),
                                 text_entry("Zone", "b")};

    (void)state;
    refused(two, 2, "vc_endpoint.metadata: entry 1: its key must be");
    two[1] = text_entry("grpc-zone", "b");
    refused(two, 2, "entry 1: keys that begin with");
    two[1] = text_entry("zone", "b\n");
    refused(two, 2, "entry 1: its value must be printable");
    two[1] = (struct vc_metadata){.key = "zone", .length = 1};
    refused(two, 2, "entry 1: its value is NULL");
    two[1] = (struct vc_metadata){.value = "x", .length = BYTES + 1};
    refused(two, 2, "with entry 1");
    two[1].length = 1;
    refused(two, 2, "entry 1: its key must be");
}

/* --- copies --------------------------------------------------------------- */

/* The metadata of two endpoints; the second has a NUL in a value. */
static const struct vc_metadata first[] = {
    {.key = "zone", .value = "b", .length = 1},
    {.key = "zone", .value = NULL, .length = 0},
    {.key = "version-bin", .value = "1\0002", .length = 3},
};

static void
is_first(const struct vc__endpoint *e)
{
    assert_int_equal(3, e->n_metadata);
    for (unsigned i = 0; i < 3; i++) {
        const struct vc_metadata *m = &e->metadata[i];

        assert_ptr_not_equal(first[i].key, m->key);
        assert_string_equal(first[i].key, m->key);
        assert_int_equal(first[i].length, m->length);
        if (m->length > 0)
            assert_memory_equal(first[i].value, m->value, m->length);
        assert_int_equal('\0', ((const char *)m->value)[m->length]);
    }
}

/* Endpoints with the metadata `first`, none, and one long value. */
static struct vc__endpoint *
three_new(void)
{
    struct vc_metadata longest = {.key = "x-bin", .value = long_value};
    struct vc_endpoint from[3] = {VC_ENDPOINT_INIT, VC_ENDPOINT_INIT,
                                  VC_ENDPOINT_INIT};
    struct vc__endpoint_room memory;
    struct vc__endpoint *all;
    size_t room = 0;

    longest.length = BYTES - 5;
    from[0].metadata = first;
    from[0].n_metadata = 3;
    from[2].metadata = &longest;
    from[2].n_metadata = 1;
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(VC_OK, vc__endpoint_metadata_check(&from[i], &room));
    all = vc__endpoints_new(3, room, &memory);
    assert_non_null(all);
    for (unsigned i = 0; i < 3; i++) {
        all[i].place = (i + 1) % 3;
        vc__endpoint_metadata_copy(&all[i], from[i].metadata,
                                   from[i].n_metadata, &memory);
    }
    assert_ptr_equal((char *)(all + 3) + room, memory.at);
    return all;
}

static void
a_copy_has_keys_and_values_of_its_own(void **state)
{
    struct vc__endpoint *all;

    (void)state;
    memset(long_value, 'v', sizeof long_value);
    all = three_new();
    memset(long_value, 'w', sizeof long_value);
    is_first(&all[0]);
    assert_null(all[1].metadata);
    assert_int_equal(0, all[1].n_metadata);
    assert_int_equal(1, all[2].n_metadata);
    assert_int_equal(BYTES - 5, all[2].metadata->length);
    for (unsigned i = 0; i < BYTES - 5; i++)
        assert_int_equal('v', ((const char *)all[2].metadata->value)[i]);
    free(all);
}

static void
a_copy_of_a_copy_outlives_it_and_is_in_the_order_of_places(void **state)
{
    struct vc__endpoint *all = three_new(), *again;

    (void)state;
    again = vc__endpoints_copy(all, 3);
    assert_non_null(again);
    free(all);
    is_first(&again[1]);
    assert_null(again[2].metadata);
    assert_string_equal("x-bin", again[0].metadata->key);
    assert_int_equal(1, again[1].place);
    free(again);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(more_entries_than_the_limit_are_refused_and_not_read),
        cmocka_unit_test(keys_and_values_have_a_limit_together),
        cmocka_unit_test(
            a_length_that_cannot_be_is_refused_before_the_value_is_read),
        cmocka_unit_test(entries_that_no_call_may_have_are_refused),
        cmocka_unit_test(a_copy_has_keys_and_values_of_its_own),
        cmocka_unit_test(
            a_copy_of_a_copy_outlives_it_and_is_in_the_order_of_places),
    };

    cmocka_set_test_filter(getenv("VC_TEST_ONLY"));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
