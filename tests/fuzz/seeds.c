/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * seeds FOLDER: writes the first inputs of the fuzz targets, valid and invalid
 * ones of each kind, as FOLDER/TARGET/NAME. Exits with status 1 if an input
 * does not agree with its name. */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cm/connect/hello.h"
#include "modules/config/config.h"
#include "rpc/balance/endpoint_file.h"
#include "rpc/codec/validate.h"
#include "rpc/load_report.h"
#include "tests/fuzz/message_types.h"
#include "transport/wire/metadata.h"
#include "transport/wire/packet.h"

static const char *folder;

static FILE *
seed_open(const char *target, const char *name, char *path, size_t size)
{
    snprintf(path, size, "%s/%s", folder, target);
    if ((mkdir(folder, 0777) != 0 && errno != EEXIST) ||
        (mkdir(path, 0777) != 0 && errno != EEXIST))
        return NULL;
    snprintf(path, size, "%s/%s/%s", folder, target, name);
    return fopen(path, "wb");
}

/* A name with "good_" must belong to a valid input. */
static void
write_seed(const char *target, const char *name, bool good, const void *data,
           size_t len)
{
    char path[512];
    FILE *f;

    if (good != (strncmp(name, "good_", 5) == 0)) {
        fprintf(stderr, "%s: %s is %s\n", target, name, good ? "good" : "bad");
        exit(1);
    }
    f = seed_open(target, name, path, sizeof path);
    if (f == NULL || fwrite(data, 1, len, f) != len || fclose(f) != 0) {
        perror(path);
        exit(1);
    }
}

/* --- packets --- */

struct packet {
    uint8_t bytes[512];
    size_t len;
};

static struct packet
packet_of(uint16_t count)
{
    const struct vc__packet header = {
        .sequence = 7, .word = {.ack = 5, .window = 32}, .count = count};
    struct packet p = {.len = VC__PACKET_HEADER};

    vc__packet_put(p.bytes, &header);
    return p;
}

static void
add(struct packet *p, const void *data, size_t len)
{
    memcpy(p->bytes + p->len, data, len);
    p->len += len;
}

static void
add_frame(struct packet *p, uint8_t type, uint8_t flags, const char *metadata,
          const char *body, size_t body_len)
{
    const struct vc__frame f = {.type = type,
                                .flags = flags,
                                .slot = 1,
                                .session = 2,
                                .sequence = 3,
                                .method = 4,
                                .metadata_len = (uint16_t)strlen(metadata),
                                .body_len = (uint32_t)body_len,
                                .deadline = 1000000};

    vc__frame_put(p->bytes + p->len, &f);
    p->len += VC__FRAME_HEADER;
    add(p, metadata, f.metadata_len);
    add(p, body, body_len);
}

static bool
packet_is_good(const struct packet *p)
{
    struct vc__packet_reader r;
    struct vc__packet header;
    struct vc__frame f;
    int got = 1;

    if (!vc__packet_open(&r, p->bytes, p->len, &header))
        return false;
    while (got == 1)
        got = vc__frame_next(&r, &f);
    return got == 0;
}

static void
write_packet(const char *name, const struct packet *p)
{
    write_seed("packet", name, packet_is_good(p), p->bytes, p->len);
}

/* A packet of one frame. */
static void
one_frame(const char *name, uint8_t type, uint8_t flags, const char *metadata,
          const char *body, size_t body_len)
{
    struct packet p = packet_of(1);

    add_frame(&p, type, flags, metadata, body, body_len);
    write_packet(name, &p);
}

