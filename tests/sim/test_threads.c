/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * When the threads of a runtime run: the option threads, vc_server_listen(),
 * vc_runtime_start() and vc_runtime_stop(). Server and client are two runtimes
 * of one process. */
#include <errno.h>
#include <string.h>

#include "tests/sim/loop.h"

#define TARGET   "rdma://10.9.0.1:7471"
#define MS       UINT64_C(1000)
#define S        (1000 * MS)
#define WATCHERS 1u /* of handlers; one per runtime with threads */
#define ECHO     0u

static struct vc_runtime *there, *here;
static struct vc_server *server;
static struct vc_channel *channel;

/* --- the world --------------------------------------------------------- */

static enum vc_status
echo(struct vc_call *call, const Suite__EchoRequest *request,
     Suite__EchoReply *reply, void *arg)
{
    (void)call;
    (void)arg;
    reply->tag = request->tag;
    reply->payload = request->payload;
    return VC_OK;
}

static void
world_open(unsigned threads)
{
    const struct suite_probe_methods methods = {.echo = echo};
    struct vc_channel_opts opts = VC_CHANNEL_OPTS_INIT;

    sim_begin(1, 0, false);
    assert_int_equal(VC_OK, sim_runtime(&there, threads));
    assert_int_equal(VC_OK, vc_server_new(there, NULL, &server));
    assert_int_equal(VC_OK, suite_probe_add(server, &methods, NULL));
    opts.max_attempts = 1;
    assert_int_equal(VC_OK, sim_runtime(&here, 1));
    assert_int_equal(VC_OK, vc_channel_open(here, TARGET, &opts, &channel));
}

static void
world_close(void)
{
    vc_channel_close(channel);
    vc_server_free(server);
    vc_runtime_free(here);
    vc_runtime_free(there);
    assert_int_equal(0, fake_end());
}

static unsigned
threads_now(void)
{
    struct fake_census census;

    fake_census(fake_process_self(), &census);
    return census.threads;
}

static void
assert_error_has(const char *words)
{
    if (strstr(vc_error(), words) == NULL)
        fail_msg("\"%s\" is not in: %s", words, vc_error());
}

/* --- servers ------------------------------------------------------------- */

static void
a_server_serves_from_its_first_listen_on(void **state)
{
    (void)state;
    for (unsigned threads = 0; threads <= 3; threads++) {
        unsigned before, n = threads == 0 ? 1 : threads;

        world_open(threads);
        before = threads_now();

        assert_int_equal(VC_OK, vc_server_listen(server, TARGET));

        assert_int_equal(before + n + WATCHERS, threads_now());
        assert_int_equal(VC_OK, sim_echo(channel, 64, 1, 0, NULL));
        world_close();
    }
}

static void
later_listens_start_no_further_threads(void **state)
{
    unsigned before;

    (void)state;
    world_open(2);
    assert_int_equal(VC_OK, vc_server_listen(server, TARGET));
    before = threads_now();

    assert_int_equal(VC_OK, vc_server_listen(server, "rdma://10.9.0.1:7472"));
    assert_int_equal(VC_OK, vc_runtime_start(there));

    assert_int_equal(before, threads_now());
    world_close();
}

static void
a_malformed_target_starts_no_thread(void **state)
{
    unsigned before;

    (void)state;
    world_open(1);
    before = threads_now();

    assert_int_equal(VC_INVALID_ARGUMENT, vc_server_listen(server, "7471"));

    assert_int_equal(before, threads_now());
    world_close();
}

/* The thread that fails is the first one, a further one, or the watcher. */
static void
a_thread_that_cannot_be_had_leaves_nothing_behind(void **state)
{
    (void)state;
    for (unsigned nth = 1; nth <= 3; nth++) {
        unsigned before;

        world_open(2);
        before = threads_now();
        fake_fail(fake_process_self(), "pthread_create", nth, EAGAIN);

        assert_int_equal(VC_RESOURCE_EXHAUSTED,
                         vc_server_listen(server, TARGET));

        assert_error_has("option threads: 2");
        assert_error_has("ulimit -u");
        assert_int_equal(1, fake_failed());
        assert_int_equal(before, threads_now());
        assert_int_equal(0, vc_server_port(server));
        assert_int_equal(VC_UNAVAILABLE, sim_echo(channel, 64, 1, 0, NULL));
        assert_int_equal(VC_OK, vc_server_listen(server, TARGET));
        assert_int_equal(VC_OK, sim_echo(channel, 64, 1, 0, NULL));
        world_close();
    }
}

