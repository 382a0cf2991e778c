/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See rpc/client/config_module.h. */
#include "rpc/client/config_module.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <string.h>

#include <verbcall/export.h>

#include "rpc/client/service_config.h"
#include "transport/core/error.h"
#include "transport/core/utf8.h"

#define MODULE_FILE "libverbcall-config.so.0"

/* The module, where the program has linked it. */
VC_API extern const struct vc__config_module vc_config_module
    __attribute__((weak));

/* The module, once it was used. Two threads may load it; they get the same. */
static _Atomic(const struct vc__config_module *) module;

/* For module_get(): loads the module, which stays. NULL, with VC_UNIMPLEMENTED
 * as this thread's last error, if there is none. */
static const struct vc__config_module *
config_module_load(void)
{
    void *file = dlopen(MODULE_FILE, RTLD_NOW | RTLD_LOCAL);
    const struct vc__config_module *m =
        file == NULL ? NULL : dlsym(file, "vc_config_module");

    if (file == NULL)
        vc__fail(VC_UNIMPLEMENTED,
                 "service configs need the module %s, of the package "
                 "libverbcall-config: %.200s",
                 MODULE_FILE, dlerror());
    else if (m == NULL)
        vc__fail(VC_UNIMPLEMENTED,
                 "%s is no module of Verbcall: it has no vc_config_module",
                 MODULE_FILE);
    return m;
}

/* For vc__config_module_parse(): the module, which is loaded if it was not used
 * yet. NULL as above, also if it is of another version. */
static const struct vc__config_module *
module_get(void)
{
    const struct vc__config_module *m = atomic_load(&module);

    if (m != NULL)
        return m;
    m = &vc_config_module != NULL ? &vc_config_module : config_module_load();
    if (m != NULL && (m->size != sizeof *m ||
                      m->config_size != sizeof(struct vc__service_config))) {
        vc__fail(VC_UNIMPLEMENTED,
                 "the module %s is of another version than the library",
                 MODULE_FILE);
        return NULL;
    }
    if (m != NULL)
        atomic_store(&module, m);
    return m;
}

/* For vc__config_module_parse(): makes the reason UTF-8 without control
 * characters. It may have a part of the text, which may be cut anywhere. */
static void
why_clean(char *why)
{
    bool valid = vc__utf8_valid((const uint8_t *)why, strlen(why));

    for (; *why != '\0'; why++) {
        if ((unsigned char)*why < ' ' || *why == 0x7f)
            *why = ' ';
        else if ((unsigned char)*why > 0x7f && !valid)
            *why = '?';
    }
}

enum vc_status
vc__config_module_parse(const char *text, size_t len,
                        struct vc__service_config **config)
{
    const struct vc__config_module *m = module_get();
    char why[VC__SERVICE_CONFIG_WHY];

    if (m == NULL)
        return vc__error_last()->status;
    *config = m->parse(text, len, why);
    if (*config != NULL)
        return VC_OK;
    if (why[0] == '\0')
        return vc__fail(VC_RESOURCE_EXHAUSTED,
                        "out of memory for a service config of %zu bytes", len);
    why_clean(why);
    return vc__fail(VC_INVALID_ARGUMENT, "%s", why);
}

void
vc__config_module_free(struct vc__service_config *config)
{
    if (config != NULL) /* the module has made it */
        atomic_load(&module)->free(config);
}
