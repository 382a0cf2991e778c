/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See tests/suite/dns_channel.h. */
#include "tests/suite/dns_channel.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <verbcall/counters.h>

#include "tests/unit/dns_fake.h"

#define TEXT       (1u << 20)
#define PORT_FIRST 10000u /* below those that the system picks */
#define PORTS      20000u

/* Calls of each server; shared with its process. */
static atomic_uint *served;

uint64_t
fixture_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

void
fixture_assert_status(enum vc_status expected, enum vc_status actual,
                      const char *what, const char *file, int line)
{
    if (expected == actual)
        return;
    print_error("%s gave %s, not %s: %s\n", what, vc_status_name(actual),
                vc_status_name(expected), vc_error());
    _fail(file, line);
}

/* --- servers ------------------------------------------------------------ */

/* The handler of site_serve(); arg is the counter of its server. */
static enum vc_status
site_echo(struct vc_call *call, const Suite__EchoRequest *request,
          Suite__EchoReply *reply, void *arg)
{
    (void)call;
    reply->tag = request->tag;
    atomic_fetch_add((atomic_uint *)arg, 1);
    return VC_OK;
}

/* In the child: listens, says so by a byte, and serves until it is killed. */
static void
site_serve(unsigned i, const char *target, int ready)
{
    static const struct suite_probe_methods methods = {.echo = site_echo};
    struct vc_runtime *runtime;
    struct vc_server *server;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (vc_runtime_new(NULL, &runtime) != VC_OK ||
        vc_server_new(runtime, VC_SERVER_OPTS(.keepalive_ms = SITE_MS),
                      &server) != VC_OK ||
        suite_probe_add(server, &methods, &served[i]) != VC_OK ||
        vc_server_listen(server, target) != VC_OK || write(ready, "r", 1) != 1)
        _exit(1);
    while (true)
        pause();
}

/* Starts a server. False if it cannot listen there. */
static bool
site_server_start(struct site *s, unsigned i, const char *address)
{
    char target[80], byte;
    bool is_ready;
    int ready[2];

    snprintf(target, sizeof target, "tcp://%s:%u", address, s->port);
    assert_return_code(pipe(ready), 0);
    fflush(NULL);
    s->server[i] = fork();
    assert_true(s->server[i] >= 0);
    if (s->server[i] == 0)
        site_serve(i, target, ready[1]);
    close(ready[1]);
    is_ready = read(ready[0], &byte, 1) == 1;
    close(ready[0]);
    return is_ready;
}

void
site_server_kill(struct site *s, unsigned i)
{
    if (s->server[i] == 0)
        return;
    kill(s->server[i], SIGKILL);
    waitpid(s->server[i], NULL, 0);
    s->server[i] = 0;
}

/* Starts servers at these addresses and one port: the next one if another
 * program has it. Called by site_start() and site_start_at_all(). */
static void
site_servers_start(struct site *s, const char *const *address, unsigned n)
{
    static unsigned next;
    bool ok = false;

    for (unsigned tries = 0; !ok && tries < 20; tries++) {
        s->port = PORT_FIRST + ((unsigned)getpid() * 20 + next++) % PORTS;
        ok = true;
        for (unsigned i = 0; ok && i < n; i++)
            ok = site_server_start(s, i, address[i]);
        for (unsigned i = 0; !ok && i < n; i++)
            site_server_kill(s, i);
    }
    assert_true(ok);
}