static void
good_packets(void)
{
    struct packet p = packet_of(0);

    write_packet("good_credits", &p);
    one_frame("good_open", VC__FRAME_OPEN, 0, "", "demo.Greeter\0\0\0\0\0", 17);
    one_frame("good_call", VC__FRAME_CALL, 0, "", "\x0a\x03you", 5);
    one_frame("good_call_metadata", VC__FRAME_CALL, 0, "key=value", "", 0);
    one_frame("good_call_part", VC__FRAME_CALL, VC__FRAME_MORE, "",
              "\0\0\1\0part", 8);
    one_frame("good_reply", VC__FRAME_REPLY, 0, "", "\x0a\x05hello", 7);
    one_frame("good_reply_refused", VC__FRAME_REPLY, VC__FRAME_NOT_EXECUTED, "",
              "no memory", 9);
    one_frame("good_data", VC__FRAME_DATA, VC__FRAME_OF_REPLY | VC__FRAME_MORE,
              "", "and", 3);
    one_frame("good_close", VC__FRAME_CLOSE, 0, "", "", 0);
    one_frame("good_cancel", VC__FRAME_CANCEL, 0, "", "", 0);
    one_frame("good_ping", VC__FRAME_PING, 0, "", "", 0);
    one_frame("good_answer", VC__FRAME_PING, VC__FRAME_ANSWER, "", "", 0);
    one_frame("good_goaway", VC__FRAME_GOAWAY, 0, "", "", 0);
    one_frame("good_message", VC__FRAME_MESSAGE, 0, "", "hello", 5);
    one_frame("good_half", VC__FRAME_HALF, 0, "", "", 0);
    one_frame("good_window", VC__FRAME_WINDOW, 0, "", "", 0);
    one_frame("bad_window_with_body", VC__FRAME_WINDOW, 0, "", "x", 1);

    p = packet_of(4);
    add_frame(&p, VC__FRAME_OPEN, 0, "", "demo.Greeter", 12);
    add_frame(&p, VC__FRAME_CALL, 0, "m", "a", 1);
    add_frame(&p, VC__FRAME_PING, 0, "", "", 0);
    add_frame(&p, VC__FRAME_CALL, 0, "", "bc", 2);
    write_packet("good_several", &p);
}

static void
bad_packets(void)
{
    struct packet p = packet_of(2);

    add_frame(&p, VC__FRAME_CALL, 0, "", "a", 1);
    write_packet("bad_frame_lacking", &p);
    p = packet_of(1);
    add_frame(&p, VC__FRAME_CALL, 0, "", "a", 1);
    add(&p, "b", 1);
    write_packet("bad_trailing", &p);
    p.len -= 2;
    write_packet("bad_cut", &p);
    p.len = VC__PACKET_HEADER + VC__FRAME_HEADER - 1;
    write_packet("bad_cut_in_header", &p);
    p.len = VC__PACKET_HEADER - 1;
    write_packet("bad_no_packet", &p);

    p = packet_of(1);
    add_frame(&p, VC__FRAME_CALL, 0, "", "a", 1);
    memset(p.bytes + VC__PACKET_HEADER + 16, 0xff, 4);
    write_packet("bad_body_of_4_gib", &p);
    memset(p.bytes + VC__PACKET_HEADER + 14, 0xff, 2);
    write_packet("bad_metadata", &p);

    one_frame("bad_type_0", 0, 0, "", "", 0);
    one_frame("bad_type_12", 12, 0, "", "", 0);
    one_frame("bad_flags", VC__FRAME_OPEN, VC__FRAME_MORE, "", "abcd", 4);
    one_frame("bad_part", VC__FRAME_REPLY, VC__FRAME_MORE, "", "\0\0\1", 3);
    one_frame("bad_ping", VC__FRAME_PING, 0, "", "a", 1);
}

/* --- metadata --- */

static void
write_metadata(const char *name, const void *data, size_t len)
{
    const struct vc__metadata m = {.data = data, .len = len};
    size_t n;

    write_seed("metadata", name, vc__metadata_check(&m, true, &n) == NULL, data,
               len);
}

#define METADATA(name, bytes) write_metadata(name, bytes, sizeof(bytes) - 1)

static void
metadata(void)
{
    METADATA("good_none", "");
    METADATA("good_text", "\x03key\x05\0value");
    METADATA("good_trailing", "\x83key\x03\0a b");
    METADATA("good_bytes", "\x05x-bin\x03\0\0\xff\n");
    METADATA("good_empty", "\x01z\0\0\x04-bin\0\0");
    METADATA("good_several", "\x01t\x01\x00"
                             "1\x81t\x01\x00"
                             "2\x01t\x01\x00"
                             "3\x03_.-\x01\x00~");
    METADATA("good_own",
             "\x1a" VC__METADATA_ATTEMPTS "\x01\x00"
             "2\x96" VC__METADATA_PUSHBACK
             "\x03\x00-10\x97" VC__METADATA_DETAILS "\x02\0\x08\x05");
    METADATA("good_verbcall", "\x0averbcall-x\x01\0v");
    METADATA("bad_cut_in_key", "\x03ke");
    METADATA("bad_cut_in_value", "\x03key\x05\0valu");
    METADATA("bad_no_length", "\x03key\x05");
    METADATA("bad_no_key", "\0\x01\0v");
    METADATA("bad_capital", "\x03Key\x01\0v");
    METADATA("bad_control", "\x03key\x01\0\n");
    METADATA("bad_space_before", "\x03key\x02\0 v");
    METADATA("bad_space_behind", "\x03key\x02\0v ");
    METADATA("bad_second", "\x03key\x01\0v\x03k y\x01\0v");
}

