/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Scenarios of tests/fake/faithful.c: a port that goes down and up, and a
 * device that is removed. No message of rdma_cm is sent while the port is down:
 * after that the CM of Soft-RoCE would receive nothing more. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/fake/faithful.h"
#include "tests/fake/scenarios.h"

#define WAIT_MS 5000
#define FLUSHES 4

/* Prints the next asynchronous event, except that of new addresses: a kernel
 * takes the addresses of an interface that is down, which the fake does not
 * simulate. */
static void
say_async(struct ibv_context *verbs)
{
    struct pollfd fd = {.fd = verbs->async_fd, .events = POLLIN};
    struct ibv_async_event e;

    fcntl(verbs->async_fd, F_SETFL, O_NONBLOCK);
    do {
        while (ibv_get_async_event(verbs, &e) != 0) {
            if (errno != EAGAIN || poll(&fd, 1, WAIT_MS) <= 0) {
                say("  no event");
                return;
            }
        }
        ibv_ack_async_event(&e);
    } while (e.event_type == IBV_EVENT_GID_CHANGE);
    say("  event: %s, port %d", ibv_event_type_str(e.event_type),
        e.element.port_num);
}

static void
say_port(struct ibv_context *verbs)
{
    struct ibv_port_attr attr;

    if (ibv_query_port(verbs, 1, &attr) == 0)
        say("  port: %s", ibv_port_state_str(attr.state));
}

/* The events of a QP's port come to all who have the device open. */
static void
a_port_goes_down_and_up(void)
{
    struct pair p;

    if (pair_connect(&p, NULL)) {
        struct ibv_context *verbs = p.client.id->verbs;

        end_receive(&p.server, 64);
        machine_port_set(false);
        say_async(verbs);
        say_port(verbs);
        end_send(&p.client, 64, IBV_SEND_SIGNALED);
        say("  send: %s", complete_text(&p.client, WAIT_MS));
        say("  client: %s", state_text(&p.client));
        say("  server: %s", state_text(&p.server));
        machine_port_set(true);
        say_async(verbs);
        say_port(verbs);
        say("  event of an id: %s", event_next(&p, 100) ? "one" : "none");
    }
    pair_close(&p);
}

/* --- removal ----------------------------------------------------------- */

/* The listener's bit is 1, the client's 2, the server's 4. */
static unsigned
bit_of(const struct pair *p, const struct rdma_cm_id *id)
{
    return id == p->listener    ? 1
           : id == p->client.id ? 2
           : id == p->server.id ? 4
                                : 0;
}

/* An end may also be notified that its peer has disconnected: the kernel
 * removes one id after the other. */
static void
say_removal(struct pair *p)
{
    unsigned seen = 0, again = 0;

    while (seen != 7 && event_next(p, WAIT_MS)) {
        if (p->last.event == RDMA_CM_EVENT_DEVICE_REMOVAL)
            seen |= bit_of(p, p->last.id);
    }
    while (event_next(p, 100))
        again += p->last.event == RDMA_CM_EVENT_DEVICE_REMOVAL;
    say("  told:%s%s%s", seen & 1 ? " listener" : "", seen & 2 ? " client" : "",
        seen & 4 ? " server" : "");
    say("  told again: %u", again);
}

/* Disconnecting fails, but moves the QPs to ERR. */
static void
say_end_of_queues(struct pair *p)
{
    say("  disconnect: %s", outcome(rdma_disconnect(p->client.id)));
    say("  disconnect: %s", outcome(rdma_disconnect(p->server.id)));
    say("  client: %s", state_text(&p->client));
    for (int i = 0; i < FLUSHES; i++)
        say("  receive: %s", complete_text(&p->server, WAIT_MS));
    say("  send: %s", errno_name(end_send(&p->client, 8, IBV_SEND_SIGNALED)));
    say("  its completion: %s", complete_text(&p->client, WAIT_MS));
}

static void
say_no_address(struct pair *p)
{
    struct sockaddr_in addr = {.sin_family = AF_INET,
                               .sin_port = htons(p->port)};
    struct rdma_cm_id *id;

    inet_pton(AF_INET, getenv("VC_TEST_ADDR"), &addr.sin_addr);
    if (rdma_create_id(p->channel, &id, NULL, RDMA_PS_TCP) != 0)
        return;
    say("  address: %s",
        outcome(rdma_resolve_addr(id, NULL, (struct sockaddr *)&addr, 300)));
    if (event_expect(p, RDMA_CM_EVENT_ADDR_ERROR))
        say("  status %d", p->last.status);
    rdma_destroy_id(id);
}

/* Soft-RoCE waits until all have closed the device, and its QPs work until
 * then. The fake is like a driver that lets go at once: the QPs are in ERR, and
 * nothing new can be made. */
static void
the_device_is_removed(void)
{
    struct pair p;

    if (pair_connect(&p, NULL)) {
        for (int i = 0; i < FLUSHES; i++)
            end_receive(&p.server, 64);
        machine_device_remove();
        say_removal(&p);
        say("~ client: %s", state_text(&p.client));
        say_end_of_queues(&p);
        say_no_address(&p);
    }
    pair_close(&p);
}

const struct scenario faithful_device[] = {
    {"a port goes down and up", a_port_goes_down_and_up},
    {"the device is removed", the_device_is_removed},
    {NULL, NULL},
};
