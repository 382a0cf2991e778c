/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * vc:// with a real RDMA device that is removed under load and restored. Calls
 * continue over TCP and return to RDMA; none is lost and none runs twice. The
 * device is a second one, because librdmacm closes the only device of a process
 * not before the process ends. This process only coordinates: both ends are in
 * a child. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <verbcall/counters.h>
#include <verbcall/runtime.h>

#include "tests/suite/callers.h"
#include "tests/suite/device.h"
#include "tests/suite/fixture.h"
#include "tests/suite/pace.h"

#define CALLERS 4
#define CALLS   1000000u
#define PORT    17473
#define GONE_MS 2000  /* until calls use TCP: the kernel reports it at once */
#define BACK_MS 10000 /* until calls use RDMA again */
#define LOOK_US 10000
#define TEXT    2048

/* Words of the board. */
enum {
    OVER_RDMA, /* counted up each time that calls use it again */
    OVER_TCP,
    REMOVED,
    MADE,
};

static atomic_uint *
word(unsigned which)
{
    return &fixture_board->words[which];
}

/* --- the server, which counts runs --------------------------------------- */

static atomic_uchar runs[CALLERS][CALLS];

static enum vc_status
echo(struct vc_call *call, const Suite__EchoRequest *request,
     Suite__EchoReply *reply, void *arg)
{
    (void)call;
    (void)arg;
    atomic_fetch_add(&runs[request->tag / CALLS][request->tag % CALLS], 1);
    reply->tag = request->tag;
    return VC_OK;
}

static const struct suite_probe_methods methods = {.echo = echo};

struct ends {
    struct vc_runtime *there, *here;
    struct vc_server *server;
    struct vc_channel *channel;
};

static void
ends_start(struct ends *e)
{
    struct vc_channel_opts opts = VC_CHANNEL_OPTS_INIT;
    char target[80];

    snprintf(target, sizeof target, "vc://0.0.0.0:%d", PORT);
    assert_status(VC_OK, vc_runtime_new(NULL, &e->there));
    assert_status(VC_OK, vc_server_new(e->there, NULL, &e->server));
    assert_status(VC_OK, suite_probe_add(e->server, &methods, NULL));
    assert_status(VC_OK, vc_server_listen(e->server, target));

    opts.transports = "rdma,tcp";
    snprintf(target, sizeof target, "vc://" DEVICE_SECOND ":%d", PORT);
    assert_status(VC_OK, vc_runtime_new(NULL, &e->here));
    assert_status(VC_OK, vc_channel_open(e->here, target, &opts, &e->channel));
}

static void
ends_stop(struct ends *e)
{
    vc_channel_close(e->channel);
    vc_runtime_free(e->here);
    vc_server_free(e->server);
    vc_runtime_free(e->there);
}

/* --- load ---------------------------------------------------------------- */

struct load {
    struct vc_channel *channel;
    unsigned number, calls;
    uint64_t longest_ms;
    pthread_t thread;
};

static atomic_bool enough;

static void
call_once(const struct load *l)
{
    Suite__EchoRequest request = SUITE__ECHO_REQUEST__INIT;
    Suite__EchoReply *reply;

    request.tag = l->number * CALLS + l->calls;
    assert_status(VC_OK, suite_probe_echo(l->channel, &request, NULL, &reply));
    assert_int_equal(request.tag, reply->tag);
    vc_message_free(reply);
}

static void *
load_run(void *arg)
{
    struct load *l = arg;

    while (!atomic_load(&enough) && l->calls < CALLS) {
        uint64_t began = fixture_ms();

        call_once(l);
        l->calls++;
        if (fixture_ms() - began > l->longest_ms)
            l->longest_ms = fixture_ms() - began;
    }
    return NULL;
}

static void
loads_start(struct load loads[CALLERS], struct vc_channel *channel)
{
    for (unsigned i = 0; i < CALLERS; i++) {
        loads[i].channel = channel;
        loads[i].number = i;
        assert_int_equal(
            0, pthread_create(&loads[i].thread, NULL, load_run, &loads[i]));
    }
}

static void
loads_end(struct load loads[CALLERS])
{
    atomic_store(&enough, true);
    for (unsigned i = 0; i < CALLERS; i++)
        assert_int_equal(0, pthread_join(loads[i].thread, NULL));
    for (unsigned i = 0; i < CALLERS; i++) {
        printf("# caller %u: %u calls, the longest took %u ms\n", i,
               loads[i].calls, (unsigned)loads[i].longest_ms);
        assert_in_range(loads[i].calls, 1, CALLS);
        for (unsigned c = 0; c < loads[i].calls; c++)
            assert_int_equal(1, atomic_load(&runs[i][c]));
    }
}

/* --- a device that is removed and restored ------------------------------- */

/* Waits for a link whose description begins with `what`. Returns the time. */
static uint64_t
await_over(const struct vc_channel *channel, const char *what, unsigned ms)
{
    uint64_t began = fixture_ms();
    char text[TEXT];

    for (;;) {
        vc_channel_describe(channel, text, sizeof text);
        if (strncmp(text, what, strlen(what)) == 0)
            return pace_since(began);
        if (pace_since(began) > ms)
            fail_msg("no link \"%s\" within %u ms, but:\n%s", what, ms, text);
        usleep(LOOK_US);
    }
}

static unsigned
times(void)
{
    return fixture_many(1, 5);
}

/* The nth removal of the device. */
static void
there_and_back(const struct ends *e, unsigned n)
{
    uint64_t to_tcp, back;

    fixture_await(word(REMOVED), n);
    to_tcp = await_over(e->channel, "tcp to", GONE_MS);
    fixture_tell(word(OVER_TCP));
    fixture_await(word(MADE), n);
    back = await_over(e->channel, "rdma to", BACK_MS);
    fixture_tell(word(OVER_RDMA));
    printf("# over TCP after %u ms, over RDMA again after %u ms\n",
           (unsigned)to_tcp, (unsigned)back);
}

static int
both_ends(void *arg, int ready)
{
    static struct load loads[CALLERS];
    struct vc_counters c = VC_COUNTERS_INIT;
    struct ends e;

    (void)arg;
    ends_start(&e);
    loads_start(loads, e.channel);
    await_over(e.channel, "rdma to", BACK_MS);
    assert_int_equal(1, write(ready, "", 1));
    for (unsigned i = 1; i <= times(); i++)
        there_and_back(&e, i);
    loads_end(loads);
    vc_runtime_counters(e.here, &c);
    printf("# %u calls sent again\n", (unsigned)c.calls_sent_again);
    assert_int_equal(times(), c.upgrades);
    ends_stop(&e);
    return 0;
}

static void
calls_outlive_their_device(void **state)
{
    pid_t child;

    (void)state;
    device_need_guest();
    fixture_board_make();
    device_second_make();
    child = fixture_fork(both_ends, NULL);
    for (unsigned i = 1; i <= times(); i++) {
        device_second_remove();
        fixture_tell(word(REMOVED));
        fixture_await(word(OVER_TCP), i);
        device_second_renew();
        fixture_tell(word(MADE));
        fixture_await(word(OVER_RDMA), i);
    }
    assert_int_equal(0, fixture_wait_ms(child, 60000));
}

static int
teardown(void **state)
{
    (void)state;
    device_second_end();
    return 0;
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(calls_outlive_their_device, teardown),
    };

    return fixture_main(tests);
}
