/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See tests/suite/wire_failover.h. */
#include "tests/suite/wire_failover.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/suite/pace.h"
#include "tests/suite/wire_load.h"

/* By include/verbcall/channel.h a link that does not answer is detected within
 * keepalive_ms, 1 s by default, and RDMA has a head start of 250 ms before TCP;
 * 2 s more for the guests. */
#define TO_TCP_MS (1000 + 250 + 2000)
#define BACK_MS   10000

#define CALL_MS    20000
#define HANDLER_MS 5 /* some calls are in their handlers at any time */
#define LOOK_US    5000
#define MISSED_MS  20000 /* until an attempt by RDMA has failed */
#define TEXT       2048
#define UNTRIED    "not rdma: it was not tried yet"

/* --- the transport of calls ---------------------------------------------- */

static bool
is_over(const struct vc_channel *channel, const char *what)
{
    char text[TEXT];

    vc_channel_describe(channel, text, sizeof text);
    return strncmp(text, what, strlen(what)) == 0;
}

/* True: an attempt to connect by RDMA has failed since the link was lost. */
static bool
has_missed_rdma(const struct vc_channel *channel)
{
    char text[TEXT];

    vc_channel_describe(channel, text, sizeof text);
    return strstr(text, "not rdma: ") != NULL && strstr(text, UNTRIED) == NULL;
}

static void
fail_with_links(const struct vc_channel *channel, const char *what, unsigned ms)
{
    char text[TEXT];

    vc_channel_describe(channel, text, sizeof text);
    fail_msg("not %s within %u ms, but:\n%s", what, ms, text);
}

/* Waits until a call has succeeded over a link of this kind, limit_ms at most
 * after since_ms by the machine's pace. Returns the time of that. */
static uint64_t
await_good_over(const struct vc_channel *channel, const char *what,
                uint64_t since_ms, unsigned limit_ms)
{
    unsigned good = 0;
    bool over = false;

    for (;;) {
        if (!over && is_over(channel, what)) {
            over = true;
            good = load_good();
        }
        if (over && load_good() > good)
            return fixture_ms();
        if (pace_since(since_ms) > limit_ms)
            fail_with_links(channel, what, limit_ms);
        usleep(LOOK_US);
    }
}

static void
await_missed(const struct vc_channel *channel)
{
    uint64_t since = fixture_ms();

    while (!has_missed_rdma(channel)) {
        if (pace_since(since) > MISSED_MS)
            fail_with_links(channel, "tried again by RDMA", MISSED_MS);
        usleep(LOOK_US);
    }
}

/* --- what is dropped ----------------------------------------------------- */

/* The machines that drop incoming packets. */
struct sides {
    const char *name;
    bool here, there;
};

static const struct sides *blocked; /* NULL: none */

/* The server is asked over TCP. */
static void
block(struct vc_channel *control, const struct sides *s)
{
    blocked = s;
    if (s->there)
        have_server_do(control, WIRE_BLOCK);
    if (s->here)
        assert_int_equal(0, system(WIRE_TC_BLOCK));
}

void
failover_undo(struct vc_channel *control)
{
    const struct sides *s = blocked;

    if (s == NULL)
        return;
    blocked = NULL;
    if (s->here)
        assert_int_equal(0, system(WIRE_TC_ALLOW));
    if (s->there)
        have_server_do(control, WIRE_ALLOW);
}

/* --- a round ------------------------------------------------------------- */

static void
round_pass(struct vc_channel *channel, struct vc_channel *control,
           const struct sides *s)
{
    unsigned first = load_next_tag();
    uint64_t began, over_tcp, allowed, back;

    began = fixture_ms();
    block(control, s);
    over_tcp = await_good_over(channel, "tcp to", began, TO_TCP_MS);
    load_await_good();
    await_missed(channel);
    failover_undo(control);
    allowed = fixture_ms();
    back = await_good_over(channel, "rdma to", allowed, BACK_MS);
    load_await_good();
    printf("# RDMA blocked %s: good over TCP after %u ms (paced %u, at most "
           "%d), over RDMA %u ms (paced %u, at most %d) after it was allowed; "
           "%u calls\n",
           s->name, (unsigned)(over_tcp - began),
           (unsigned)pace_between(began, over_tcp), TO_TCP_MS,
           (unsigned)(back - allowed), (unsigned)pace_between(allowed, back),
           BACK_MS, load_next_tag() - first);
}

void
failover_pass(struct vc_channel *control, unsigned rounds)
{
    static const struct sides sides[] = {
        {"at both ends", true, true},
        {"at the client's end", true, false},
        {"at the server's end", false, true},
    };
    struct load_opts calls = {.timeout_ms = CALL_MS, .handler_ms = HANDLER_MS};
    unsigned first = load_next_tag();
    struct vc_runtime *runtime;
    struct vc_counters c;

    wire_runtime(&runtime);
    wire_channel(runtime, "vc", WIRE_PORT, NULL, &calls.channel);
    load_start(&calls);
    await_good_over(calls.channel, "rdma to", fixture_ms(), BACK_MS);
    for (unsigned i = 0; i < rounds; i++)
        round_pass(calls.channel, control,
                   &sides[i % (sizeof sides / sizeof sides[0])]);
    load_stop();
    c = wire_counters(runtime);
    printf("# %u links lost, %u calls sent again, %u times to a better link; "
           "the longest call took %u ms\n",
           (unsigned)c.links_lost, (unsigned)c.calls_sent_again,
           (unsigned)c.upgrades, load_longest_ms(first));
    assert_int_equal(0, count_endings("RDMA blocked", first, CALL_MS));
    assert_true_endings(control);
    assert_in_range(c.upgrades, rounds, UINT32_MAX);
    vc_channel_close(calls.channel);
    vc_runtime_free(runtime);
}
