/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * What the module for service configs accepts, what it makes of it, and what it
 * refuses with which words. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include <verbcall/status.h>

#include "modules/config/config.h"

#define M(text) "{\"methodConfig\":[{\"name\":[{}]," text "}]}"
#define R(text) M("\"retryPolicy\":{" text "}")
#define H(text) M("\"hedgingPolicy\":{" text "}")
#define L(text) "{\"loadBalancingConfig\":[" text "]}"
#define O(text) L("{\"outlier_detection_experimental\":{" text "}}")
#define T(text) "{\"retryThrottling\":{" text "}}"
#define N(text) "{\"methodConfig\":[{\"name\":[" text "]}]}"
#define M0      "methodConfig[0]"
#define R0      "methodConfig[0].retryPolicy."
#define H0      "methodConfig[0].hedgingPolicy."
#define L0      "loadBalancingConfig[0]."
#define O0      "loadBalancingConfig[0].outlier_detection_experimental."
#define CHILD   "\"childPolicy\":[{\"round_robin\":{}}]"
#define DURATION                                                               \
    ": must be a duration of at most 315576000000 seconds, as \"1.5s\""

/* All of a retryPolicy but what a row adds. */
#define ATTEMPTS "\"maxAttempts\":3,"
#define FIRST    "\"initialBackoff\":\"0.1s\","
#define MOST     "\"maxBackoff\":\"1s\","
#define TIMES    "\"backoffMultiplier\":2,"
#define KEY      "must be a key of metadata: 1 to 127 of a-z, 0-9, '_', '-' and '.'"
#define K63      "kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk"
#define K64      "k" K63
#define CODES    "\"retryableStatusCodes\":[\"UNAVAILABLE\"]"

static struct vc__service_config *
parse(const char *text, size_t len, char *why)
{
    memset(why, 'x', VC__SERVICE_CONFIG_WHY);
    return vc_config_module.parse(text, len, why);
}

/* --- what is refused ------------------------------------------------------ */

