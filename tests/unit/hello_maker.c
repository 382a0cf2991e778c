/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See tests/unit/hello_maker.h. */
#include "tests/unit/hello_maker.h"

#define INSTANCE                                                               \
    {                                                                          \
        0x10, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18, 0x19, 0x1a,      \
            0x1b, 0x1c, 0x1d, 0x1e, 0x1f                                       \
    }

const struct vc__hello good_hello = {.version_min = 1,
                                     .version_max = 2,
                                     .flags = VC__HELLO_POOL | VC__HELLO_RESUME,
                                     .security = 0x5a,
                                     .features = 0xa1a2a3a4,
                                     .credits = 0x0102,
                                     .log2_eager = 13,
                                     .log2_message = 22,
                                     .service = 0xb1b2b3b4b5b6b7b8,
                                     .fingerprint = 0xc1c2c3c4,
                                     .instance = INSTANCE,
                                     .pool_token = 0xf1f2f3f4f5f6f7f8};

const struct vc__accept good_accept = {.version = 1,
                                       .log2_eager = 13,
                                       .log2_message = 30,
                                       .credits = 0x0304,
                                       .features = 0xa1a2a3a4,
                                       .instance = INSTANCE,
                                       .pool_token = 0xf1f2f3f4f5f6f7f8,
                                       .max_sessions = 0xb1b2b3b4,
                                       .max_slots = 0xc1c2,
                                       .keepalive_ms = 0xd1d2d3d4,
                                       .text = "k\xc3\xa4se"};

const struct vc__reject good_reject = {
    .version_min = 1,
    .version_max = 15,
    .reason = VC__REJECT_MOVED,
    .log2_eager = 23,
    .log2_message = 12,
    .credits = 0x0102,
    .features = 0xa1a2a3a4,
    .retry_ms = 0xb1b2b3b4,
    .n_addrs = 2,
    .addrs = {{.family = 4, .weight = 9, .port = 7471, .addr = {10, 9, 0, 1}},
              {.family = 6, .weight = 200, .port = 0x0102, .addr = INSTANCE}},
    .text = "moved"};

/* The bytes 28 to 31 are ignored, and written as zeros. */
static enum vc__said
hello_echo(uint8_t *out, const void *data, size_t len)
{
    struct vc__hello h;
    enum vc__said said = vc__hello_get(&h, data, len);

    if (said == VC__SAID_OK) {
        vc__hello_put(out, &h);
        assert_memory_equal(out + 28, "\0\0\0", 4);
        memcpy(out + 28, (const uint8_t *)data + 28, 4);
    }
    return said;
}

static enum vc__said
accept_echo(uint8_t *out, const void *data, size_t len)
{
    struct vc__accept a;
    enum vc__said said = vc__accept_get(&a, data, len);

    if (said == VC__SAID_OK)
        vc__accept_put(out, &a);
    return said;
}

static enum vc__said
reject_echo(uint8_t *out, const void *data, size_t len)
{
    struct vc__reject r;
    enum vc__said said = vc__reject_get(&r, data, len);

    if (said == VC__SAID_OK)
        vc__reject_put(out, &r);
    return said;
}

const struct kind kinds[] = {
    {"hello", VC__HELLO_SIZE, hello_echo},
    {"accept", VC__ACCEPT_SIZE, accept_echo},
    {"reject", VC__REJECT_SIZE, reject_echo},
};

void
good_bytes(uint8_t *out, const struct kind *kind)
{
    if (kind == &kinds[0])
        vc__hello_put(out, &good_hello);
    else if (kind == &kinds[1])
        vc__accept_put(out, &good_accept);
    else
        vc__reject_put(out, &good_reject);
}

enum vc__said
read_bytes(const struct kind *kind, const uint8_t *bytes, size_t len)
{
    uint8_t *copy = malloc(len == 0 ? 1 : len);
    uint8_t again[VC__ACCEPT_SIZE];
    enum vc__said said;

    assert_non_null(copy);
    memcpy(copy, bytes, len);
    said = kind->echo(again, copy, len);
    if (said == VC__SAID_OK)
        assert_memory_equal(again, copy, len < kind->size ? len : kind->size);
    free(copy);
    return said;
}
