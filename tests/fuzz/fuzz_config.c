/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * modules/config: any bytes as a service config. What is accepted is in range,
 * and, written as a config, is read as the same again. What is refused has a
 * reason. */
#include <stdio.h>
#include <string.h>

#include "modules/config/config.h"
#include "tests/fuzz/fuzz.h"

#define IN(x, min, max) FUZZ_CHECK((x) >= (min) && (x) <= (max))

/* --- ranges -------------------------------------------------------------- */

static void
entry_check(const struct vc__method_config *e)
{
    const struct vc__retry_policy *p = &e->retry;

    FUZZ_CHECK(e->timeout_ms <= INT32_MAX && e->hedge_ms <= INT32_MAX);
    if (!e->has_policy) {
        FUZZ_CHECK(e->hedge_ms == 0);
        return;
    }
    FUZZ_CHECK((p->codes & 1) == 0 && p->codes < 1u << 17);
    if (e->hedge_ms != 0) {
        FUZZ_CHECK(p->max_attempts == 2 && p->backoff_us == 0);
        return;
    }
    IN(p->max_attempts, 2, VC__RETRY_ATTEMPTS_MAX);
    IN(p->backoff_us, 1, VC__RETRY_WAIT_MAX);
    IN(p->max_backoff_us, 1, VC__RETRY_WAIT_MAX);
    FUZZ_CHECK(p->multiplier > 0 && p->multiplier < 4e38 && p->codes != 0);
}

static void
config_check(const struct vc__service_config *c)
{
    FUZZ_CHECK(memchr(c->notes, '\0', sizeof c->notes) != NULL);
    FUZZ_CHECK(memchr(c->hash_metadata, '\0', sizeof c->hash_metadata) != NULL);
    FUZZ_CHECK(c->tokens <= 1000000 && c->token_ratio <= 1000000);
    FUZZ_CHECK((c->tokens == 0) == (c->token_ratio == 0));
    FUZZ_CHECK(c->policy <= VC__POLICY_NEAREST);
    FUZZ_CHECK(c->balances || !c->has_outlier);
    FUZZ_CHECK(!c->has_outlier || c->outlier.methods != 0);
    FUZZ_CHECK(c->load.update_ms == 0 || c->load.update_ms >= 100);
    FUZZ_CHECK(c->load.error_penalty <= 1000000 ||
               c->load.error_penalty == VC_LOAD_NONE);
    for (unsigned i = 0; i < c->n_entries; i++)
        entry_check(&c->entries[i]);
    for (unsigned i = 0; i < c->n_names; i++) {
        FUZZ_CHECK(c->names[i].entry < c->n_entries);
        FUZZ_CHECK(c->names[i].service[0] != '\0' ||
                   c->names[i].method[0] == '\0');
    }
}

/* --- the same again ------------------------------------------------------ */

static char text[1 << 20];
static size_t len;

#define PUT(...)                                                               \
    (len += (size_t)snprintf(text + len, sizeof text - len, __VA_ARGS__))

static void
text_put(const char *s)
{
    for (; *s != '\0'; s++) {
        if ((unsigned char)*s < ' ' || *s == '"' || *s == '\\')
            PUT("\\u%04x", (unsigned)*s);
        else
            PUT("%c", *s);
    }
}

static void
names_put(const struct vc__service_config *c, unsigned entry)
{
    const char *comma = "";

    PUT("{\"name\":[");
    for (unsigned i = 0; i < c->n_names; i++) {
        if (c->names[i].entry != entry)
            continue;
        PUT("%s{\"method\":\"", comma);
        text_put(c->names[i].method);
        PUT("\",\"service\":\"");
        text_put(c->names[i].service);
        PUT("\"}");
        comma = ",";
    }
    PUT("]");
}

static void
codes_put(const char *name, uint32_t codes)
{
    const char *comma = "";

    PUT(",\"%s\":[", name);
    for (unsigned i = 0; i < 17; i++) {
        if (codes >> i & 1) {
            PUT("%s%u", comma, i);
            comma = ",";
        }
    }
    PUT("]");
}

