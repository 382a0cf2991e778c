/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Addresses of all kinds: to listen at, to connect to and to connect from. */
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "tests/sim/sim.h"

#define SECOND 1000000u

/* A client on a host with one address, and a server on a host with another. */
struct talk {
    const char *client, *server; /* addresses of the hosts */
    const char *listen, *target, *bind;
    bool opened;
    enum vc_status status;
    char text[256];
    char source[80]; /* the client's address, as the server sees it */
};

static unsigned
look(uint64_t service, const struct sockaddr *source,
     const char *targets[VC_REDIRECT_MAX], void *arg)
{
    struct talk *t = arg;

    (void)service;
    (void)targets;
    assert_int_equal(0, getnameinfo(source,
                                    source->sa_family == AF_INET6
                                        ? sizeof(struct sockaddr_in6)
                                        : sizeof(struct sockaddr_in),
                                    t->source, sizeof t->source, NULL, 0,
                                    NI_NUMERICHOST));
    return 0;
}

static void
client_main(void *arg)
{
    struct talk *t = arg;
    struct vc_channel_opts opts = VC_CHANNEL_OPTS_INIT;
    struct vc_runtime *runtime;
    struct vc_channel *channel = NULL;
    char bind[64];

    snprintf(bind, sizeof bind, "%s", t->bind == NULL ? "" : t->bind);
    opts.bind_address = t->bind == NULL ? NULL : bind;
    assert_int_equal(VC_OK, sim_runtime(&runtime, 1));
    t->status = vc_channel_open(runtime, t->target, &opts, &channel);
    memset(bind, 'x', sizeof bind - 1); /* the library has copied it */
    t->opened = t->status == VC_OK;
    if (t->opened)
        t->status = sim_echo(channel, 64, 1, 0, NULL);
    snprintf(t->text, sizeof t->text, "%s",
             t->status == VC_OK ? "" : vc_error());
    vc_channel_close(channel);
    vc_runtime_free(runtime);
}

static void
talk(struct talk *t)
{
    struct vc_server_opts opts = VC_SERVER_OPTS_INIT;
    struct sim_server s = {.opts = &opts};
    struct fake_process *p;

    opts.redirect_decide = look;
    opts.redirect_arg = t;
    sim_begin(1, 2, true);
    snprintf(s.target, sizeof s.target, "%s", t->listen);
    sim_server_start(&s, fake_host_new("there", t->server), 1);
    assert_true(sim_server_await(&s));
    p = fake_process_start(fake_host_new("here", t->client), "client",
                           client_main, t);
    assert_true(fake_process_wait(p, 10 * SECOND));
    assert_true(sim_server_stop(&s));
    assert_int_equal(0, fake_end());
}

static void
talk_well(struct talk t)
{
    talk(&t);
    if (t.status != VC_OK)
        fail_msg("%s to %s: %s", t.client, t.target, t.text);
    /* The interface is that of the server's host, so it is cut off. */
    t.source[strcspn(t.source, "%")] = '\0';
    assert_string_equal(t.client, t.source);
}

static void
unique_local_addresses_are_connected_to(void **state)
{
    (void)state;
    talk_well((struct talk){.client = "fd09::1",
                            .server = "fd09::2",
                            .listen = "rdma://[fd09::2]:7471",
                            .target = "rdma://[fd09::2]:7471"});
}

static void
link_local_addresses_are_connected_to_with_their_interface(void **state)
{
    (void)state;
    talk_well((struct talk){.client = "fe80::1",
                            .server = "fe80::2",
                            .listen = "rdma://[fe80::2%1]:7471",
                            .target = "rdma://[fe80::2%1]:7471"});
    talk_well((struct talk){.client = "fe80::1",
                            .server = "fe80::2",
                            .listen = "rdma://[fe80::2%1]:7471",
                            .target = "rdma://[fe80::2%1]:7471",
                            .bind = "fe80::1%1"});
}

static void
a_server_at_all_addresses_takes_both_families(void **state)
{
    (void)state;
    talk_well((struct talk){.client = "fd09::1",
                            .server = "fd09::2",
                            .listen = "rdma://[::]:7471",
                            .target = "rdma://[fd09::2]:7471"});
    talk_well((struct talk){.client = "10.9.0.3",
                            .server = "10.9.0.2",
                            .listen = "rdma://[::]:7471",
                            .target = "rdma://10.9.0.2:7471"});
    talk_well((struct talk){.client = "10.9.0.3",
                            .server = "10.9.0.2",
                            .listen = "rdma://0.0.0.0:7471",
                            .target = "rdma://there:7471"});
}

static void
a_client_connects_from_the_address_it_is_bound_to(void **state)
{
    (void)state;
    talk_well((struct talk){.client = "10.9.0.3",
                            .server = "10.9.0.2",
                            .listen = "rdma://10.9.0.2:7471",
                            .target = "rdma://10.9.0.2:7471",
                            .bind = "10.9.0.3"});
    talk_well((struct talk){.client = "fd09::1",
                            .server = "fd09::2",
                            .listen = "rdma://[fd09::2]:7471",
                            .target = "rdma://there:7471",
                            .bind = "fd09::1"});
}

