/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Writes and parses hello, accept and reject, byte for byte as in doc/wire.md,
 * section 2. Parsing is strict: only what the writer can produce is accepted,
 * except that bytes 28 to 31 of a hello may be any, as older clients send
 * numbers there. So each meaning has one form. The answer to a message is
 * decided elsewhere. See cm/connect/hello.h. Static functions run within the
 * functions of that header. */
#include "cm/connect/hello.h"

#include <string.h>

#include "cm/connect/features.h"
#include "transport/core/le.h"
#include "transport/core/utf8.h"
#include "transport/wire/credit.h"

/* Offsets that all three share. */
#define AT_LENGTH   4
#define AT_VERSION  5
#define AT_KIND     6 /* accept and reject; the flags of a hello */
#define AT_FEATURES 8
#define AT_CREDITS  12
#define AT_EAGER    14
#define AT_MESSAGE  15

#define KIND_ACCEPT 'A' /* cannot be hello flags: bit 6 is never a flag */
#define KIND_REJECT 'R'

#define ACCEPT_FIXED 50
#define LOCAL_SIZE   (VC__LOCAL_NAME + 4)
#define REJECT_FIXED 24
#define ADDR_SIZE    20

_Static_assert(ACCEPT_FIXED + LOCAL_SIZE == VC__ACCEPT_LEAST &&
                   REJECT_FIXED + VC__REJECT_ADDRS * ADDR_SIZE ==
                       VC__REJECT_LEAST,
               "the least sizes are those without a text");
_Static_assert(ACCEPT_FIXED + VC__ACCEPT_TEXT_MAX <= VC__ACCEPT_SIZE,
               "an accept fits the private data of rdma_accept()");
_Static_assert(REJECT_FIXED + VC__REJECT_ADDRS * ADDR_SIZE +
                       VC__REJECT_TEXT_MAX <=
                   VC__REJECT_SIZE,
               "a reject fits the private data of rdma_reject()");

static const uint8_t magic[4] = {'V', 'B', 'C', 'L'};

const char *
vc__said_text(enum vc__said said)
{
    switch (said) {
    case VC__SAID_OK:
        return "good";
    case VC__SAID_FOREIGN:
        return "it does not begin as one of Verbcall";
    case VC__SAID_VERSION:
        return "no protocol version in common";
    case VC__SAID_LENGTH:
        return "its length is invalid, or it was truncated";
    case VC__SAID_TAIL:
        return "bytes that are not zero follow it";
    case VC__SAID_FIELD:
        return "a field is out of its range";
    }
    return "unknown finding";
}

/* True if all bytes are 0: an unused field or tail, or an id that is missing.
 * For the functions that check what was read. */
static bool
hello_is_zero(const uint8_t *in, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (in[i] != 0)
            return false;
    return true;
}

/* True if the length of packets is in range. For hello_fits(), accept_fits()
 * and reject_fits(). */
static bool
eager_fits(uint8_t log2)
{
    return log2 >= 13 && log2 <= 23;
}

/* True if the length of messages is in range. For hello_fits(), accept_fits()
 * and reject_fits(). */
static bool
message_fits(uint8_t log2)
{
    return log2 >= 12 && log2 <= 30;
}

/* True if a range of versions is valid. For hello_fits() and reject_fits(). */
static bool
range_fits(uint8_t min, uint8_t max)
{
    return min >= 1 && min <= max;
}

/* True if the range has a version in common with ours. For vc__hello_get() and
 * vc__accept_get(). */
static bool
range_is_ours(uint8_t min, uint8_t max)
{
    return min <= VC__VERSION_MAX && max >= VC__VERSION_MIN;
}

/* Returns the byte of a range of versions, in a hello or reject. For
 * vc__hello_put() and vc__reject_put(). */
static uint8_t
range_put(uint8_t min, uint8_t max)
{
    return (uint8_t)(min << 4 | max);
}

/* Reads the byte that range_put() made. For hello_read() and reject_read(). */
static void
range_get(uint8_t *min, uint8_t *max, uint8_t in)
{
    *min = in >> 4;
    *max = in & 0x0f;
}

/* Clears all bytes of a message and writes what all three begin with. For the
 * put functions. */
static void
hello_begin(uint8_t *out, size_t size, size_t length, uint8_t version)
{
    memset(out, 0, size);
    memcpy(out, magic, sizeof magic);
    out[AT_LENGTH] = (uint8_t)length;
    out[AT_VERSION] = version;
}

/* doc/wire.md 2.1: the first checks of the get functions. A version that is not
 * ours may have other lengths, so that of a hello or accept is checked next,
 * before the length.
 * VC__SAID_OK: the bytes up to the version may be read; else what is wrong. */
