/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Several threads call vc_server_listen() at once. */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <verbcall/runtime.h>
#include <verbcall/server.h>

#include "rpc/server/server.h"

#define ROUNDS 100u

static void
server_make(struct vc_server **server, struct vc_runtime **runtime,
            const struct vc_runtime_opts *opts)
{
    assert_int_equal(VC_OK, vc_runtime_new(opts, runtime));
    assert_int_equal(VC_OK, vc_server_new(*runtime, NULL, server));
}

struct listener {
    pthread_t thread;
    struct vc_server *server;
    const char *target;
    enum vc_status status;
    char text[200];
};

static void *
listener_main(void *arg)
{
    struct listener *l = arg;

    l->status = vc_server_listen(l->server, l->target);
    if (l->status != VC_OK)
        snprintf(l->text, sizeof l->text, "%s", vc_error());
    return NULL;
}

static void
listener_start(struct listener *l, struct vc_server *server, const char *target)
{
    l->server = server;
    l->target = target;
    assert_int_equal(0, pthread_create(&l->thread, NULL, listener_main, l));
}

static void
listener_end(struct listener *l)
{
    assert_int_equal(0, pthread_join(l->thread, NULL));
    if (l->status != VC_OK)
        fail_msg("%s", l->text);
}

/* --- vc:// --------------------------------------------------------------- */

/* What happens while the local socket is being opened. */
struct race {
    struct vc_server *server;
    struct listener second;
    atomic_bool began;    /* the second thread listens, too */
    atomic_bool by_tcp;   /* a thread listens over TCP */
    atomic_bool too_soon; /* clients did not get the local socket's name then */
};

/* A line of the log, within vc_server_listen(). The first is of the local
 * socket. It holds its thread up until another one listens over TCP. */
static void
on_line(enum vc_log_level level, const char *line, void *arg)
{
    struct race *r = arg;

    (void)level;
    if (strstr(line, "over tcp") != NULL) {
        if (!atomic_load(&r->server->has_local))
            atomic_store(&r->too_soon, true);
        atomic_store(&r->by_tcp, true);
    }
    if (strstr(line, "over shm") != NULL && !atomic_exchange(&r->began, true)) {
        listener_start(&r->second, r->server, "vc://127.0.0.1:0");
        while (!atomic_load(&r->by_tcp))
            sched_yield();
    }
}

/* A client that came by TCP before would never use the socket. */
static void
no_client_is_taken_over_tcp_before_the_local_socket_is_known(void **state)
{
    struct race r = {.server = NULL};
    struct vc_runtime *runtime;

    (void)state;
    server_make(&r.server, &runtime,
                VC_RUNTIME_OPTS(.log = on_line, .log_arg = &r,
                                .log_level = VC_LOG_INFO));
    assert_int_equal(VC_OK, vc_server_listen(r.server, "vc://127.0.0.1:0"));
    assert_true(r.began);
    listener_end(&r.second);
    assert_false(r.too_soon);
    vc_server_free(r.server);
    vc_runtime_free(runtime);
}

/* --- localhost ------------------------------------------------------------ */

/* Two threads that listen at both addresses, and how far they are. */
struct pair {
    struct vc_server *server;
    atomic_uint firsts; /* listeners at 127.0.0.1 */
};

/* A line of the log, before the listener is in the server's list. Both threads
 * wait here for each other. Then one of them waits until the other's listener
 * is in the list, and has its own there next. */
static void
on_pair_line(enum vc_log_level level, const char *line, void *arg)
{
    struct pair *p = arg;
    bool last;

    (void)level;
    if (strstr(line, "at 127.0.0.1:") == NULL)
        return;
    last = atomic_fetch_add(&p->firsts, 1) == 1;
    while (atomic_load(&p->firsts) < 2)
        ;
    while (last && vc_server_port(p->server) == 0)
        ;
}

/* The addresses are 127.0.0.1 and ::1. Neither thread may take the port that
 * the other's first listener has, for its second one. */
static void
both_addresses_of_localhost_have_the_port_of_their_own_listen(void **state)
{
    (void)state;
    for (unsigned round = 0; round < ROUNDS; round++) {
        struct listener listeners[2];
        struct vc_runtime *runtime;
        struct pair p = {.server = NULL};

        server_make(&p.server, &runtime,
                    VC_RUNTIME_OPTS(.log = on_pair_line, .log_arg = &p,
                                    .log_level = VC_LOG_INFO));
        for (unsigned i = 0; i < 2; i++)
            listener_start(&listeners[i], p.server, "tcp://localhost:0");
        for (unsigned i = 0; i < 2; i++)
            listener_end(&listeners[i]);
        vc_server_free(p.server);
        vc_runtime_free(runtime);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            no_client_is_taken_over_tcp_before_the_local_socket_is_known),
        cmocka_unit_test(
            both_addresses_of_localhost_have_the_port_of_their_own_listen),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
