/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Service tables made from the output of protoc-gen-c equal those that
 * protoc-gen-verbcall generates. */
#include "rpc/protobuf_c/protobuf_c_table.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "tests/suite/lookup.pb-c.h"
#include "tests/suite/lookup.vc.h"
#include "transport/core/error.h"

#define MANY 1024

static struct vc_runtime *runtime;

static int
setup(void **state)
{
    (void)state;
    assert_int_equal(VC_OK, vc_runtime_new(NULL, &runtime));
    return 0;
}

static int
teardown(void **state)
{
    (void)state;
    vc_runtime_free(runtime);
    return 0;
}

/* --- valid descriptors -------------------------------------------------- */

static void
assert_same_methods(const struct vc_service *made,
                    const struct vc_service *generated)
{
    assert_int_equal(made->n_methods, generated->n_methods);
    for (unsigned i = 0; i < made->n_methods; i++) {
        const struct vc_method *a = &made->methods[i];
        const struct vc_method *b = &generated->methods[i];

        assert_string_equal(a->name, b->name);
        assert_int_equal(a->hash, b->hash);
        assert_ptr_equal(a->request.desc, b->request.desc);
        assert_ptr_equal(a->reply.desc, b->reply.desc);
        assert_int_equal(a->flags, 0);
        assert_int_equal(a->timeout_ms, 0);
        assert_int_equal(a->max_calls, 0);
        assert_non_null(a->run);
        assert_null(a->run_stream);
    }
}

static void
a_table_agrees_with_the_generated_one(void **state)
{
    struct vc__table *table =
        vc__table_get(runtime, &lookup__yellow__descriptor);

    (void)state;
    assert_non_null(table);
    assert_string_equal(table->service.name, "lookup.Yellow");
    assert_int_equal(table->service.id, lookup_yellow_service.id);
    assert_int_equal(table->service.fingerprint,
                     lookup_yellow_service.fingerprint);
    assert_same_methods(&table->service, &lookup_yellow_service);
}

/* Every has a field of each kind. */
static void
a_fingerprint_agrees_with_the_generated_one(void **state)
{
    struct vc__table *table =
        vc__table_get(runtime, &lookup__everything__descriptor);

    (void)state;
    assert_non_null(table);
    assert_int_equal(table->service.fingerprint,
                     lookup_everything_service.fingerprint);
    assert_int_not_equal(table->service.fingerprint, 0);
}

static void
methods_that_stream_are_taken_for_unary_ones(void **state)
{
    struct vc__table *table =
        vc__table_get(runtime, &lookup__directory__descriptor);

    (void)state;
    assert_non_null(table);
    assert_int_equal(table->service.id, lookup_directory_service.id);
    assert_int_equal(lookup_directory_service.methods[2].flags,
                     VC_METHOD_SERVER_STREAM);
    assert_same_methods(&table->service, &lookup_directory_service);
}

static void
a_descriptor_has_one_table(void **state)
{
    struct vc__table *first =
        vc__table_get(runtime, &lookup__yellow__descriptor);
    struct vc__table *other =
        vc__table_get(runtime, &lookup__directory__descriptor);

    (void)state;
    assert_ptr_not_equal(first, other);
    assert_ptr_equal(first,
                     vc__table_get(runtime, &lookup__yellow__descriptor));
    assert_ptr_equal(other,
                     vc__table_get(runtime, &lookup__directory__descriptor));
}

/* --- descriptors made by a program, valid and invalid -------------------- */

static ProtobufCMethodDescriptor methods[MANY + 1];
static unsigned by_name[MANY + 1];
static char names[MANY + 1][18];
static ProtobufCServiceDescriptor made;

static void
make(unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        snprintf(names[i], sizeof names[i], "Method%04u", i);
        methods[i].name = names[i];
        methods[i].input = methods[i].output = &lookup__name__descriptor;
        by_name[i] = i;
    }
    made = lookup__yellow__descriptor;
    made.n_methods = n;
    made.methods = methods;
    made.method_indices_by_name = by_name;
}

static void
assert_bad(const ProtobufCServiceDescriptor *d, const char *word)
{
    assert_null(vc__table_get(runtime, d));
    assert_int_equal(vc_error_status(), VC_INVALID_ARGUMENT);
    if (strstr(vc_error(), word) == NULL)
        fail_msg("\"%s\" does not say \"%s\"", vc_error(), word);
}

static void
a_service_may_have_no_method_and_1024(void **state)
{
    struct vc__table *table;

    (void)state;
    make(0);
    made.methods = NULL;
    made.method_indices_by_name = NULL;
    assert_non_null(vc__table_get(runtime, &made));
    teardown(NULL);
    setup(NULL);
    make(MANY);
    table = vc__table_get(runtime, &made);
    assert_non_null(table);
    assert_int_equal(table->service.n_methods, MANY);
}

static void
one_method_more_is_refused(void **state)
{
    (void)state;
    make(MANY + 1);
    assert_bad(&made, "two services");
}

static void
what_is_no_service_descriptor_is_refused(void **state)
{
    (void)state;
    assert_bad(NULL, "protoc-gen-c");
    assert_bad((const void *)&lookup__name__descriptor, "protoc-gen-c");
}

/* optimize_for = CODE_SIZE */
static void
a_descriptor_without_names_is_refused(void **state)
{
    (void)state;
    make(3);
    made.name = NULL;
    assert_bad(&made, "CODE_SIZE");
    make(3);
    made.name = "";
    assert_bad(&made, "CODE_SIZE");
    make(3);
    methods[2].name = NULL;
    assert_bad(&made, "CODE_SIZE");
    make(3);
    made.method_indices_by_name = NULL;
    assert_bad(&made, "CODE_SIZE");
}

/* The messages are from an imported file that has the option. */
static void
methods_whose_messages_have_no_names_are_refused(void **state)
{
    ProtobufCMessageDescriptor nameless = lookup__name__descriptor;

    (void)state;
    nameless.name = NULL;
    make(3);
    methods[1].input = &nameless;
    assert_bad(&made, "CODE_SIZE");
    make(3);
    methods[1].output = &nameless;
    assert_bad(&made, "CODE_SIZE");
}

static void
a_name_that_does_not_fit_is_refused(void **state)
{
    static char name[UINT16_MAX + 2];

    (void)state;
    memset(name, 'a', sizeof name - 1);
    make(3);
    made.name = name;
    assert_bad(&made, "65535");
    name[UINT16_MAX] = '\0';
    assert_non_null(vc__table_get(runtime, &made));
}

/* Two words of the same FNV-1a hash. */
static void
methods_of_the_same_hash_are_refused(void **state)
{
    (void)state;
    make(3);
    methods[0].name = "costarring";
    methods[2].name = "liquid";
    assert_bad(&made, "rename");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_table_agrees_with_the_generated_one,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(
            a_fingerprint_agrees_with_the_generated_one, setup, teardown),
        cmocka_unit_test_setup_teardown(
            methods_that_stream_are_taken_for_unary_ones, setup, teardown),
        cmocka_unit_test_setup_teardown(a_descriptor_has_one_table, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_service_may_have_no_method_and_1024,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(one_method_more_is_refused, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(
            what_is_no_service_descriptor_is_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(a_descriptor_without_names_is_refused,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(
            methods_whose_messages_have_no_names_are_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(a_name_that_does_not_fit_is_refused,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(methods_of_the_same_hash_are_refused,
                                        setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
