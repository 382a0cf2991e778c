/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Which features a link has, and which frames are an error without them
 * (doc/wire.md 2.8). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cm/connect/features.h"

#define SAID VC__FEATURES_SAID
#define ALL  VC__FEATURES_FIRST
#define OURS (VC__FEATURES_FIRST | VC__FEATURE_CUT)

/* An end built before features existed sends 0; it has the first four. */
static void
ends_from_before_have_the_first(void **state)
{
    (void)state;
    assert_int_equal(0, vc__features_choose(0, 0));
    assert_int_equal(ALL, vc__features_of(0));
    /* Without the bit VC__FEATURES_SAID the other bits are ignored. */
    assert_int_equal(0, vc__features_choose(VC__FEATURE_LONG, 0));
}

static void
what_both_have_is_chosen(void **state)
{
    (void)state;
    assert_int_equal(SAID | OURS, vc__features_choose(VC__FEATURES_OURS, 0));
    assert_int_equal(SAID | OURS, vc__features_choose(UINT32_MAX, 0));
    assert_int_equal(SAID | OURS | VC__FEATURE_LOCAL,
                     vc__features_choose(UINT32_MAX, VC__FEATURE_LOCAL));
    assert_int_equal(SAID | OURS,
                     vc__features_choose(VC__FEATURES_OURS, VC__FEATURE_LOCAL));
    assert_int_equal(0, vc__features_choose(0, VC__FEATURE_LOCAL));
    for (uint32_t offered = 0; offered <= ALL; offered++) {
        uint32_t chosen = vc__features_choose(SAID | offered, 0);

        assert_int_equal(SAID | offered, chosen);
        assert_int_equal(offered, vc__features_of(chosen));
    }
}

static void
a_client_says_what_it_misses(void **state)
{
    (void)state;
    assert_null(vc__features_missing(ALL));
    assert_string_equal("long messages",
                        vc__features_missing(ALL & ~VC__FEATURE_LONG));
    assert_string_equal("streams",
                        vc__features_missing(ALL & ~VC__FEATURE_STREAMS));
    assert_string_equal("metadata",
                        vc__features_missing(ALL & ~VC__FEATURE_METADATA));
    assert_string_equal("several frames in a packet",
                        vc__features_missing(ALL & ~VC__FEATURE_COALESCED));
}

static const struct {
    struct vc__frame frame;
    uint32_t needs;
} frames[] = {
    {{.type = VC__FRAME_OPEN}, 0},
    {{.type = VC__FRAME_CALL}, 0},
    {{.type = VC__FRAME_REPLY, .flags = VC__FRAME_NOT_EXECUTED}, 0},
    {{.type = VC__FRAME_CANCEL}, 0},
    {{.type = VC__FRAME_PING, .flags = VC__FRAME_ANSWER}, 0},
    {{.type = VC__FRAME_CALL, .flags = VC__FRAME_MORE}, VC__FEATURE_LONG},
    {{.type = VC__FRAME_DATA}, VC__FEATURE_LONG},
    {{.type = VC__FRAME_MESSAGE}, VC__FEATURE_STREAMS},
    {{.type = VC__FRAME_HALF}, VC__FEATURE_STREAMS},
    {{.type = VC__FRAME_WINDOW}, VC__FEATURE_STREAMS},
    {{.type = VC__FRAME_CALL, .flags = VC__FRAME_CLIENT_STREAM},
     VC__FEATURE_STREAMS},
    {{.type = VC__FRAME_CALL, .flags = VC__FRAME_SERVER_STREAM},
     VC__FEATURE_STREAMS},
    {{.type = VC__FRAME_CALL, .metadata_len = 5}, VC__FEATURE_METADATA},
    {{.type = VC__FRAME_REPLY, .metadata_len = 5}, VC__FEATURE_METADATA},
};

/* Each frame is an error without the feature that it needs, and only then. */
static void
frames_need_their_features(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof frames / sizeof frames[0]; i++) {
        for (uint32_t has = 0; has <= ALL; has++) {
            const char *breach = vc__features_breach(has, &frames[i].frame);

            if ((has & frames[i].needs) == frames[i].needs)
                assert_null(breach);
            else
                assert_non_null(breach);
        }
    }
}

static void
only_all_of_the_first_need_no_look(void **state)
{
    (void)state;
    assert_true(vc__features_has_first(ALL));
    assert_true(vc__features_has_first(ALL | 0x10));
    for (uint32_t bit = 1; bit <= ALL; bit <<= 1)
        assert_false(vc__features_has_first(ALL & ~bit));
}

/* Also where the link has all of the first features, and others. */
static void
frames_that_a_later_feature_adds_are_always_looked_at(void **state)
{
    (void)state;
    for (unsigned type = 0; type <= UINT8_MAX; type++) {
        assert_int_equal(type <= VC__FRAME_WINDOW,
                         vc__features_cover(ALL, (uint8_t)type));
        assert_int_equal(type <= VC__FRAME_WINDOW,
                         vc__features_cover(OURS, (uint8_t)type));
        for (uint32_t bit = 1; bit <= ALL; bit <<= 1)
            assert_false(vc__features_cover(ALL & ~bit, (uint8_t)type));
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ends_from_before_have_the_first),
        cmocka_unit_test(what_both_have_is_chosen),
        cmocka_unit_test(a_client_says_what_it_misses),
        cmocka_unit_test(frames_need_their_features),
        cmocka_unit_test(only_all_of_the_first_need_no_look),
        cmocka_unit_test(frames_that_a_later_feature_adds_are_always_looked_at),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