static void
an_address_to_bind_to_that_is_not_ours_is_told(void **state)
{
    struct talk t = {.client = "10.9.0.3",
                     .server = "10.9.0.2",
                     .listen = "rdma://10.9.0.2:7471",
                     .target = "rdma://10.9.0.2:7471",
                     .bind = "10.9.0.77"};

    (void)state;
    talk(&t);
    assert_true(t.opened);
    assert_int_equal(VC_UNAVAILABLE, t.status);
    assert_non_null(strstr(t.text, "from 10.9.0.77"));
    assert_non_null(strstr(t.text, "bind_address"));
}

static void
an_address_to_bind_to_of_another_family_is_told(void **state)
{
    struct talk t = {.client = "10.9.0.3",
                     .server = "10.9.0.2",
                     .listen = "rdma://10.9.0.2:7471",
                     .target = "rdma://10.9.0.2:7471",
                     .bind = "fd09::1"};

    (void)state;
    talk(&t);
    assert_true(t.opened);
    assert_int_equal(VC_UNAVAILABLE, t.status);
    assert_non_null(strstr(t.text, "family"));
}

static void
an_address_to_bind_to_that_is_none_is_refused_at_once(void **state)
{
    struct talk t = {.client = "10.9.0.3",
                     .server = "10.9.0.2",
                     .listen = "rdma://10.9.0.2:7471",
                     .target = "rdma://10.9.0.2:7471",
                     .bind = "eth0"};

    (void)state;
    talk(&t);
    assert_false(t.opened);
    assert_int_equal(VC_INVALID_ARGUMENT, t.status);
    assert_non_null(strstr(t.text, "eth0"));
}

/* --- addresses that cannot be listened at ---------------------------------- */

static void
why_an_address_cannot_be_listened_at_is_told(void **state)
{
    static const struct {
        const char *call;
        int err;
        enum vc_status status;
        const char *text;
    } rows[] = {
        {"rdma_create_id", ENOMEM, VC_RESOURCE_EXHAUSTED,
         "cannot make an id to listen at 10.9.0.1:7471: "},
        {"rdma_bind_addr", EADDRINUSE, VC_UNAVAILABLE,
         "cannot listen at 10.9.0.1:7471: the port is in use, or "},
        {"rdma_bind_addr", EADDRNOTAVAIL, VC_UNAVAILABLE,
         "cannot listen at 10.9.0.1:7471: the port is in use, or "},
        {"rdma_bind_addr", EACCES, VC_PERMISSION_DENIED,
         "cannot listen at 10.9.0.1:7471: this user may not use ports "},
        {"rdma_bind_addr", ENODEV, VC_UNAVAILABLE,
         "cannot listen at 10.9.0.1:7471: no RDMA device "},
        {"rdma_bind_addr", ENOMEM, VC_RESOURCE_EXHAUSTED,
         "cannot bind at 10.9.0.1:7471: "},
        {"rdma_listen", ENOMEM, VC_RESOURCE_EXHAUSTED,
         "cannot listen at 10.9.0.1:7471: "},
    };

    (void)state;
    for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct vc_runtime *runtime;
        struct vc_server *server;

        sim_begin(1, 0, true);
        assert_int_equal(VC_OK, sim_runtime(&runtime, 1));
        assert_int_equal(VC_OK, vc_server_new(runtime, NULL, &server));
        fake_fail(fake_process_self(), rows[i].call, 1, rows[i].err);
        assert_int_equal(rows[i].status,
                         vc_server_listen(server, "rdma://10.9.0.1:7471"));
        assert_int_equal(1, fake_failed());
        if (strncmp(vc_error(), rows[i].text, strlen(rows[i].text)) != 0)
            fail_msg("%s, %s: %s", rows[i].call, strerror(rows[i].err),
                     vc_error());
        vc_server_free(server);
        vc_runtime_free(runtime);
        assert_int_equal(0, fake_end());
    }
}

/* --- loopback addresses --------------------------------------------------- */

static const char *const loopback[] = {"127.0.0.1", "127.255.0.9", "[::1]",
                                       "[::ffff:127.0.0.1]", "localhost"};
#define LOOPBACK (sizeof loopback / sizeof *loopback)

static const char *
target_of(const char *host, char target[80])
{
    snprintf(target, 80, "rdma://%s:7471", host);
    return target;
}

static void
assert_error_has(const char *words)
{
    if (strstr(vc_error(), words) == NULL)
        fail_msg("\"%s\" is not in: %s", words, vc_error());
}

