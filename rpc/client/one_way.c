/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See rpc/client/one_way.h. The caller of a call without a reply returns when
 * the request was handed to the adapter. As any other, the call keeps its slot
 * until the server has answered, and is sent again if its link is lost. */
#include "rpc/client/one_way.h"

#include "rpc/client/async.h"

/* over() of the call: async_finish() calls it on the holder. Frees the reply,
 * and leaves the channel. Wakes the caller, with an error if the call has
 * failed, unless async_handed() has. Drops the call's own reference. */
static void
one_way_over(struct vc_async *a)
{
    if (a->won->error.status == VC_OK)
        vc_message_free(a->won->reply);
    vc__async_leave(a);
    if (!a->handed) {
        a->failed = a->won->error.status != VC_OK;
        vc__waiter_done(&a->waiter);
    }
    vc__async_put(a);
}

enum vc_status
vc__one_way(struct vc_channel *channel, const struct vc_service *service,
            unsigned method, const void *request,
            const struct vc_call_opts *opts)
{
    static const struct vc__error none = {.status = VC_OK};
    struct vc_call_opts own = *opts;
    struct vc_async *a;
    enum vc_status status = VC_OK;
    unsigned attempts;

    /* The program's result may be freed before the call is over. */
    own.result = NULL;
    a = vc__async_new(channel, service, method, request, &own, one_way_over);
    if (a == NULL) {
        vc__result_fill(opts->result, vc__error_last(), 0, NULL);
        return vc__error_last()->status;
    }
    vc__channel_enter(channel);
    vc__async_hold(a);
    vc__async_start(a);
    /* The call's deadline ends the wait. */
    if (!atomic_load(&a->gone)) {
        vc__engine_wait(a->engine, &a->waiter, VC__FOREVER);
        if (a->failed)
            status = vc__error_raise(&a->won->error);
    }
    attempts = atomic_load(&a->gone);
    vc__result_fill(opts->result, status == VC_OK ? &none : &a->won->error,
                    attempts != 0 ? attempts : a->attempts.number, NULL);
    vc__async_put(a);
    vc__channel_leave(channel); /* last: the runtime may go, too */
    return status;
}