/* `why` is the whole text, or its beginning if it ends with "..." */
static const struct {
    const char *text, *why;
} bad[] = {
    /* not JSON */
    {"", "line 1, column ..."},
    {"{", "line 1, column ..."},
    {"{}}", "line 1, column ..."},
    {"{\"a\":1,}", "line 1, column ..."},
    {"{\n\n  \"a\" 1}", "line 3, column 7: ..."},
    {"{'a':1}", "line 1, column ..."},
    {"{\"a\":01}", "line 1, column ..."},
    {"{\"a\":NaN}", "line 1, column ..."},
    {"{\"a\":1e999}", "line 1, column ..."},
    {"{\"a\":99999999999999999999}", "line 1, column ..."},
    {"{\"a\":\"\xff\"}", "line 1, column ..."},
    {"{\"a\":\"\xed\xa0\x80\"}", "line 1, column ..."},
    {"{\"a\":\"\\u0000\"}", "line 1, column ..."},
    {"{\"a\":\"\n\"}", "line 1, column ..."},
    {"{\"a\":1,\"a\":2}", "line 1, column ..."},
    {"{\"methodConfig\":[],\"methodConfig\":[]}", "line 1, column ..."},
    {"[]", "the text must be an object, {...}"},
    /* types of the whole */
    {"{\"methodConfig\":{}}", "methodConfig: must be an array"},
    {"{\"methodConfig\":[1]}", M0 ": must be an object"},
    {"{\"methodConfig\":[null]}", M0 ": must be an object"},
    {"{\"methodConfig\":[{\"name\":{}}]}", M0 ".name: must be an array"},
    {"{\"retryThrottling\":[]}", "retryThrottling: must be an object"},
    {"{\"loadBalancingConfig\":{}}", "loadBalancingConfig: must be an array"},
    {"{\"loadBalancingPolicy\":7}", "loadBalancingPolicy: must be a text"},
    {"{\"healthCheckConfig\":7}", "healthCheckConfig: must be an object"},
    {"{\"healthCheckConfig\":{\"serviceName\":\"\"}}",
     "healthCheckConfig.serviceName: is not supported: health is watched by "
     "the channel's option health_service; set that, and remove this"},
    /* names */
    {N("1"), M0 ".name[0]: must be an object"},
    {N("{\"service\":1}"), M0 ".name[0].service: must be a text"},
    {N("{\"service\":\"a\",\"method\":{}}"),
     M0 ".name[0].method: must be a text"},
    {N("{\"method\":\"m\"}"),
     M0 ".name[0]: has a method and no service; name the service, too"},
    {N("{\"service\":\"\",\"method\":\"m\"}"),
     M0 ".name[0]: has a method and no service; name the service, too"},
    {N("{\"service\":\"a\"},{\"service\":\"a\"}"),
     M0 ".name[1]: \"a/\" has an entry already"},
    {N("{},{\"service\":\"\"}"), M0 ".name[1]: \"/\" has an entry already"},
    {N("{\"service\":\"a\"},{\"service\":\"a\",\"method\":\"\"}"),
     M0 ".name[1]: \"a/\" has an entry already"},
    {"{\"methodConfig\":[{\"name\":[{\"service\":\"a\",\"method\":\"b\"}]},"
     "{\"name\":[{\"service\":\"c\"},{\"service\":\"a\",\"method\":\"b\"}]}]}",
     "methodConfig[1].name[1]: \"a/b\" has an entry already"},
    /* timeouts */
    {M("\"timeout\":1"), M0 ".timeout: must be a text"},
    {M("\"timeout\":\"\""), M0 ".timeout" DURATION},
    {M("\"timeout\":\"1\""), M0 ".timeout" DURATION},
    {M("\"timeout\":\"s\""), M0 ".timeout" DURATION},
    {M("\"timeout\":\".5s\""), M0 ".timeout" DURATION},
    {M("\"timeout\":\"1.s\""), M0 ".timeout" DURATION},
    {M("\"timeout\":\"1.5 s\""), M0 ".timeout" DURATION},
    {M("\"timeout\":\" 1s\""), M0 ".timeout" DURATION},
    {M("\"timeout\":\"-1s\""), M0 ".timeout" DURATION},
    {M("\"timeout\":\"+1s\""), M0 ".timeout" DURATION},
    {M("\"timeout\":\"1m\""), M0 ".timeout" DURATION},
    {M("\"timeout\":\"1ss\""), M0 ".timeout" DURATION},
    {M("\"timeout\":\"1e3s\""), M0 ".timeout" DURATION},
    {M("\"timeout\":\"0.0000000001s\""), M0 ".timeout" DURATION},
    {M("\"timeout\":\"315576000001s\""), M0 ".timeout" DURATION},
    {M("\"timeout\":\"315576000000.000000001s\""), M0 ".timeout" DURATION},
    {M("\"timeout\":\"99999999999999999999999s\""), M0 ".timeout" DURATION},
    {M("\"waitForReady\":1"), M0 ".waitForReady: must be true or false"},
    {M("\"waitForReady\":\"true\""), M0 ".waitForReady: must be true or false"},
    /* limits */
    {M("\"maxRequestMessageBytes\":0"),
     M0 ".maxRequestMessageBytes: must be a whole number, 1 to 4294967295"},
    {M("\"maxRequestMessageBytes\":-1"),
     M0 ".maxRequestMessageBytes: must be a whole number, 1 to 4294967295"},
    {M("\"maxRequestMessageBytes\":1.5"),
     M0 ".maxRequestMessageBytes: must be a whole number, 1 to 4294967295"},
    {M("\"maxRequestMessageBytes\":true"),
     M0 ".maxRequestMessageBytes: must be a whole number, 1 to 4294967295"},
    {M("\"maxRequestMessageBytes\":\"\""),
     M0 ".maxRequestMessageBytes: must be a whole number, 1 to 4294967295"},
    {M("\"maxRequestMessageBytes\":\"1k\""),
     M0 ".maxRequestMessageBytes: must be a whole number, 1 to 4294967295"},
    {M("\"maxResponseMessageBytes\":4294967296"),
     M0 ".maxResponseMessageBytes: must be a whole number, 1 to 4294967295"},
    {M("\"maxResponseMessageBytes\":\"18446744073709551616\""),
     M0 ".maxResponseMessageBytes: must be a whole number, 1 to 4294967295"},
    {M("\"maxResponseMessageBytes\":1e300"),
     M0 ".maxResponseMessageBytes: must be a whole number, 1 to 4294967295"},
    /* retryPolicy */
    {M("\"retryPolicy\":1"), M0 ".retryPolicy: must be an object"},
    {R(""), R0 "maxAttempts: is missing"},
    {R(FIRST MOST TIMES CODES), R0 "maxAttempts: is missing"},
    {R(ATTEMPTS MOST TIMES CODES), R0 "initialBackoff: is missing"},
    {R(ATTEMPTS FIRST TIMES CODES), R0 "maxBackoff: is missing"},
    {R(ATTEMPTS FIRST MOST CODES), R0 "backoffMultiplier: is missing"},
    {R(ATTEMPTS FIRST MOST "\"backoffMultiplier\":2"),
     R0 "retryableStatusCodes: is missing"},
    {R("\"maxAttempts\":1," FIRST MOST TIMES CODES),
     R0 "maxAttempts: must be a whole number, 2 to 4294967295"},
    {R("\"maxAttempts\":\"two\"," FIRST MOST TIMES CODES),
     R0 "maxAttempts: must be a whole number, 2 to 4294967295"},
    {R(ATTEMPTS "\"initialBackoff\":\"0s\"," MOST TIMES CODES),
     R0 "initialBackoff: must be more than 0 seconds"},
    {R(ATTEMPTS FIRST "\"maxBackoff\":\"0.000s\"," TIMES CODES),
     R0 "maxBackoff: must be more than 0 seconds"},
    {R(ATTEMPTS FIRST "\"maxBackoff\":1," TIMES CODES),
     R0 "maxBackoff: must be a text"},
    {R(ATTEMPTS FIRST MOST "\"backoffMultiplier\":0," CODES),
     R0 "backoffMultiplier: must be a number above 0"},
    {R(ATTEMPTS FIRST MOST "\"backoffMultiplier\":-2," CODES),
     R0 "backoffMultiplier: must be a number above 0"},
    {R(ATTEMPTS FIRST MOST "\"backoffMultiplier\":1e300," CODES),
     R0 "backoffMultiplier: must be a number above 0"},
    {R(ATTEMPTS FIRST MOST "\"backoffMultiplier\":\"x\"," CODES),
     R0 "backoffMultiplier: must be a number above 0"},
    {R(ATTEMPTS FIRST MOST "\"backoffMultiplier\":\"1,5\"," CODES),
     R0 "backoffMultiplier: must be a number above 0"},
    {R(ATTEMPTS FIRST MOST "\"backoffMultiplier\":[]," CODES),
     R0 "backoffMultiplier: must be a number above 0"},
    {R(ATTEMPTS FIRST MOST TIMES "\"retryableStatusCodes\":[]"),
     R0 "retryableStatusCodes: has no status code"},
    {R(ATTEMPTS FIRST MOST TIMES "\"retryableStatusCodes\":\"UNAVAILABLE\""),
     R0 "retryableStatusCodes: must be an array"},
    {R(ATTEMPTS FIRST MOST TIMES "\"retryableStatusCodes\":[14,\"SLOW\"]"),
     R0 "retryableStatusCodes[1]: must be a status code, as \"UNAVAILABLE\" or "
        "14"},
    {R(ATTEMPTS FIRST MOST TIMES "\"retryableStatusCodes\":[17]"),
     R0 "retryableStatusCodes[0]: must be a status code, as \"UNAVAILABLE\" or "
        "14"},
    {R(ATTEMPTS FIRST MOST TIMES "\"retryableStatusCodes\":[null]"),
     R0 "retryableStatusCodes[0]: must be a status code, as \"UNAVAILABLE\" or "
        "14"},
    {R(ATTEMPTS FIRST MOST TIMES "\"retryableStatusCodes\":[\"OK\"]"),
     R0 "retryableStatusCodes[0]: OK is no failure"},
    {R(ATTEMPTS FIRST MOST TIMES CODES ",\"perAttemptRecvTimeout\":\"1s\""),
     R0 "perAttemptRecvTimeout: is not supported: an attempt has no timeout of "
        "its own; remove it"},
    /* hedgingPolicy */
    {M("\"hedgingPolicy\":[]"), M0 ".hedgingPolicy: must be an object"},
    {H("\"hedgingDelay\":\"1s\""), H0 "maxAttempts: is missing"},
    {H("\"maxAttempts\":0"),
     H0 "maxAttempts: must be a whole number, 2 to 4294967295"},
    {H("\"maxAttempts\":2,\"hedgingDelay\":5"),
     H0 "hedgingDelay: must be a text"},
    {H("\"maxAttempts\":2,\"nonFatalStatusCodes\":[0]"),
     H0 "nonFatalStatusCodes[0]: OK is no failure"},
    {M("\"retryPolicy\":{" ATTEMPTS FIRST MOST TIMES CODES
       "},\"hedgingPolicy\":{\"maxAttempts\":2}"),
     M0 ": has both retryPolicy and hedgingPolicy; remove one"},
    /* retryThrottling */
    {T(""), "retryThrottling.maxTokens: is missing"},
    {T("\"maxTokens\":10"), "retryThrottling.tokenRatio: is missing"},
    {T("\"maxTokens\":0,\"tokenRatio\":1"),
     "retryThrottling.maxTokens: must be a whole number, 1 to 1000"},
    {T("\"maxTokens\":1001,\"tokenRatio\":1"),
     "retryThrottling.maxTokens: must be a whole number, 1 to 1000"},
    {T("\"maxTokens\":10,\"tokenRatio\":0"),
     "retryThrottling.tokenRatio: must be a number above 0"},
    {T("\"maxTokens\":10,\"tokenRatio\":0.0009"),
     "retryThrottling.tokenRatio: must be 0.001 or more"},
    /* policies */
    {L(""), "loadBalancingConfig: has none of the policies pick_first, ..."},
    {L("{\"grpclb\":{}}"),
     "loadBalancingConfig: has none of the policies pick_first, ..."},
    {L("1"), "loadBalancingConfig[0]: must be an object with one field, the "
             "name of a policy"},
    {L("{}"), "loadBalancingConfig[0]: must be an object with one field, the "
              "name of a policy"},
    {L("{\"grpclb\":{}},{\"a\":{},\"b\":{}}"),
     "loadBalancingConfig[1]: must be an object with one field, the name of a "
     "policy"},
    {L("{\"round_robin\":1}"), L0 "round_robin: must be an object"},
    {L("{\"round_robin\":null}"), L0 "round_robin: must be an object"},
    {L("{\"pick_first\":{\"shuffleAddressList\":1}}"),
     L0 "pick_first.shuffleAddressList: must be true or false"},
    {L("{\"pick_first\":{\"shuffleAddressList\":true}}"),
     L0 "pick_first.shuffleAddressList: is not supported: ..."},
    {L("{\"weighted_round_robin\":{\"blackoutPeriod\":\"1\"}}"),
     L0 "weighted_round_robin.blackoutPeriod" DURATION},
    {L("{\"weighted_round_robin\":{\"enableOobLoadReport\":1}}"),
     L0 "weighted_round_robin.enableOobLoadReport: must be true or false"},
    {L("{\"weighted_round_robin\":{\"errorUtilizationPenalty\":-1}}"),
     L0 "weighted_round_robin.errorUtilizationPenalty: must be 0 or more"},
    {L("{\"weighted_round_robin\":{\"errorUtilizationPenalty\":\"\"}}"),
     L0 "weighted_round_robin.errorUtilizationPenalty: must be 0 or more"},
    {L("{\"least_request_experimental\":{\"choiceCount\":1}}"),
     L0 "least_request_experimental.choiceCount: must be a whole number, 2 to "
        "4294967295"},
    {L("{\"ring_hash_experimental\":{\"minRingSize\":0}}"),
     L0 "ring_hash_experimental.minRingSize: must be a whole number, 1 to "
        "8388608"},
    {L("{\"ring_hash_experimental\":{\"minRingSize\":9,\"maxRingSize\":8}}"),
     L0 "ring_hash_experimental: minRingSize is more than maxRingSize"},
    {L("{\"ring_hash_experimental\":{\"requestHashHeader\":1}}"),
     L0 "ring_hash_experimental.requestHashHeader: must be a text"},
    {L("{\"ring_hash\":{\"requestHashHeader\":\"user id\"}}"),
     L0 "ring_hash.requestHashHeader: " KEY},
    {L("{\"ring_hash\":{\"requestHashHeader\":\"" K64 K64 "\"}}"),
     L0 "ring_hash.requestHashHeader: " KEY},
    {L("{\"ring_hash\":{\"requestHashHeader\":\"User-Bin\"}}"),
     L0 "ring_hash.requestHashHeader: must not end in \"-bin\""},
    {"{\"loadBalancingPolicy\":\"grpclb\"}",
     "loadBalancingPolicy: \"grpclb\" is no policy here"},
    /* outlier detection */
    {O(""), O0 "childPolicy: is missing"},
    {O("\"childPolicy\":{}"), O0 "childPolicy: must be an array"},
    {O("\"childPolicy\":[{\"x\":{}}]"),
     O0 "childPolicy: has none of the policies ..."},
    {O("\"childPolicy\":[{\"outlier_detection\":{}}]"),
     O0 "childPolicy[0]: outlier detection is in itself"},
    {O("\"interval\":\"0.009s\"," CHILD),
     O0 "interval: must be 10 ms to a day"},
    {O("\"interval\":\"0s\"," CHILD),
     O0 "interval: must be more than 0 seconds"},
    {O("\"baseEjectionTime\":\"86400.1s\"," CHILD),
     O0 "baseEjectionTime: must be 1 ms to a day"},
    {O("\"maxEjectionPercent\":101," CHILD),
     O0 "maxEjectionPercent: must be a whole number, 0 to 100"},
    {O("\"successRateEjection\":1," CHILD),
     O0 "successRateEjection: must be an object"},
    {O("\"successRateEjection\":{\"enforcementPercentage\":101}," CHILD),
     O0 "successRateEjection.enforcementPercentage: must be a whole number, 0 "
        "to 100"},
    {O("\"failurePercentageEjection\":{\"threshold\":\"high\"}," CHILD), O0
     "failurePercentageEjection.threshold: must be a whole number, 0 to 100"},
    {O("\"failurePercentageEjection\":{\"requestVolume\":2e9}," CHILD),
     O0 "failurePercentageEjection.requestVolume: must be a whole number, 0 to "
        "1000000000"},
};

