/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See config_balance.h, whose function calls all static ones, directly or not.
 * Those that read a value return false with a fault (config_reader.h), and true
 * also if the value is not there, unless a comment says that it must be. */
#include "modules/config/config_balance.h"

#include <string.h>
#include <strings.h>

#define NS_PER_MS UINT64_C(1000000)
#define DAY_MS    86400000u
#define HOSTS_MAX 1024u

typedef bool policy_read_fn(struct vc__config_reader *r,
                            const struct vc__config_at *at);

/* --- the parameters of each policy: policy_accept() calls these ---------- */

/* Of pick_first: servers are never shuffled, so shuffleAddressList is a fault
 * if it is true. */
static bool
pick_first_read(struct vc__config_reader *r, const struct vc__config_at *at)
{
    const struct vc__config_at shuffle =
        vc__config_get(at, "shuffleAddressList");
    bool shuffles = false;

    if (!vc__config_boolean(r, &shuffle, &shuffles))
        return false;
    return !shuffles ||
           vc__config_fail(r, &shuffle,
                           "is not supported: servers are tried in the order "
                           "of the resolver; remove it, or use round_robin");
}

/* Of a policy without parameters: true. */
static bool
nothing_read(struct vc__config_reader *r, const struct vc__config_at *at)
{
    (void)r;
    (void)at;
    return true;
}

/* For weighted_read(): a period in milliseconds, as an option of
 * verbcall/load.h. One below `least` counts as that, one above a day as a day,
 * with a note. *out stays as it is if there is none. */
static bool
load_period_read(struct vc__config_reader *r, const struct vc__config_at *at,
                 const char *name, uint32_t least, uint32_t *out)
{
    const struct vc__config_at period = vc__config_get(at, name);
    uint64_t ns, ms;

    if (!vc__config_duration(r, &period, 0, &ns))
        return false;
    if (period.value == NULL)
        return true;
    ms = ns / NS_PER_MS;
    if (ms < least || ms > DAY_MS)
        vc__config_note(r, &period, "is %u ms to a day", (unsigned)least);
    ms = ms < least ? least : ms > DAY_MS ? DAY_MS : ms;
    *out = ms == 0 ? VC_LOAD_NONE : (uint32_t)ms;
    return true;
}

/* For weighted_read(): errorUtilizationPenalty, as the option. One above 1000
 * counts as 1000, with a note. *out stays as it is if there is none. */
static bool
penalty_read(struct vc__config_reader *r, const struct vc__config_at *at,
             uint32_t *out)
{
    const struct vc__config_at penalty =
        vc__config_get(at, "errorUtilizationPenalty");
    double times = 0;

    if (penalty.value == NULL)
        return true;
    if (!vc__config_decimal(r, &penalty, false, &times))
        return false;
    if (times > 1000)
        vc__config_note(r, &penalty, "is 1000 at most");
    *out = times > 1000 ? 1000000 : (uint32_t)(times * 1000 + 0.5);
    if (*out == 0)
        *out = VC_LOAD_NONE;
    return true;
}

/* Of weighted_round_robin: what A58 says of load reports. This library has none
 * out of band, so a config that enables them is only noted. */
static bool
weighted_read(struct vc__config_reader *r, const struct vc__config_at *at)
{
    const struct vc__config_at oob = vc__config_get(at, "enableOobLoadReport");
    struct vc_load_opts *load = &r->config->load;
    uint32_t any = 0;
    bool out_of_band = false;

    if (!vc__config_boolean(r, &oob, &out_of_band) ||
        !load_period_read(r, at, "oobReportingPeriod", 0, &any) ||
        !load_period_read(r, at, "blackoutPeriod", 0, &load->blackout_ms) ||
        !load_period_read(r, at, "weightExpirationPeriod", 1,
                          &load->expiration_ms) ||
        !load_period_read(r, at, "weightUpdatePeriod", 100, &load->update_ms))
        return false;
    if (out_of_band)
        vc__config_note(r, &oob, "reports come with replies only");
    return penalty_read(r, at, &load->error_penalty);
}

/* Of least_request: a choiceCount above 2 is only noted; below 2 it is a
 * fault. */
