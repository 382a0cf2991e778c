/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Processes that may not pin memory, or have no descriptors left. A server
 * reports it when it listens, or to the clients that it refuses; a client's
 * calls end at once. */
#include <errno.h>
#include <string.h>
#include <sys/resource.h>

#include "tests/sim/scene.h"

#define ENOUGH 64u /* tries; each asks for less than the one before */

/* --- what is missing ----------------------------------------------------- */

static const struct lack {
    const char *call;
    int err;
    const char *own;   /* in the error of the process itself */
    const char *peers; /* in the error of a client that it refuses */
} lacks[] = {
    {"ibv_reg_mr", ENOMEM, "the limit of locked memory is 64 KiB; raise it",
     "the server cannot pin memory: raise its limit (ulimit -l)"},
    {"ibv_create_cq", ENOMEM, "the limit of locked memory is 64 KiB; raise it",
     "the server cannot pin memory: raise its limit (ulimit -l)"},
    {"ibv_open_device", EMFILE, "raise the limit of descriptors (ulimit -n",
     "the server has no descriptors left: raise its ulimit -n"},
};
#define LACKS (sizeof lacks / sizeof lacks[0])

static const struct lack *lack;

static struct rlimit before;

static int
memory_limit(void **state)
{
    struct rlimit low;

    (void)state;
    assert_int_equal(0, getrlimit(RLIMIT_MEMLOCK, &before));
    low = (struct rlimit){.rlim_cur = 65536, .rlim_max = before.rlim_max};
    return setrlimit(RLIMIT_MEMLOCK, &low);
}

static int
memory_free(void **state)
{
    (void)state;
    return setrlimit(RLIMIT_MEMLOCK, &before);
}

static void
lack_begin(struct fake_process *p)
{
    for (unsigned nth = 1; nth <= ENOUGH; nth++)
        fake_fail(p, lack->call, nth, lack->err);
}

static void
says(const char *words)
{
    if (strstr(vc_error(), words) == NULL)
        fail_msg("%s: \"%s\" is not in: %s", lack->call, words, vc_error());
}

/* --- servers ------------------------------------------------------------- */

static void
listens_at(const char *target)
{
    struct vc_runtime *runtime;
    struct vc_server *server;

    sim_begin(1, 0, true);
    assert_int_equal(VC_OK, sim_runtime(&runtime, 1));
    assert_int_equal(VC_OK, vc_server_new(runtime, NULL, &server));
    fake_fail(fake_process_self(), lack->call, 1, lack->err);
    assert_int_equal(VC_RESOURCE_EXHAUSTED, vc_server_listen(server, target));
    assert_int_equal(1, fake_failed());
    says("cannot listen at ");
    says(lack->own);
    assert_int_equal(VC_OK, vc_server_listen(server, target));
    vc_server_free(server);
    vc_runtime_free(runtime);
    assert_int_equal(0, fake_end());
}

static void
a_server_says_what_it_lacks_when_it_listens(void **state)
{
    (void)state;
    for (lack = lacks; lack < lacks + LACKS; lack++) {
        listens_at("rdma://10.9.0.1:7471");
        listens_at("rdma://0.0.0.0:7471");
    }
}

static void
is_refused(struct scene *s)
{
    lack_begin(s->server.process);
    assert_int_equal(VC_UNAVAILABLE, sim_echo(s->channel, 64, 1, 0, NULL));
    fake_fail_no_more();
    says("10.9.0.2:7471 refused: it cannot accept connections now: ");
    says(lack->peers);
    assert_null(strstr(vc_error(), "tried again"));
    assert_in_range(scene_server(s).rejects_unable, 1, UINT64_MAX);
    assert_int_equal(0, scene_server(s).rejects_busy);
    scene_call(s, 64, 2);
}

static void
a_client_that_is_refused_for_what_the_server_lacks_reads_it(void **state)
{
    (void)state;
    for (lack = lacks; lack < lacks + LACKS; lack++)
        scene_play(is_refused, NULL);
}

/* --- clients ------------------------------------------------------------- */

static void
calls_once(struct scene *s)
{
    struct vc_call_opts opts = VC_CALL_OPTS_INIT;

    opts.flags = VC_CALL_WAIT_FOR_READY;
    for (unsigned tag = 1; tag <= 2; tag++) {
        lack_begin(fake_process_self());
        assert_int_equal(
            VC_RESOURCE_EXHAUSTED,
            sim_echo_opts(s->channel, 64, tag, tag == 1 ? NULL : &opts, NULL));
        fake_fail_no_more();
        says(lack->own);
    }
    assert_int_equal(0, scene_client(s).calls_retried);
    scene_call(s, 64, 3);
}

static void
a_client_does_not_try_again_what_its_own_process_lacks(void **state)
{
    (void)state;
    for (lack = lacks; lack < lacks + LACKS; lack++)
        scene_play(calls_once, NULL);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_server_says_what_it_lacks_when_it_listens),
        cmocka_unit_test(
            a_client_that_is_refused_for_what_the_server_lacks_reads_it),
        cmocka_unit_test(
            a_client_does_not_try_again_what_its_own_process_lacks),
    };

    return cmocka_run_group_tests(tests, memory_limit, memory_free);
}
