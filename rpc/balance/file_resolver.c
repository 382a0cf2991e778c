/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See rpc/balance/file_resolver.h. file_give(), file_take() and file_fail() run
 * in file_open(), on its thread, and later on the holder. */
#include "rpc/balance/file_resolver.h"

#include <stdlib.h>

#include "rpc/balance/endpoint_file.h"
#include "rpc/balance/watched_file.h"

/* What a reading needs: most of it for a file as large as it may be. */
struct reading {
    struct vc__endpoint_file file;
    struct vc_endpoint given[VC_ENDPOINTS_MAX];
};

/* For file_take(): gives the channel what was read. False if the channel
 * refuses it: f->why says why. */
static bool
file_give(struct vc__watched_file *f, struct reading *g)
{
    enum vc_status status;

    for (unsigned i = 0; i < g->file.n; i++) {
        const struct vc__endpoint *e = &g->file.endpoints[i];

        g->given[i] = (struct vc_endpoint){
            .size = sizeof g->given[i],
            .target = e->target,
            .weight = e->weight,
            .priority = e->priority,
            .label = e->label[0] != '\0' ? e->label : NULL,
            .hash_key = e->hash_key[0] != '\0' ? e->hash_key : NULL,
        };
    }
    status = vc_resolver_set(f->r, g->given, g->file.n);
    if (status != VC_OK)
        vc__watched_file_why(f, "has servers that are refused: %s", vc_error());
    f->again = f->again || status == VC_RESOURCE_EXHAUSTED;
    return status == VC_OK;
}

/* take() of the file: the channel gets what was read. False if the text is
 * malformed or refused, or memory is short: f->why says which. */
static bool
file_take(struct vc__watched_file *f, char *text, size_t len)
{
    struct reading *g = malloc(sizeof *g);
    bool good = false;

    if (g == NULL) {
        vc__watched_file_why(f, "cannot be read: no memory");
        f->again = true;
        return false;
    }
    if (vc__endpoint_file_parse(&g->file, text, len))
        good = file_give(f, g);
    else
        vc__watched_file_why(f, "is malformed: %s", g->file.why);
    free(g);
    return good;
}

/* say() of the file: the resolver has no answer, for this reason. */
static void
file_fail(struct vc__watched_file *f, const char *why)
{
    vc_resolver_fail(f->r, why);
}

/* again() of the type, on the holder: a server was lost. Has the file read, for
 * file systems that inotify knows too little of, as those of a network. */
static void
file_again(void *state)
{
    vc__watched_file_again(state);
}

/* open() of the type: reads the file, and has it watched. VC_INVALID_ARGUMENT
 * if there can be no such file, VC_RESOURCE_EXHAUSTED without memory; VC_OK,
 * too, if the file is not there yet or is malformed. */
static enum vc_status
file_open(struct vc_resolver *r, const char *target, void **state)
{
    struct vc__watched_file *f = calloc(1, sizeof *f);

    if (f == NULL) {
        vc_resolver_fail(r, "no memory for the resolver of file:");
        return VC_RESOURCE_EXHAUSTED;
    }
    f->r = r;
    f->max = VC__ENDPOINT_FILE_MAX;
    f->take = file_take;
    f->say = file_fail;
    if (!vc__watched_file_begin(f, target)) {
        vc_resolver_fail(r, f->why);
        free(f);
        return VC_INVALID_ARGUMENT;
    }
    *state = f;
    vc__watched_file_start(f);
    return VC_OK;
}

/* close() of the type: on the thread of vc_channel_close(), or of a
 * vc_channel_open() that fails after file_open(). Frees the state. */
static void
file_close(void *state)
{
    vc__watched_file_end(state);
    free(state);
}

const struct vc_resolver_type vc__file_resolver = {
    .size = sizeof vc__file_resolver,
    .scheme = "file",
    .open = file_open,
    .again = file_again,
    .close = file_close,
};
