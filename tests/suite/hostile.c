/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See tests/suite/hostile.h. */
#include "tests/suite/hostile.h"

#include <stdlib.h>

#define PATIENT_MS 20000

int
hostile_setup(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    struct vc_server_opts opts = VC_SERVER_OPTS_INIT;

    opts.handshake_timeout_ms = PATIENT_MS;
    fixture_start(f, 1, &opts, NULL);
    assert_status(VC_OK, fixture_echo(f->channel, 100, 1));
    *state = f;
    return 0;
}

void
hostile_others_served(struct fixture *f, const char *after)
{
    struct vc_channel *fresh;

    if (fixture_echo(f->channel, 100, 2) != VC_OK)
        fail_msg("after %s, on an old channel: %s", after, vc_error());
    assert_status(VC_OK, fixture_open_alone(f->runtime, f->target, &fresh));
    if (fixture_echo(fresh, 10000, 3) != VC_OK)
        fail_msg("after %s, on a new channel: %s", after, vc_error());
    vc_channel_close(fresh);
}

void
hostile_open(struct fixture *f, struct raw *r)
{
    struct vc__hello hello = raw_hello(&suite_probe_service);

    if (!raw_open(r, f->target, &hello))
        fail_msg("a good hello was not accepted");
}

void
hostile_open_session(struct fixture *f, struct raw *r)
{
    hostile_open(f, r);
    assert_true(raw_send_open(r, 1, &suite_probe_service));
}

uint64_t
hostile_closed(struct fixture *f, struct raw *r, const char *after)
{
    uint64_t start = fixture_ms();
    int event = raw_wait(r, HOSTILE_CLOSED_MS);
    uint64_t took = fixture_ms() - start;

    /* The CM rejects when it ends what has not been confirmed to it yet. */
    if (event != RDMA_CM_EVENT_DISCONNECTED && event != RDMA_CM_EVENT_REJECTED)
        fail_msg("after %s the link lives (event %d)", after, event);
    raw_close(r);
    hostile_others_served(f, after);
    return took;
}

bool
hostile_await_frame(struct raw *r, uint8_t type, const struct vc__frame *call,
                    struct vc__frame *f)
{
    do {
        if (!raw_next_frame(r, f, RAW_MS))
            return false;
    } while (f->type != type || f->session != call->session ||
             f->slot != call->slot || f->sequence != call->sequence);
    return true;
}

void
hostile_await_handlers(struct fixture *f, uint64_t n)
{
    struct vc_counters c;
    uint64_t until = fixture_ms() + RAW_MS;

    do {
        c = (struct vc_counters)VC_COUNTERS_INIT;
        assert_status(VC_OK, fixture_echo(f->channel, 10, 4));
        vc_runtime_counters(f->server_runtime, &c);
    } while (c.handlers_running < n && fixture_ms() < until);
    assert_true(c.handlers_running >= n);
}

void
hostile_nothing_left(struct fixture *f, const char *after)
{
    struct vc_counters c;
    uint64_t until = fixture_ms() + RAW_MS;

    do {
        c = (struct vc_counters)VC_COUNTERS_INIT;
        assert_status(VC_OK, fixture_echo(f->channel, 10, 4));
        vc_runtime_counters(f->server_runtime, &c);
    } while ((c.handlers_running > 0 || c.requests_arriving > 0) &&
             fixture_ms() < until);
    if (c.handlers_running > 0 || c.requests_arriving > 0)
        fail_msg("after %s %lld handlers run, %lld bytes arrive", after,
                 (long long)c.handlers_running, (long long)c.requests_arriving);
}

bool
hostile_send(struct raw *r, const struct hostile_packet *packet)
{
    struct raw_packet p = {.len = 0};

    raw_begin(r, &p);
    for (unsigned i = 0; i < packet->n; i++)
        raw_add(&p, packet->frames[i]);
    p.head.sequence += (uint32_t)packet->sequence;
    p.head.count = (uint16_t)(p.head.count + packet->count);
    p.head.word.ack += (uint32_t)packet->ack;
    p.head.word.window = (uint16_t)(p.head.word.window + packet->window);
    vc__packet_put(p.bytes, &p.head);
    return raw_send(r, p.bytes, (size_t)((int)p.len + packet->longer));
}
