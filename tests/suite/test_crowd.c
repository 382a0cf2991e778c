/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * One server of rdma+ud:// and very many clients, each a runtime of its own,
 * that connect and call at the same time: each call is answered right and runs
 * once, and what the server takes of the adapter does not grow with its
 * clients. 40 clients; 1000 with VC_TEST_LONG=1, which needs 6 GiB, as the
 * clients have a QP each. */
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/suite/crowd.h"
#include "tests/suite/resources.h"

#define FEW       40u
#define PROCESSES 4u
#define ENGINES   2u
#define LINKS     4096u
/* A thousand clients on two processors take long until each had its turn. */
#define HANDSHAKE_MS 30000u

/* Tags of Echo by which the server measures itself. */
#define BEFORE (CROWD_TAGS + 0)
#define AFTER  (CROWD_TAGS + 1)

/* What each engine may pin, however many clients there are: 16 KiB for each of
 * a thousand. */
#define MEMORY ((size_t)16 << 20)

/* What the server's process shares with this one. */
static struct shared {
    sem_t end; /* posted: the server shall end */
    struct server_report {
        struct resources of_adapter;
        struct vc_counters counters;
        unsigned resident_kib;
    } reports[2];                 /* with one client, with all */
    atomic_uchar ran[CROWD_TAGS]; /* how often a handler ran with this tag */
} * shared;

/* --- the server -------------------------------------------------------- */

static void
shared_make(void)
{
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE,
                  MAP_SHARED | MAP_ANONYMOUS, -1, 0); /* zeroed */
    assert_true(shared != MAP_FAILED);
    assert_int_equal(0, sem_init(&shared->end, 1, 0));
}

static unsigned
resident_kib(void)
{
    unsigned pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");

    assert_non_null(f);
    assert_int_equal(1, fscanf(f, "%*u %u", &pages));
    fclose(f);
    return pages * (unsigned)(sysconf(_SC_PAGESIZE) / 1024);
}

static void
report_make(struct server_report *r, struct vc_runtime *runtime)
{
    r->counters = (struct vc_counters)VC_COUNTERS_INIT;
    vc_runtime_counters(runtime, &r->counters);
    assert_true(
        resources_of(resources_device("rxe0"), getpid(), &r->of_adapter));
    r->resident_kib = resident_kib();
}

static enum vc_status
echo(struct vc_call *call, const Suite__EchoRequest *request,
     Suite__EchoReply *reply, void *arg)
{
    (void)call;
    if (request->tag < CROWD_TAGS)
        atomic_fetch_add(&shared->ran[request->tag], 1);
    else
        report_make(&shared->reports[request->tag - BEFORE], arg);
    reply->tag = request->tag;
    reply->payload = request->payload;
    return VC_OK;
}

static int
serve(void *arg, int ready)
{
    const struct suite_probe_methods methods = {.echo = echo};
    struct vc_runtime_opts runtime_opts = VC_RUNTIME_OPTS_INIT;
    struct vc_server_opts opts = VC_SERVER_OPTS_INIT;
    struct vc_runtime *runtime;
    struct vc_server *server;
    char target[80];

    (void)arg;
    runtime_opts.threads = ENGINES;
    runtime_opts.memory_limit = MEMORY;
    opts.max_links = LINKS;
    opts.handshake_timeout_ms = HANDSHAKE_MS;
    assert_status(VC_OK, vc_runtime_new(&runtime_opts, &runtime));
    assert_status(VC_OK, vc_server_new(runtime, &opts, &server));
    assert_status(VC_OK, suite_probe_add(server, &methods, runtime));
    assert_status(VC_OK, vc_server_listen(server, fixture_target(0, target)));
    atomic_store(&fixture_board->port, vc_server_port(server));
    assert_int_equal(1, write(ready, "r", 1));
    while (sem_wait(&shared->end) != 0)
        ;
    vc_server_free(server);
    vc_runtime_free(runtime);
    return 0;
}

