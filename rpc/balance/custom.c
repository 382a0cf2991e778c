/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See rpc/balance/custom.h. */
#include "rpc/balance/custom.h"

#include <stdlib.h>
#include <string.h>

#include "transport/core/error.h"
#include "transport/core/random.h"

/* --- a channel: on the thread that opens or closes it -------------------- */

/* For vc__custom_choose(): makes what the channel keeps of its policy; config
 * is copied. NULL if memory is short. */
static struct vc__custom *
custom_new(const struct vc_policy_type *type, const char *config)
{
    struct vc__custom *cu = calloc(1, sizeof *cu);

    if (cu == NULL)
        return NULL;
    cu->type = type;
    atomic_init(&cu->refusal.users, 1);
    cu->config = config == NULL ? NULL : strdup(config);
    if (config == NULL || cu->config != NULL)
        return cu;
    free(cu);
    return NULL;
}

enum vc_status
vc__custom_choose(struct vc__picker *k, const char *policy,
                  struct vc__pick_facts (*facts)(const struct vc__pick_key *))
{
    enum vc__policy own = VC__POLICY_PICK_FIRST;
    const struct vc_policy_type *type;
    enum vc_status status;
    const char *colon;

    type = policy == NULL || vc__policy_is_own(policy)
               ? NULL
               : vc__policy_type_find(policy);
    if (type == NULL) {
        status = vc__policy_parse(&own, policy);
        k->policy = own;
        return status;
    }
    colon = strchr(policy, ':');
    if (colon != NULL && type->build == NULL)
        return vc__fail(VC_INVALID_ARGUMENT,
                        "vc_channel_opts.policy: \"%.60s\": the policy %s "
                        "takes no config, as it has no build()",
                        policy, type->name);
    k->policy = VC__POLICY_CUSTOM;
    k->custom = custom_new(type, colon == NULL ? NULL : colon + 1);
    if (k->custom == NULL)
        return vc__fail(VC_RESOURCE_EXHAUSTED, "out of memory");
    k->custom->facts = facts;
    return VC_OK;
}

void
vc__custom_free(struct vc__custom *cu)
{
    if (cu == NULL)
        return;
    free(cu->config);
    free(cu);
}

/* --- a set of servers: on the thread that opens, changes or closes them --- */

/* For vc__custom_build(): makes what the policy is to know of the servers of
 * the set, without its state. NULL if memory is short. */
static struct vc__custom_set *
custom_set_new(const struct vc__server_set *set)
{
    struct vc__custom_set *cs =
        calloc(1, sizeof *cs + set->n * sizeof cs->about[0]);

    if (cs != NULL)
        cs->servers = calloc(set->n, sizeof *cs->servers);
    if (cs == NULL || cs->servers == NULL) {
        free(cs);
        return NULL;
    }
    for (unsigned i = 0; i < set->n; i++) {
        const struct vc__endpoint *of = &set->about[i];

        cs->about[i] = (struct vc_endpoint){
            .size = sizeof cs->about[i],
            .target = of->target,
            .weight = of->weight,
            .priority = of->priority,
            .label = of->label[0] != '\0' ? of->label : NULL,
            .hash_key = of->hash_key[0] != '\0' ? of->hash_key : of->target,
            .metadata = of->metadata,
            .n_metadata = of->n_metadata,
        };
        cs->servers[i] = &cs->about[i];
    }
    return cs;
}

/* True if it is an error's status. For custom_set_build() and, on any thread,
 * custom_refuse(). */
static bool
status_is_error(enum vc_status status)
{
    return status > VC_OK && status <= VC_UNAUTHENTICATED;
}

/* For vc__custom_build(): calls build(), if there is one. False, with the error
 * as this thread's last, if that fails: its status, or VC_INTERNAL if that is
 * no error's. */
static bool
custom_set_build(const struct vc__custom *cu, const char *label,
                 struct vc__custom_set *cs, uint32_t n)
{
    struct vc_policy_servers servers = {
        .size = sizeof servers,
        .servers = cs->servers,
        .n = n,
        .label = label,
        .config = cu->config,
    };
    enum vc_status status;

