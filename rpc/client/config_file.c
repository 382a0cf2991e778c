/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See rpc/client/config_file.h. The file has a resolver of its own, which names
 * no servers: by it the holder calls the functions of rpc/balance/watched_file.
 * take() and say() of the file run on the thread that opens the channel, and
 * then on the holder. */
#include "rpc/client/config_file.h"

#include <stdlib.h>
#include <string.h>

#include "rpc/balance/resolver.h"
#include "rpc/balance/watched_file.h"
#include "rpc/client/service_config.h"
#include "transport/core/error.h"

struct vc__config_file {
    struct vc__watched_file watched; /* the state of the resolver */
    struct vc__config_file_owner *owner;
    bool opening;          /* vc__config_file_open() passes on what is wrong */
    enum vc_status status; /* of the last text */
};

/* take() of the file: gives the text to the owner. False if that refuses it:
 * f->watched.why says why. */
static bool
config_file_take(struct vc__watched_file *w, char *text, size_t len)
{
    struct vc__config_file *f = (struct vc__config_file *)w;
    bool good = f->owner->take(f->owner, w->shown, text, len);

    f->status = good ? VC_OK : vc__error_last()->status;
    if (!good)
        vc__watched_file_why(w, "is refused: %s", vc__error_last()->text);
    w->again = w->again || f->status == VC_RESOURCE_EXHAUSTED;
    return good;
}

/* say() of the file: passes on to the owner what is wrong, once the file is
 * open. */
static void
config_file_say(struct vc__watched_file *w, const char *why)
{
    struct vc__config_file *f = (struct vc__config_file *)w;

    if (!f->opening)
        f->owner->fail(f->owner, why);
}

/* close() of the resolver, on the thread that closes the channel; also for
 * vc__config_file_open() when it fails. Nothing calls the file any more: frees
 * it. */
static void
config_file_end(void *state)
{
    struct vc__config_file *f = state;

    vc__watched_file_end(&f->watched);
    free(f);
}

/* Only close() is called of it. */
static const struct vc_resolver_type config_file_type = {
    .size = sizeof config_file_type,
    .scheme = "file",
    .close = config_file_end,
};

bool
vc__config_file_is_one(const char *option)
{
    return strncmp(option, "file:", 5) == 0;
}

/* For vc__config_file_open(), with its errors: reads the file for the first
 * time. */
static enum vc_status
config_file_read(struct vc__config_file *f, const char *option)
{
    f->opening = true;
    if (!vc__watched_file_begin(&f->watched, option))
        return vc__fail(VC_INVALID_ARGUMENT, "%s", f->watched.why);
    f->opening = false;
    if (!f->watched.known)
        return vc__fail(f->status != VC_OK ? f->status : VC_INVALID_ARGUMENT,
                        "%s", f->watched.why);
    if (f->watched.why[0] != '\0') /* it cannot be watched */
        f->owner->fail(f->owner, f->watched.why);
    return VC_OK;
}

enum vc_status
vc__config_file_open(struct vc__config_file **file, const char *option,
                     struct vc__config_file_owner *owner,
                     struct vc__engine *engine)
{
    struct vc__config_file *f = calloc(1, sizeof *f);
    enum vc_status status;

    if (f == NULL)
        return vc__fail(VC_RESOURCE_EXHAUSTED, "out of memory");
    f->owner = owner;
    f->watched.max = VC__SERVICE_CONFIG_MAX;
    f->watched.take = config_file_take;
    f->watched.say = config_file_say;
    status = config_file_read(f, option);
    if (status == VC_OK) {
        f->watched.r = vc__resolver_make(&config_file_type, f, engine);
        if (f->watched.r == NULL)
            status = vc__fail(VC_RESOURCE_EXHAUSTED, "out of memory");
    }
    if (status != VC_OK) {
        const struct vc__error error = *vc__error_last();

        config_file_end(f);
        return vc__error_raise(&error);
    }
    *file = f;
    return VC_OK;
}

void
vc__config_file_start(struct vc__config_file *file)
{
    vc__watched_file_start(&file->watched);
}

void
vc__config_file_close(struct vc__config_file *file)
{
    if (file != NULL)
        vc__resolver_close(file->watched.r);
}