static enum vc__said
look_at_head(const uint8_t *in, size_t len)
{
    if (len < sizeof magic || memcmp(in, magic, sizeof magic) != 0)
        return VC__SAID_FOREIGN;
    return len <= AT_VERSION ? VC__SAID_LENGTH : VC__SAID_OK;
}

/* doc/wire.md 2.1: two more checks of the get functions, for a hello or accept
 * after that of the version. Returns what is wrong, or VC__SAID_OK: then *own
 * is the length that the message states. */
static enum vc__said
look_at_size(const uint8_t *in, size_t len, size_t least, size_t most,
             size_t *own)
{
    size_t length = in[AT_LENGTH];

    if (length < least || length > most || length > len)
        return VC__SAID_LENGTH;
    if (!hello_is_zero(in + length, len - length))
        return VC__SAID_TAIL;
    *own = length;
    return VC__SAID_OK;
}

/* Reads a text that ends its message. `out` is all zero and has room for a NUL.
 * Returns false if it is no valid UTF-8, or contains a NUL. For
 * vc__accept_get() and reject_read_rest(). */
static bool
text_get(char *out, const uint8_t *in, size_t len)
{
    if (!vc__utf8_valid(in, len))
        return false;
    memcpy(out, in, len);
    return true;
}

void
vc__hello_put(uint8_t out[VC__HELLO_SIZE], const struct vc__hello *h)
{
    hello_begin(out, VC__HELLO_SIZE, VC__HELLO_SIZE,
                range_put(h->version_min, h->version_max));
    out[6] = h->flags;
    out[7] = h->security;
    vc__put32(out + AT_FEATURES, h->features);
    vc__put16(out + AT_CREDITS, h->credits);
    out[AT_EAGER] = h->log2_eager;
    out[AT_MESSAGE] = h->log2_message;
    vc__put64(out + 16, h->service);
    vc__put32(out + 24, h->fingerprint);
    memcpy(out + 32, h->instance, VC__ID_SIZE);
    vc__put64(out + 48, h->pool_token);
}

/* True if the fields are in range. For vc__hello_get(). */
static bool
hello_fits(const struct vc__hello *h)
{
    const uint8_t flags =
        VC__HELLO_POOL | VC__HELLO_RESUME | VC__HELLO_DATAGRAM;

    return range_fits(h->version_min, h->version_max) &&
           (h->flags & ~flags) == 0 && h->credits >= VC__CREDIT_MIN &&
           eager_fits(h->log2_eager) && message_fits(h->log2_message) &&
           !hello_is_zero(h->instance, VC__ID_SIZE);
}

/* Reads the fields, unchecked. For vc__hello_get(). */
static void
hello_read(struct vc__hello *h, const uint8_t *in)
{
    range_get(&h->version_min, &h->version_max, in[AT_VERSION]);
    h->flags = in[6];
    h->security = in[7];
    h->features = vc__get32(in + AT_FEATURES);
    h->credits = vc__get16(in + AT_CREDITS);
    h->log2_eager = in[AT_EAGER];
    h->log2_message = in[AT_MESSAGE];
    h->service = vc__get64(in + 16);
    h->fingerprint = vc__get32(in + 24);
    memcpy(h->instance, in + 32, VC__ID_SIZE);
    h->pool_token = vc__get64(in + 48);
}

enum vc__said
vc__hello_get(struct vc__hello *out, const void *data, size_t len)
{
    const uint8_t *in = data;
    enum vc__said said = look_at_head(in, len);
    struct vc__hello h = {0};
    size_t own;

    if (said != VC__SAID_OK)
        return said;
    if (!range_is_ours(in[AT_VERSION] >> 4, in[AT_VERSION] & 0x0f))
        return VC__SAID_VERSION;
    said = look_at_size(in, len, VC__HELLO_SIZE, VC__HELLO_SIZE, &own);
    if (said != VC__SAID_OK)
        return said;

    hello_read(&h, in);
    if (!hello_fits(&h))
        return VC__SAID_FIELD;
    *out = h;
    return VC__SAID_OK;
}

/* Bytes before the text of an accept with these features. For vc__accept_put()
 * and vc__accept_get(). */
static size_t
accept_fixed(uint32_t features)
{
    return features & VC__FEATURE_LOCAL ? ACCEPT_FIXED + LOCAL_SIZE
                                        : ACCEPT_FIXED;
}