/* --- hello, accept, reject --- */

static bool
hello_is_good(const void *data, size_t len)
{
    struct vc__hello h;
    struct vc__accept a;
    struct vc__reject r;

    return vc__hello_get(&h, data, len) == VC__SAID_OK ||
           vc__accept_get(&a, data, len) == VC__SAID_OK ||
           vc__reject_get(&r, data, len) == VC__SAID_OK;
}

static void
write_hello(const char *name, const void *data, size_t len)
{
    write_seed("hello", name, hello_is_good(data, len), data, len);
}

static void
hellos(void)
{
    struct vc__hello h = {.version_min = 1,
                          .version_max = 1,
                          .credits = 32,
                          .log2_eager = 13,
                          .log2_message = 22,
                          .service = 0x0123456789abcdef,
                          .fingerprint = 0x01234567,
                          .instance = "the client's id"};
    uint8_t out[VC__HELLO_SIZE + 8] = {0};

    vc__hello_put(out, &h);
    write_hello("good_hello", out, VC__HELLO_SIZE);
    write_hello("good_hello_padded", out, sizeof out);
    write_hello("bad_hello_cut", out, VC__HELLO_SIZE - 1);
    out[VC__HELLO_SIZE + 7] = 1;
    write_hello("bad_hello_tail", out, sizeof out);

    h.flags = VC__HELLO_POOL | VC__HELLO_RESUME | VC__HELLO_DATAGRAM;
    h.pool_token = 0x1122334455667788;
    h.version_max = 15;
    vc__hello_put(out, &h);
    write_hello("good_hello_of_pool", out, VC__HELLO_SIZE);
    h.version_min = 2;
    vc__hello_put(out, &h);
    write_hello("bad_hello_version", out, VC__HELLO_SIZE);
    h.version_min = 1;
    h.credits = 2;
    vc__hello_put(out, &h);
    write_hello("bad_hello_credits", out, VC__HELLO_SIZE);
}

static void
accepts(void)
{
    struct vc__accept a = {.version = 1,
                           .log2_eager = 13,
                           .log2_message = 22,
                           .credits = 32,
                           .instance = "the server's id",
                           .pool_token = 0x1122334455667788,
                           .max_sessions = 1024,
                           .max_slots = 16,
                           .keepalive_ms = 1000,
                           .text = "k\xc3\xa4se"};
    uint8_t out[VC__ACCEPT_SIZE];

    vc__accept_put(out, &a);
    write_hello("good_accept", out, sizeof out);
    write_hello("good_accept_unpadded", out, out[4]);
    out[51] = 0xff;
    write_hello("bad_accept_text", out, sizeof out);
    a.text[0] = '\0';
    vc__accept_put(out, &a);
    write_hello("good_accept_nameless", out, sizeof out);
    a.max_slots = 0;
    vc__accept_put(out, &a);
    write_hello("bad_accept_slots", out, sizeof out);
}

static void
rejects(void)
{
    struct vc__reject r = {.version_min = 1,
                           .version_max = 1,
                           .reason = VC__REJECT_BUSY,
                           .retry_ms = 100,
                           .text = "too busy"};
    uint8_t out[VC__REJECT_SIZE];

    vc__reject_put(out, &r);
    write_hello("good_reject", out, sizeof out);
    r.reason = VC__REJECT_LIMIT;
    r.credits = 8;
    r.log2_eager = 14;
    r.log2_message = 20;
    vc__reject_put(out, &r);
    write_hello("good_reject_offer", out, sizeof out);

    r.reason = VC__REJECT_MOVED;
    r.n_addrs = 3;
    r.addrs[0] = (struct vc__reject_addr){4, 9, 7471, {10, 9, 0, 1}};
    r.addrs[1] = (struct vc__reject_addr){6, 1, 7471, {0xfe, 0x80, [15] = 1}};
    r.addrs[2] = (struct vc__reject_addr){4, 0, 1, {127, 0, 0, 1}};
    vc__reject_put(out, &r);
    write_hello("good_reject_moved", out, sizeof out);
    write_hello("bad_reject_cut", out, out[4] - 1);
    out[20] = 4;
    write_hello("bad_reject_addresses", out, sizeof out);
    out[20] = 3;
    out[24] = 5;
    write_hello("bad_reject_family", out, sizeof out);
}

