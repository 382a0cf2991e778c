/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The options of outlier detection: ranges, defaults, and what becomes of them
 * in the policy. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <verbcall/outlier.h>
#include <verbcall/resolver.h>
#include <verbcall/status.h>

#include "rpc/balance/outlier_opts.h"

#define DAY_MS          86400000u
#define LENGTHOF(array) (sizeof(array) / sizeof((array)[0]))

#define RATE       VC__OUTLIER_SUCCESS_RATE
#define PERCENTAGE VC__OUTLIER_FAILURE_PERCENTAGE

static struct vc__outlier_policy policy;

static void
opts_take(const struct vc_outlier_opts *opts)
{
    assert_int_equal(VC_OK, vc__outlier_opts_take(&policy, opts));
}

/* Where an option is in struct vc_outlier_opts, and in the policy, where it is
 * `unit` times as large. */
static const struct {
    const char *name;
    size_t at;
    uint32_t least, most, otherwise;
    bool none; /* VC_OUTLIER_NONE is allowed */
    uint64_t unit;
    size_t policy_at, policy_size;
} options[] = {
#define ROW(field, least, most, otherwise, none, unit, member)                 \
    {                                                                          \
#field, offsetof(struct vc_outlier_opts, field), least, most,          \
            otherwise, none, unit,                                             \
            offsetof(struct vc__outlier_policy, member), sizeof policy.member  \
    }
    ROW(interval_ms, 10, DAY_MS, 10000, false, 1000, interval_us),
    ROW(base_ejection_ms, 1, DAY_MS, 30000, false, 1000, base_us),
    ROW(max_ejection_ms, 1, DAY_MS, 300000, false, 1000, max_us),
    ROW(max_ejection_percent, 1, 100, 10, true, 1, max_percent),
    ROW(success_rate_stdev_factor, 1, 1000000, 1900, true, 1, rule[RATE].limit),
    ROW(success_rate_enforcement, 1, 100, 100, true, 1, rule[RATE].enforcement),
    ROW(success_rate_minimum_hosts, 1, VC_ENDPOINTS_MAX, 5, false, 1,
        rule[RATE].minimum_hosts),
    ROW(success_rate_request_volume, 1, 1000000000, 100, false, 1,
        rule[RATE].request_volume),
    ROW(failure_percentage_threshold, 1, 100, 85, true, 1,
        rule[PERCENTAGE].limit),
    ROW(failure_percentage_enforcement, 1, 100, 100, true, 1,
        rule[PERCENTAGE].enforcement),
    ROW(failure_percentage_minimum_hosts, 1, VC_ENDPOINTS_MAX, 5, false, 1,
        rule[PERCENTAGE].minimum_hosts),
    ROW(failure_percentage_request_volume, 1, 1000000000, 50, false, 1,
        rule[PERCENTAGE].request_volume),
#undef ROW
};

/* Sets option i, and takes it. */
static enum vc_status
option_take(size_t i, uint32_t value)
{
    struct vc_outlier_opts opts = VC_OUTLIER_OPTS_INIT;

    opts.base_ejection_ms = 1; /* so that any maximum is used */
    memcpy((char *)&opts + options[i].at, &value, sizeof value);
    return vc__outlier_opts_take(&policy, &opts);
}

static uint64_t
policy_value(size_t i)
{
    const char *at = (const char *)&policy + options[i].policy_at;
    uint32_t narrow;
    uint64_t wide;

    if (options[i].policy_size == sizeof narrow) {
        memcpy(&narrow, at, sizeof narrow);
        return narrow;
    }
    assert_int_equal(options[i].policy_size, sizeof wide);
    memcpy(&wide, at, sizeof wide);
    return wide;
}

/* The value is taken, and is this in the policy. */
static void
option_gives(size_t i, uint32_t value, uint64_t expected)
{
    if (option_take(i, value) != VC_OK)
        fail_msg("%s", vc_error());
    if (policy_value(i) != expected * options[i].unit)
        fail_msg("%s %u is %llu in the policy", options[i].name, value,
                 (unsigned long long)policy_value(i));
}

static void
option_is_refused(size_t i, uint32_t value)
{
    char words[160];

    if (option_take(i, value) != VC_INVALID_ARGUMENT)
        fail_msg("%s is taken with %u", options[i].name, value);
    snprintf(words, sizeof words,
             "vc_outlier_opts.%s: %u is not in %u..%u%s; 0 stands for the "
             "default",
             options[i].name, value, options[i].least, options[i].most,
             options[i].none ? ", nor VC_OUTLIER_NONE" : "");
    assert_string_equal(words, vc_error());
}

static void
each_option_is_taken_in_its_range_and_refused_by_name_outside(void **state)
{
    (void)state;
    for (size_t i = 0; i < LENGTHOF(options); i++) {
        option_gives(i, options[i].least, options[i].least);
        option_gives(i, options[i].most, options[i].most);
        option_is_refused(i, options[i].most + 1);
        option_is_refused(i, UINT32_MAX - 1);
        if (options[i].least > 1)
            option_is_refused(i, options[i].least - 1);
        if (options[i].none)
            option_gives(i, VC_OUTLIER_NONE, 0);
        else
            option_is_refused(i, VC_OUTLIER_NONE);
    }
}

static void
an_option_of_0_has_the_default_of_a50(void **state)
{
    (void)state;
    opts_take(VC_OUTLIER_OPTS());
    for (size_t i = 0; i < LENGTHOF(options); i++)
        assert_int_equal(options[i].otherwise * options[i].unit,
                         policy_value(i));
    assert_true(policy.rule[RATE].on);
    assert_true(policy.rule[PERCENTAGE].on);
}

static void
options_choose_the_methods(void **state)
{
    (void)state;
    for (uint32_t methods = 1; methods <= 3; methods++) {
        opts_take(VC_OUTLIER_OPTS(.methods = methods));
        assert_int_equal((methods & VC_OUTLIER_SUCCESS_RATE) != 0,
                         policy.rule[RATE].on);
        assert_int_equal((methods & VC_OUTLIER_FAILURE_PERCENTAGE) != 0,
                         policy.rule[PERCENTAGE].on);
    }
    assert_int_equal(
        VC_INVALID_ARGUMENT,
        vc__outlier_opts_take(&policy, VC_OUTLIER_OPTS(.methods = 5)));
    assert_string_equal(
        vc_error(), "vc_outlier_opts.methods: 0x5 has bits that are unknown, "
                    "0x4; known are VC_OUTLIER_SUCCESS_RATE and "
                    "VC_OUTLIER_FAILURE_PERCENTAGE");
}

static void
options_without_a_size_are_refused(void **state)
{
    static const struct vc_outlier_opts none;

    (void)state;
    assert_int_equal(VC_INVALID_ARGUMENT,
                     vc__outlier_opts_take(&policy, &none));
    assert_string_equal(vc_error(),
                        "struct vc_outlier_opts has size 0: initialise it by "
                        "VC_OUTLIER_OPTS_INIT or VC_OUTLIER_OPTS()");
}

static void
without_options_no_method_is_on(void **state)
{
    (void)state;
    opts_take(NULL);
    assert_false(vc__outlier_is_on(&policy));
    opts_take(VC_OUTLIER_OPTS());
    assert_true(vc__outlier_is_on(&policy));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            each_option_is_taken_in_its_range_and_refused_by_name_outside),
        cmocka_unit_test(an_option_of_0_has_the_default_of_a50),
        cmocka_unit_test(options_choose_the_methods),
        cmocka_unit_test(options_without_a_size_are_refused),
        cmocka_unit_test(without_options_no_method_is_on),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