static void
a_config_with_a_fault_is_refused_with_its_place(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        char why[VC__SERVICE_CONFIG_WHY];
        size_t len = strlen(bad[i].why);
        struct vc__service_config *c =
            parse(bad[i].text, strlen(bad[i].text), why);

        if (c != NULL)
            fail_msg("accepted: %s", bad[i].text);
        if (len > 3 && strcmp(bad[i].why + len - 3, "...") == 0)
            len -= 3;
        else
            len++;
        if (strncmp(why, bad[i].why, len) != 0)
            fail_msg("%s\nis refused with\n%s\nand not with\n%s", bad[i].text,
                     why, bad[i].why);
    }
}

/* --- what is accepted ----------------------------------------------------- */

/* Writes what was read as one line, to be compared. */
static void
config_write(const struct vc__service_config *c, char *out, size_t size)
{
    size_t len = 0;

    out[0] = '\0';
#define PUT(...) (len += (size_t)snprintf(out + len, size - len, __VA_ARGS__))
    for (unsigned i = 0; i < c->n_entries; i++) {
        const struct vc__method_config *e = &c->entries[i];

        for (unsigned k = 0; k < c->n_names; k++) {
            if (c->names[k].entry == i)
                PUT("%s/%s ", c->names[k].service, c->names[k].method);
        }
        if (e->timeout_ms != 0)
            PUT("timeout=%u ", e->timeout_ms);
        if (e->waits)
            PUT("waits ");
        if (e->request_max != 0)
            PUT("request=%u ", e->request_max);
        if (e->reply_max != 0)
            PUT("reply=%u ", e->reply_max);
        if (e->has_policy)
            PUT("%s n=%u first=%llu most=%llu times=%g codes=%x ",
                e->hedge_ms != 0 ? "hedge" : "retry", e->retry.max_attempts,
                (unsigned long long)e->retry.backoff_us,
                (unsigned long long)e->retry.max_backoff_us,
                e->retry.multiplier, e->retry.codes);
        if (e->hedge_ms != 0)
            PUT("after=%u ", e->hedge_ms);
        PUT("; ");
    }
    if (c->tokens != 0)
        PUT("tokens=%u/%u ", c->tokens, c->token_ratio);
    if (c->balances)
        PUT("policy=%d ", c->policy);
    if (c->hash_metadata[0] != '\0')
        PUT("hash=%s ", c->hash_metadata);
    if (c->load.blackout_ms != 0 || c->load.expiration_ms != 0 ||
        c->load.update_ms != 0 || c->load.error_penalty != 0)
        PUT("load %d %u %u %d ", (int)c->load.blackout_ms,
            c->load.expiration_ms, c->load.update_ms,
            (int)c->load.error_penalty);
    if (c->has_outlier)
        PUT("outlier %u %u %u %u %d rate %d %d %u %u failure %d %d %u %u ",
            c->outlier.methods, c->outlier.interval_ms,
            c->outlier.base_ejection_ms, c->outlier.max_ejection_ms,
            (int)c->outlier.max_ejection_percent,
            (int)c->outlier.success_rate_stdev_factor,
            (int)c->outlier.success_rate_enforcement,
            c->outlier.success_rate_minimum_hosts,
            c->outlier.success_rate_request_volume,
            (int)c->outlier.failure_percentage_threshold,
            (int)c->outlier.failure_percentage_enforcement,
            c->outlier.failure_percentage_minimum_hosts,
            c->outlier.failure_percentage_request_volume);
#undef PUT
    assert_true(len < size);
}