static void
foreign(void)
{
    static const uint8_t zeros[VC__REJECT_SIZE];

    write_hello("bad_zeros", zeros, sizeof zeros);
    write_hello("bad_foreign", "GET / HTTP/1.1\r\n\r\n", 18);
    write_hello("bad_magic_only", "VBCL", 4);
}

/* --- messages --- */

static bool
message_is_good(const uint8_t *data, size_t len)
{
    const struct vc__message_limits limits = {VC__MESSAGE_DEPTH, 1 << 20};

    return vc__message_check(types[data[0]], data + 2, len - 2, &limits,
                             NULL) == NULL;
}

static void
write_message(const char *name, enum type type, const void *data, size_t len)
{
    uint8_t out[512] = {(uint8_t)type, 0x40}; /* 1 KiB of memory */

    memcpy(out + 2, data, len);
    write_seed("message", name, message_is_good(out, len + 2), out, len + 2);
}

#define MESSAGE(name, type, bytes)                                             \
    write_message(name, type, bytes, sizeof(bytes) - 1)

/* Fields 1 to 15 of Scalars and of Plain, in order: one of each kind, but for
 * the enum and the message. */
#define SCALAR_FIELDS                                                          \
    "\x09\0\0\0\0\0\0\xf0\x3f\x15\0\0\x80\x3f"                                 \
    "\x18\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x20\x05\x28\x06\x30\x07"     \
    "\x38\x09\x40\x0a\x4d\1\2\3\4\x51\1\2\3\4\5\6\7\x08"                       \
    "\x5d\1\2\3\4\x61\1\2\3\4\5\6\7\x08\x68\x01\x72\x03str\x7a\x02\0\xff"

static void
good_messages(void)
{
    MESSAGE("good_empty", PLAIN, "");
    MESSAGE("good_plain", PLAIN, SCALAR_FIELDS "\x80\x64\x01");
    MESSAGE("good_plain_utf8", PLAIN,
            "\x72\x09\xc3\xa4\xe2\x82\xac\xf4\x8f\xbf\xbf");
    MESSAGE("good_plain_unknown", PLAIN, "\x18\x01\xd2\x7f\x03new");
    MESSAGE("good_scalars", SCALARS, SCALAR_FIELDS "\x80\x01\x01\x8a\x01\0");
    MESSAGE("good_packed", PACKED,
            "\x12\x04\0\0\x80\x3f\x1a\x03\x01\x80\x01\x52\x08\1\2\3\4\5\6\7\x08"
            "\x6a\x03\x01\x00\x01\x72\x01\x01");
    MESSAGE("good_packed_one_by_one", PACKED, "\x18\x01\x18\x02\x1a\x01\x03");
    MESSAGE("good_unpacked", UNPACKED,
            "\x08\x01\x08\x02\x20\x01\x2a\x01x\x2a\x00\x32\x02yz\x3a\x02"
            "\x18\x05");
    MESSAGE("good_tree", TREE,
            "\x08\x03\x12\x04\x12\x02\x08\x01\x1a\x02\x08\x02\x22\x00\x22\x02"
            "\x08\x04\x2a\x02\x01\x02");
    MESSAGE("good_tree_merged", TREE, "\x12\x03\x2a\x01\x01\x12\x03\x2a\x01\2");
    MESSAGE("good_choice", CHOICE, "\x08\x01\x1a\x02to\xc2\x3e\x01n");
    MESSAGE("good_choice_twice", CHOICE, "\x10\x01\x1a\x02to\x2a\x02\x08\x01");
    MESSAGE("good_maps", MAPS,
            "\x0a\x05\x0a\x01k\x10\x02\x12\x06\x08\x01\x12\x02\x08\x02"
            "\x1a\x05\x08\x01\x12\x01z");
    MESSAGE("good_all", ALL,
            "\x0a\x02\x18\x01\x22\x02\x08\x01\x7a\x02\x10\x01\x82\x01\x01n"
            "\xfa\x7f\x05\x82\x01\x02mn\xfa\xff\xff\xff\x0f\x03\x1a\x01\x01");
    MESSAGE("good_empties", EMPTIES, "\x0a\0\x0a\0\x0a\0");
    MESSAGE("good_inner2", INNER2, "\x0a\x01n\x10\x05\x18\x01\x18\x02");
    MESSAGE("good_outer2", OUTER2,
            "\x08\x01\x12\x01t\x1a\x01z\x22\x03\x0a\x01n\x38\x01\x42\x02\1\2"
            "\xc2\x3e\x01l");
    MESSAGE("good_plain2", PLAIN2, "\x08\x01\x12\x01t\x1a\0\x20\x09\x28\x01");
}