    if (cu->type->build == NULL)
        return true;
    status = cu->type->build(&servers, &cs->state);
    if (status == VC_OK)
        return true;
    servers.why[sizeof servers.why - 1] = '\0';
    vc__fail(status_is_error(status) ? status : VC_INTERNAL,
             "the policy %s cannot use the servers: %s", cu->type->name,
             servers.why[0] != '\0' ? servers.why : "build() gave no reason");
    return false;
}

bool
vc__custom_build(const struct vc__custom *cu, const char *label,
                 struct vc__server_set *set)
{
    struct vc__custom_set *cs;

    if (cu == NULL)
        return true;
    cs = custom_set_new(set);
    if (cs == NULL) {
        vc__fail(VC_RESOURCE_EXHAUSTED, "out of memory");
        return false;
    }
    if (!custom_set_build(cu, label, cs, set->n)) {
        vc__custom_set_free(cs);
        return false;
    }
    cs->type = cu->type;
    set->custom = cs;
    return true;
}

void
vc__custom_settle(const struct vc__custom *cu)
{
    const struct vc__subchannel *place;

    if (cu == NULL)
        return;
    /* Acquire: see rpc/balance/custom.h; and pairs with the store in
     * vc__servers_place(). */
    place = atomic_load_explicit(&cu->place, memory_order_acquire);
    if (place != NULL)
        atomic_load_explicit(&place->users, memory_order_acquire);
    atomic_load_explicit(&cu->refusal.users, memory_order_acquire);
}

/* A set whose build() has failed has no type yet: nothing is destroyed. */
void
vc__custom_set_free(struct vc__custom_set *cs)
{
    if (cs == NULL)
        return;
    if (cs->type != NULL && cs->type->destroy != NULL)
        cs->type->destroy(cs->state);
    free(cs->servers);
    free(cs);
}

/* --- an attempt: any thread; vc__custom_pick() calls all that follows ----- */

/* What the functions of struct vc_pick read. */
struct custom_pick {
    struct vc_pick pub;
    const struct vc__server_set *set;
    const struct vc__pick *pick;
    struct vc__metadata metadata;
};

/* The choice whose public part a policy has. For the four functions that
 * follow, which pick() of the policy may call. */
static const struct custom_pick *
custom_pick_of(const struct vc_pick *pub)
{
    return caa_container_of(pub, const struct custom_pick, pub);
}

/* state() of struct vc_pick. As the library's own policies do, has a server
 * connected that is not, once its backoff is over. VC_SERVER_FAILING for a
 * number that is too high. */
static enum vc_server_state
custom_state(const struct vc_pick *pub, uint32_t i)
{
    const struct custom_pick *p = custom_pick_of(pub);
    const struct vc__subchannel *s;
    enum vc__pool_health health;
    unsigned bars;

    if (i >= p->set->n)
        return VC_SERVER_FAILING;
    s = p->set->sub[i];
    bars = vc__subchannel_bars(s);
    health = vc__subchannel_health(s, bars);
    if (health != VC__POOL_READY)
        vc__pool_prompt(s->pool, p->pick->service, p->pick->now);
    if (bars & VC__BAR_EJECTED)
        return health == VC__POOL_READY ? VC_SERVER_EJECTED : VC_SERVER_FAILING;
    switch (health) {
    case VC__POOL_READY:
        return VC_SERVER_READY;
    case VC__POOL_CONNECTING:
        return VC_SERVER_CONNECTING;
    case VC__POOL_IDLE:
        return VC_SERVER_IDLE;
    case VC__POOL_FAILING:
        break;
    }
    return VC_SERVER_FAILING;
}

/* tried() of struct vc_pick; false for a number that is too high. */
static bool
custom_tried(const struct vc_pick *pub, uint32_t i)
{
    const struct custom_pick *p = custom_pick_of(pub);
    const struct vc__pick_key *key = p->pick->key;
    unsigned n = key->n_tried < VC__PICK_TRIED ? key->n_tried : VC__PICK_TRIED;

    for (unsigned k = 0; i < p->set->n && k < n; k++) {
        if (key->tried[k] == p->set->sub[i]->pool)
            return true;
    }
    return false;
}

