/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The options for listening over RDMA: addresses of one family only, and
 * addresses to which other programs are bound. */
#include <arpa/inet.h>
#include <rdma/rdma_cma.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cm/connect/target.h"
#include "tests/suite/fixture.h"

/* Makes a server that listens at this port of all addresses of a family. */
static enum vc_status
listen_at(struct vc_runtime *runtime, const char *address, uint16_t port,
          uint32_t ipv6_only, struct vc_server **server)
{
    char target[80];

    assert_status(
        VC_OK,
        vc_server_new(runtime, VC_SERVER_OPTS(.ipv6_only = ipv6_only), server));
    snprintf(target, sizeof target, "rdma://%s:%u", address, port);
    return vc_server_listen(*server, target);
}

static enum vc_status
connect_at(struct vc_runtime *runtime, uint16_t port)
{
    struct vc_channel *channel;
    enum vc_status status;
    char target[80];

    assert_status(VC_OK, vc_channel_open(runtime, fixture_target(port, target),
                                         NULL, &channel));
    status = vc_channel_connect(channel, &suite_probe_service);
    vc_channel_close(channel);
    return status;
}

/* VC_UNIMPLEMENTED shows that the server is reached; it has no service. */
static void
a_server_of_ipv6_only_leaves_ipv4_to_another(void **state)
{
    struct fixture *f = *state;
    struct vc_server *six, *four;
    uint16_t port;

    assert_status(VC_OK, listen_at(f->server_runtime, "[::]", 0, 0, &six));
    port = vc_server_port(six);
    assert_status(VC_UNIMPLEMENTED, connect_at(f->runtime, port));
    assert_status(VC_UNAVAILABLE,
                  listen_at(f->server_runtime, "0.0.0.0", port, 0, &four));
    vc_server_free(four);
    vc_server_free(six);
    assert_status(VC_OK, listen_at(f->server_runtime, "[::]", 0, 1, &six));
    port = vc_server_port(six);
    assert_status(VC_UNAVAILABLE, connect_at(f->runtime, port));
    assert_status(VC_OK,
                  listen_at(f->server_runtime, "0.0.0.0", port, 0, &four));
    assert_status(VC_UNIMPLEMENTED, connect_at(f->runtime, port));
    vc_server_free(four);
    vc_server_free(six);
}

/* Makes an id of another program at the tests' address, which lets others bind
 * there, too. */
static struct rdma_cm_id *
id_bound(struct rdma_event_channel *events)
{
    struct sockaddr_storage addr;
    struct rdma_cm_id *id;
    int on = 1;

    assert_status(VC_OK, vc__address_parse(&addr, getenv("VC_TEST_ADDR")));
    assert_int_equal(0, rdma_create_id(events, &id, NULL, RDMA_PS_TCP));
    assert_int_equal(0,
                     rdma_set_option(id, RDMA_OPTION_ID,
                                     RDMA_OPTION_ID_REUSEADDR, &on, sizeof on));
    assert_int_equal(0, rdma_bind_addr(id, (struct sockaddr *)&addr));
    return id;
}

/* Checks that listening there fails, with these words. */
static void
listening_fails(struct fixture *f, uint16_t port, uint32_t reuse,
                const char *words)
{
    struct vc_server *server;
    char target[80];

    assert_status(VC_OK, vc_server_new(f->server_runtime,
                                       VC_SERVER_OPTS(.reuse_address = reuse),
                                       &server));
    assert_status(VC_UNAVAILABLE,
                  vc_server_listen(server, fixture_target(port, target)));
    if (strstr(vc_error(), words) == NULL)
        fail_msg("\"%s\" is not in \"%s\"", words, vc_error());
    vc_server_free(server);
}

/* Linux lets ids share the address only until one of them listens. */
static void
an_address_that_others_share_is_bound_and_not_listened_at(void **state)
{
    struct rdma_event_channel *events = rdma_create_event_channel();
    struct fixture *f = *state;
    struct rdma_cm_id *id;
    uint16_t port;

    assert_non_null(events);
    id = id_bound(events);
    port = ntohs(rdma_get_src_port(id));
    listening_fails(f, port, 0, "(bind: ");
    listening_fails(f, port, 1, "(listen: ");
    rdma_destroy_id(id);
    rdma_destroy_event_channel(events);
}

#define T(name)                                                                \
    cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        T(a_server_of_ipv6_only_leaves_ipv4_to_another),
        T(an_address_that_others_share_is_bound_and_not_listened_at),
    };

    return fixture_main(tests);
}
