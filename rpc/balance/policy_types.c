/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The policies that this process has registered. See verbcall/policy.h, and
 * rpc/balance/policy.h. Any thread. */
#include <pthread.h>
#include <stdbool.h>
#include <string.h>

#include <verbcall/policy.h>

#include "rpc/balance/policy.h"
#include "transport/core/error.h"

#define POLICIES_MAX    16u
#define POLICY_NAME_MAX 31u

static pthread_mutex_t policies_lock = PTHREAD_MUTEX_INITIALIZER;
static const struct vc_policy_type *policies[POLICIES_MAX]; /* policies_lock */
static unsigned n_policies;                                 /* the same */

/* For vc_policy_register(): true if a policy can have this name. */
static bool
policy_name_is_good(const char *name)
{
    size_t len = name == NULL ? 0 : strnlen(name, POLICY_NAME_MAX + 1);

    return len > 0 && len <= POLICY_NAME_MAX && name[0] >= 'a' &&
           name[0] <= 'z' &&
           strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_-.") == len &&
           !vc__policy_is_own(name);
}

/* Adds a type, for vc_policy_register(), and returns its status: VC_OK, too, if
 * the same type is there already. Under policies_lock. */
static enum vc_status
policy_add(const struct vc_policy_type *type)
{
    for (unsigned i = 0; i < n_policies; i++) {
        if (policies[i] == type)
            return VC_OK;
        if (strcmp(policies[i]->name, type->name) == 0)
            return vc__fail(VC_INVALID_ARGUMENT,
                            "vc_policy_register(): policy %s: it is registered "
                            "with another type",
                            type->name);
    }
    if (n_policies == POLICIES_MAX)
        return vc__fail(VC_RESOURCE_EXHAUSTED,
                        "vc_policy_register(): there are %u types already",
                        POLICIES_MAX);
    policies[n_policies++] = type;
    return VC_OK;
}

enum vc_status
vc_policy_register(const struct vc_policy_type *type)
{
    enum vc_status status;

    if (type == NULL || type->size != sizeof *type)
        return vc__fail(VC_INVALID_ARGUMENT,
                        "vc_policy_register(): type is NULL, or its size is "
                        "not sizeof(struct vc_policy_type)");
    if (!policy_name_is_good(type->name))
        return vc__fail(VC_INVALID_ARGUMENT,
                        "vc_policy_register(): name \"%.40s\": it must be 1 to "
                        "%u of a-z, 0-9, '_', '-' and '.', a letter first, and "
                        "none of the library's own",
                        type->name == NULL ? "" : type->name, POLICY_NAME_MAX);
    if (type->pick == NULL || (type->destroy != NULL && type->build == NULL))
        return vc__fail(VC_INVALID_ARGUMENT,
                        "vc_policy_register(): policy %s: pick is NULL, or "
                        "there is a destroy without a build",
                        type->name);
    pthread_mutex_lock(&policies_lock);
    status = policy_add(type);
    pthread_mutex_unlock(&policies_lock);
    return status;
}

const struct vc_policy_type *
vc__policy_type_find(const char *name)
{
    size_t len = strcspn(name, ":");
    const struct vc_policy_type *type = NULL;

    pthread_mutex_lock(&policies_lock);
    for (unsigned i = 0; i < n_policies && type == NULL; i++) {
        if (strncmp(policies[i]->name, name, len) == 0 &&
            policies[i]->name[len] == '\0')
            type = policies[i];
    }
    pthread_mutex_unlock(&policies_lock);
    return type;
}