static const struct {
    const char *text, *made, *notes;
} good[] = {
    {"{}", "", ""},
    {" {\n} \n", "", ""},
    {"{\"unknown\":[1,{\"x\":null}],\"methodConfig\":[]}", "", ""},
    {"{\"methodConfig\":null,\"retryThrottling\":null,\"loadBalancingConfig\":"
     "null,"
     "\"loadBalancingPolicy\":null,\"healthCheckConfig\":null}",
     "", ""},
    {"{\"healthCheckConfig\":{}}", "", ""},
    {"{\"method_config\":7}", "", ""},
    /* names */
    {"{\"methodConfig\":[{}]}", "; ", ""},
    {N("{}"), "/ ; ", ""},
    {N("{\"service\":null}"), "/ ; ", ""},
    {N("{\"service\":\"a.B\",\"future\":1},{\"service\":\"a.B\",\"method\":"
       "\"C\"}"),
     "a.B/ a.B/C ; ", ""},
    {N("{\"service\":\"a/"
       "b\",\"method\":\"c\"},{\"service\":\"a\",\"method\":\"b/c\"}"),
     "a/b/c a/b/c ; ", ""},
    {"{\"methodConfig\":[{\"name\":[{\"service\":\"s\"}],\"timeout\":\"1s\"},{"
     "\"name\":[{}],\"waitForReady\":true}]}",
     "s/ timeout=1000 ; / waits ; ", ""},
    /* timeouts */
    {M("\"timeout\":\"1.5s\""), "/ timeout=1500 ; ", ""},
    {M("\"timeout\":\"0.25s\""), "/ timeout=250 ; ", ""},
    {M("\"timeout\":\"007s\""), "/ timeout=7000 ; ", ""},
    {M("\"timeout\":\"0s\""), "/ ; ", ""},
    {M("\"timeout\":\"0.000000001s\""), "/ timeout=1 ; ", ""},
    {M("\"timeout\":\"0.001000001s\""), "/ timeout=2 ; ", ""},
    {M("\"timeout\":\"2147483.647s\""), "/ timeout=2147483647 ; ", ""},
    {M("\"timeout\":\"2147483.648s\""), "/ timeout=2147483647 ; ",
     M0 ".timeout: taken as 2147483647 ms, the most"},
    {M("\"timeout\":\"315576000000s\""), "/ timeout=2147483647 ; ",
     M0 ".timeout: taken as 2147483647 ms, the most"},
    {M("\"timeout\":null,\"waitForReady\":false"), "/ ; ", ""},
    /* limits */
    {M("\"maxRequestMessageBytes\":1,\"maxResponseMessageBytes\":4294967295"),
     "/ request=1 reply=4294967295 ; ", ""},
    {M("\"maxRequestMessageBytes\":\"1024\""), "/ request=1024 ; ", ""},
    {M("\"maxRequestMessageBytes\":1e3"), "/ request=1000 ; ", ""},
    {M("\"maxRequestMessageBytes\":5.0"), "/ request=5 ; ", ""},
    /* retryPolicy */
    {R(ATTEMPTS FIRST MOST TIMES CODES),
     "/ retry n=3 first=100000 most=1000000 times=2 codes=4000 ; ", ""},
    {R("\"maxAttempts\":\"5\"," FIRST MOST TIMES CODES),
     "/ retry n=5 first=100000 most=1000000 times=2 codes=4000 ; ", ""},
    {R("\"maxAttempts\":100," FIRST MOST TIMES CODES),
     "/ retry n=100 first=100000 most=1000000 times=2 codes=4000 ; ", ""},
    {R("\"maxAttempts\":101," FIRST MOST TIMES CODES),
     "/ retry n=100 first=100000 most=1000000 times=2 codes=4000 ; ",
     R0 "maxAttempts: 100 attempts are made at most"},
    {R(ATTEMPTS "\"initialBackoff\":\"0.000000001s\"," MOST TIMES CODES),
     "/ retry n=3 first=1 most=1000000 times=2 codes=4000 ; ", ""},
    {R(ATTEMPTS FIRST "\"maxBackoff\":\"3600.000001s\"," TIMES CODES),
     "/ retry n=3 first=100000 most=3600000000 times=2 codes=4000 ; ",
     R0 "maxBackoff: taken as an hour, the most"},
    {R(ATTEMPTS FIRST MOST "\"backoffMultiplier\":1.25," CODES),
     "/ retry n=3 first=100000 most=1000000 times=1.25 codes=4000 ; ", ""},
    {R(ATTEMPTS FIRST MOST "\"backoffMultiplier\":\"1.5\"," CODES),
     "/ retry n=3 first=100000 most=1000000 times=1.5 codes=4000 ; ", ""},
    {R(ATTEMPTS FIRST MOST TIMES "\"retryableStatusCodes\":[\"unavailable\","
                                 "\"Aborted\",1,16.0,\"CANCELLED\"]"),
     "/ retry n=3 first=100000 most=1000000 times=2 codes=14402 ; ", ""},
    {R(ATTEMPTS FIRST MOST TIMES CODES ",\"new\":1"),
     "/ retry n=3 first=100000 most=1000000 times=2 codes=4000 ; ", ""},
    /* hedgingPolicy */
    {H("\"maxAttempts\":2"),
     "/ hedge n=2 first=0 most=0 times=1 codes=0 after=1 ; ", ""},
    {H("\"maxAttempts\":2,\"hedgingDelay\":\"0.5s\",\"nonFatalStatusCodes\":["
       "\"INTERNAL\",14]"),
     "/ hedge n=2 first=0 most=0 times=1 codes=6000 after=500 ; ", ""},
    {H("\"maxAttempts\":4,\"hedgingDelay\":\"0.0001s\",\"nonFatalStatusCodes\":"
       "[]"),
     "/ hedge n=2 first=0 most=0 times=1 codes=0 after=1 ; ",
     H0 "maxAttempts: 2 attempts are made at most"},
    /* retryThrottling */
    {T("\"maxTokens\":10,\"tokenRatio\":0.1"), "tokens=10000/100 ", ""},
    {T("\"maxTokens\":\"1000\",\"tokenRatio\":\"0.0019\""), "tokens=1000000/1 ",
     ""},
    {T("\"maxTokens\":1,\"tokenRatio\":1e30"), "tokens=1000/1000000 ", ""},
    /* policies */
    {L("{\"pick_first\":{}}"), "policy=0 ", ""},
    {L("{\"pick_first\":{\"shuffleAddressList\":false}}"), "policy=0 ", ""},
    {L("{\"round_robin\":{\"x\":1}}"), "policy=1 ", ""},
    {L("{\"xds_cluster_manager\":7},{\"round_robin\":{}},{\"pick_first\":9}"),
     "policy=1 ", ""},
    {L("{\"weighted_round_robin\":{}}"), "policy=2 ", ""},
    {L("{\"weighted_round_robin\":{\"weightUpdatePeriod\":\"1s\","
       "\"errorUtilizationPenalty\":\"0\"}}"),
     "policy=2 load 0 0 1000 -1 ", ""},
    {L("{\"weighted_round_robin\":{\"blackoutPeriod\":\"0s\","
       "\"weightExpirationPeriod\":\"86400s\",\"weightUpdatePeriod\":"
       "\"0.1s\",\"errorUtilizationPenalty\":1.5}}"),
     "policy=2 load -1 86400000 100 1500 ", ""},
    {L("{\"weighted_round_robin\":{\"weightExpirationPeriod\":\"0s\"}}"),
     "policy=2 load 0 1 0 0 ",
     L0 "weighted_round_robin.weightExpirationPeriod: is 1 ms to a day"},
    {L("{\"weighted_round_robin\":{\"weightUpdatePeriod\":\"0.099s\","
       "\"blackoutPeriod\":\"86401s\"}}"),
     "policy=2 load 86400000 0 100 0 ",
     L0 "weighted_round_robin.blackoutPeriod: is 0 ms to a day; " L0
        "weighted_round_robin.weightUpdatePeriod: is 100 ms to a day"},
    {L("{\"weighted_round_robin\":{\"errorUtilizationPenalty\":1001}}"),
     "policy=2 load 0 0 0 1000000 ",
     L0 "weighted_round_robin.errorUtilizationPenalty: is 1000 at most"},
    {L("{\"weighted_round_robin\":{\"enableOobLoadReport\":true,"
       "\"oobReportingPeriod\":\"10s\"}}"),
     "policy=2 ",
     L0 "weighted_round_robin.enableOobLoadReport: reports come with replies "
        "only"},
    {L("{\"least_request_experimental\":{\"choiceCount\":2}}"), "policy=3 ",
     ""},
    {L("{\"least_request\":{\"choiceCount\":10}}"), "policy=3 ",
     L0 "least_request.choiceCount: 2 servers are compared"},
    {L("{\"ring_hash_experimental\":{\"requestHashHeader\":\"user-id\"}}"),
     "policy=4 hash=user-id ", ""},
    {L("{\"ring_hash\":{\"requestHashHeader\":\"X-User_Id.0Z\"}}"),
     "policy=4 hash=x-user_id.0z ", ""},
    {L("{\"ring_hash\":{\"requestHashHeader\":\"" K63 K64 "\"}}"),
     "policy=4 hash=" K63 K64 " ", ""},
    {L("{\"ring_hash\":{\"requestHashHeader\":\"\"}}"), "policy=4 ", ""},
    {L("{\"ring_hash\":{\"minRingSize\":1024}}"), "policy=4 ",
     L0 "ring_hash: the ring has 128 places for each server, whatever "
        "minRingSize and maxRingSize say"},
    {L("{\"priority\":{}}"), "policy=5 ", ""},
    {L("{\"nearest\":{}}"), "policy=6 ", ""},
    {"{\"loadBalancingPolicy\":\"ROUND_ROBIN\"}", "policy=1 ", ""},
    {"{\"loadBalancingPolicy\":\"round_robin\",\"loadBalancingConfig\":[{"
     "\"nearest\":{}}]}",
     "policy=6 ", ""},
    /* outlier detection */
    {O(CHILD), "policy=1 ", ""},
    {O("\"successRateEjection\":{}," CHILD),
     "policy=1 outlier 1 0 0 0 0 rate 0 0 0 0 failure 0 0 0 0 ", ""},
    {O("\"interval\":\"1s\",\"baseEjectionTime\":\"30s\",\"maxEjectionTime\":"
       "\"86400s\",\"maxEjectionPercent\":0,"
       "\"failurePercentageEjection\":{\"threshold\":0,"
       "\"enforcementPercentage\":50,\"minimumHosts\":0,"
       "\"requestVolume\":7}," CHILD),
     "policy=1 outlier 2 1000 30000 86400000 -1 rate 0 0 0 0 failure -1 50 1 "
     "7 ",
     ""},
};

