/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * rpc/server/method_map.c: which bodies of OPEN frames are valid, and the
 * mapping of their lists of methods. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <verbcall/server.h>

#include "rpc/server/method_map.h"

/* The service has two methods; the last entry lies past the end of
 * its methods. */
static const struct vc_method methods[] = {
    {.name = "One", .hash = 0x01010101},
    {.name = "Two", .hash = 0x02020202},
    {.name = "Behind", .hash = 0x03030303}};
static struct vc_service service = {
    .name = "x", .n_methods = 2, .methods = methods};

#define ONE   "\1\1\1\1"
#define TWO   "\2\2\2\2"
#define OTHER "\3\3\3\3"

/* A body, with its length. */
struct body {
    const char *bytes;
    uint32_t len;
    bool good;
};

#define BODY(good, bytes)                                                      \
    {                                                                          \
        bytes, sizeof bytes - 1, good                                          \
    }

static const struct body bodies[] = {
    BODY(true, "\1\0x\0\0"),
    BODY(true, "\1\0x\1\0" ONE),
    BODY(true, "\1\0x\2\0" ONE TWO),
    BODY(true, "\5\0other\1\0" ONE),
    /* too short for anything */
    BODY(false, ""),
    BODY(false, "\1"),
    BODY(false, "\1\0"),
    BODY(false, "\1\0x"),
    BODY(false, "\1\0x\0"),
    /* no name, or a name longer than the body */
    BODY(false, "\0\0\0\0"),
    BODY(false, "\0\0\0\0\0"),
    BODY(false, "\0\0\1\0" ONE),
    BODY(false, "\2\0x\0\0"),
    BODY(false, "\377\377x\0\0"),
    /* more methods than the body has room for, or fewer */
    BODY(false, "\1\0x\1\0"),
    BODY(false, "\1\0x\1\0\1\1\1"),
    BODY(false, "\1\0x\2\0" ONE),
    BODY(false, "\1\0x\0\0\0"),
    BODY(false, "\1\0x\0\0" ONE),
    BODY(false, "\1\0x\377\377" ONE TWO),
};

#define N_BODIES (sizeof bodies / sizeof bodies[0])

/* Returns a frame with a copy of these bytes, in memory of exactly
 * their size. */
static struct vc__frame
frame_of(const struct body *body)
{
    uint8_t *bytes = malloc(body->len + !body->len);

    assert_non_null(bytes);
    memcpy(bytes, body->bytes, body->len);
    return (struct vc__frame){
        .type = VC__FRAME_OPEN, .body = bytes, .body_len = body->len};
}

static void
frame_free(struct vc__frame *f)
{
    free((uint8_t *)f->body);
}

static struct vc__opened *
open_body(struct vc__services *services, const struct body *body)
{
    struct vc__opened *opened, *last = NULL;
    struct vc__frame f = frame_of(body);

    opened = vc__opened_get(&last, services, &f);
    vc__opened_put(last);
    frame_free(&f);
    return opened;
}

static void
begin(struct vc__services *services)
{
    service.id = vc__service_id("x", 1);
    assert_true(vc__services_init(services));
    assert_int_equal(vc__services_add(services, &service, NULL, 0, NULL, false),
                     VC_OK);
}

static void
a_body_is_good_only_if_all_of_it_is(void **state)
{
    struct vc__services services;

    (void)state;
    begin(&services);
    for (unsigned i = 0; i < N_BODIES; i++) {
        struct vc__opened *opened = open_body(&services, &bodies[i]);

        if ((opened != NULL) != bodies[i].good)
            fail_msg("body %u is %s", i, bodies[i].good ? "good" : "bad");
        vc__opened_put(opened);
    }
    vc__services_fini(&services);
}

