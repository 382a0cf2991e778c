/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Makes random messages, and sends messages through a generated client and
 * server. test_idl.sh compares them with what protoc makes of them:
 *
 *     roundtrip make TYPE SEED COUNT  writes a batch of random messages
 *     roundtrip through TYPE          reads a batch, has each message echoed by
 *                                     a server in a simulated world, and
 *                                     writes the replies, packed again
 *
 * A batch is a message in which each field 1 is a message of the type. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kinds2.vc.h"
#include "kinds3.vc.h"
#include "maps.vc.h"
#include "tests/sim/random_message.h"
#include "tests/sim/sim.h"

#define TAG         0x0a /* of field 1, a message */
#define SIZE_MAX_IN ((size_t)16 << 20)

static void
check(bool good, const char *what)
{
    if (good)
        return;
    fprintf(stderr, "roundtrip: %s\n", what);
    exit(1);
}

/* --- the types --------------------------------------------------------- */

struct type {
    const char *name;
    const ProtobufCMessageDescriptor *desc;
    enum vc_status (*add)(struct vc_server *server, struct sim_server *s);
    enum vc_status (*call)(struct vc_channel *channel,
                           const ProtobufCMessage *request,
                           ProtobufCMessage **reply);
};

/* The generated functions of a type's service, at both ends. */
#define TYPE(package, All)                                                     \
    static enum vc_status package##_handle(                                    \
        struct vc_call *call, const All *request, All *reply, void *arg)       \
    {                                                                          \
        (void)call;                                                            \
        (void)arg;                                                             \
        *reply = *request;                                                     \
        return VC_OK;                                                          \
    }                                                                          \
                                                                               \
    static enum vc_status package##_serve(struct vc_server *server,            \
                                          struct sim_server *s)                \
    {                                                                          \
        static const struct package##_echo_methods methods = {                 \
            .echo = package##_handle};                                         \
                                                                               \
        (void)s;                                                               \
        return package##_echo_add(server, &methods, NULL);                     \
    }                                                                          \
                                                                               \
    static enum vc_status package##_call(struct vc_channel *channel,           \
                                         const ProtobufCMessage *request,      \
                                         ProtobufCMessage **reply)             \
    {                                                                          \
        All *got = NULL;                                                       \
        enum vc_status status =                                                \
            package##_echo_echo(channel, (const All *)request, NULL, &got);    \
                                                                               \
        *reply = got != NULL ? &got->base : NULL;                              \
        return status;                                                         \
    }

TYPE(kinds2, Kinds2__All)
TYPE(kinds3, Kinds3__All)
TYPE(maps, Maps__All)

static const struct type types[] = {
    {"kinds2", &kinds2__all__descriptor, kinds2_serve, kinds2_call},
    {"kinds3", &kinds3__all__descriptor, kinds3_serve, kinds3_call},
    {"maps", &maps__all__descriptor, maps_serve, maps_call},
};

static const struct type *
type_find(const char *name)
{
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if (strcmp(types[i].name, name) == 0)
            return &types[i];
    check(false, "no such type");
    return NULL;
}

/* --- batches ----------------------------------------------------------- */

static void
batch_put(const ProtobufCMessage *message)
{
    size_t size = protobuf_c_message_get_packed_size(message), rest = size;
    uint8_t *data = malloc(size + 1);

    check(data != NULL && protobuf_c_message_pack(message, data) == size,
          "a message could not be packed");
    putchar(TAG);
    for (; rest >= 0x80; rest >>= 7)
        putchar((int)(rest & 0x7f) | 0x80);
    putchar((int)rest);
    check(fwrite(data, 1, size, stdout) == size, "standard output");
    free(data);
}

struct batch {
    uint8_t *data;
    size_t length, at;
};

static struct batch
batch_read(void)
{
    struct batch b = {.data = malloc(SIZE_MAX_IN)};

    check(b.data != NULL, "out of memory");
    b.length = fread(b.data, 1, SIZE_MAX_IN, stdin);
    check(b.length > 0 && b.length < SIZE_MAX_IN, "standard input");
    return b;
}

/* Returns the next message, which protobuf-c allocates; NULL at the end. */
static ProtobufCMessage *
batch_next(struct batch *b, const struct type *type)
{
    ProtobufCMessage *message;
    size_t length = 0;
    unsigned shift = 0;

    if (b->at == b->length)
        return NULL;
    check(b->data[b->at++] == TAG, "no batch");
    do {
        check(b->at < b->length, "no batch");
        length |= (size_t)(b->data[b->at] & 0x7f) << shift;
        shift += 7;
    } while (b->data[b->at++] >= 0x80);
    check(length <= b->length - b->at, "no batch");
    message =
        protobuf_c_message_unpack(type->desc, NULL, length, b->data + b->at);
    check(message != NULL, "a message could not be unpacked");
    b->at += length;
    return message;
}

/* --- the two commands -------------------------------------------------- */

static void
make(const struct type *type, uint64_t seed, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        ProtobufCMessage *message = random_message_new(type->desc, &seed);

        check(message != NULL, "out of memory");
        batch_put(message);
        random_message_free(message);
    }
}

static void
echo_all(struct vc_channel *channel, const struct type *type, struct batch *b)
{
    ProtobufCMessage *message, *reply;

    while ((message = batch_next(b, type)) != NULL) {
        check(type->call(channel, message, &reply) == VC_OK, vc_error());
        batch_put(reply);
        vc_message_free(reply);
        protobuf_c_message_free_unpacked(message, NULL);
    }
}

static void
through(const struct type *type)
{
    struct sim_server server = {.add = type->add};
    struct batch b = batch_read();
    struct vc_runtime *runtime;
    struct vc_channel *channel;

    sim_begin(1, 2, false);
    sim_target("10.9.0.2", server.target);
    sim_server_start(&server, fake_host_new("there", "10.9.0.2"), 1);
    check(sim_server_await(&server), "the server does not serve");
    check(sim_runtime(&runtime, 1) == VC_OK &&
              vc_channel_open(runtime, server.target, NULL, &channel) == VC_OK,
          "no channel");
    echo_all(channel, type, &b);
    vc_channel_close(channel);
    vc_runtime_free(runtime);
    check(sim_server_stop(&server) && fake_end() == 0, "the world's end");
    free(b.data);
}

int
main(int argc, char **argv)
{
    if (argc == 5 && strcmp(argv[1], "make") == 0)
        make(type_find(argv[2]), strtoull(argv[3], NULL, 10),
             (unsigned)strtoul(argv[4], NULL, 10));
    else if (argc == 3 && strcmp(argv[1], "through") == 0)
        through(type_find(argv[2]));
    else
        check(false, "roundtrip make TYPE SEED COUNT | through TYPE");
    check(fflush(stdout) == 0, "standard output");
    return 0;
}