void
vc__accept_put(uint8_t out[VC__ACCEPT_SIZE], const struct vc__accept *a)
{
    size_t text = strnlen(a->text, VC__ACCEPT_TEXT_MAX);
    size_t fixed = accept_fixed(a->features);

    hello_begin(out, VC__ACCEPT_SIZE, fixed + text, a->version);
    out[AT_KIND] = KIND_ACCEPT;
    vc__put32(out + AT_FEATURES, a->features);
    vc__put16(out + AT_CREDITS, a->credits);
    out[AT_EAGER] = a->log2_eager;
    out[AT_MESSAGE] = a->log2_message;
    memcpy(out + 16, a->instance, VC__ID_SIZE);
    vc__put64(out + 32, a->pool_token);
    vc__put32(out + 40, a->max_sessions);
    vc__put32(out + 44, a->keepalive_ms);
    vc__put16(out + 48, a->max_slots);
    if (fixed > ACCEPT_FIXED) {
        memcpy(out + ACCEPT_FIXED, a->local.name, VC__LOCAL_NAME);
        vc__put32(out + ACCEPT_FIXED + VC__LOCAL_NAME, a->local.uid);
    }
    memcpy(out + fixed, a->text, text);
}

/* Cuts a text to at most `max` bytes. For vc__accept_fit() and
 * vc__reject_fit(). */
static void
hello_text_cut(char *text, size_t max)
{
    if (strlen(text) > max)
        text[vc__utf8_whole((const uint8_t *)text, max)] = '\0';
}

void
vc__accept_fit(struct vc__accept *a, size_t max)
{
    hello_text_cut(a->text, max - accept_fixed(a->features));
}

/* True if the fields are in range. For vc__accept_get(). */
static bool
accept_fits(const struct vc__accept *a)
{
    return a->credits >= VC__CREDIT_MIN && eager_fits(a->log2_eager) &&
           message_fits(a->log2_message) && a->max_slots >= 1 &&
           !hello_is_zero(a->instance, VC__ID_SIZE);
}

/* Reads the fields but the text, unchecked. For vc__accept_get(). */
static void
accept_read(struct vc__accept *a, const uint8_t *in)
{
    a->version = in[AT_VERSION];
    a->features = vc__get32(in + AT_FEATURES);
    a->credits = vc__get16(in + AT_CREDITS);
    a->log2_eager = in[AT_EAGER];
    a->log2_message = in[AT_MESSAGE];
    memcpy(a->instance, in + 16, VC__ID_SIZE);
    a->pool_token = vc__get64(in + 32);
    a->max_sessions = vc__get32(in + 40);
    a->keepalive_ms = vc__get32(in + 44);
    a->max_slots = vc__get16(in + 48);
    if (a->features & VC__FEATURE_LOCAL) {
        memcpy(a->local.name, in + ACCEPT_FIXED, VC__LOCAL_NAME);
        a->local.uid = vc__get32(in + ACCEPT_FIXED + VC__LOCAL_NAME);
    }
}

enum vc__said
vc__accept_get(struct vc__accept *out, const void *data, size_t len)
{
    const uint8_t *in = data;
    enum vc__said said = look_at_head(in, len);
    struct vc__accept a = {0};
    size_t own, fixed;

    if (said != VC__SAID_OK)
        return said;
    if (!range_is_ours(in[AT_VERSION], in[AT_VERSION]))
        return VC__SAID_VERSION;
    said = look_at_size(in, len, ACCEPT_FIXED,
                        ACCEPT_FIXED + LOCAL_SIZE + VC__ACCEPT_TEXT_MAX, &own);
    if (said == VC__SAID_OK) {
        fixed = accept_fixed(vc__get32(in + AT_FEATURES));
        said = look_at_size(in, len, fixed, fixed + VC__ACCEPT_TEXT_MAX, &own);
    }
    if (said != VC__SAID_OK)
        return said;

    accept_read(&a, in);
    if (in[AT_KIND] != KIND_ACCEPT || in[7] != 0 || !accept_fits(&a))
        return VC__SAID_FIELD;
    if (!text_get(a.text, in + fixed, own - fixed))
        return VC__SAID_FIELD;
    *out = a;
    return VC__SAID_OK;
}

/* Bytes of an address of this family; 0 if the family is unknown. For
 * hello_addr_put() and addr_get(). */
static size_t
addr_bytes(uint8_t family)
{
    switch (family) {
    case 4:
        return 4;
    case 6:
        return 16;
    case VC__REJECT_NAME:
        return 8;
    default:
        return 0;
    }
}

/* Writes an address of a reject. For vc__reject_put(). */
static void
hello_addr_put(uint8_t *out, const struct vc__reject_addr *a)
{
    out[0] = a->family;
    out[1] = a->weight;
    out[2] = (uint8_t)(a->port >> 8);
    out[3] = (uint8_t)a->port;
    memcpy(out + 4, a->addr, addr_bytes(a->family));
}

