/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See tests/suite/relay.h. */
#include "tests/suite/relay.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/suite/fixture.h"

#define LOOK_MS 10

static struct sockaddr_in
address(uint16_t port)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(port)};

    assert_int_equal(1,
                     inet_pton(AF_INET, getenv("VC_TEST_ADDR"), &a.sin_addr));
    return a;
}

int
relay_connect(uint16_t port)
{
    struct sockaddr_in a = address(port);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;

    assert_true(fd >= 0);
    assert_int_equal(0, connect(fd, (struct sockaddr *)&a, sizeof a));
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return fd;
}

int
relay_listen(uint16_t *port)
{
    struct sockaddr_in a = address(0);
    socklen_t len = sizeof a;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_true(fd >= 0);
    assert_int_equal(0, bind(fd, (struct sockaddr *)&a, sizeof a));
    assert_int_equal(0, listen(fd, 64));
    assert_int_equal(0, getsockname(fd, (struct sockaddr *)&a, &len));
    *port = ntohs(a.sin_port);
    return fd;
}

void
relay_reset(int fd)
{
    const struct linger now = {.l_onoff = 1, .l_linger = 0};

    setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
    close(fd);
}

static void
pair_drop(struct relay *r, unsigned i, bool reset)
{
    for (unsigned side = 0; side < 2; side++) {
        if (reset)
            relay_reset(r->pairs[i][side]);
        else
            close(r->pairs[i][side]);
    }
    memcpy(r->pairs[i], r->pairs[--r->n], sizeof r->pairs[i]);
}

static void
all_cut(struct relay *r)
{
    atomic_store(&r->cut_after, INT64_MAX);
    atomic_fetch_add(&r->cuts, r->n);
    while (r->n > 0)
        pair_drop(r, 0, true);
}

/* Forwards bytes. False: one of the two connections has ended. */
static bool
pass(struct relay *r, int from, int to)
{
    uint8_t bytes[16384];
    ssize_t n = recv(from, bytes, sizeof bytes, 0);
    long long left = atomic_load(&r->cut_after);
    bool trickles = atomic_load(&r->trickles);
    ssize_t sent;

    if (n <= 0)
        return false;
    if (left != INT64_MAX && n > left)
        n = left;
    for (ssize_t at = 0; at < n; at += sent) {
        sent =
            send(to, bytes + at, trickles ? 1 : (size_t)(n - at), MSG_NOSIGNAL);
        if (sent < 0)
            return false;
    }
    if (left != INT64_MAX)
        atomic_store(&r->cut_after, left - n);
    return true;
}

static void
pair_make(struct relay *r)
{
    int fd = accept(r->listener, NULL, NULL), on = 1;

    assert_true(fd >= 0 && r->n < RELAY_PAIRS);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    r->pairs[r->n][0] = fd;
    r->pairs[r->n][1] = relay_connect(r->to);
    r->n++;
}

static void
relay_turn(struct relay *r)
{
    struct pollfd fds[1 + 2 * RELAY_PAIRS] = {
        {.fd = r->listener, .events = POLLIN}};
    unsigned n = r->n;

    for (unsigned i = 0; i < 2 * n; i++) {
        fds[1 + i].fd = atomic_load(&r->halted) ? -1 : r->pairs[i / 2][i % 2];
        fds[1 + i].events = POLLIN;
    }
    poll(fds, 1 + 2 * n, LOOK_MS);
    for (unsigned i = n; i-- > 0;) {
        bool good = true;

        for (unsigned side = 0; side < 2 && good; side++)
            if (fds[1 + 2 * i + side].revents != 0)
                good = pass(r, r->pairs[i][side], r->pairs[i][1 - side]);
        if (!good)
            pair_drop(r, i, false);
    }
    if (atomic_load(&r->cut_after) <= 0)
        all_cut(r);
    if (fds[0].revents != 0)
        pair_make(r);
}

static void *
relay_thread(void *arg)
{
    struct relay *r = arg;

    while (!atomic_load(&r->ends))
        relay_turn(r);
    return NULL;
}

void
relay_begin(struct relay *r, uint16_t to)
{
    memset(r, 0, sizeof *r);
    r->to = to;
    atomic_store(&r->cut_after, INT64_MAX);
    r->listener = relay_listen(&r->port);
    assert_int_equal(0, pthread_create(&r->thread, NULL, relay_thread, r));
}

void
relay_end(struct relay *r)
{
    atomic_store(&r->ends, true);
    pthread_join(r->thread, NULL);
    while (r->n > 0)
        pair_drop(r, 0, false);
    close(r->listener);
}
