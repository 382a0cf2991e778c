/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See tests/suite/callers.h. */
#include "tests/suite/callers.h"
#include "tests/suite/pace.h"

#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Checks in a row that must find a thread asleep, 1 ms apart. */
#define ASLEEP_LOOKS 5
#define ASLEEP_MS    10000

static uint8_t payload[CALLER_LONG];

static enum vc_status
call_sleep(struct caller *c, const struct vc_call_opts *opts)
{
    Suite__SleepRequest request = SUITE__SLEEP_REQUEST__INIT;
    Suite__SleepReply *reply;
    enum vc_status status;

    request.milliseconds = c->sleep_ms;
    status = suite_probe_sleep(c->channel, &request, opts, &reply);
    if (status == VC_OK)
        vc_message_free(reply);
    return status;
}

static enum vc_status
call_echo(struct caller *c, const struct vc_call_opts *opts)
{
    Suite__EchoRequest request = SUITE__ECHO_REQUEST__INIT;
    Suite__EchoReply *reply;
    enum vc_status status;

    request.tag = c->tag;
    request.payload.data = payload;
    request.payload.len = c->size;
    request.reply_size = c->reply_size;
    atomic_store(&fixture_board->ran[c->tag % FIXTURE_TAGS], false);
    status = suite_probe_echo(c->channel, &request, opts, &reply);
    if (status == VC_OK) {
        assert_int_equal(c->tag, reply->tag);
        assert_int_equal(c->reply_size != 0 ? c->reply_size : c->size,
                         reply->payload.len);
        vc_message_free(reply);
    }
    return status;
}

enum vc_status
caller_call(struct caller *c)
{
    struct vc_call_opts opts = VC_CALL_OPTS_INIT;

    opts.timeout_ms = c->timeout_ms;
    c->began_ms = fixture_ms();
    c->status = c->sleep_ms != 0 ? call_sleep(c, &opts) : call_echo(c, &opts);
    c->ended_ms = fixture_ms();
    if (c->status == VC_OK) {
        c->good++;
    } else {
        c->outcome = vc_error_outcome();
        snprintf(c->text, sizeof c->text, "%s", vc_error());
    }
    return c->status;
}

static void *
caller_run(void *arg)
{
    struct caller *c = arg;

    atomic_store(&c->tid, (int)syscall(SYS_gettid));
    fixture_tell(&c->started);
    while (caller_call(c) == VC_OK && c->again)
        continue;
    return NULL;
}

void
caller_start(struct caller *c)
{
    atomic_store(&c->started, 0);
    assert_int_equal(0, pthread_create(&c->thread, NULL, caller_run, c));
}

void
caller_join(struct caller *c)
{
    assert_int_equal(0, pthread_join(c->thread, NULL));
}

/* Reads the third field of the thread's stat, after the name, which may hold
 * any characters. A thread that has ended has no stat; it counts as asleep. */
static bool
is_asleep(int tid)
{
    char path[64], stat[512];
    const char *name_end;
    FILE *f;
    size_t n;

    snprintf(path, sizeof path, "/proc/self/task/%d/stat", tid);
    f = fopen(path, "r");
    if (f == NULL)
        return true;
    n = fread(stat, 1, sizeof stat - 1, f);
    fclose(f);
    stat[n] = '\0';
    name_end = strrchr(stat, ')');
    return name_end == NULL || name_end[2] == 'S';
}

void
caller_await_asleep(struct caller *c)
{
    uint64_t due = fixture_ms() + ASLEEP_MS;
    unsigned looks = 0;

    fixture_await(&c->started, 1);
    while (looks < ASLEEP_LOOKS) {
        assert_true(fixture_ms() < due);
        looks = is_asleep(atomic_load(&c->tid)) ? looks + 1 : 0;
        usleep(1000);
    }
}

void
caller_assert_true(const struct caller *c)
{
    bool ran = atomic_load(&fixture_board->ran[c->tag]);

    if (c->status == VC_OK || c->sleep_ms != 0)
        return;
    if ((c->outcome == VC_OUTCOME_EXECUTED && !ran) ||
        (c->outcome == VC_OUTCOME_NOT_EXECUTED && ran))
        fail_msg("the outcome is %d, but the handler has%s run: %s", c->outcome,
                 ran ? "" : " not", c->text);
}

void
caller_assert_ended(const struct caller *c, enum vc_status status,
                    uint64_t since_ms)
{
    if (c->status != status)
        fail_msg("the call ended with %s, not %s: %s",
                 vc_status_name(c->status), vc_status_name(status), c->text);
    if (c->ended_ms > since_ms &&
        pace_between(since_ms, c->ended_ms) > CALLER_SOON_MS)
        fail_msg("the call ended only %u ms after its peer: %s",
                 (unsigned)(c->ended_ms - since_ms), c->text);
    caller_assert_true(c);
}