static void
a_good_config_is_read_as_the_table_says(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        char why[VC__SERVICE_CONFIG_WHY], made[1024];
        struct vc__service_config *c =
            parse(good[i].text, strlen(good[i].text), why);

        if (c == NULL)
            fail_msg("%s\nis refused: %s", good[i].text, why);
        config_write(c, made, sizeof made);
        if (strcmp(made, good[i].made) != 0 ||
            strcmp(c->notes, good[i].notes) != 0)
            fail_msg("%s\nis read as\n%s (%s)\nand not as\n%s (%s)",
                     good[i].text, made, c->notes, good[i].made, good[i].notes);
        vc_config_module.free(c);
    }
}

/* --- sizes ---------------------------------------------------------------- */

/* A text of n characters between two others, of malloc(). */
static char *
around(const char *before, char fill, size_t n, const char *after)
{
    size_t len = strlen(before);
    char *text = malloc(len + n + strlen(after) + 1);

    assert_non_null(text);
    memcpy(text, before, len);
    memset(text + len, fill, n);
    strcpy(text + len + n, after);
    return text;
}

static void
a_text_of_1_mib_is_read_and_a_longer_one_is_refused(void **state)
{
    char why[VC__SERVICE_CONFIG_WHY];
    char *text = around("{", ' ', VC__SERVICE_CONFIG_MAX - 2, "} ");
    struct vc__service_config *c = parse(text, VC__SERVICE_CONFIG_MAX, why);

    (void)state;
    assert_non_null(c);
    vc_config_module.free(c);
    assert_null(parse(text, VC__SERVICE_CONFIG_MAX + 1, why));
    assert_string_equal("it has more than 1048576 bytes", why);
    free(text);
}

