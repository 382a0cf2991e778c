/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See config_method.h, whose function calls all static ones, directly or not.
 * Those that read a value return false with a fault (config_reader.h), and true
 * also if the value is not there, unless a comment says that it must be. */
#include "modules/config/config_method.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NS_PER_MS UINT64_C(1000000)
#define NS_PER_US UINT64_C(1000)

/* A hedge is sent this soon at the earliest: 0 would be none. */
#define HEDGE_MS_MIN 1u

/* So many attempts a hedged call has: the first, and the hedge. */
#define HEDGED_ATTEMPTS 2u

/* For those that read a policy: the value must be there, else false, with a
 * fault. */
static bool
must_have(struct vc__config_reader *r, const struct vc__config_at *at)
{
    return at->value != NULL || vc__config_fail(r, at, "is missing");
}

/* For entry_read() and hedging_read(): the milliseconds of a duration, rounded
 * up; INT32_MAX, with a note, if they are more than a call may have. */
static uint32_t
ms_of(struct vc__config_reader *r, const struct vc__config_at *at, uint64_t ns)
{
    uint64_t ms = (ns + NS_PER_MS - 1) / NS_PER_MS;

    if (ms <= INT32_MAX)
        return (uint32_t)ms;
    vc__config_note(r, at, "taken as %d ms, the most", INT32_MAX);
    return INT32_MAX;
}

/* --- retryPolicy --------------------------------------------------------- */

/* For retry_read(): a backoff, which must be there and above 0, in
 * microseconds, rounded up. One above an hour counts as an hour, with a
 * note. */
static bool
backoff_read(struct vc__config_reader *r, const struct vc__config_at *at,
             uint64_t *us)
{
    uint64_t ns = 0;

    if (!must_have(r, at) || !vc__config_duration(r, at, 1, &ns))
        return false;
    *us = (ns + NS_PER_US - 1) / NS_PER_US;
    if (*us > VC__RETRY_WAIT_MAX) {
        *us = VC__RETRY_WAIT_MAX;
        vc__config_note(r, at, "taken as an hour, the most");
    }
    return true;
}

/* For retry_read() and hedging_read(): maxAttempts, which must be there, and 2
 * or more. More than `most` count as `most`, with a note. */
static bool
attempts_read(struct vc__config_reader *r, const struct vc__config_at *at,
              unsigned most, unsigned *out)
{
    uint64_t n = 0;

    if (!must_have(r, at) || !vc__config_number(r, at, 2, UINT32_MAX, &n))
        return false;
    if (n > most)
        vc__config_note(r, at, "%u attempts are made at most", most);
    *out = n > most ? most : (unsigned)n;
    return true;
}

/* For retry_read(): the codes of a policy, which must be there, at least
 * one. */
static bool
retryable_read(struct vc__config_reader *r, const struct vc__config_at *at,
               uint32_t *out)
{
    if (!must_have(r, at) || !vc__config_codes(r, at, out))
        return false;
    return *out != 0 || vc__config_fail(r, at, "has no status code");
}

/* For entry_read(): retryPolicy, into out->retry. Most of its fields must be
 * there. */
static bool
retry_read(struct vc__config_reader *r, const struct vc__config_at *at,
           struct vc__method_config *out)
{
    struct vc__retry_policy *p = &out->retry;
    const struct vc__config_at attempts = vc__config_get(at, "maxAttempts"),
                               first = vc__config_get(at, "initialBackoff"),
                               most = vc__config_get(at, "maxBackoff"),
                               times = vc__config_get(at, "backoffMultiplier"),
                               codes =
                                   vc__config_get(at, "retryableStatusCodes"),
                               own =
                                   vc__config_get(at, "perAttemptRecvTimeout");

