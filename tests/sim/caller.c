/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See tests/sim/caller.h. */
#include "tests/sim/caller.h"

static void *
caller_main(void *arg)
{
    struct caller *c = arg;
    struct vc_call_opts opts = VC_CALL_OPTS_INIT;

    opts.timeout_ms = c->timeout_ms != 0 ? c->timeout_ms : VC_NO_DEADLINE;
    opts.canceller = c->canceller;
    c->status = sim_echo_opts(c->channel, c->size, c->tag, &opts, &c->outcome);
    c->ended_at = fake_now_us();
    return NULL;
}

void
caller_begin(struct caller *c)
{
    assert_int_equal(pthread_create(&c->thread, NULL, caller_main, c), 0);
}

void
caller_join(struct caller *c)
{
    pthread_join(c->thread, NULL);
    vc_canceller_free(c->canceller);
}