/* --- the test ---------------------------------------------------------- */

static void
report_ask(struct vc_channel *channel, uint64_t tag)
{
    Suite__EchoRequest request = SUITE__ECHO_REQUEST__INIT;
    Suite__EchoReply *reply;

    request.tag = tag;
    assert_status(VC_OK, suite_probe_echo(channel, &request, NULL, &reply));
    vc_message_free(reply);
}

static void
report_before(struct vc_channel *channel)
{
    report_ask(channel, BEFORE);
}

static void
report_after(struct vc_channel *channel)
{
    report_ask(channel, AFTER);
}

static void
report_print(const char *when, const struct server_report *r)
{
    const struct vc_counters *c = &r->counters;

    printf("# server with %s: %u QPs, %u CQs, %u MRs; %u KiB pinned to "
           "receive, %u to send, %u resident\n",
           when, r->of_adapter.qps, r->of_adapter.cqs, r->of_adapter.mrs,
           (unsigned)(c->memory_receive >> 10),
           (unsigned)(c->memory_send >> 10), r->resident_kib);
    printf("# %u links, %u sessions; of %u requests %u were rejected as busy, "
           "%u were accepted and left; %u calls shed; datagrams: %u sent "
           "again, %u received again, %u dropped\n",
           (unsigned)c->links_server, (unsigned)c->sessions_server,
           (unsigned)c->cm_requests, (unsigned)c->rejects_busy,
           (unsigned)c->links_failed, (unsigned)c->calls_shed,
           (unsigned)c->datagrams_resent, (unsigned)c->datagrams_again,
           (unsigned)c->datagrams_dropped);
}

/* Each call has run once. */
static void
runs_check(unsigned clients)
{
    for (uint64_t tag = 0; tag < CROWD_TAG(clients, 0); tag++)
        if (atomic_load(&shared->ran[tag]) != 1)
            fail_msg("call %u of client %u ran %u times",
                     (unsigned)(tag % CROWD_CALLS),
                     (unsigned)(tag / CROWD_CALLS),
                     atomic_load(&shared->ran[tag]));
}

/* The server's QPs, queues and memory are those of its engines. */
static void
reports_check(unsigned clients)
{
    const struct server_report *one = &shared->reports[0];
    const struct server_report *all = &shared->reports[1];

    assert_int_equal(clients, all->counters.sessions_server);
    assert_int_equal(1, one->of_adapter.qps);
    assert_in_range(all->of_adapter.qps, 1, ENGINES);
    assert_in_range(all->of_adapter.cqs, 1, ENGINES * one->of_adapter.cqs);
    assert_in_range(all->counters.memory_receive + all->counters.memory_send, 1,
                    ENGINES * MEMORY);
}

static void
each_client_of_a_crowd_is_served_by_the_same_queue_pair(void **state)
{
    struct crowd_opts opts = {.clients = fixture_many(FEW, CROWD_CLIENTS),
                              .before = report_before,
                              .after = report_after};
    struct crowd *crowd;
    pid_t server;

    (void)state;
    fixture_board_make();
    shared_make();
    server = fixture_fork(serve, NULL);
    fixture_target((uint16_t)atomic_load(&fixture_board->port), opts.target);
    crowd = crowd_new(&opts);
    crowd_run_forked(crowd, PROCESSES);
    report_print("one client", &shared->reports[0]);
    report_print("all", &shared->reports[1]);
    crowd_check(crowd);
    runs_check(opts.clients);
    reports_check(opts.clients);
    sem_post(&shared->end);
    assert_int_equal(0, fixture_wait(server));
    crowd_free(crowd);
    munmap(shared, sizeof *shared);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            each_client_of_a_crowd_is_served_by_the_same_queue_pair),
    };

    setenv("VC_TEST_SCHEME", "rdma+ud", 1);
    return fixture_main(tests);
}
