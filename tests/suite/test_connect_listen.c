/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The options for listening over RDMA: addresses of one family only, addresses
 * to which other programs are bound, and the port space RDMA_PS_IB. */
#include <arpa/inet.h>
#include <rdma/rdma_cma.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <verbcall/probe.h>

#include "cm/connect/target.h"
#include "tests/suite/fixture.h"

#define PATIENT_MS 20000u

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

/* --- RDMA_PS_IB --------------------------------------------------------- */

/* Writes the address of the fixture's server, in the other port space. */
static const char *
ib_target(const struct fixture *f, char target[100])
{
    assert_int_equal(0, strncmp(f->target, "rdma://", 7));
    snprintf(target, 100, "rdma+ib://%s", f->target + 7);
    return target;
}

static enum vc_status
connect_to(struct vc_runtime *runtime, const char *target)
{
    struct vc_channel *channel;
    enum vc_status status;

    assert_status(VC_OK, vc_channel_open(runtime, target, NULL, &channel));
    status = vc_channel_connect(channel, &suite_probe_service);
    vc_channel_close(channel);
    return status;
}

/* The other server has no service: who reaches it gets VC_UNIMPLEMENTED. */
static void
the_same_port_of_both_port_spaces_is_of_two_servers(void **state)
{
    struct fixture *f = *state;
    struct vc_server *other;
    char target[100];

    ib_target(f, target);
    assert_status(VC_UNAVAILABLE, connect_to(f->runtime, target));

    assert_status(VC_OK, vc_server_new(f->server_runtime, NULL, &other));
    assert_status(VC_OK, vc_server_listen(other, target));

    assert_int_equal(f->port, vc_server_port(other));
    assert_status(VC_UNIMPLEMENTED, connect_to(f->runtime, target));
    assert_status(VC_OK, connect_to(f->runtime, f->target));
    vc_server_free(other);
    assert_status(VC_UNAVAILABLE, connect_to(f->runtime, target));
}

static void
calls_of_both_port_spaces_reach_a_server_that_listens_at_both(void **state)
{
    Suite__EchoRequest request = SUITE__ECHO_REQUEST__INIT;
    struct fixture *f = *state;
    struct vc_channel *channel;
    Suite__EchoReply *reply;
    char target[100], text[400];

    ib_target(f, target);
    assert_status(VC_OK, vc_server_listen(f->server, target));
    assert_status(VC_OK, vc_channel_open(f->runtime, target, NULL, &channel));
    for (uint32_t tag = 1; tag <= 100; tag++) {
        request.tag = tag;
        assert_status(VC_OK, suite_probe_echo(tag % 2 ? channel : f->channel,
                                              &request, NULL, &reply));
        assert_int_equal(tag, reply->tag);
        vc_message_free(reply);
    }
    vc_channel_describe(channel, text, sizeof text);
    assert_non_null(strstr(text, "rdma+ib to "));
    vc_channel_close(channel);
}

static void
a_probe_asks_in_the_port_space_of_its_target(void **state)
{
    struct vc_probe_report r = VC_PROBE_REPORT_INIT;
    struct fixture *f = *state;
    char target[100];

    ib_target(f, target);
    assert_status(VC_UNAVAILABLE, vc_probe(target, PATIENT_MS, &r));
    assert_int_equal(VC_PROBE_NOBODY, r.answer);
    assert_status(VC_OK, vc_server_listen(f->server, target));
    assert_status(VC_OK, vc_probe(target, PATIENT_MS, &r));
    assert_int_equal(VC_PROBE_SERVER, r.answer);
}

#define T(name)                                                                \
    cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        T(a_server_of_ipv6_only_leaves_ipv4_to_another),
        T(an_address_that_others_share_is_bound_and_not_listened_at),
        T(the_same_port_of_both_port_spaces_is_of_two_servers),
        T(calls_of_both_port_spaces_reach_a_server_that_listens_at_both),
        T(a_probe_asks_in_the_port_space_of_its_target),
    };

    return fixture_main(tests);
}
