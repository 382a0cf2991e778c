/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See rpc/balance/list_resolver.h. */
#include "rpc/balance/list_resolver.h"

#include <stdlib.h>

#include "rpc/balance/target_list.h"
#include "transport/core/error.h"

/* For list_open(): names the servers, in `texts` and `given`, which have room
 * for all. Errors as of vc_resolver_set(). */
static enum vc_status
list_give(struct vc_resolver *r, const char *target, unsigned n,
          char (*texts)[VC__TARGET_LIST_TEXT], struct vc_endpoint *given)
{
    enum vc_status status = VC_OK;

    for (unsigned i = 0; i < n && status == VC_OK; i++) {
        status = vc__target_list_get(target, i, texts[i]);
        given[i] = (struct vc_endpoint)VC_ENDPOINT_INIT;
        given[i].target = texts[i];
    }
    return status == VC_OK ? vc_resolver_set(r, given, n) : status;
}

/* open() of the type. VC_INVALID_ARGUMENT if the list is malformed, or the
 * errors of vc_resolver_set(); then the resolver has the text of the error. */
static enum vc_status
list_open(struct vc_resolver *r, const char *target, void **state)
{
    char(*texts)[VC__TARGET_LIST_TEXT];
    struct vc_endpoint *given;
    unsigned n;
    enum vc_status status = vc__target_list_count(target, &n);

    *state = NULL;
    if (status != VC_OK) {
        vc_resolver_fail(r, vc_error());
        return status;
    }
    texts = calloc(n, sizeof *texts);
    given = calloc(n, sizeof *given);
    status = texts != NULL && given != NULL
                 ? list_give(r, target, n, texts, given)
                 : vc__fail(VC_RESOURCE_EXHAUSTED, "out of memory");
    free(texts);
    free(given);
    if (status != VC_OK)
        vc_resolver_fail(r, vc_error());
    return status;
}

/* close() of the type: there is nothing to free. */
static void
list_close(void *state)
{
    (void)state;
}

const struct vc_resolver_type vc__list_resolver = {
    .size = sizeof vc__list_resolver,
    .scheme = "list",
    .open = list_open,
    .close = list_close,
};