/* rdma_cm would take a loopback address for all addresses of all devices. */
static void
rdma_does_not_listen_at_loopback_addresses(void **state)
{
    struct vc_runtime *runtime;
    struct vc_server *server;
    char target[80];

    (void)state;
    sim_begin(1, 0, true);
    assert_int_equal(VC_OK, sim_runtime(&runtime, 1));
    assert_int_equal(VC_OK, vc_server_new(runtime, NULL, &server));
    for (unsigned i = 0; i < LOOPBACK; i++) {
        assert_int_equal(
            VC_INVALID_ARGUMENT,
            vc_server_listen(server, target_of(loopback[i], target)));
        assert_error_has("RDMA does not reach loopback addresses");
        assert_error_has("use tcp://");
    }
    assert_int_equal(0, vc_server_port(server));
    vc_server_free(server);
    vc_runtime_free(runtime);
    assert_int_equal(0, fake_end());
}

/* Addresses are checked by vc_channel_open(), names when they are resolved. */
static void
rdma_does_not_connect_to_loopback_addresses(void **state)
{
    struct vc_runtime *runtime;
    struct vc_channel *channel = NULL;
    char target[80];

    (void)state;
    sim_begin(1, 0, true);
    fake_host_new("loop", "127.0.0.1");
    assert_int_equal(VC_OK, sim_runtime(&runtime, 1));
    for (unsigned i = 0; i < LOOPBACK - 1; i++) {
        assert_int_equal(VC_INVALID_ARGUMENT,
                         vc_channel_open(runtime,
                                         target_of(loopback[i], target), NULL,
                                         &channel));
        assert_error_has("cannot connect to ");
        assert_error_has("RDMA does not reach loopback addresses");
    }
    assert_int_equal(
        VC_OK, vc_channel_open(runtime, "rdma://loop:7471", NULL, &channel));
    assert_int_equal(VC_INVALID_ARGUMENT, sim_echo(channel, 64, 1, 0, NULL));
    assert_error_has("RDMA does not reach loopback addresses");
    vc_channel_close(channel);
    vc_runtime_free(runtime);
    assert_int_equal(0, fake_end());
}

static void
rdma_does_not_connect_from_loopback_addresses(void **state)
{
    struct talk t = {.client = "10.9.0.3",
                     .server = "10.9.0.2",
                     .listen = "rdma://10.9.0.2:7471",
                     .target = "rdma://10.9.0.2:7471",
                     .bind = "127.0.0.1"};

    (void)state;
    talk(&t);
    assert_int_equal(VC_INVALID_ARGUMENT, t.status);
    assert_non_null(strstr(t.text, "cannot connect from 127.0.0.1"));
}

/* getaddrinfo() would take * for ::1. */
static void
a_star_is_no_address(void **state)
{
    struct vc_channel_opts opts = VC_CHANNEL_OPTS_INIT;
    struct vc_runtime *runtime;
    struct vc_channel *channel = NULL;
    struct vc_server *server;

    (void)state;
    sim_begin(1, 0, true);
    assert_int_equal(VC_OK, sim_runtime(&runtime, 1));
    assert_int_equal(VC_OK, vc_server_new(runtime, NULL, &server));
    assert_int_equal(VC_INVALID_ARGUMENT,
                     vc_server_listen(server, "rdma://*:7471"));
    assert_error_has("* is no host");
    assert_error_has("says [::], or 0.0.0.0");
    assert_int_equal(VC_INVALID_ARGUMENT,
                     vc_server_listen(server, "tcp://:7471"));
    assert_error_has("says [::], or 0.0.0.0");
    assert_int_equal(VC_INVALID_ARGUMENT,
                     vc_channel_open(runtime, "vc://*:1", NULL, &channel));
    opts.bind_address = "*";
    assert_int_equal(
        VC_INVALID_ARGUMENT,
        vc_channel_open(runtime, "rdma://10.9.0.2:1", &opts, &channel));
    vc_server_free(server);
    vc_runtime_free(runtime);
    assert_int_equal(0, fake_end());
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unique_local_addresses_are_connected_to),
        cmocka_unit_test(
            link_local_addresses_are_connected_to_with_their_interface),
        cmocka_unit_test(a_server_at_all_addresses_takes_both_families),
        cmocka_unit_test(a_client_connects_from_the_address_it_is_bound_to),
        cmocka_unit_test(an_address_to_bind_to_that_is_not_ours_is_told),
        cmocka_unit_test(an_address_to_bind_to_of_another_family_is_told),
        cmocka_unit_test(an_address_to_bind_to_that_is_none_is_refused_at_once),
        cmocka_unit_test(why_an_address_cannot_be_listened_at_is_told),
        cmocka_unit_test(rdma_does_not_listen_at_loopback_addresses),
        cmocka_unit_test(rdma_does_not_connect_to_loopback_addresses),
        cmocka_unit_test(rdma_does_not_connect_from_loopback_addresses),
        cmocka_unit_test(a_star_is_no_address),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
