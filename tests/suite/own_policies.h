/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Policies of the tests' own (verbcall/policy.h): "by_tenant", the example of
 * the documents, and "own:MANNER", whose states are counted, and die when they
 * are destroyed. The manners:
 * - returns  the choice is own_policy.choice
 * - insists  server 1 for the first two choices, then to wait once, then server 0
 * - untried  the first that was not tried, whatever its state; else server 0
 * - best     the next in turn of those with the lowest state that were not
 *            tried; but each 16th choice is to wait */
#ifndef VC_TESTS_SUITE_OWN_POLICIES_H
#define VC_TESTS_SUITE_OWN_POLICIES_H

#include <stdatomic.h>
#include <stdbool.h>

#include <verbcall/policy.h>

extern struct own_policy {
    atomic_uint builds, destroys;
    atomic_uint picks; /* for fixture_await() */
    atomic_uint choice;
    atomic_uint attempt; /* of the last choice */
} own_policy;

/* Zeroes it. No channel has the policy. */
void own_policy_reset(void);
/* False, with a line on stderr, if that fails. */
bool own_policies_register(void);

#endif