static void
a_text_that_is_nested_a_million_deep_is_refused(void **state)
{
    char why[VC__SERVICE_CONFIG_WHY];
    char *text = around("{\"x\":", '[', 1000000, "}");

    (void)state;
    assert_null(parse(text, strlen(text), why));
    assert_non_null(strstr(why, "maximum parsing depth reached"));
    free(text);
}

/* Each beginning of a text, and nothing of what follows is read. */
static void
a_truncated_text_is_refused(void **state)
{
    static const char text[] = R(ATTEMPTS FIRST MOST TIMES CODES);

    (void)state;
    for (size_t len = 0; len < sizeof text - 1; len++) {
        char why[VC__SERVICE_CONFIG_WHY];
        char *copy = malloc(len + 1);

        assert_non_null(copy);
        memcpy(copy, text, len);
        copy[len] = '}';
        if (parse(copy, len, why) != NULL)
            fail_msg("accepted %zu bytes", len);
        assert_memory_equal("line 1, ", why, 8);
        free(copy);
    }
}

static void
many_notes_and_long_names_are_cut(void **state)
{
    char why[VC__SERVICE_CONFIG_WHY], text[8192] = "{\"methodConfig\":[";
    char *name = around("{\"methodConfig\":[{\"name\":[{\"service\":\"", 'n',
                        5000, "\"},{\"service\":\"");
    struct vc__service_config *c;

    (void)state;
    for (unsigned i = 0; i < 60; i++)
        strcat(text, "{\"hedgingPolicy\":{\"maxAttempts\":5}},");
    strcat(text, "{}]}");
    c = parse(text, strlen(text), why);
    assert_non_null(c);
    assert_in_range(strlen(c->notes), 200, VC__SERVICE_CONFIG_NOTES - 1);
    vc_config_module.free(c);

    strcpy(text, name);
    memset(text + strlen(text), 0, 1);
    strncat(text,
            name + strlen("{\"methodConfig\":[{\"name\":[{\"service\":\""),
            2000);
    strcat(text, "\"}]}]}");
    c = parse(text, strlen(text), why);
    assert_non_null(c); /* the second is shorter */
    vc_config_module.free(c);
    free(name);
}

