/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See rpc/balance/health_rules.h. Messages are read and written by hand, as
 * they have one field each. */
#include "rpc/balance/health_rules.h"

#include <string.h>

#include "transport/core/error.h"
#include "transport/core/random.h"
#include "transport/core/utf8.h"

/* --- the rules ------------------------------------------------------------ */

void
vc__health_forget(struct vc__health_rules *h)
{
    h->health = VC__HEALTH_UNKNOWN;
    h->answered = false;
    h->failures = 0;
}

void
vc__health_begins(struct vc__health_rules *h, uint64_t now_us)
{
    h->answered = false;
    h->began_us = now_us;
}

void
vc__health_answers(struct vc__health_rules *h, uint32_t word)
{
    h->answered = true;
    h->failures = 0;
    h->health = word == VC__HEALTH_WORD_SERVING ? VC__HEALTH_SERVING
                                                : VC__HEALTH_NOT_SERVING;
}

bool
vc__health_is_late(struct vc__health_rules *h)
{
    if (h->answered || h->health != VC__HEALTH_UNKNOWN)
        return false;
    h->health = VC__HEALTH_NOT_SERVING;
    return true;
}

/* For vc__health_ends(): the time until the next Watch after this number of
 * failures in a row, at least one. */
static uint64_t
health_backoff(struct vc__health_rules *h)
{
    uint64_t us = VC__HEALTH_BACKOFF_US;

    for (unsigned i = 1; i < h->failures && us < VC__HEALTH_BACKOFF_MAX_US; i++)
        us = us * 8 / 5;
    if (us > VC__HEALTH_BACKOFF_MAX_US)
        us = VC__HEALTH_BACKOFF_MAX_US;
    return us - us / 5 + vc__random_below(&h->seed, (uint32_t)(us * 2 / 5) + 1);
}

uint64_t
vc__health_ends(struct vc__health_rules *h, enum vc_status status,
                uint64_t now_us)
{
    uint64_t next = h->began_us + VC__HEALTH_PACE_US;

    if (status == VC_UNIMPLEMENTED) {
        h->health = VC__HEALTH_UNCHECKED;
        return UINT64_MAX;
    }
    if (h->answered) {
        if (h->health == VC__HEALTH_SERVING)
            h->health = VC__HEALTH_UNKNOWN;
        return next > now_us ? next : now_us;
    }
    h->health = VC__HEALTH_NOT_SERVING;
    h->failures++;
    return now_us + health_backoff(h);
}

const char *
vc__health_word_name(uint32_t word)
{
    static const char *const names[] = {
        [VC__HEALTH_WORD_UNKNOWN] = "UNKNOWN",
        [VC__HEALTH_WORD_SERVING] = "SERVING",
        [VC__HEALTH_WORD_NOT_SERVING] = "NOT_SERVING",
        [VC__HEALTH_WORD_SERVICE_UNKNOWN] = "SERVICE_UNKNOWN",
    };

    return word < sizeof names / sizeof names[0]
               ? names[word]
               : "a status of another version";
}

/* --- the name ------------------------------------------------------------- */

enum vc_status
vc__health_name_check(const char *name)
{
    size_t len = strlen(name);

    if (len > VC__HEALTH_NAME_MAX)
        return vc__fail(VC_INVALID_ARGUMENT,
                        "vc_channel_opts.health_service: it has %zu bytes, "
                        "more than %u",
                        len, VC__HEALTH_NAME_MAX);
    if (vc__utf8_valid((const uint8_t *)name, len))
        return VC_OK;
    return vc__fail(VC_INVALID_ARGUMENT,
                    "vc_channel_opts.health_service: it is no UTF-8");
}

/* --- the messages --------------------------------------------------------- */

/* The wire types of protobuf; groups (3 and 4) are not used by proto3. */
enum wire_type {
    WIRE_VARINT = 0,
    WIRE_FIXED64 = 1,
    WIRE_BYTES = 2,
    WIRE_FIXED32 = 5,
};

#define FIELD_STATUS 1u
#define FIELD_MAX    ((1u << 29) - 1)

/* What is left of a message. */
struct answer_rest {
    const uint8_t *at, *end;
};

/* Reads a varint of ten bytes at most. False if there is none. Called for the
 * parts of a field. */
static bool
answer_varint(struct answer_rest *rest, uint64_t *value)
{
    *value = 0;
    for (unsigned shift = 0; shift < 70 && rest->at < rest->end; shift += 7) {
        uint8_t byte = *rest->at++;

        *value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80)
            return shift < 63 || byte < 2;
    }
    return false;
}

/* For answer_field(): skips so many bytes; false if they are not there. */
static bool
answer_skip(struct answer_rest *rest, uint64_t n)
{
    if (n > (uint64_t)(rest->end - rest->at))
        return false;
    rest->at += n;
    return true;
}

/* For vc__health_answer_read(): reads a field, and the status if it is that.
 * False if it is malformed. */
static bool
answer_field(struct answer_rest *rest, uint32_t *word)
{
    uint64_t tag, value;

    if (!answer_varint(rest, &tag) || tag >> 3 < 1 || tag >> 3 > FIELD_MAX)
        return false;
    if (tag >> 3 == FIELD_STATUS && (tag & 7) != WIRE_VARINT)
        return false;
    switch (tag & 7) {
    case WIRE_VARINT:
        if (!answer_varint(rest, &value))
            return false;
        /* An enum has 32 bits; of more, protobuf takes the lower ones. */
        if (tag >> 3 == FIELD_STATUS)
            *word = (uint32_t)value;
        return true;
    case WIRE_FIXED64:
        return answer_skip(rest, 8);
    case WIRE_BYTES:
        return answer_varint(rest, &value) && answer_skip(rest, value);
    case WIRE_FIXED32:
        return answer_skip(rest, 4);
    default:
        return false;
    }
}

bool
vc__health_answer_read(const uint8_t *data, size_t len, uint32_t *word)
{
    struct answer_rest rest = {.at = data, .end = data};

    *word = VC__HEALTH_WORD_UNKNOWN;
    if (len > 0) /* else data may be NULL */
        rest.end += len;
    while (rest.at < rest.end) {
        if (!answer_field(&rest, word))
            return false;
    }
    return true;
}

size_t
vc__health_request_write(uint8_t *out, const char *name)
{
    size_t n = strlen(name), at = 0;

    if (n == 0) /* proto3 leaves it out */
        return 0;
    out[at++] = 1u << 3 | WIRE_BYTES;
    if (n >= 0x80)
        out[at++] = (uint8_t)(n | 0x80);
    out[at++] = (uint8_t)(n >= 0x80 ? n >> 7 : n);
    memcpy(out + at, name, n);
    return at + n;
}
