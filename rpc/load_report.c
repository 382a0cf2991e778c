/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See rpc/load_report.h. By hand: the message has four fields of one type.
 * Static functions run on the thread of their caller. */
#include "rpc/load_report.h"

#include <string.h>

#include "transport/core/le.h"

/* The wire types of protobuf. The others, of groups, are malformed. */
enum wire {
    WIRE_VARINT,
    WIRE_FIXED64,
    WIRE_BYTES,
    WIRE_FIXED32 = 5,
};

#define VARINT_MAX 10u /* bytes */
#define NUMBER_MAX ((UINT32_C(1) << 29) - 1)

enum {
    CPU_UTILIZATION = 1,
    RPS_FRACTIONAL = 6,
    EPS = 7,
    APPLICATION_UTILIZATION = 9,
};

/* --- packing -------------------------------------------------------------- */

/* Packs a field, unless it is 0, and returns where the next one goes. Called by
 * vc__load_report_pack(). */
static uint8_t *
number_pack(uint8_t *out, unsigned field, double number)
{
    uint64_t bits;

    if (number == 0)
        return out;
    memcpy(&bits, &number, sizeof bits);
    *out++ = (uint8_t)(field << 3 | WIRE_FIXED64);
    vc__put64(out, bits);
    return out + 8;
}

size_t
vc__load_report_pack(uint8_t out[VC__LOAD_REPORT_MAX],
                     const struct vc__load_report *report)
{
    uint8_t *at = out;

    at = number_pack(at, CPU_UTILIZATION, report->cpu_utilization);
    at = number_pack(at, RPS_FRACTIONAL, report->rps);
    at = number_pack(at, EPS, report->eps);
    at = number_pack(at, APPLICATION_UTILIZATION,
                     report->application_utilization);
    return (size_t)(at - out);
}

/* --- reading -------------------------------------------------------------- */

/* What is left to read. */
struct unread {
    const uint8_t *at, *end;
};

/* Reads a varint. False if it is malformed or not whole. Called by field_read()
 * and field_skip(). */
static bool
varint_read(struct unread *u, uint64_t *value)
{
    *value = 0;
    for (unsigned i = 0; i < VARINT_MAX && u->at < u->end; i++) {
        uint8_t byte = *u->at++;

        /* What is beyond 64 bits is lost, as in protobuf. */
        *value |= (uint64_t)(byte & 0x7f) << 7 * i;
        if (byte < 0x80)
            return true;
    }
    return false;
}

/* Moves on by n bytes; false if there are fewer. Called by field_skip() and
 * field_read(). */
static bool
load_report_skip(struct unread *u, uint64_t n)
{
    if (n > (uint64_t)(u->end - u->at))
        return false;
    u->at += n;
    return true;
}

/* Skips the value of a field that is not used. False if it is malformed. Called
 * by field_read(). */
static bool
field_skip(struct unread *u, unsigned wire)
{
    uint64_t n;

    switch (wire) {
    case WIRE_VARINT:
        return varint_read(u, &n);
    case WIRE_FIXED64:
        return load_report_skip(u, 8);
    case WIRE_BYTES:
        return varint_read(u, &n) && load_report_skip(u, n);
    case WIRE_FIXED32:
        return load_report_skip(u, 4);
    default:
        return false;
    }
}

/* Returns the member of this field; NULL: it is not used. Called by
 * field_read(). */
static double *
member_of(struct vc__load_report *report, uint64_t field)
{
    switch (field) {
    case CPU_UTILIZATION:
        return &report->cpu_utilization;
    case RPS_FRACTIONAL:
        return &report->rps;
    case EPS:
        return &report->eps;
    case APPLICATION_UTILIZATION:
        return &report->application_utilization;
    default:
        return NULL;
    }
}

/* Reads one field, of which the last one of a number counts. False if it is
 * malformed. Called by vc__load_report_read(). */
static bool
field_read(struct vc__load_report *report, struct unread *u)
{
    uint64_t tag, bits;
    double *member;

    if (!varint_read(u, &tag) || tag >> 3 < 1 || tag >> 3 > NUMBER_MAX)
        return false;
    member = (tag & 7) == WIRE_FIXED64 ? member_of(report, tag >> 3) : NULL;
    if (member == NULL)
        return field_skip(u, tag & 7);
    if (!load_report_skip(u, 8))
        return false;
    bits = vc__get64(u->at - 8);
    memcpy(member, &bits, sizeof bits);
    return true;
}

bool
vc__load_report_read(struct vc__load_report *report, const uint8_t *data,
                     size_t len)
{
    struct unread u = {.at = data, .end = data + len};

    memset(report, 0, sizeof *report);
    while (u.at < u.end) {
        if (!field_read(report, &u))
            return false;
    }
    return true;
}
