/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See config.h. config_parse() calls the static functions, directly or not;
 * those that read a value return false with a fault (config_reader.h), and true
 * also if the value is not there. On the thread of config_parse(), any. */
#include "modules/config/config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "modules/config/config_balance.h"
#include "modules/config/config_method.h"
#include "modules/config/config_reader.h"

#define THOUSAND   1000u
#define TOKENS_MAX 1000u

/* --- parts of the whole -------------------------------------------------- */

/* For whole_config_read(): retryThrottling. Both of its fields must be there.
 * Of the ratio three digits after the point count, as in gRPC. */
static bool
throttling_read(struct vc__config_reader *r, const struct vc__config_at *at)
{
    const struct vc__config_at max = vc__config_get(at, "maxTokens"),
                               ratio = vc__config_get(at, "tokenRatio");
    uint64_t tokens = 0;
    double gives = 0;

    if (!vc__config_object(r, at))
        return at->value == NULL;
    if (max.value == NULL || ratio.value == NULL)
        return vc__config_fail(r, max.value == NULL ? &max : &ratio,
                               "is missing");
    if (!vc__config_number(r, &max, 1, TOKENS_MAX, &tokens) ||
        !vc__config_decimal(r, &ratio, true, &gives))
        return false;
    gives = gives * THOUSAND + 1e-9;
    if (gives < 1)
        return vc__config_fail(r, &ratio, "must be 0.001 or more");
    if (gives > TOKENS_MAX * THOUSAND) /* it fills the budget anyway */
        gives = TOKENS_MAX * THOUSAND;
    r->config->tokens = (uint32_t)tokens * THOUSAND;
    r->config->token_ratio = (uint32_t)gives;
    return true;
}

/* For whole_config_read(): healthCheckConfig. Health is watched by an option of
 * the channel only, so a serviceName is a fault. */
static bool
health_check_read(struct vc__config_reader *r, const struct vc__config_at *at)
{
    const struct vc__config_at service = vc__config_get(at, "serviceName");

    if (!vc__config_object(r, at))
        return at->value == NULL;
    return service.value == NULL ||
           vc__config_fail(r, &service,
                           "is not supported: health is watched by the "
                           "channel's option health_service; set that, and "
                           "remove this");
}

/* For config_parse(): reads all of the text, which must be an object: its parts
 * one after the other, into r->config. False after the first fault. */
static bool
whole_config_read(struct vc__config_reader *r,
                  const struct vc__config_at *whole)
{
    const struct vc__config_at methods = vc__config_get(whole, "methodConfig"),
                               throttling =
                                   vc__config_get(whole, "retryThrottling"),
                               health =
                                   vc__config_get(whole, "healthCheckConfig");

    if (!json_is_object(whole->value))
        return vc__config_fail(r, whole, "the text must be an object, {...}");
    return vc__config_methods_read(r, &methods) &&
           throttling_read(r, &throttling) && health_check_read(r, &health) &&
           vc__config_balance_read(r, whole);
}

/* --- the module's functions ---------------------------------------------- */

/* free() of the module: vc__config_module_free() calls it, on any thread; also
 * for config_parse() when it fails. NULL is allowed. */
static void
parsed_free(struct vc__service_config *config)
{
    if (config == NULL)
        return;
    for (unsigned i = 0; i < config->n_names; i++) {
        free(config->names[i].service);
        free(config->names[i].method);
    }
    free(config->names);
    free(config->entries);
    free(config);
}

/* For config_parse(): has jansson read the text; NULL with *error if that
 * fails. Jansson may report a fault where it had no memory for a string, so
 * what fails is read once more. */
static json_t *
text_load(const char *text, size_t len, json_error_t *error)
{
    json_t *json = json_loadb(text, len, JSON_REJECT_DUPLICATES, error);

    return json != NULL ? json
                        : json_loadb(text, len, JSON_REJECT_DUPLICATES, error);
}

/* For config_parse(): writes to `why` what jansson has found wrong. It has no
 * words where memory was short in the middle of the text. */
static void
syntax_fail(char *why, const json_error_t *error)
{
    if (json_error_code(error) == json_error_out_of_memory ||
        error->text[0] == '\0')
        return;
    snprintf(why, VC__SERVICE_CONFIG_WHY, "line %d, column %d: %s", error->line,
             error->column, error->text);
}

/* parse() of the module: vc__config_module_parse() calls it, on any thread.
 * Returns the config, which the caller frees by parsed_free(); NULL, with the
 * reason in `why`, if the text is malformed or too long; NULL, without one, if
 * memory is short. */
static struct vc__service_config *
config_parse(const char *text, size_t len, char why[VC__SERVICE_CONFIG_WHY])
{
    struct vc__config_reader r = {.why = why};
    struct vc__config_at whole = {.up = NULL};
    json_error_t error;
    json_t *json;

    why[0] = '\0';
    if (len > VC__SERVICE_CONFIG_MAX) {
        snprintf(why, VC__SERVICE_CONFIG_WHY, "it has more than %u bytes",
                 VC__SERVICE_CONFIG_MAX);
        return NULL;
    }
    json = text_load(text, len, &error);
    if (json == NULL) {
        syntax_fail(why, &error);
        return NULL;
    }
    whole.value = json;
    r.config = calloc(1, sizeof *r.config);
    if (r.config == NULL)
        vc__config_lacks_memory(&r);
    else
        whole_config_read(&r, &whole);
    json_decref(json);
    if (why[0] == '\0' && !r.lacks_memory)
        return r.config;
    parsed_free(r.config);
    return NULL;
}

const struct vc__config_module vc_config_module = {
    .size = sizeof vc_config_module,
    .config_size = sizeof(struct vc__service_config),
    .parse = config_parse,
    .free = parsed_free,
};
