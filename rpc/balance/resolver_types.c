/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The types of resolvers of this process: that of the library, those that were
 * registered, and modules, which are loaded when a target first needs them. See
 * rpc/balance/resolver.h. Any thread. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#include "rpc/balance/file_resolver.h"
#include "rpc/balance/resolver.h"
#include "transport/core/error.h"

#define TYPES_MAX  16u /* of the program */
#define SCHEME_MAX 15u

/* What vc_channel_open() reads itself. */
static const char *const own_schemes[] = {"vc",      "rdma",    "tcp",
                                          "shm",     "list",    "inproc",
                                          "rdma+ib", "rdma+mc", "rdma+ud"};

/* The modules that the library loads: no scheme loads any other. */
static const struct {
    const char *scheme, *file;
} modules[] = {
    {"dns", "libverbcall-dns.so.0"},
};

#define N_MODULES (sizeof modules / sizeof *modules)

static pthread_mutex_t types_lock = PTHREAD_MUTEX_INITIALIZER;
/* types_lock */
static const struct vc_resolver_type *types[TYPES_MAX + N_MODULES];
static atomic_uint n_types; /* written under types_lock */
static unsigned n_programs; /* types_lock; of these */

/* For vc__resolver_type_find() and type_get(): true if `text` begins with this
 * scheme and a colon. */
static bool
has_scheme(const char *text, const char *scheme)
{
    size_t len = strlen(scheme);

    return strncmp(text, scheme, len) == 0 && text[len] == ':';
}

/* For vc_resolver_register(): true if a target can have this scheme. */
static bool
scheme_is_good(const char *scheme)
{
    size_t len = scheme == NULL ? 0 : strnlen(scheme, SCHEME_MAX + 1);

    return len > 0 && len <= SCHEME_MAX && scheme[0] >= 'a' &&
           scheme[0] <= 'z' &&
           strspn(scheme, "abcdefghijklmnopqrstuvwxyz0123456789+-.") == len;
}

/* For vc_resolver_register(): true if the library reads such targets. */
static bool
scheme_is_own(const char *scheme)
{
    for (unsigned i = 0; i < sizeof own_schemes / sizeof *own_schemes; i++) {
        if (strcmp(scheme, own_schemes[i]) == 0)
            return true;
    }
    return strcmp(scheme, "file") == 0;
}

/* For vc__resolver_type_find(): the registered type for this target; NULL:
 * there is none. */
static const struct vc_resolver_type *
type_get(const char *target)
{
    const struct vc_resolver_type *type = NULL;

    if (atomic_load(&n_types) == 0) /* most programs register none */
        return NULL;
    pthread_mutex_lock(&types_lock);
    for (unsigned i = 0; i < n_types && type == NULL; i++) {
        if (has_scheme(target, types[i]->scheme))
            type = types[i];
    }
    pthread_mutex_unlock(&types_lock);
    return type;
}

/* Adds a type, for type_register(), and returns its status: VC_OK, too, if the
 * same type is there already. Those of modules are not counted: each has a
 * place. Under types_lock. */
static enum vc_status
type_add(const struct vc_resolver_type *type, bool of_module)
{
    for (unsigned i = 0; i < n_types; i++) {
        if (types[i] == type)
            return VC_OK;
        if (strcmp(types[i]->scheme, type->scheme) == 0)
            return vc__fail(VC_INVALID_ARGUMENT,
                            "vc_resolver_register(): scheme %s: it is "
                            "registered with another type",
                            type->scheme);
    }
    if (!of_module && n_programs == TYPES_MAX)
        return vc__fail(VC_RESOURCE_EXHAUSTED,
                        "vc_resolver_register(): there are %u types already",
                        TYPES_MAX);
    types[n_types] = type;
    n_programs += !of_module;
    atomic_fetch_add(&n_types, 1);
    return VC_OK;
}

/* Checks and adds a type, for vc_resolver_register() and module_load(). */
static enum vc_status
type_register(const struct vc_resolver_type *type, bool of_module)
{
    enum vc_status status;

    if (type == NULL || type->size != sizeof *type)
        return vc__fail(VC_INVALID_ARGUMENT,
                        "vc_resolver_register(): type is NULL, or its size is "
                        "not sizeof(struct vc_resolver_type)");
    if (!scheme_is_good(type->scheme) || scheme_is_own(type->scheme))
        return vc__fail(VC_INVALID_ARGUMENT,
                        "vc_resolver_register(): scheme \"%.30s\": it must be "
                        "1 to %u of a-z, 0-9, '+', '-' and '.', a letter "
                        "first, and none of the library's own",
                        type->scheme == NULL ? "" : type->scheme, SCHEME_MAX);
    if (type->open == NULL || type->close == NULL)
        return vc__fail(VC_INVALID_ARGUMENT,
                        "vc_resolver_register(): scheme %s: open or close is "
                        "NULL",
                        type->scheme);
    pthread_mutex_lock(&types_lock);
    status = type_add(type, of_module);
    pthread_mutex_unlock(&types_lock);
    return status;
}

enum vc_status
vc_resolver_register(const struct vc_resolver_type *type)
{
    return type_register(type, false);
}

/* For vc__resolver_type_find(): loads a module, which stays, and registers its
 * type. VC_UNIMPLEMENTED if there is no such module, or it is none of Verbcall;
 * else as vc_resolver_register(). */
static enum vc_status
module_load(const char *scheme, const char *file)
{
    void *module = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    const struct vc_resolver_type *type;

    if (module == NULL)
        return vc__fail(VC_UNIMPLEMENTED,
                        "%s: targets need the module %s, of the package "
                        "libverbcall-%s: %.200s",
                        scheme, file, scheme, dlerror());
    type = dlsym(module, "vc_resolver_module");
    if (type == NULL)
        return vc__fail(VC_UNIMPLEMENTED,
                        "%s is no module of Verbcall: it has no "
                        "vc_resolver_module",
                        file);
    return type_register(type, true);
}

enum vc_status
vc__resolver_type_find(const struct vc_resolver_type **type, const char *target)
{
    enum vc_status status = VC_OK;

    *type = NULL;
    if (target == NULL)
        return VC_OK;
    *type = has_scheme(target, "file") ? &vc__file_resolver : type_get(target);
    for (unsigned i = 0; i < sizeof modules / sizeof *modules; i++) {
        if (*type != NULL || !has_scheme(target, modules[i].scheme))
            continue;
        status = module_load(modules[i].scheme, modules[i].file);
        if (status == VC_OK)
            *type = type_get(target);
    }
    return status;
}
