/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See rpc/balance/target_list.h. */
#include "rpc/balance/target_list.h"

#include <stdio.h>
#include <string.h>

#include "transport/core/error.h"

#define SCHEME "list:"

/* The targets of a list, or NULL: the text is none. Called by both functions of
 * the header. */
static const char *
targets_of(const char *text)
{
    size_t len = strlen(SCHEME);

    return text != NULL && strncmp(text, SCHEME, len) == 0 ? text + len : NULL;
}

enum vc_status
vc__target_list_count(const char *text, unsigned *n)
{
    const char *at = targets_of(text);

    *n = 1;
    while (at != NULL && (at = strchr(at, ',')) != NULL) {
        at++;
        if (++*n > VC__TARGET_LIST_MAX)
            return vc__fail(VC_INVALID_ARGUMENT,
                            "target \"%.60s...\": a list has at most %u "
                            "targets",
                            text, VC__TARGET_LIST_MAX);
    }
    return VC_OK;
}

enum vc_status
vc__target_list_get(const char *text, unsigned i,
                    char out[VC__TARGET_LIST_TEXT])
{
    const char *list = targets_of(text), *at = list == NULL ? text : list;
    size_t len;

    for (; i > 0; i--)
        at = strchr(at, ',') + 1;
    len = at == NULL ? 0 : list == NULL ? strlen(at) : strcspn(at, ",");
    if (list != NULL && len == 0)
        return vc__fail(VC_INVALID_ARGUMENT,
                        "target \"%.100s\": a list has an empty target; write "
                        "list:TARGET,TARGET,...",
                        text);
    if (len >= VC__TARGET_LIST_TEXT)
        return vc__fail(VC_INVALID_ARGUMENT,
                        "target \"%.60s...\": is longer than %u bytes", at,
                        VC__TARGET_LIST_TEXT - 1);
    snprintf(out, VC__TARGET_LIST_TEXT, "%.*s", (int)len, at == NULL ? "" : at);
    return VC_OK;
}
