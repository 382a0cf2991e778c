/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * rpc/codec/validate.h, rpc/codec/fast_codec.h and rpc/codec/codec.h against
 * protobuf-c. protobuf-c unpacks each message that the check accepts, into no
 * more memory than the check reported. The fast codec gives the same message,
 * and a received message can be sent on. The first byte chooses the type, the
 * second the amount of memory. */
#include <stdbool.h>
#include <string.h>

#include "rpc/codec/arena.h"
#include "rpc/codec/codec.h"
#include "rpc/codec/fast_codec.h"
#include "rpc/codec/validate.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/message_types.h"

#define ROOM ((size_t)64 << 20)

/* A message of a type, as received from a peer. */
struct input {
    const ProtobufCMessageDescriptor *desc;
    const uint8_t *data;
    size_t len;
};

/* The message, packed. */
struct packed {
    uint8_t *data;
    size_t len;
};

static struct vc__arena arena; /* memory of one unpacked message at a time */

static void *
allocated(size_t size)
{
    void *data = malloc(size + 1);

    FUZZ_CHECK(data != NULL);
    return data;
}

static ProtobufCAllocator *
arena_with(size_t cap)
{
    if (arena.chunks == NULL)
        FUZZ_CHECK(vc__arena_init(&arena, 1 << 16, 0) == 0);
    vc__arena_reset(&arena);
    vc__arena_set_cap(&arena, cap);
    return &arena.allocator;
}

static const char *
check_within(const struct input *in, size_t room, size_t *memory)
{
    const struct vc__message_limits limits = {VC__MESSAGE_DEPTH, room};

    return vc__message_check(in->desc, in->data, in->len, &limits, memory);
}

static struct packed
pack(const ProtobufCMessage *message)
{
    struct packed p = {.len = protobuf_c_message_get_packed_size(message)};

    p.data = allocated(p.len);
    FUZZ_CHECK(protobuf_c_message_pack(message, p.data) == p.len);
    return p;
}

static bool
packs_as(const ProtobufCMessage *message, const struct packed *expected)
{
    struct packed p = pack(message);
    bool same =
        p.len == expected->len && memcmp(p.data, expected->data, p.len) == 0;

    free(p.data);
    return same;
}

/* The library's codec packs the same bytes. */
static void
codec_pack_check(const struct vc_message_type *type,
                 const ProtobufCMessage *message, const struct packed *expected)
{
    struct vc__packing packing;
    uint8_t *out;

    FUZZ_CHECK(vc__codec_measure(type, message, &packing));
    FUZZ_CHECK(packing.size == expected->len);
    out = allocated(packing.size);
    vc__codec_pack(type, &packing, message, out);
    FUZZ_CHECK(memcmp(out, expected->data, expected->len) == 0);
    free(out);
}

/* Unpacks by the fast codec, with `room` bytes of memory: it is used only if
 * they are enough. Returns NULL when it is not used. */
static ProtobufCMessage *
plain_unpack(const struct input *in, size_t room)
{
    struct vc__bytes from = {.data = in->data, .len = in->len};
    void *message = NULL;
    bool plain =
        vc__fast_unpack(in->desc, arena_with(room), room, &from, &message);

    FUZZ_CHECK(plain == (message != NULL));
    FUZZ_CHECK(plain || vc__arena_taken(&arena) == 0);
    return message;
}

static void
plain_check(const struct input *in, const struct packed *expected)
{
    ProtobufCMessage *message = plain_unpack(in, ROOM);
    size_t taken = vc__arena_taken(&arena);

    if (message == NULL)
        return;
    FUZZ_CHECK(expected != NULL && packs_as(message, expected));
    FUZZ_CHECK(plain_unpack(in, taken) != NULL);
    FUZZ_CHECK(plain_unpack(in, taken - 1) == NULL);
}

/* Unpacks by either codec, with `room` bytes of memory: a message that the
 * check accepts never fails for lack of memory. */
static void
codec_check(const struct input *in, size_t room, const struct packed *expected)
{
    const struct vc_message_type type = {.desc = in->desc};
    bool good = check_within(in, room, NULL) == NULL;
    struct vc__bytes from = {.data = in->data, .len = in->len};
    struct vc__message_fault fault = {.what = NULL};
    void *message =
        vc__codec_unpack(&type, arena_with(room), room, &from, &fault);

    FUZZ_CHECK((message == NULL) == (fault.what != NULL));
    FUZZ_CHECK(message != NULL || !good);
    FUZZ_CHECK(vc__arena_taken(&arena) <= room);
    if (message != NULL) {
        FUZZ_CHECK(expected != NULL && packs_as(message, expected));
        codec_pack_check(&type, message, expected);
    }
}

/* The reported memory is exactly the limit of the check, and enough
 * for unpacking. */
static void
memory_check(const struct input *in, size_t memory)
{
    FUZZ_CHECK(check_within(in, memory, NULL) == NULL);
    FUZZ_CHECK(check_within(in, memory - 1, NULL) != NULL);
    FUZZ_CHECK(protobuf_c_message_unpack(in->desc, arena_with(memory), in->len,
                                         in->data) != NULL);
    FUZZ_CHECK(vc__arena_taken(&arena) <= memory);
}

/* A message that is sent back is valid, and nothing is lost. */
static void
send_on_check(const struct input *in, const struct packed *p)
{
    const struct input again = {in->desc, p->data, p->len};
    ProtobufCMessage *message;

    FUZZ_CHECK(check_within(&again, SIZE_MAX, NULL) == NULL);
    message =
        protobuf_c_message_unpack(again.desc, NULL, again.len, again.data);
    FUZZ_CHECK(message != NULL && packs_as(message, p));
    protobuf_c_message_free_unpacked(message, NULL);
}

static void
good_check(const struct input *in, size_t memory, size_t room)
{
    ProtobufCMessage *message =
        protobuf_c_message_unpack(in->desc, NULL, in->len, in->data);
    struct packed p;

    FUZZ_CHECK(message != NULL);
    p = pack(message);
    protobuf_c_message_free_unpacked(message, NULL);
    memory_check(in, memory);
    plain_check(in, &p);
    codec_check(in, memory, &p);
    codec_check(in, room, &p);
    send_on_check(in, &p);
    free(p.data);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    const size_t untouched = 4711;
    size_t memory = untouched, room;
    struct input in;

    if (len < 2)
        return 0;
    in = (struct input){types[data[0] % N_TYPES], data + 2, len - 2};
    room = (size_t)data[1] << 4;

    if (check_within(&in, ROOM, &memory) == NULL) {
        FUZZ_CHECK(memory <= ROOM);
        good_check(&in, memory, room);
    } else {
        FUZZ_CHECK(memory == untouched);
        plain_check(&in, NULL);
        codec_check(&in, ROOM, NULL);
        codec_check(&in, room, NULL);
    }
    return 0;
}
