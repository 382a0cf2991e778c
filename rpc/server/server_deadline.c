/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See rpc/server/server_deadline.h, also for the threads. */
#include "rpc/server/server_deadline.h"

#include <verbcall/channel.h>

uint64_t
vc__server_due(struct vc__server_part *part, uint32_t deadline)
{
    if (deadline == VC__DEADLINE_NONE)
        return VC__FOREVER;
    part->overload.clock = deadline < VC__FAR_US ? vc__now() : vc__now_rough();
    return part->overload.clock + deadline;
}

/* Declared in verbcall/call.h: called by handlers, by vc_call_is_cancelled()
 * and by vc_call_time_left_ms(), on any thread while the call has not ended.
 * Also notes that the handler has asked: its run time then says nothing about
 * other runs. */
uint64_t
vc_call_deadline_us(const struct vc_call *call)
{
    uint64_t now;

    vc__must(call, VC__CALL);
    /* The const is for handlers only: every call is writable. */
    vc__parent_ask(&((struct vc_call *)call)->parent);
    if (call->site.due == VC__FOREVER)
        return UINT64_MAX;
    now = vc__now();
    return call->site.due > now ? call->site.due - now : 0;
}

/* Declared in verbcall/call.h: called by handlers, on any thread while the call
 * has not ended. Also notes that the handler has asked. */
uint32_t
vc_call_time_left_ms(const struct vc_call *call)
{
    uint64_t us = vc_call_deadline_us(call);

    return us == UINT64_MAX ? VC_NO_DEADLINE : (uint32_t)((us + 999) / 1000);
}

/* The timer of vc__server_deadline_watch(), on the holder: the deadline has
 * passed, and the client has not acknowledged the long reply. */
static void
on_overdue(struct vc__timer *timer)
{
    struct vc_call *call = caa_container_of(timer, struct vc_call, overdue);

    vc__server_session_overdue(call->site.session, call->site.slot);
}

void
vc__server_deadline_watch(struct vc_call *call)
{
    if (call->site.due != VC__FOREVER)
        vc__timer_start(&vc__call_part(call)->progress->engine.timers,
                        &call->overdue, call->site.due, on_overdue);
}

void
vc__server_deadline_unwatch(struct vc_call *call)
{
    vc__timer_stop(&vc__call_part(call)->progress->engine.timers,
                   &call->overdue);
}
