/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See rpc/client/reply_error.h. */
#include "rpc/client/reply_error.h"

#include "rpc/text.h"

void
vc__reply_error(struct vc__error *error, const struct vc__reply_frame *reply,
                const char *service, const char *method)
{
    enum vc_status status =
        reply->status > VC_UNAUTHENTICATED ? VC_UNKNOWN : reply->status;

    if (vc__reply_is_lost(reply))
        vc__error_put(error, status, "%s.%s: the reply was dropped: %s",
                      service, method, (const char *)reply->body);
    else if (reply->len == 0)
        vc__error_put(error, status, VC__TEXT_BARE, service, method,
                      vc_status_name(status));
    else
        vc__text_put(error->text, sizeof error->text, reply->body, reply->len);
    error->status = status;
    error->outcome = reply->outcome;
    error->lack = VC__LACK_NOTHING;
    /* A server does not know the names of what it does not serve. */
    if (status == VC_UNIMPLEMENTED && reply->outcome == VC_OUTCOME_NOT_EXECUTED)
        vc__text_name(error, service, method);
}