    if (!vc__config_object(r, at))
        return at->value == NULL;
    out->has_policy = true;
    if (own.value != NULL)
        return vc__config_fail(r, &own,
                               "is not supported: an attempt has no timeout "
                               "of its own; remove it");
    return attempts_read(r, &attempts, VC__RETRY_ATTEMPTS_MAX,
                         &p->max_attempts) &&
           backoff_read(r, &first, &p->backoff_us) &&
           backoff_read(r, &most, &p->max_backoff_us) && must_have(r, &times) &&
           vc__config_decimal(r, &times, true, &p->multiplier) &&
           retryable_read(r, &codes, &p->codes);
}

/* --- hedgingPolicy ------------------------------------------------------- */

/* For entry_read(): hedgingPolicy, with maxAttempts, which must be there, and
 * no retryPolicy beside it. A hedge goes out after the delay, or at once when
 * the first attempt has failed with one of the codes: that is a retry without a
 * wait. */
static bool
hedging_read(struct vc__config_reader *r, const struct vc__config_at *at,
             struct vc__method_config *out)
{
    struct vc__retry_policy *p = &out->retry;
    const struct vc__config_at attempts = vc__config_get(at, "maxAttempts"),
                               delay = vc__config_get(at, "hedgingDelay"),
                               codes =
                                   vc__config_get(at, "nonFatalStatusCodes");
    uint64_t ns = 0;

    if (!vc__config_object(r, at))
        return at->value == NULL;
    if (out->has_policy)
        return vc__config_fail(r, at->up,
                               "has both retryPolicy and hedgingPolicy; "
                               "remove one");
    out->has_policy = true;
    p->multiplier = 1;
    if (!attempts_read(r, &attempts, HEDGED_ATTEMPTS, &p->max_attempts) ||
        !vc__config_duration(r, &delay, 0, &ns) ||
        !vc__config_codes(r, &codes, &p->codes))
        return false;
    out->hedge_ms = ms_of(r, &delay, ns);
    if (out->hedge_ms < HEDGE_MS_MIN)
        out->hedge_ms = HEDGE_MS_MIN;
    return true;
}

/* --- an entry ------------------------------------------------------------ */

/* For entry_read(): a limit of a message's bytes; 0 if there is none. */
static bool
limit_read(struct vc__config_reader *r, const struct vc__config_at *entry,
           const char *name, uint32_t *out)
{
    const struct vc__config_at at = vc__config_get(entry, name);
    uint64_t n = 0;

    if (!vc__config_number(r, &at, 1, UINT32_MAX, &n))
        return false;
    *out = (uint32_t)n;
    return true;
}

/* For entries_read(): all of an entry but its names. A timeout of 0 is none, as
 * in gRPC's core. */
static bool
entry_read(struct vc__config_reader *r, const struct vc__config_at *at,
           struct vc__method_config *out)
{
    const struct vc__config_at timeout = vc__config_get(at, "timeout"),
                               waits = vc__config_get(at, "waitForReady"),
                               retry = vc__config_get(at, "retryPolicy"),
                               hedging = vc__config_get(at, "hedgingPolicy");
    uint64_t ns = 0;

    if (!vc__config_duration(r, &timeout, 0, &ns) ||
        !vc__config_boolean(r, &waits, &out->waits) ||
        !limit_read(r, at, "maxRequestMessageBytes", &out->request_max) ||
        !limit_read(r, at, "maxResponseMessageBytes", &out->reply_max))
        return false;
    out->timeout_ms = ms_of(r, &timeout, ns);
    return retry_read(r, &retry, out) && hedging_read(r, &hedging, out);
}

/* --- names --------------------------------------------------------------- */

/* The names that were read, to find one that is there twice. */
struct names {
    json_t *seen;
    const struct vc__config_at *entry;
};

/* For method_name_read(): notes these in `seen`. False, with a fault, if they
 * are there already, or memory is short. */