static void
a_listen_after_a_stop_starts_them_again(void **state)
{
    unsigned before;

    (void)state;
    world_open(1);
    before = threads_now();
    assert_int_equal(VC_OK, vc_server_listen(server, TARGET));

    vc_runtime_stop(there);
    assert_int_equal(before, threads_now());
    assert_int_equal(VC_OK, vc_server_listen(server, "rdma://10.9.0.1:7472"));

    assert_int_equal(before + 1 + WATCHERS, threads_now());
    assert_int_equal(VC_OK, sim_echo(channel, 64, 1, 0, NULL));
    world_close();
}

/* --- clients ------------------------------------------------------------- */

static void
on_done(enum vc_status status, void *reply, void *arg)
{
    assert_int_equal(VC_OK, status);
    vc_message_free(reply);
    sim_tell(arg);
}

static void
a_client_has_no_threads_until_it_starts_them(void **state)
{
    Suite__EchoRequest request = SUITE__ECHO_REQUEST__INIT;
    atomic_uint over = 0;
    unsigned before;

    (void)state;
    world_open(1);
    assert_int_equal(VC_OK, vc_server_listen(server, TARGET));
    before = threads_now();
    assert_int_equal(VC_OK, vc_channel_call_async(channel, &suite_probe_service,
                                                  ECHO, &request, NULL, on_done,
                                                  &over, NULL));

    assert_false(sim_await(&over, 100 * MS));
    assert_int_equal(before, threads_now());
    assert_int_equal(VC_OK, vc_runtime_start(here));
    assert_int_equal(VC_OK, vc_runtime_start(here));

    assert_true(sim_await(&over, S));
    assert_int_equal(before + 1 + WATCHERS, threads_now());
    world_close();
}

/* --- programs that poll themselves -------------------------------------- */

static void
without_threads_the_program_serves(void **state)
{
    struct loop loop;
    unsigned before;

    (void)state;
    world_open(VC_THREADS_NONE);
    before = threads_now();

    assert_int_equal(VC_OK, vc_server_listen(server, TARGET));
    assert_int_equal(VC_FAILED_PRECONDITION, vc_runtime_start(there));
    assert_error_has("VC_THREADS_NONE");
    assert_error_has("vc_runtime_poll()");
    vc_runtime_stop(there);
    assert_int_equal(before, threads_now());

    loop_start(&loop, there);
    assert_int_equal(VC_OK, sim_echo(channel, 64, 1, 0, NULL));
    loop_stop(&loop);
    world_close();
}

static void
a_client_says_what_a_server_that_nobody_advances_looks_like(void **state)
{
    uint64_t begun;

    (void)state;
    world_open(VC_THREADS_NONE);
    assert_int_equal(VC_OK, vc_server_listen(server, TARGET));
    begun = fake_now_us();

    assert_int_equal(VC_UNAVAILABLE, sim_echo(channel, 64, 1, 0, NULL));

    assert_in_range(fake_now_us() - begun, 2 * S, 2 * S + 10 * MS);
    assert_error_has("10.9.0.1:7471");
    assert_error_has("connection request sent, no answer within 2000 ms");
    assert_error_has("option threads");
    assert_error_has("vc_runtime_poll()");
    world_close();
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_server_serves_from_its_first_listen_on),
        cmocka_unit_test(later_listens_start_no_further_threads),
        cmocka_unit_test(a_malformed_target_starts_no_thread),
        cmocka_unit_test(a_thread_that_cannot_be_had_leaves_nothing_behind),
        cmocka_unit_test(a_listen_after_a_stop_starts_them_again),
        cmocka_unit_test(a_client_has_no_threads_until_it_starts_them),
        cmocka_unit_test(without_threads_the_program_serves),
        cmocka_unit_test(
            a_client_says_what_a_server_that_nobody_advances_looks_like),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