static void
entry_put(const struct vc__method_config *e)
{
    const struct vc__retry_policy *p = &e->retry;

    PUT(",\"timeout\":\"%u.%03us\",\"waitForReady\":%s", e->timeout_ms / 1000,
        e->timeout_ms % 1000, e->waits ? "true" : "false");
    if (e->request_max != 0)
        PUT(",\"maxRequestMessageBytes\":\"%u\"", e->request_max);
    if (e->reply_max != 0)
        PUT(",\"maxResponseMessageBytes\":%u", e->reply_max);
    if (e->hedge_ms != 0) {
        PUT(",\"hedgingPolicy\":{\"maxAttempts\":2,\"hedgingDelay\":\"%u.%03us"
            "\"",
            e->hedge_ms / 1000, e->hedge_ms % 1000);
        codes_put("nonFatalStatusCodes", p->codes);
        PUT("}");
    } else if (e->has_policy) {
        PUT(",\"retryPolicy\":{\"maxAttempts\":%u,\"initialBackoff\":\"%u.%06u"
            "s\",\"maxBackoff\":\"%u.%06us\",\"backoffMultiplier\":%.17g",
            p->max_attempts, (unsigned)(p->backoff_us / 1000000),
            (unsigned)(p->backoff_us % 1000000),
            (unsigned)(p->max_backoff_us / 1000000),
            (unsigned)(p->max_backoff_us % 1000000), p->multiplier);
        codes_put("retryableStatusCodes", p->codes);
        PUT("}");
    }
    PUT("}");
}

static void
config_put(const struct vc__service_config *c)
{
    len = 0;
    PUT("{\"methodConfig\":[");
    for (unsigned i = 0; i < c->n_entries; i++) {
        PUT("%s", i > 0 ? "," : "");
        names_put(c, i);
        entry_put(&c->entries[i]);
    }
    PUT("]");
    if (c->tokens != 0)
        PUT(",\"retryThrottling\":{\"maxTokens\":%u,\"tokenRatio\":%u.%03u}",
            c->tokens / 1000, c->token_ratio / 1000, c->token_ratio % 1000);
    PUT("}");
    FUZZ_CHECK(len < sizeof text);
}

static void
same_check(const struct vc__service_config *a,
           const struct vc__service_config *b)
{
    FUZZ_CHECK(a->n_entries == b->n_entries && a->n_names == b->n_names);
    FUZZ_CHECK(a->tokens == b->tokens && a->token_ratio == b->token_ratio);
    for (unsigned i = 0; i < a->n_entries; i++) {
        const struct vc__method_config *x = &a->entries[i], *y = &b->entries[i];

        FUZZ_CHECK(x->timeout_ms == y->timeout_ms && x->waits == y->waits);
        FUZZ_CHECK(x->has_policy == y->has_policy);
        FUZZ_CHECK(x->hedge_ms == y->hedge_ms);
        FUZZ_CHECK(x->request_max == y->request_max);
        FUZZ_CHECK(x->reply_max == y->reply_max);
        FUZZ_CHECK(x->retry.max_attempts == y->retry.max_attempts);
        FUZZ_CHECK(x->retry.codes == y->retry.codes);
        FUZZ_CHECK(x->retry.backoff_us == y->retry.backoff_us);
        FUZZ_CHECK(x->retry.max_backoff_us == y->retry.max_backoff_us);
        FUZZ_CHECK(x->retry.multiplier == y->retry.multiplier);
    }
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char why[VC__SERVICE_CONFIG_WHY], why_again[VC__SERVICE_CONFIG_WHY];
    struct vc__service_config *c, *again;

    memset(why, 'x', sizeof why);
    c = vc_config_module.parse((const char *)data, size, why);
    FUZZ_CHECK(memchr(why, '\0', sizeof why) != NULL);
    FUZZ_CHECK((c == NULL) == (why[0] != '\0'));
    if (c == NULL)
        return 0;
    config_check(c);
    config_put(c);
    again = vc_config_module.parse(text, len, why_again);
    FUZZ_CHECK(again != NULL);
    same_check(c, again);
    vc_config_module.free(c);
    vc_config_module.free(again);
    return 0;
}