/* Called by site_start() and site_start_at_all(). */
static void
site_start_with(struct site *s, const char *const *address, unsigned n)
{
    struct dns_fake place;

    memset(s, 0, sizeof *s);
    if (served == NULL)
        served =
            mmap(NULL, SITE_SERVERS * sizeof *served, PROT_READ | PROT_WRITE,
                 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(served != MAP_FAILED);
    memset(served, 0, SITE_SERVERS * sizeof *served);
    site_servers_start(s, address, n);
    /* A free port, of UDP and TCP. */
    dns_fake_open(&place);
    dns_fake_close(&place);
    s->dns_port = place.port;
    assert_status(VC_OK, vc_runtime_new(NULL, &s->runtime));
    assert_status(VC_OK, vc_runtime_start(s->runtime));
}

void
site_start(struct site *s)
{
    static const char *const address[] = {"127.0.0.1", "127.0.0.2",
                                          "127.0.0.3"};

    site_start_with(s, address, SITE_SERVERS);
}

void
site_start_at_all(struct site *s)
{
    static const char *const address[] = {"0.0.0.0"};

    site_start_with(s, address, 1);
}

unsigned
site_served(unsigned i)
{
    return atomic_load(&served[i]);
}

/* --- the channel -------------------------------------------------------- */

enum vc_status
site_try(struct site *s, const char *name, const char *policy,
         struct vc_channel **channel)
{
    char target[200], port[20] = "";

    if (name[0] != '_')
        snprintf(port, sizeof port, ":%u", s->port);
    snprintf(target, sizeof target, "dns://127.0.0.1:%u/%s%s?transport=tcp",
             s->dns_port, name, port);
    return vc_channel_open(
        s->runtime, target,
        VC_CHANNEL_OPTS(.policy = policy, .keepalive_ms = SITE_MS), channel);
}

void
site_open(struct site *s, const char *name, const char *policy)
{
    assert_status(VC_OK, site_try(s, name, policy, &s->channel));
}

enum vc_status
site_call(struct vc_channel *channel, const struct vc_call_opts *opts)
{
    Suite__EchoRequest request = SUITE__ECHO_REQUEST__INIT;
    Suite__EchoReply *reply = NULL;
    enum vc_status status;

    request.tag = 7;
    status = suite_probe_echo(channel, &request, opts, &reply);
    if (status == VC_OK)
        assert_int_equal(7, reply->tag);
    vc_message_free(reply);
    return status;
}

void
site_calls(struct site *s, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        assert_status(VC_OK, site_call(s->channel, NULL));
}

/* The description; until the next call of this function. For site_describes()
 * and site_ready(), on the test's thread. */
static const char *
site_description(struct vc_channel *channel)
{
    static char text[TEXT];

    assert_true(vc_channel_describe(channel, text, sizeof text) < sizeof text);
    return text;
}

bool
site_describes(struct vc_channel *channel, const char *text)
{
    return strstr(site_description(channel), text) != NULL;
}

unsigned
site_ready(struct vc_channel *channel)
{
    const char *at = site_description(channel);
    unsigned n = 0;

    for (; (at = strstr(at, ": ready,")) != NULL; at++)
        n++;
    return n;
}

uint64_t
site_attempts(const struct site *s)
{
    struct vc_counters c = VC_COUNTERS_INIT;

    vc_runtime_counters(s->runtime, &c);
    return c.calls_started;
}

/* --- threads that call -------------------------------------------------- */

/* A thread of site_load_start(). */
static void *
site_load_main(void *arg)
{
    struct site *s = arg;
    struct site_load *l = &s->load;

    while (!atomic_load(&l->enough)) {
        enum vc_status status = site_call(s->channel, NULL);

        if (status != VC_OK) {
            pthread_mutex_lock(&l->lock);
            if (atomic_fetch_add(&l->failed, 1) == 0)
                snprintf(l->text, sizeof l->text, "%s", vc_error());
            pthread_mutex_unlock(&l->lock);
        }
        atomic_fetch_add(&l->ended, 1);
    }
    return NULL;
}

void
site_load_start(struct site *s)
{
    struct site_load *l = &s->load;

    memset(l, 0, sizeof *l);
    pthread_mutex_init(&l->lock, NULL);
    l->runs = true;
    for (unsigned i = 0; i < SITE_CALLERS; i++)
        assert_int_equal(
            0, pthread_create(&l->threads[i], NULL, site_load_main, s));
}

/* Called by site_load_stop() and site_stop(). */
static void
site_load_end(struct site_load *l)
{
    atomic_store(&l->enough, true);
    for (unsigned i = 0; l->runs && i < SITE_CALLERS; i++)
        pthread_join(l->threads[i], NULL);
    l->runs = false;
}

void
site_load_stop(struct site *s)
{
    struct site_load *l = &s->load;

    site_load_end(l);
    if (atomic_load(&l->failed) > 0)
        fail_msg("%u of %u calls have failed: %s", atomic_load(&l->failed),
                 atomic_load(&l->ended), l->text);
}

void
site_stop(struct site *s)
{
    site_load_end(&s->load);
    vc_channel_close(s->second);
    vc_channel_close(s->channel);
    vc_runtime_free(s->runtime);
    for (unsigned i = 0; i < SITE_SERVERS; i++)
        site_server_kill(s, i);
    memset(s, 0, sizeof *s);
}