static void
a_list_of_methods_is_mapped_to_the_servers(void **state)
{
    static const struct body same = BODY(true, "\1\0x\2\0" ONE TWO);
    static const struct body mixed = BODY(true, "\1\0x\3\0" TWO OTHER ONE);
    static const struct body swapped = BODY(true, "\1\0x\2\0" TWO ONE);
    static const struct body unknown = BODY(true, "\1\0y\1\0" ONE);
    struct vc__services services;
    struct vc__service_entry *entry;
    struct vc__opened *opened;
    unsigned refs;

    (void)state;
    begin(&services);
    opened = open_body(&services, &same);
    assert_ptr_equal(opened->entry->service, &service);
    assert_null(opened->map);
    assert_int_equal(opened->n_methods, 2);
    entry = opened->entry;
    refs = atomic_load(&entry->refs);
    vc__opened_put(opened);
    assert_int_equal(atomic_load(&entry->refs), refs - 1);

    opened = open_body(&services, &mixed);
    assert_int_equal(opened->n_methods, 3);
    assert_int_equal(opened->map[0], 1);
    assert_int_equal(opened->map[1], VC__NO_METHOD);
    assert_int_equal(opened->map[2], 0);
    vc__opened_put(opened);

    opened = open_body(&services, &swapped);
    assert_non_null(opened->map);
    assert_int_equal(opened->map[0], 1);
    assert_int_equal(opened->map[1], 0);
    vc__opened_put(opened);

    opened = open_body(&services, &unknown);
    assert_null(opened->entry);
    vc__opened_put(opened);
    vc__services_fini(&services);
}

/* Only the name counts, not the methods. */
static void
a_service_is_named_again_by_a_good_body_only(void **state)
{
    static const struct body first = BODY(true, "\1\0x\1\0" ONE);
    static const struct body same = BODY(true, "\1\0x\0\0");
    static const struct body other = BODY(true, "\1\0y\1\0" ONE);
    static const struct body longer = BODY(true, "\2\0xx\1\0" ONE);
    static const struct body bad = BODY(false, "\1\0x\1\0");
    const struct body *const again[] = {&first, &same, &other, &longer, &bad};
    struct vc__services services;
    struct vc__opened *opened;

    (void)state;
    begin(&services);
    opened = open_body(&services, &first);
    for (unsigned i = 0; i < 5; i++) {
        struct vc__frame f = frame_of(again[i]);

        assert_int_equal(vc__opened_names(opened, &f), i < 2);
        frame_free(&f);
    }
    vc__opened_put(opened);
    vc__services_fini(&services);
}

/* Sessions that open the same service one after the other share one mapping of
 * the body; any other body has its own. */
static void
the_same_body_again_stands_for_the_same(void **state)
{
    static const struct body same = BODY(true, "\1\0x\2\0" ONE TWO);
    static const struct body as_long = BODY(true, "\1\0x\2\0" TWO ONE);
    struct vc__opened *first, *second, *other, *last = NULL;
    struct vc__frame frame = frame_of(&same), other_frame = frame_of(&as_long);
    struct vc__services services;

    (void)state;
    begin(&services);
    first = vc__opened_get(&last, &services, &frame);
    second = vc__opened_get(&last, &services, &frame);
    assert_non_null(first);
    assert_ptr_equal(first, second);
    assert_ptr_equal(first, last);
    assert_int_equal(first->refs, 3);
    other = vc__opened_get(&last, &services, &other_frame);
    assert_int_equal(first->refs, 2);
    assert_non_null(other);
    assert_ptr_not_equal(first, other);
    assert_ptr_equal(other, last);
    vc__opened_put(first);
    vc__opened_put(second);
    vc__opened_put(other);
    vc__opened_put(last);
    frame_free(&frame);
    frame_free(&other_frame);
    vc__services_fini(&services);
}

/* --- schemas ------------------------------------------------------------- */

/* Returns the verdict on an OPEN of service x with this fingerprint, and
 * whether the OPEN has the service. */
static enum vc__schema_verdict
verdict_on(struct vc__services *services, uint32_t fingerprint, bool *has)
{
    static const struct body x = BODY(true, "\1\0x\1\0" ONE);
    struct vc__opened *opened, *last = NULL;
    struct vc__frame f = frame_of(&x);
    enum vc__schema_verdict verdict;

    f.deadline = fingerprint;
    opened = vc__opened_get(&last, services, &f);
    assert_non_null(opened);
    assert_int_equal(fingerprint, opened->schema);
    verdict = opened->verdict;
    *has = opened->entry != NULL;
    vc__opened_put(opened);
    vc__opened_put(last);
    frame_free(&f);
    return verdict;
}

