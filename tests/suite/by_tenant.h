/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The example of doc/balancing.md and of vc_policy(3), which lint compares with
 * it: the policy by_tenant, for test_features_policies. */
#ifndef VC_TESTS_SUITE_BY_TENANT_H
#define VC_TESTS_SUITE_BY_TENANT_H

#include <stdio.h>
#include <string.h>

#include <verbcall/policy.h>

/* --- the example --- */
/* How good a server is for a tenant: UINT32_MAX if it is another's. */
static uint32_t
tenant_rank(const struct vc_pick *pick, uint32_t i,
            const struct vc_metadata *tenant)
{
    const char *label = pick->servers[i]->label;

    if (label == NULL || strlen(label) != tenant->length ||
        memcmp(label, tenant->value, tenant->length) != 0)
        return UINT32_MAX;
    return 2 * (uint32_t)pick->state(pick, i) + pick->tried(pick, i);
}

static uint32_t
by_tenant_pick(void *state, struct vc_pick *pick)
{
    struct vc_metadata tenant;
    uint32_t best = UINT32_MAX, n = 0;

    (void)state;
    if (!pick->metadata(pick, "tenant", &tenant)) {
        pick->status = VC_INVALID_ARGUMENT;
        snprintf(pick->why, sizeof pick->why, "the call names no tenant");
        return VC_PICK_FAIL;
    }
    for (uint32_t i = 0; i < pick->n; i++) {
        uint32_t rank = tenant_rank(pick, i, &tenant);

        if (rank < best) {
            best = rank;
            n = 0;
        }
        n += rank == best;
    }
    if (best == UINT32_MAX) {
        snprintf(pick->why, sizeof pick->why, "no server is for tenant %.*s",
                 (int)tenant.length, (const char *)tenant.value);
        return VC_PICK_FAIL;
    }
    n = (uint32_t)(pick->random % n);
    for (uint32_t i = 0; i < pick->n; i++)
        if (tenant_rank(pick, i, &tenant) == best && n-- == 0)
            return i;
    return VC_PICK_WAIT; /* a state has changed meanwhile */
}

static const struct vc_policy_type by_tenant = {
    .size = sizeof by_tenant,
    .name = "by_tenant",
    .pick = by_tenant_pick,
};
/* --- its end --- */

#endif