static bool
least_request_read(struct vc__config_reader *r, const struct vc__config_at *at)
{
    const struct vc__config_at choice = vc__config_get(at, "choiceCount");
    uint64_t n = 2;

    if (!vc__config_number(r, &choice, 2, UINT32_MAX, &n))
        return false;
    if (n != 2)
        vc__config_note(r, &choice, "2 servers are compared");
    return true;
}

/* For ring_hash_read(): the key of the metadata that is hashed, in lower case,
 * as gRPC has it; "" is not set. A fault if no call has such a key, or if it is
 * binary: gRPC does not hash these. */
static bool
hash_key_read(struct vc__config_reader *r, const struct vc__config_at *at)
{
    char key[VC__METADATA_KEY_MAX + 1];
    const char *text = "";
    size_t len;

    if (!vc__config_text(r, at, &text))
        return false;
    len = strnlen(text, sizeof key);
    for (size_t i = 0; i < len; i++)
        key[i] = text[i] >= 'A' && text[i] <= 'Z' ? (char)(text[i] + 'a' - 'A')
                                                  : text[i];
    if (len > 0 && !vc__metadata_key_fits(key, len))
        return vc__config_fail(r, at,
                               "must be a key of metadata: 1 to %u of a-z, "
                               "0-9, '_', '-' and '.'",
                               VC__METADATA_KEY_MAX);
    if (vc__metadata_key_is_binary(key, len))
        return vc__config_fail(r, at, "must not end in \"-bin\"");
    memcpy(r->config->hash_metadata, key, len);
    r->config->hash_metadata[len] = '\0';
    return true;
}

/* Of ring_hash: the header that is hashed. The sizes of the ring are the
 * library's; those of the text are only checked. */
static bool
ring_hash_read(struct vc__config_reader *r, const struct vc__config_at *at)
{
    const struct vc__config_at least = vc__config_get(at, "minRingSize"),
                               most = vc__config_get(at, "maxRingSize"),
                               key = vc__config_get(at, "requestHashHeader");
    uint64_t min = 1024, max = 8388608;

    if (!vc__config_number(r, &least, 1, 8388608, &min) ||
        !vc__config_number(r, &most, 1, 8388608, &max) ||
        !hash_key_read(r, &key))
        return false;
    if (min > max)
        return vc__config_fail(r, at, "minRingSize is more than maxRingSize");
    if (least.value != NULL || most.value != NULL)
        vc__config_note(r, at,
                        "the ring has 128 places for each server, whatever "
                        "minRingSize and maxRingSize say");
    return true;
}

/* --- outlier detection --------------------------------------------------- */

/* For outlier_read(): the milliseconds of a duration, rounded up, from `least`
 * to a day. *out stays as it is if there is none. */
static bool
outlier_ms_read(struct vc__config_reader *r, const struct vc__config_at *parent,
                const char *name, uint32_t least, uint32_t *out)
{
    const struct vc__config_at at = vc__config_get(parent, name);
    uint64_t ns = 0, ms;

    if (at.value == NULL)
        return true;
    if (!vc__config_duration(r, &at, 1, &ns))
        return false;
    ms = (ns + NS_PER_MS - 1) / NS_PER_MS;
    if (ms < least || ms > DAY_MS)
        return vc__config_fail(r, &at, "must be %u ms to a day", least);
    *out = (uint32_t)ms;
    return true;
}

/* For outlier_read() and the three below: a number up to `most`, where 0 is
 * VC_OUTLIER_NONE. *out stays as it is if there is none. */
static bool
outlier_number_read(struct vc__config_reader *r,
                    const struct vc__config_at *parent, const char *name,
                    uint32_t most, uint32_t *out)
{
    const struct vc__config_at at = vc__config_get(parent, name);
    uint64_t n = 0;

    if (at.value == NULL)
        return true;
    if (!vc__config_number(r, &at, 0, most, &n))
        return false;
    *out = n == 0 ? VC_OUTLIER_NONE : (uint32_t)n;
    return true;
}

/* For success_rate_read() and failure_read(): a number of servers or calls that
 * are enough, up to `most`. 0 are as many as 1, as without calls nothing is
 * judged. */
