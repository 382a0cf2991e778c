/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See tests/suite/own_policies.h. */
#include "tests/suite/own_policies.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/suite/by_tenant.h"
#include "tests/suite/fixture.h"

#define ALIVE 0x600dcafeu

struct own_policy own_policy;

struct own_state {
    unsigned alive; /* ALIVE, until it is destroyed */
    uint32_t n;
    uint32_t (*pick)(struct vc_pick *pick);
};

static uint32_t
pick_returns(struct vc_pick *pick)
{
    (void)pick;
    return atomic_load(&own_policy.choice);
}

static uint32_t
pick_insists(struct vc_pick *pick)
{
    unsigned picks = atomic_load(&own_policy.picks);

    (void)pick;
    return picks <= 2 ? 1 : picks == 3 ? VC_PICK_WAIT : 0;
}

static uint32_t
pick_untried(struct vc_pick *pick)
{
    for (uint32_t i = 0; i < pick->n; i++) {
        if (!pick->tried(pick, i))
            return i;
    }
    return 0;
}

static uint32_t
pick_best(struct vc_pick *pick)
{
    uint32_t best = 0, rank = UINT32_MAX;

    if (pick->turn % 16 == 15)
        return VC_PICK_WAIT;
    for (uint32_t k = 0; k < pick->n; k++) {
        uint32_t i = (pick->turn + k) % pick->n;
        uint32_t r = 2 * (uint32_t)pick->state(pick, i) + pick->tried(pick, i);

        if (r < rank) {
            rank = r;
            best = i;
        }
    }
    return best;
}

static enum vc_status
own_build(struct vc_policy_servers *servers, void **state)
{
    static const struct {
        const char *manner;
        uint32_t (*pick)(struct vc_pick *pick);
    } manners[] = {{"returns", pick_returns},
                   {"insists", pick_insists},
                   {"untried", pick_untried},
                   {"best", pick_best}};
    struct own_state *s = malloc(sizeof *s);

    *s = (struct own_state){.alive = ALIVE, .n = servers->n};
    for (unsigned i = 0; i < sizeof manners / sizeof *manners; i++) {
        if (servers->config != NULL &&
            strcmp(servers->config, manners[i].manner) == 0)
            s->pick = manners[i].pick;
    }
    if (s->pick == NULL) {
        snprintf(servers->why, sizeof servers->why, "there is no such manner");
        free(s);
        return VC_NOT_FOUND;
    }
    atomic_fetch_add(&own_policy.builds, 1);
    *state = s;
    return VC_OK;
}

static void
own_destroy(void *state)
{
    struct own_state *s = state;

    if (s->alive != ALIVE)
        abort();
    s->alive = 0;
    free(s);
    atomic_fetch_add(&own_policy.destroys, 1);
}

/* Of assertions only the test's thread may make any. */
static uint32_t
own_pick(void *state, struct vc_pick *pick)
{
    const struct own_state *s = state;

    if (s->alive != ALIVE || s->n != pick->n)
        abort();
    atomic_store(&own_policy.attempt, pick->attempt);
    fixture_tell(&own_policy.picks);
    return s->pick(pick);
}

static const struct vc_policy_type own = {
    .size = sizeof own,
    .name = "own",
    .build = own_build,
    .destroy = own_destroy,
    .pick = own_pick,
};

void
own_policy_reset(void)
{
    memset(&own_policy, 0, sizeof own_policy);
}

bool
own_policies_register(void)
{
    if (vc_policy_register(&own) == VC_OK &&
        vc_policy_register(&by_tenant) == VC_OK)
        return true;
    fprintf(stderr, "%s\n", vc_error());
    return false;
}
