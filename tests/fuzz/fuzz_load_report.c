/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * rpc/load_report.h: any bytes as the load report of a server. This file has a
 * second reader, by doc/wire.md, 4.11, which must agree. What was read, packed,
 * is read as the same again. The weight is a positive number, or there is
 * none. */
#include <float.h>
#include <stdbool.h>
#include <string.h>

#include "rpc/balance/load_weight.h"
#include "rpc/load_report.h"
#include "tests/fuzz/fuzz.h"

/* --- the second reader --------------------------------------------------- */

/* The length of the varint at the beginning, 1 to 10; 0: there is none. */
static size_t
varint_length(const uint8_t *data, size_t len)
{
    for (size_t i = 0; i < len && i < 10; i++)
        if ((data[i] & 0x80) == 0)
            return i + 1;
    return 0;
}

static uint64_t
varint_value(const uint8_t *data, size_t len)
{
    uint64_t value = 0;

    while (len-- > 0)
        value = value << 7 | (data[len] & 0x7f);
    return value;
}

/* The length of a value of this wire type; SIZE_MAX: it is malformed. */
static size_t
value_length(unsigned wire, const uint8_t *data, size_t len)
{
    size_t own;
    uint64_t bytes;

    switch (wire) {
    case 1:
        return 8;
    case 5:
        return 4;
    case 0:
        own = varint_length(data, len);
        return own > 0 ? own : SIZE_MAX;
    case 2:
        own = varint_length(data, len);
        bytes = varint_value(data, own);
        return own > 0 && bytes <= len ? own + (size_t)bytes : SIZE_MAX;
    default:
        return SIZE_MAX;
    }
}

/* Sets numbers[] by field: of 1, 6, 7 and 9. False if the bytes are
 * malformed. */
static bool
fields_read(double numbers[10], const uint8_t *data, size_t len)
{
    while (len > 0) {
        size_t tag_len = varint_length(data, len), value_len;
        uint64_t tag = varint_value(data, tag_len);

        if (tag_len == 0 || tag < 8 || tag > UINT32_MAX)
            return false;
        data += tag_len;
        len -= tag_len;
        value_len = value_length(tag & 7, data, len);
        if (value_len > len)
            return false;
        if (tag == 0x09 || tag == 0x31 || tag == 0x39 || tag == 0x49)
            memcpy(&numbers[tag >> 3], data, 8);
        data += value_len;
        len -= value_len;
    }
    return true;
}

/* --- what must hold ------------------------------------------------------ */

/* Bit by bit, as they may be NaN. */
static bool
is_same(double a, double b)
{
    return memcmp(&a, &b, sizeof a) == 0;
}

/* -0 is packed as 0 is: not at all. */
static double
packed_of(double number)
{
    return number == 0 ? 0 : number;
}

static void
again_check(const struct vc__load_report *report)
{
    uint8_t out[VC__LOAD_REPORT_MAX];
    size_t len = vc__load_report_pack(out, report);
    struct vc__load_report again;

    FUZZ_CHECK(len <= sizeof out);
    FUZZ_CHECK(vc__load_report_read(&again, out, len));
    FUZZ_CHECK(
        is_same(again.cpu_utilization, packed_of(report->cpu_utilization)));
    FUZZ_CHECK(is_same(again.rps, packed_of(report->rps)));
    FUZZ_CHECK(is_same(again.eps, packed_of(report->eps)));
    FUZZ_CHECK(is_same(again.application_utilization,
                       packed_of(report->application_utilization)));
}

static void
weight_check(const struct vc__load_report *report)
{
    const struct vc__load_rules rules = {.expiration_us = 10, .penalty = 1};
    struct vc__load load = {.weight = 0};
    float weight;

    vc__load_take(&load, &rules, report, 1, 1000);
    weight = vc__load_now(&load, &rules, 1, 1000);
    FUZZ_CHECK(weight == 0 || (weight >= FLT_MIN && weight <= FLT_MAX));
    FUZZ_CHECK(weight == 0 || (report->rps > 0));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct vc__load_report report;
    double numbers[10] = {0};
    bool good = fields_read(numbers, data, len);

    FUZZ_CHECK(vc__load_report_read(&report, data, len) == good);
    if (!good)
        return 0;
    FUZZ_CHECK(is_same(report.cpu_utilization, numbers[1]));
    FUZZ_CHECK(is_same(report.rps, numbers[6]));
    FUZZ_CHECK(is_same(report.eps, numbers[7]));
    FUZZ_CHECK(is_same(report.application_utilization, numbers[9]));
    again_check(&report);
    weight_check(&report);
    return 0;
}