/* calls() of struct vc_pick; UINT64_MAX for a number that is too high. */
static uint64_t
custom_calls(const struct vc_pick *pub, uint32_t i)
{
    const struct custom_pick *p = custom_pick_of(pub);

    return i < p->set->n ? vc__pool_calls(p->set->sub[i]->pool) : UINT64_MAX;
}

/* metadata() of struct vc_pick: true with *found, if the call has the key. */
static bool
custom_metadata(const struct vc_pick *pub, const char *key,
                struct vc_metadata *found)
{
    return vc__metadata_seek(&custom_pick_of(pub)->metadata, key, found);
}

/* For custom_pick_fill(): random bits, others for each turn of each channel at
 * each time. */
static uint64_t
custom_random(const atomic_uint *channel, uint32_t turn, uint64_t now)
{
    uint64_t seed = (uint64_t)(uintptr_t)channel ^ now ^ (uint64_t)turn << 32;
    uint64_t high = vc__random(&seed);

    return high << 32 | vc__random(&seed);
}

/* Fills in what the policy sees; p->set and p->pick are set. Counts the
 * turn. */
static void
custom_pick_fill(struct custom_pick *p, const struct vc__custom *cu,
                 atomic_uint *turn)
{
    struct vc__pick_facts facts = cu->facts(p->pick->key);
    struct vc_pick *pub = &p->pub;

    pub->size = sizeof *pub;
    pub->servers = p->set->custom->servers;
    pub->n = p->set->n;
    pub->service = p->pick->service;
    pub->method = facts.method;
    pub->attempt = facts.attempt;
    /* Relaxed: the turns must only differ. */
    pub->turn = atomic_fetch_add_explicit(turn, 1, memory_order_relaxed);
    pub->random = custom_random(turn, pub->turn, p->pick->now);
    pub->state = custom_state;
    pub->tried = custom_tried;
    pub->calls = custom_calls;
    pub->metadata = custom_metadata;
    pub->status = VC_UNAVAILABLE;
    pub->why[0] = '\0';
    p->metadata = facts.metadata;
}

/* Notes in the call's key that this attempt goes to the server of this pool. */
static void
tried_add(struct vc__pick_key *key, const struct vc__pool *pool)
{
    key->tried[key->n_tried % VC__PICK_TRIED] = pool;
    /* Not back to 0: then none would count as tried. */
    if (key->n_tried == UINT16_MAX)
        key->n_tried -= VC__PICK_TRIED;
    key->n_tried++;
}

/* The policy has chosen no server, and the call is not to wait: sets the error
 * of the call, as this thread's last. */
static void
custom_refuse(const struct vc__custom *cu, struct vc_pick *pub, uint32_t at)
{
    if (at != VC_PICK_FAIL) {
        vc__fail(VC_INTERNAL,
                 "the policy %s has chosen server %u of %u: pick() must return "
                 "less than that, VC_PICK_WAIT or VC_PICK_FAIL",
                 cu->type->name, at, pub->n);
        return;
    }
    if (!status_is_error(pub->status)) {
        vc__fail(VC_INTERNAL,
                 "the policy %s fails the call with status %d, which is no "
                 "error",
                 cu->type->name, (int)pub->status);
        return;
    }
    pub->why[sizeof pub->why - 1] = '\0';
    vc__fail(pub->status, "the policy %s: %s", cu->type->name,
             pub->why[0] != '\0' ? pub->why
                                 : "no server, and pick() gave no reason");
}

struct vc__subchannel *
vc__custom_pick(struct vc__custom *cu, atomic_uint *turn,
                const struct vc__server_set *set, const struct vc__pick *pick)
{
    struct custom_pick p;
    uint32_t at, n = set->n;

    p.set = set;
    p.pick = pick;
    custom_pick_fill(&p, cu, turn);
    at = cu->type->pick(set->custom->state, &p.pub);
    if (at < n) {
        tried_add(pick->key, set->sub[at]->pool);
        return set->sub[at];
    }
    if (at == VC_PICK_WAIT) /* relaxed: it was there before the first call */
        return atomic_load_explicit(&cu->place, memory_order_relaxed);
    p.pub.n = n;
    custom_refuse(cu, &p.pub, at);
    return &cu->refusal;
}