static void
bad_messages(void)
{
    MESSAGE("bad_cut", PLAIN, "\x72\x05str");
    MESSAGE("bad_utf8", PLAIN, "\x72\x02\xc3\x28");
    MESSAGE("bad_utf8_overlong", PLAIN, "\x72\x02\xc0\x80");
    MESSAGE("bad_utf8_surrogate", PLAIN, "\x72\x03\xed\xa0\x80");
    MESSAGE("bad_utf8_too_high", PLAIN, "\x72\x04\xf4\x90\x80\x80");
    MESSAGE("bad_nul", PLAIN, "\x72\x03s\0r");
    MESSAGE("bad_wire_type", PLAIN, "\x1d\1\2\3\4");
    MESSAGE("bad_group", PLAIN, "\x0b\x0c");
    MESSAGE("bad_varint", PLAIN,
            "\x18\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01");
    MESSAGE("bad_number", PLAIN, "\x00\x01");
    MESSAGE("bad_packed", PACKED, "\x12\x05\1\2\3\4\5");
    MESSAGE("bad_choice_merged", ALL, "\x2a\0\x2a\0");
    MESSAGE("bad_lacking", OUTER2, "\x08\x01\xc2\x3e\x01l");
}

/* Nested Trees: each holds only the next one; the innermost is empty. */
static void
nested_message(const char *name, unsigned levels)
{
    uint8_t bytes[480];
    uint8_t *at = bytes + sizeof bytes;
    size_t len = 0;

    for (unsigned i = 1; i < levels; i++) {
        if (len >= 0x80)
            *--at = (uint8_t)(len >> 7);
        *--at = (uint8_t)(len >= 0x80 ? len | 0x80 : len);
        *--at = 0x12;
        len = (size_t)(bytes + sizeof bytes - at);
    }
    write_message(name, TREE, at, len);
}

/* --- files of servers --- */

static void
server_file(const char *name, const char *text, size_t len)
{
    static struct vc__endpoint_file f;

    write_seed("endpoint_file", name, vc__endpoint_file_parse(&f, text, len),
               text, len);
}

/* TEXT is a literal, which may have NULs. */
#define SERVER_FILE(name, text) server_file(name, text, sizeof text - 1)

static void
server_files(void)
{
    SERVER_FILE("good_plain", "tcp://a:1\nrdma://b:7471\n");
    SERVER_FILE("good_words", "tcp://a:1 weight=1000000 priority=255 "
                              "label=rack-7 hash_key=k\n");
    SERVER_FILE("good_comments",
                "# servers\n\n \t# two\nshm:a#b label=#7 # c\n");
    SERVER_FILE("good_crlf", "\xef\xbb\xbf"
                             "a:1\tweight=2\r\n\r\nb:\xc3\xa4\r\n");
    SERVER_FILE("good_no_newline", "inproc://a");
    SERVER_FILE("bad_empty", "# none\n");
    SERVER_FILE("bad_word", "tcp://a:1 wieght=2\n");
    SERVER_FILE("bad_twice", "tcp://a:1 label=a label=b\n");
    SERVER_FILE("bad_number", "tcp://a:1 weight=1000001\n");
    SERVER_FILE("bad_scheme", "10.9.0.1:7471\n");
    SERVER_FILE("bad_list", "list:tcp://a:1,tcp://b:1\n");
    SERVER_FILE("bad_same_target",
                "tcp://a:1\ntcp://b:1\ntcp://a:1 weight=2\n");
    SERVER_FILE("bad_nul", "tcp://a:1\0\n");
    SERVER_FILE("bad_utf8", "tcp://a:1 label=\xc0\x80\n");
    SERVER_FILE("bad_control", "tcp://a:1\x1b[1m\n");
}

