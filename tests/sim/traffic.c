/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See tests/sim/traffic.h. */
#include "tests/sim/traffic.h"

#include <stdio.h>
#include <string.h>

#include <verbcall/stream.h>

#include "tests/sim/mischief.h"

#define MS         UINT64_C(1000)
#define PACE_US    (40 * MS) /* longest pause of a caller */
#define LOOK_US    (5 * MS)
#define TIMEOUT_MS 20000u
#define MESSAGES   4u /* of a stream, each way */

static void
wrong(struct traffic *t, const char *what, const char *why)
{
    pthread_mutex_lock(&t->lock);
    if (t->wrong[0] == '\0')
        snprintf(t->wrong, sizeof t->wrong, "%s: %s", what, why);
    pthread_mutex_unlock(&t->lock);
}

static uint64_t
draw(struct traffic_thread *th, uint64_t n)
{
    struct dice d = {th->dice};
    uint64_t drawn = roll(&d, n);

    th->dice = d.state;
    return drawn;
}

/* --- calls ------------------------------------------------------------------- */

static void
longest_note(struct traffic *t, uint64_t us)
{
    unsigned long long was = atomic_load(&t->longest_us);

    while (us > was &&
           !atomic_compare_exchange_weak(&t->longest_us, &was, us)) {
    }
}

static void
call_note(struct traffic *t, unsigned tag, enum vc_status status,
          enum vc_outcome outcome)
{
    t->ended[tag].status = status;
    t->ended[tag].outcome = outcome;
    atomic_fetch_add(status == VC_OK ? &t->good : &t->failed, 1);
    if (status == VC_OK)
        return;
    if (!atomic_load(&t->may_fail))
        wrong(t, "a call failed", vc_error());
    if (vc_error()[0] == '\0')
        wrong(t, "a call has no text", vc_status_name(status));
}

static void
call_once(struct traffic_thread *th)
{
    static const size_t sizes[] = {0, 64, 300, 4000, 8200, 40000};
    struct traffic *t = th->traffic;
    unsigned tag = atomic_fetch_add(&t->next_tag, 1);
    uint64_t began = fake_now_us();
    enum vc_outcome outcome;
    enum vc_status status;

    if (tag >= TRAFFIC_CALLS) {
        wrong(t, "there are too many calls", "make TRAFFIC_CALLS greater");
        return;
    }
    status =
        sim_echo(t->channel, sizes[draw(th, 6)], tag, TIMEOUT_MS, &outcome);
    longest_note(t, fake_now_us() - began);
    call_note(t, tag, status, outcome);
}

static void *
caller_main(void *arg)
{
    struct traffic_thread *th = arg;

    while (!atomic_load(&th->traffic->enough)) {
        call_once(th);
        fake_sleep_us(draw(th, PACE_US));
    }
    return NULL;
}

/* --- streams ----------------------------------------------------------------- */

enum vc_status
traffic_talk(struct suite_streams_talk_client_stream *stream)
{
    enum vc_status status = VC_OK;

    for (unsigned i = 0; i < MESSAGES && status == VC_OK; i++) {
        Suite__EchoRequest request = SUITE__ECHO_REQUEST__INIT;
        Suite__EchoReply *reply = NULL;

        request.tag = 10 + i;
        status = suite_streams_talk_send(stream, &request);
        if (status == VC_OK)
            status = suite_streams_talk_receive(stream, &reply);
        if (status == VC_OK && (reply == NULL || reply->tag != 10 + i))
            status = VC_DATA_LOSS;
        vc_message_free(reply);
        fake_sleep_us(MS);
    }
    return status;
}

/* A stream ends when its link is lost; the next stream must succeed. */
static void
talk_once(struct traffic *t)
{
    struct suite_streams_talk_client_stream *stream = NULL;
    enum vc_status status = suite_streams_talk(t->channel, NULL, &stream);

    if (status == VC_OK)
        status = traffic_talk(stream);
    if (status == VC_OK)
        status = suite_streams_talk_finish(stream);
    if (status != VC_OK && status != VC_UNAVAILABLE)
        wrong(t, "a stream failed", vc_status_name(status));
    suite_streams_talk_close(stream);
    atomic_fetch_add(status == VC_OK ? &t->streams_good : &t->streams_broken,
                     1);
}

static void *
talker_main(void *arg)
{
    struct traffic_thread *th = arg;

    while (!atomic_load(&th->traffic->enough)) {
        talk_once(th->traffic);
        fake_sleep_us(2 * PACE_US + draw(th, PACE_US));
    }
    return NULL;
}

/* --- all of them ------------------------------------------------------------- */

static void
thread_start(struct traffic_thread *th, struct traffic *t, void *(*run)(void *),
             uint64_t dice)
{
    th->traffic = t;
    th->dice = dice;
    assert_int_equal(0, pthread_create(&th->thread, NULL, run, th));
}

void
traffic_start(struct traffic *t, struct vc_channel *channel, uint64_t seed)
{
    memset(t, 0, sizeof *t);
    t->channel = channel;
    pthread_mutex_init(&t->lock, NULL);
    for (unsigned i = 0; i < TRAFFIC_CALLERS; i++)
        thread_start(&t->callers[i], t, caller_main, seed * 100 + i);
    for (unsigned i = 0; i < TRAFFIC_TALKERS; i++)
        thread_start(&t->talkers[i], t, talker_main, seed * 100 + 50 + i);
}

void
traffic_stop(struct traffic *t)
{
    atomic_store(&t->enough, true);
    for (unsigned i = 0; i < TRAFFIC_CALLERS; i++)
        pthread_join(t->callers[i].thread, NULL);
    for (unsigned i = 0; i < TRAFFIC_TALKERS; i++)
        pthread_join(t->talkers[i].thread, NULL);
    traffic_is_right(t);
}

void
traffic_is_right(struct traffic *t)
{
    bool is_wrong;

    pthread_mutex_lock(&t->lock);
    is_wrong = t->wrong[0] != '\0';
    pthread_mutex_unlock(&t->lock);
    if (is_wrong)
        fail_msg("%s", t->wrong);
}

void
traffic_ran_once(struct traffic *t)
{
    for (unsigned tag = 0; tag < atomic_load(&t->next_tag); tag++) {
        unsigned ran = atomic_load(&sim_ran[tag]);
        enum vc_status status = t->ended[tag].status;
        enum vc_outcome outcome = t->ended[tag].outcome;

        if (ran > 1 || (status == VC_OK && ran != 1) ||
            (outcome == VC_OUTCOME_NOT_EXECUTED && ran != 0))
            fail_msg("call %u ran %u times: %s, outcome %d", tag, ran,
                     vc_status_name(status), (int)outcome);
    }
}

void
traffic_await(struct traffic *t, unsigned n, uint64_t us)
{
    unsigned calls = atomic_load(&t->good) + n;
    unsigned streams = atomic_load(&t->streams_good) + 1;
    uint64_t until = fake_now_us() + us;

    while (atomic_load(&t->good) < calls ||
           atomic_load(&t->streams_good) < streams) {
        traffic_is_right(t);
        if (fake_now_us() >= until)
            fail_msg("calls, or streams, are not good any more");
        fake_sleep_us(LOOK_US);
    }
}
