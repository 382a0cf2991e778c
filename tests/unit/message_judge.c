/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See tests/unit/message_judge.h. */
#include "tests/unit/message_judge.h"

#include "rpc/codec/arena.h"

const ProtobufCMessageDescriptor *const types[N_TYPES] = {
    &unit__scalars__descriptor,  &unit__packed__descriptor,
    &unit__unpacked__descriptor, &unit__tree__descriptor,
    &unit__choice__descriptor,   &unit__maps__descriptor,
    &unit__all__descriptor,      &unit__empties__descriptor,
    &unit2__inner__descriptor,   &unit2__outer__descriptor,
};

const struct vc__message_limits roomy = {VC__MESSAGE_DEPTH, 1u << 30};

static struct vc__arena unpacked; /* memory of one unpacked message */

int
judge_setup(void **state)
{
    return maker_setup(state) || vc__arena_init(&unpacked, 1 << 16, 0);
}

int
judge_teardown(void **state)
{
    vc__arena_fini(&unpacked);
    return maker_teardown(state);
}

struct verdict
judge(const ProtobufCMessageDescriptor *desc, const uint8_t *bytes, size_t len,
      const struct vc__message_limits *limits)
{
    uint8_t *copy = malloc(len == 0 ? 1 : len);
    struct verdict v = {.memory = 4711};

    assert_non_null(copy);
    if (len > 0)
        memcpy(copy, bytes, len);
    v.wrong = vc__message_check(desc, copy, len, limits, &v.memory);
    if (v.wrong == NULL) {
        assert_in_range(v.memory, 0, limits->memory);
        vc__arena_reset(&unpacked);
        vc__arena_set_cap(&unpacked, v.memory);
        assert_non_null(
            protobuf_c_message_unpack(desc, &unpacked.allocator, len, copy));
        v.taken = vc__arena_taken(&unpacked);
    } else {
        assert_int_equal(v.memory, 4711);
    }
    free(copy);
    return v;
}

bool
is_good(const ProtobufCMessageDescriptor *desc, const void *bytes, size_t len)
{
    return judge(desc, bytes, len, &roomy).wrong == NULL;
}