static bool
outlier_least_read(struct vc__config_reader *r,
                   const struct vc__config_at *parent, const char *name,
                   uint32_t most, uint32_t *out)
{
    if (!outlier_number_read(r, parent, name, most, out))
        return false;
    if (*out == VC_OUTLIER_NONE)
        *out = 1;
    return true;
}

/* For outlier_read(): successRateEjection, which switches on that method. */
static bool
success_rate_read(struct vc__config_reader *r, const struct vc__config_at *at,
                  struct vc_outlier_opts *o)
{
    if (!vc__config_object(r, at))
        return at->value == NULL;
    o->methods |= VC_OUTLIER_SUCCESS_RATE;
    return outlier_number_read(r, at, "stdevFactor", 1000000,
                               &o->success_rate_stdev_factor) &&
           outlier_number_read(r, at, "enforcementPercentage", 100,
                               &o->success_rate_enforcement) &&
           outlier_least_read(r, at, "minimumHosts", HOSTS_MAX,
                              &o->success_rate_minimum_hosts) &&
           outlier_least_read(r, at, "requestVolume", 1000000000,
                              &o->success_rate_request_volume);
}

/* For outlier_read(): failurePercentageEjection, which switches on that
 * method. */
static bool
failure_read(struct vc__config_reader *r, const struct vc__config_at *at,
             struct vc_outlier_opts *o)
{
    if (!vc__config_object(r, at))
        return at->value == NULL;
    o->methods |= VC_OUTLIER_FAILURE_PERCENTAGE;
    return outlier_number_read(r, at, "threshold", 100,
                               &o->failure_percentage_threshold) &&
           outlier_number_read(r, at, "enforcementPercentage", 100,
                               &o->failure_percentage_enforcement) &&
           outlier_least_read(r, at, "minimumHosts", HOSTS_MAX,
                              &o->failure_percentage_minimum_hosts) &&
           outlier_least_read(r, at, "requestVolume", 1000000000,
                              &o->failure_percentage_request_volume);
}

static bool policies_read(struct vc__config_reader *r,
                          const struct vc__config_at *at, bool is_child);

/* For policy_accept(): outlier detection, and its childPolicy, which must be
 * there. */
static bool
outlier_read(struct vc__config_reader *r, const struct vc__config_at *at)
{
    struct vc_outlier_opts *o = &r->config->outlier;
    const struct vc__config_at rate = vc__config_get(at, "successRateEjection"),
                               failure = vc__config_get(
                                   at, "failurePercentageEjection"),
                               child = vc__config_get(at, "childPolicy");

    /* Two of these are compared by their bytes, so padding is 0, too. */
    memset(o, 0, sizeof *o);
    o->size = sizeof *o;
    if (!outlier_ms_read(r, at, "interval", 10, &o->interval_ms) ||
        !outlier_ms_read(r, at, "baseEjectionTime", 1, &o->base_ejection_ms) ||
        !outlier_ms_read(r, at, "maxEjectionTime", 1, &o->max_ejection_ms) ||
        !outlier_number_read(r, at, "maxEjectionPercent", 100,
                             &o->max_ejection_percent) ||
        !success_rate_read(r, &rate, o) || !failure_read(r, &failure, o))
        return false;
    r->config->has_outlier = o->methods != 0;
    if (child.value == NULL)
        return vc__config_fail(r, &child, "is missing");
    return policies_read(r, &child, true);
}

/* --- the list ------------------------------------------------------------ */

/* The policies by gRPC's names, and ours. */
static const struct policy {
    const char *name;
    enum vc__policy policy;
    policy_read_fn *read;
} policies[] = {
    {"pick_first", VC__POLICY_PICK_FIRST, pick_first_read},
    {"round_robin", VC__POLICY_ROUND_ROBIN, nothing_read},
    {"weighted_round_robin", VC__POLICY_WEIGHTED_ROUND_ROBIN, weighted_read},
    {"least_request_experimental", VC__POLICY_LEAST_REQUEST,
     least_request_read},
    {"least_request", VC__POLICY_LEAST_REQUEST, least_request_read},
    {"ring_hash_experimental", VC__POLICY_RING_HASH, ring_hash_read},
    {"ring_hash", VC__POLICY_RING_HASH, ring_hash_read},
    {"priority", VC__POLICY_PRIORITY, nothing_read},
    {"nearest", VC__POLICY_NEAREST, nothing_read},
};