/* A key of names, with bytes of two or three in their UTF-8, is as another. */
static void
names_of_any_characters_are_kept(void **state)
{
    char why[VC__SERVICE_CONFIG_WHY];
    static const char text[] =
        N("{\"service\":\"\xc3\xa4.\xe2\x82\xac\",\"method\":\"\\u0001\"}");
    struct vc__service_config *c = parse(text, sizeof text - 1, why);

    (void)state;
    assert_non_null(c);
    assert_string_equal("\xc3\xa4.\xe2\x82\xac", c->names[0].service);
    assert_string_equal("\001", c->names[0].method);
    vc_config_module.free(c);
}

/* Of jansson: the nth allocation from now on fails; 0: none. */
static unsigned fails_at;
static bool has_failed;

static void *
allocate(size_t size)
{
    if (fails_at > 0 && --fails_at == 0) {
        has_failed = true;
        return NULL;
    }
    return malloc(size);
}

/* It is read where the second reading of the text finds memory. */
static void
a_config_without_memory_is_not_a_malformed_one(void **state)
{
    static const char text[] = N("{\"service\":\"a\"},{\"service\":\"b\"}");
    char why[VC__SERVICE_CONFIG_WHY];
    unsigned nth = 0, lacked = 0;

    (void)state;
    json_set_alloc_funcs(allocate, free);
    do {
        struct vc__service_config *c;

        has_failed = false;
        fails_at = ++nth;
        c = parse(text, sizeof text - 1, why);
        assert_true(c != NULL || has_failed);
        assert_string_equal("", why);
        lacked += c == NULL;
        vc_config_module.free(c);
    } while (has_failed);
    json_set_alloc_funcs(malloc, free);
    assert_in_range(lacked, 1, nth - 1);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_config_with_a_fault_is_refused_with_its_place),
        cmocka_unit_test(a_good_config_is_read_as_the_table_says),
        cmocka_unit_test(a_config_without_memory_is_not_a_malformed_one),
        cmocka_unit_test(a_text_of_1_mib_is_read_and_a_longer_one_is_refused),
        cmocka_unit_test(a_text_that_is_nested_a_million_deep_is_refused),
        cmocka_unit_test(a_truncated_text_is_refused),
        cmocka_unit_test(many_notes_and_long_names_are_cut),
        cmocka_unit_test(names_of_any_characters_are_kept),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