static bool
name_is_new(struct vc__config_reader *r, const struct vc__config_at *at,
            json_t *seen, const char *service, const char *method)
{
    /* The length makes it unique, as any character may be in a name. */
    size_t size = strlen(service) + strlen(method) + 32;
    char *key = malloc(size);
    bool is_new = false;

    if (key == NULL)
        return vc__config_lacks_memory(r);
    snprintf(key, size, "%zu/%s/%s", strlen(service), service, method);
    if (json_object_get(seen, key) != NULL)
        vc__config_fail(r, at, "\"%.60s/%.60s\" has an entry already", service,
                        method);
    else if (json_object_set_new(seen, key, json_true()) != 0)
        vc__config_lacks_memory(r);
    else
        is_new = true;
    free(key);
    return is_new;
}

/* For method_names_read(): appends a name to those of the config, which has
 * room for it. */
static bool
method_name_read(struct vc__config_reader *r, const struct vc__config_at *at,
                 json_t *seen)
{
    struct vc__service_config *c = r->config;
    struct vc__config_name *name = &c->names[c->n_names];
    const struct vc__config_at service_at = vc__config_get(at, "service"),
                               method_at = vc__config_get(at, "method");
    const char *service = "", *method = "";

    if (!vc__config_object(r, at))
        return vc__config_fail(r, at, "must be an object");
    if (!vc__config_text(r, &service_at, &service) ||
        !vc__config_text(r, &method_at, &method))
        return false;
    if (service[0] == '\0' && method[0] != '\0')
        return vc__config_fail(r, at,
                               "has a method and no service; name the "
                               "service, too");
    if (!name_is_new(r, at, seen, service, method))
        return false;
    name->service = strdup(service);
    name->method = strdup(method);
    name->entry = c->n_entries;
    c->n_names++;
    return (name->service != NULL && name->method != NULL) ||
           vc__config_lacks_memory(r);
}

/* For entries_read(): the names of an entry; without any it holds for no
 * call. */
static bool
method_names_read(struct vc__config_reader *r,
                  const struct vc__config_at *entry, json_t *seen)
{
    const struct vc__config_at at = vc__config_get(entry, "name");

    if (!vc__config_array(r, &at))
        return at.value == NULL;
    for (size_t i = 0; i < json_array_size(at.value); i++) {
        const struct vc__config_at name = vc__config_entry(&at, i);

        if (!method_name_read(r, &name, seen))
            return false;
    }
    return true;
}

/* --- all of it ----------------------------------------------------------- */

/* For vc__config_methods_read(): allocates room for the entries of the array
 * and their names. False, with a fault, if memory is short. */
static bool
methods_alloc(struct vc__config_reader *r, const struct vc__config_at *at)
{
    size_t n = json_array_size(at->value), n_names = 0;

    for (size_t i = 0; i < n; i++)
        n_names += json_array_size(
            json_object_get(json_array_get(at->value, i), "name"));
    r->config->entries = calloc(n + 1, sizeof *r->config->entries);
    r->config->names = calloc(n_names + 1, sizeof *r->config->names);
    return (r->config->entries != NULL && r->config->names != NULL) ||
           vc__config_lacks_memory(r);
}

/* For vc__config_methods_read(): reads all entries of the array. seen: an
 * object for their names. */
static bool
entries_read(struct vc__config_reader *r, const struct vc__config_at *at,
             json_t *seen)
{
    for (size_t i = 0; i < json_array_size(at->value); i++) {
        const struct vc__config_at entry = vc__config_entry(at, i);

        if (!vc__config_object(r, &entry))
            return vc__config_fail(r, &entry, "must be an object");
        if (!method_names_read(r, &entry, seen) ||
            !entry_read(r, &entry, &r->config->entries[i]))
            return false;
        r->config->n_entries++;
    }
    return true;
}

bool
vc__config_methods_read(struct vc__config_reader *r,
                        const struct vc__config_at *at)
{
    json_t *seen;
    bool good;

    if (!vc__config_array(r, at))
        return at->value == NULL;
    if (!methods_alloc(r, at))
        return false;
    seen = json_object();
    good =
        seen != NULL ? entries_read(r, at, seen) : vc__config_lacks_memory(r);
    json_decref(seen);
    return good;
}