static const struct {
    uint32_t check, ours, theirs;
    enum vc__schema_verdict verdict;
    bool has;
} schemas[] = {
    {0, 7, 7, VC__SCHEMA_TAKEN, true},
    {0, 7, 8, VC__SCHEMA_TAKEN, true},
    {0, 7, 0, VC__SCHEMA_TAKEN, true},
    {VC_SCHEMA_WARN, 7, 7, VC__SCHEMA_TAKEN, true},
    {VC_SCHEMA_WARN, 7, 8, VC__SCHEMA_DIFFERS, true},
    {VC_SCHEMA_WARN, 7, 0, VC__SCHEMA_UNKNOWN, true},
    {VC_SCHEMA_WARN, 7, 5, VC__SCHEMA_TAKEN, true}, /* accepted */
    {VC_SCHEMA_WARN, 0, 8, VC__SCHEMA_TAKEN, true}, /* nothing to compare */
    {VC_SCHEMA_REFUSE, 7, 7, VC__SCHEMA_TAKEN, true},
    {VC_SCHEMA_REFUSE, 7, 8, VC__SCHEMA_DIFFERS, false},
    {VC_SCHEMA_REFUSE, 7, 0, VC__SCHEMA_UNKNOWN, false},
    {VC_SCHEMA_REFUSE, 7, 4, VC__SCHEMA_TAKEN, true},    /* accepted */
    {VC_SCHEMA_REFUSE, 7, 6, VC__SCHEMA_DIFFERS, false}, /* of another one */
    {VC_SCHEMA_REFUSE, 0, 0, VC__SCHEMA_TAKEN, true},
};

static void
a_schema_is_taken_if_it_is_the_same_or_accepted(void **state)
{
    static const uint32_t accepted[] = {5, 4}, of_another[] = {6};
    struct vc__services services;
    bool has;

    (void)state;
    begin(&services);
    assert_true(vc__schemas_accept(&services.schemas, service.id, accepted, 2));
    assert_true(
        vc__schemas_accept(&services.schemas, service.id ^ 1, of_another, 1));
    assert_true(vc__schemas_accept(&services.schemas, service.id, NULL, 0));
    for (size_t i = 0; i < sizeof schemas / sizeof schemas[0]; i++) {
        services.schemas.check = schemas[i].check;
        service.fingerprint = schemas[i].ours;
        if (verdict_on(&services, schemas[i].theirs, &has) !=
                schemas[i].verdict ||
            has != schemas[i].has)
            fail_msg("row %zu", i);
    }
    service.fingerprint = 0;
    vc__services_fini(&services);
}

/* Two clients' OPENs with the same body may differ in the fingerprint only. */
static void
opens_share_what_was_parsed_only_if_their_schemas_are_the_same(void **state)
{
    static const struct body x = BODY(true, "\1\0x\1\0" ONE);
    struct vc__opened *first, *second, *third, *last = NULL;
    struct vc__services services;
    struct vc__frame f = frame_of(&x);

    (void)state;
    begin(&services);
    f.deadline = 1;
    first = vc__opened_get(&last, &services, &f);
    second = vc__opened_get(&last, &services, &f);
    f.deadline = 2;
    third = vc__opened_get(&last, &services, &f);
    assert_ptr_equal(first, second);
    assert_ptr_not_equal(first, third);
    vc__opened_put(first);
    vc__opened_put(second);
    vc__opened_put(third);
    vc__opened_put(last);
    frame_free(&f);
    vc__services_fini(&services);
}

static void
the_service_of_an_open_is_known_by_its_name(void **state)
{
    (void)state;
    for (unsigned i = 0; i < N_BODIES; i++) {
        struct vc__frame f = frame_of(&bodies[i]);
        uint64_t id = vc__opened_service(&f);

        assert_true((id != 0) == bodies[i].good);
        if (i == 1)
            assert_true(id == vc__service_id("x", 1));
        frame_free(&f);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_body_is_good_only_if_all_of_it_is),
        cmocka_unit_test(a_list_of_methods_is_mapped_to_the_servers),
        cmocka_unit_test(a_service_is_named_again_by_a_good_body_only),
        cmocka_unit_test(the_same_body_again_stands_for_the_same),
        cmocka_unit_test(a_schema_is_taken_if_it_is_the_same_or_accepted),
        cmocka_unit_test(
            opens_share_what_was_parsed_only_if_their_schemas_are_the_same),
        cmocka_unit_test(the_service_of_an_open_is_known_by_its_name),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