/* Reads an address of a reject. Returns false if it is invalid. For
 * reject_read_rest(). */
static bool
addr_get(struct vc__reject_addr *a, const uint8_t *in)
{
    size_t used = addr_bytes(in[0]);

    a->family = in[0];
    a->weight = in[1];
    a->port = (uint16_t)(in[2] << 8 | in[3]);
    memcpy(a->addr, in + 4, sizeof a->addr);
    return used > 0 && hello_is_zero(a->addr + used, sizeof a->addr - used);
}

void
vc__reject_fit(struct vc__reject *r, size_t max)
{
    hello_text_cut(r->text, max - REJECT_FIXED - r->n_addrs * ADDR_SIZE);
}

void
vc__reject_put(uint8_t out[VC__REJECT_SIZE], const struct vc__reject *r)
{
    size_t fixed = REJECT_FIXED + (size_t)r->n_addrs * ADDR_SIZE;
    size_t text = strnlen(r->text, VC__REJECT_TEXT_MAX);

    hello_begin(out, VC__REJECT_SIZE, fixed + text,
                range_put(r->version_min, r->version_max));
    out[AT_KIND] = KIND_REJECT;
    out[7] = r->reason;
    vc__put32(out + AT_FEATURES, r->features);
    vc__put16(out + AT_CREDITS, r->credits);
    out[AT_EAGER] = r->log2_eager;
    out[AT_MESSAGE] = r->log2_message;
    vc__put32(out + 16, r->retry_ms);
    out[20] = r->n_addrs;
    for (size_t i = 0; i < r->n_addrs; i++)
        hello_addr_put(out + REJECT_FIXED + i * ADDR_SIZE, &r->addrs[i]);
    memcpy(out + fixed, r->text, text);
}

/* True if the fields are in range. For vc__reject_get(). */
static bool
reject_fits(const struct vc__reject *r)
{
    return range_fits(r->version_min, r->version_max) && r->reason != 0 &&
           (r->credits == 0 || r->credits >= VC__CREDIT_MIN) &&
           (r->log2_eager == 0 || eager_fits(r->log2_eager)) &&
           (r->log2_message == 0 || message_fits(r->log2_message)) &&
           r->n_addrs <= VC__REJECT_ADDRS;
}

/* Reads the fields but the addresses and the text, unchecked. For
 * vc__reject_get(). */
static void
reject_read(struct vc__reject *r, const uint8_t *in)
{
    range_get(&r->version_min, &r->version_max, in[AT_VERSION]);
    r->reason = in[7];
    r->features = vc__get32(in + AT_FEATURES);
    r->credits = vc__get16(in + AT_CREDITS);
    r->log2_eager = in[AT_EAGER];
    r->log2_message = in[AT_MESSAGE];
    r->retry_ms = vc__get32(in + 16);
    r->n_addrs = in[20];
}

/* Reads the addresses and the text, which take the rest of the own length. For
 * vc__reject_get(), whose result it returns. */
static enum vc__said
reject_read_rest(struct vc__reject *r, const uint8_t *in, size_t own)
{
    size_t fixed = REJECT_FIXED + (size_t)r->n_addrs * ADDR_SIZE;

    if (own < fixed || own - fixed > VC__REJECT_TEXT_MAX)
        return VC__SAID_LENGTH;
    for (size_t i = 0; i < r->n_addrs; i++)
        if (!addr_get(&r->addrs[i], in + REJECT_FIXED + i * ADDR_SIZE))
            return VC__SAID_FIELD;
    return text_get(r->text, in + fixed, own - fixed) ? VC__SAID_OK
                                                      : VC__SAID_FIELD;
}

enum vc__said
vc__reject_get(struct vc__reject *out, const void *data, size_t len)
{
    const uint8_t *in = data;
    enum vc__said said = look_at_head(in, len);
    struct vc__reject r = {0};
    size_t own;

    if (said == VC__SAID_OK)
        said = look_at_size(in, len, REJECT_FIXED,
                            REJECT_FIXED + VC__REJECT_ADDRS * ADDR_SIZE +
                                VC__REJECT_TEXT_MAX,
                            &own);
    if (said != VC__SAID_OK)
        return said;

    reject_read(&r, in);
    if (in[AT_KIND] != KIND_REJECT || !hello_is_zero(in + 21, 3) ||
        !reject_fits(&r))
        return VC__SAID_FIELD;
    said = reject_read_rest(&r, in, own);
    if (said == VC__SAID_OK)
        *out = r;
    return said;
}