/* --- load reports --- */

static void
load_report(const char *name, const void *data, size_t len)
{
    struct vc__load_report report;

    write_seed("load_report", name, vc__load_report_read(&report, data, len),
               data, len);
}

#define LOAD_REPORT(name, ...)                                                 \
    load_report(name, (const uint8_t[]){__VA_ARGS__},                          \
                sizeof((const uint8_t[]){__VA_ARGS__}))
#define HALF 0, 0, 0, 0, 0, 0, 0xe0, 0x3f

static void
load_reports(void)
{
    LOAD_REPORT("good_all", 0x09, HALF, 0x31, HALF, 0x39, HALF, 0x49, HALF);
    LOAD_REPORT("good_twice", 0x31, HALF, 0x31, 0, 0, 0, 0, 0, 0, 0xf0, 0x7f);
    LOAD_REPORT("good_others", 0x11, HALF, 0x18, 0xff, 0x01, 0x22, 2, 8, 1,
                0x65, 1, 2, 3, 4);
    LOAD_REPORT("bad_cut", 0x09, 0, 0, 0);
    LOAD_REPORT("bad_group", 0x0b, 0x0c);
    LOAD_REPORT("bad_field_0", 0x01, HALF);
    LOAD_REPORT("bad_length", 0x22, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
                0xff, 0xff, 0x01);
    LOAD_REPORT("bad_tag", 0xf9, 0xff, 0xff, 0xff, 0x1f, HALF);
}

/* --- service configs --- */

static void
service_config(const char *name, const char *text)
{
    char why[VC__SERVICE_CONFIG_WHY];
    struct vc__service_config *c =
        vc_config_module.parse(text, strlen(text), why);

    write_seed("config", name, c != NULL, text, strlen(text));
    vc_config_module.free(c);
}

#define RETRY                                                                  \
    "\"maxAttempts\":4,\"initialBackoff\":\"0.1s\",\"maxBackoff\":\"1s\","     \
    "\"backoffMultiplier\":2,"

static void
service_configs(void)
{
    service_config("good_empty", "{}");
    service_config(
        "good_methods",
        "{\"methodConfig\":[{\"name\":[{\"service\":\"a.B\",\"method\":\"C\"},"
        "{}],\"timeout\":\"1.5s\",\"waitForReady\":true,"
        "\"maxRequestMessageBytes\":9,\"maxResponseMessageBytes\":\"9\"}]}");
    service_config(
        "good_retry",
        "{\"methodConfig\":[{\"name\":[{}],\"retryPolicy\":{" RETRY
        "\"retryableStatusCodes\":[\"ABORTED\",14]}}],"
        "\"retryThrottling\":{\"maxTokens\":10,\"tokenRatio\":0.1}}");
    service_config(
        "good_hedging",
        "{\"methodConfig\":[{\"hedgingPolicy\":{\"maxAttempts\":2,"
        "\"hedgingDelay\":\"0.5s\",\"nonFatalStatusCodes\":[13]}}]}");
    service_config(
        "good_balance",
        "{\"loadBalancingConfig\":[{\"x\":{}},{"
        "\"outlier_detection_experimental\":{\"interval\":\"1s\","
        "\"successRateEjection\":{\"stdevFactor\":1900},\"childPolicy\":"
        "[{\"ring_hash_experimental\":{\"requestHashHeader\":\"k\"}}]}}]}");
    service_config("good_long", "{\"methodConfig\":[{\"timeout\":"
                                "\"315576000000s\"}]}");
    service_config("bad_syntax", "{\"a\":}");
    service_config("bad_name", "{\"methodConfig\":[{\"name\":[{},{}]}]}");
    service_config("bad_duration", "{\"methodConfig\":[{\"timeout\":\"1m\"}]}");
    service_config("bad_codes", "{\"methodConfig\":[{\"retryPolicy\":{" RETRY
                                "\"retryableStatusCodes\":[\"OK\"]}}]}");
}

int
main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: seeds FOLDER\n");
        return 2;
    }
    folder = argv[1];
    good_packets();
    bad_packets();
    metadata();
    hellos();
    accepts();
    rejects();
    foreign();
    good_messages();
    bad_messages();
    nested_message("good_depth_100", 100);
    nested_message("bad_depth_101", 101);
    server_files();
    load_reports();
    service_configs();
    return 0;
}