#define N_POLICIES (sizeof policies / sizeof policies[0])

/* For policies_read() and old_read(): returns the policy of this name, of which
 * upper and lower case are equal; NULL: there is none. */
static const struct policy *
policy_find(const char *name)
{
    for (unsigned i = 0; i < N_POLICIES; i++) {
        if (strcasecmp(policies[i].name, name) == 0)
            return &policies[i];
    }
    return NULL;
}

/* For policies_read(): takes the policy of an entry, `known`, with its
 * parameters, which must be an object; or NULL: the entry is that of outlier
 * detection, whose child says which. */
static bool
policy_accept(struct vc__config_reader *r, const struct vc__config_at *entry,
              const char *name, const struct policy *known)
{
    const struct vc__config_at at = vc__config_get(entry, name);

    if (!vc__config_object(r, &at))
        return vc__config_fail(r, &at, "must be an object");
    if (known == NULL)
        return outlier_read(r, &at);
    r->config->balances = true;
    r->config->policy = known->policy;
    return known->read(r, &at);
}

/* For policies_read(): returns the name of an entry's policy, the only field of
 * the object. NULL with a fault if the entry is no such object. */
static const char *
entry_name(struct vc__config_reader *r, const struct vc__config_at *entry)
{
    json_t *value = (json_t *)entry->value; /* it is not changed */

    if (!json_is_object(value) || json_object_size(value) != 1) {
        vc__config_fail(r, entry,
                        "must be an object with one field, the name of a "
                        "policy");
        return NULL;
    }
    return json_object_iter_key(json_object_iter(value));
}

/* For vc__config_balance_read() and outlier_read(): reads a list of policies,
 * that of the whole, or of outlier detection if is_child. The first policy that
 * is known counts, and the rest is not read. A fault if there is none, or if it
 * is outlier detection in itself. */
static bool
policies_read(struct vc__config_reader *r, const struct vc__config_at *at,
              bool is_child)
{
    if (!vc__config_array(r, at))
        return at->value == NULL;
    for (size_t i = 0; i < json_array_size(at->value); i++) {
        const struct vc__config_at entry = vc__config_entry(at, i);
        const char *name = entry_name(r, &entry);
        const struct policy *known = name == NULL ? NULL : policy_find(name);

        if (name == NULL)
            return false;
        if (known != NULL)
            return policy_accept(r, &entry, name, known);
        if (strcmp(name, "outlier_detection_experimental") != 0 &&
            strcmp(name, "outlier_detection") != 0)
            continue;
        return is_child ? vc__config_fail(r, &entry,
                                          "outlier detection is in itself")
                        : policy_accept(r, &entry, name, NULL);
    }
    return vc__config_fail(r, at,
                           "has none of the policies pick_first, round_robin, "
                           "weighted_round_robin, least_request_experimental, "
                           "ring_hash_experimental, priority, nearest, "
                           "outlier_detection_experimental");
}

/* For vc__config_balance_read(): the older field, loadBalancingPolicy, which is
 * only the name of a policy. */
static bool
old_read(struct vc__config_reader *r, const struct vc__config_at *at)
{
    const struct policy *known;
    const char *name = NULL;

    if (!vc__config_text(r, at, &name) || name == NULL)
        return at->value == NULL;
    known = policy_find(name);
    if (known == NULL)
        return vc__config_fail(r, at, "\"%.60s\" is no policy here", name);
    r->config->balances = true;
    r->config->policy = known->policy;
    return true;
}

bool
vc__config_balance_read(struct vc__config_reader *r,
                        const struct vc__config_at *whole)
{
    const struct vc__config_at list =
                                   vc__config_get(whole, "loadBalancingConfig"),
                               old =
                                   vc__config_get(whole, "loadBalancingPolicy");

    return old_read(r, &old) && policies_read(r, &list, false);
}
