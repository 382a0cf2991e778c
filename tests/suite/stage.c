/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See tests/suite/stage.h. */
#include "tests/suite/stage.h"

#include <string.h>

static void *
stage_main(void *arg)
{
    struct stage *s = arg;

    s->good = raw_take(&s->listener, &s->r, RAW_MS) && s->play(s);
    /* A client that closes its link waits for the server's answer. */
    if (s->good && s->r.event == RAW_ESTABLISHED)
        stage_client_leaves(&s->r);
    return NULL;
}

void
stage_start(struct stage *s, struct fixture *f, bool (*play)(struct stage *))
{
    struct vc_channel_opts opts = VC_CHANNEL_OPTS_INIT;

    s->f = f;
    s->play = play;
    /* Mostly a test judges the result of a single attempt. */
    opts.max_attempts = s->attempts != 0 ? s->attempts : 1;
    assert_true(raw_listen(&s->listener));
    fixture_target(s->listener.port, s->target);
    assert_int_equal(0, pthread_create(&s->thread, NULL, stage_main, s));
    opts.connect_timeout_ms =
        s->connect_passes ? STAGE_CONNECT_MS : STAGE_PATIENT_MS;
    opts.max_message = 65536;
    opts.rdma = s->rdma;
    assert_status(VC_OK,
                  vc_channel_open(f->runtime, s->target, &opts, &s->channel));
}

void
stage_join(struct stage *s, const char *what)
{
    if (!s->joined)
        pthread_join(s->thread, NULL);
    s->joined = true;
    if (!s->good)
        fail_msg("%s: the client did not do its part", what);
}

void
stage_end(struct stage *s, const char *what)
{
    vc_channel_close(s->channel);
    stage_join(s, what);
    raw_close(&s->r);
    raw_unlisten(&s->listener);
    hostile_no_harm(s->f, what);
}

/* --- the client's part ------------------------------------------------- */

enum vc_status
stage_call(struct stage *s, uint64_t *calls)
{
    Suite__Empty request = SUITE__EMPTY__INIT;
    Suite__CountReply *reply;
    enum vc_status status =
        suite_probe_count(s->channel, &request, NULL, &reply);

    if (status == VC_OK) {
        *calls = reply->calls;
        vc_message_free(reply);
    }
    return status;
}

void
stage_call_fails(struct stage *s, enum vc_status expected, const char *words,
                 const char *what)
{
    uint64_t calls;
    enum vc_status status = stage_call(s, &calls);

    if (status != expected)
        fail_msg("%s: %s, %s", what, vc_status_name(status),
                 status == VC_OK ? "" : vc_error());
    if (strstr(vc_error(), words) == NULL)
        fail_msg("%s: says \"%s\"", what, vc_error());
}

/* --- the server's part ------------------------------------------------- */

struct vc__accept
stage_accept(void)
{
    return (struct vc__accept){.version = VC__VERSION_MAX,
                               .log2_eager = 13,
                               .log2_message = 16,
                               .credits = RAW_BUFFERS,
                               .instance = "a raw server",
                               .max_sessions = 16,
                               .max_slots = 16};
}

bool
stage_take_call(struct raw *r, struct vc__frame *call)
{
    do {
        if (!raw_next_frame(r, call, RAW_MS))
            return false;
    } while (call->type != VC__FRAME_CALL);
    return true;
}

bool
stage_accept_well(struct stage *s, uint16_t credits)
{
    struct vc__accept accept = stage_accept();
    uint8_t bytes[VC__ACCEPT_SIZE];

    accept.credits = credits;
    vc__accept_put(bytes, &accept);
    return raw_accept(&s->r, bytes, sizeof bytes);
}

bool
stage_client_leaves(struct raw *r)
{
    return raw_wait(r, HOSTILE_CLOSED_MS) == RAW_DISCONNECTED;
}
