/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See tests/unit/dns_fake.h. */
#include "tests/unit/dns_fake.h"

#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#define HEADER 12u

/* A message that is being written. */
struct message {
    size_t n;
    uint8_t at[65536];
};

struct question {
    char name[256];
    unsigned type;
    size_t len; /* of the message up to its end */
};

static void
message_put(struct message *m, const void *from, size_t n)
{
    if (m->n + n > sizeof m->at)
        n = sizeof m->at - m->n;
    memcpy(m->at + m->n, from, n);
    m->n += n;
}

static void
message_u16(struct message *m, unsigned v)
{
    message_put(m, (uint8_t[]){(uint8_t)(v >> 8), (uint8_t)v}, 2);
}

static void
message_name(struct message *m, const char *name)
{
    while (*name != '\0') {
        size_t len = strcspn(name, ".");

        message_put(m, (uint8_t[]){(uint8_t)len}, 1);
        message_put(m, name, len);
        name += len + (name[len] == '.');
    }
    message_put(m, "", 1);
}

/* Reads the question of what c-ares has sent. */
static bool
question_read(const uint8_t *msg, size_t len, struct question *q)
{
    size_t at = HEADER, n = 0;

    while (at < len && msg[at] != 0 && at + 1 + msg[at] < len) {
        n += (size_t)snprintf(q->name + n, sizeof q->name - n, "%s%.*s",
                              n == 0 ? "" : ".", msg[at],
                              (const char *)msg + at + 1);
        at += 1u + msg[at];
    }
    if (at + 5 > len)
        return false;
    q->type = (unsigned)msg[at + 1] << 8 | msg[at + 2];
    q->len = at + 5;
    return true;
}

/* Writes the data of a record, with its length. */
static void
record_data(struct message *m, const struct dns_record *r)
{
    unsigned priority, weight, port;
    size_t begin = m->n;
    char host[256];
    uint8_t ip[16];

    message_u16(m, 0);
    if (r->type == FAKE_SRV) {
        sscanf(r->data, "%u %u %u %255s", &priority, &weight, &port, host);
        message_u16(m, priority);
        message_u16(m, weight);
        message_u16(m, port);
        message_name(m, strcmp(host, ".") == 0 ? "" : host);
    } else if (r->type == FAKE_CNAME) {
        message_name(m, r->data);
    } else {
        inet_pton(r->type == FAKE_A ? AF_INET : AF_INET6, r->data, ip);
        message_put(m, ip, r->type == FAKE_A ? 4 : 16);
    }
    m->at[begin] = (uint8_t)((m->n - begin - 2) >> 8);
    m->at[begin + 1] = (uint8_t)(m->n - begin - 2);
}

static void
record_put(struct message *m, const struct dns_record *r)
{
    message_name(m, r->name);
    message_u16(m, r->type);
    message_u16(m, 1);
    message_u16(m, r->ttl >> 16);
    message_u16(m, r->ttl & 0xffff);
    record_data(m, r);
}

/* Writes the records of a name. Returns true if there is such a name. */
static bool
records_put(const struct dns_fake *f, struct message *m, const char *name,
            unsigned type, unsigned *n)
{
    bool exists = false;

    for (size_t i = 0; i < f->n_records; i++) {
        const struct dns_record *r = &f->records[i];

        if (strcasecmp(r->name, name) != 0)
            continue;
        exists = true;
        if (r->type != type && r->type != FAKE_CNAME)
            continue;
        record_put(m, r);
        ++*n;
        if (r->type == FAKE_CNAME)
            records_put(f, m, r->data, type, n);
    }
    return exists;
}

/* Writes the honest answer. */
static void
answer_honest(const struct dns_fake *f, const uint8_t *msg,
              const struct question *q, struct message *m)
{
    unsigned n = 0;

    m->n = 0;
    message_put(m, msg, 2);
    message_put(m, "\x81\x80\0\1\0\0\0\0\0\0", 10);
    message_put(m, msg + HEADER, q->len - HEADER);
    if (!records_put(f, m, q->name, q->type, &n))
        m->at[3] |= 3; /* NXDOMAIN */
    m->at[6] = (uint8_t)(n >> 8);
    m->at[7] = (uint8_t)n;
}

/* A record of the question's type whose name or data is wrong. */
static void
answer_wrong_record(struct message *m, const struct question *q, bool loop)
{
    m->n = q->len;
    m->at[3] &= 0xf0;
    m->at[6] = 0;
    m->at[7] = 1;
    message_u16(m, loop ? 0xc000 | (unsigned)q->len : 0xc00c);
    message_u16(m, q->type);
    message_put(m, "\0\1\0\0\1\0", 6);
    message_u16(m, loop ? 4 : 60000);
    message_put(m, "\x0a\0\0\1", 4);
}

/* Changes an honest answer to that of the server's manner. */
static void
answer_spoil(struct dns_fake *f, const struct question *q, struct message *m)
{
    switch (f->manner) {
    case FAKE_SERVFAIL:
    case FAKE_REFUSED:
        m->n = q->len;
        m->at[3] = (uint8_t)(0x80 | (f->manner == FAKE_SERVFAIL ? 2 : 5));
        m->at[6] = m->at[7] = 0;
        return;
    case FAKE_GARBAGE:
        for (size_t i = 0; i < m->n; i++) {
            f->random = f->random * 1664525u + 1013904223u;
            m->at[i] = (uint8_t)(f->random >> 24);
        }
        return;
    case FAKE_WRONG_ID:
        m->at[0] ^= 0x55;
        return;
    case FAKE_WRONG_NAME:
        m->at[HEADER + 1] ^= 1;
        return;
    case FAKE_HEADER_ONLY:
        m->at[3] &= 0xf0;
        m->at[7] = 1;
        m->n = q->len;
        return;
    case FAKE_HUGE_COUNTS:
        m->at[3] &= 0xf0;
        memset(m->at + 6, 0xff, 6);
        return;
    case FAKE_LOOP:
    case FAKE_LONG_DATA:
        answer_wrong_record(m, q, f->manner == FAKE_LOOP);
        return;
    default:
        return;
    }
}

/* Writes the answer to a question; nothing if there is none. */
static void
answer_make(struct dns_fake *f, const uint8_t *msg, size_t len, bool by_tcp,
            struct message *m)
{
    struct question q = {.len = 0};

    m->n = 0;
    if (!question_read(msg, len, &q))
        return;
    f->asked++;
    answer_honest(f, msg, &q, m);
    if (f->manner_type != 0 && f->manner_type != q.type)
        return;
    if (f->manner == FAKE_SILENT)
        m->n = 0;
    else if (f->manner >= FAKE_TRUNCATED && !by_tcp) {
        m->at[2] |= 2;
        m->at[6] = m->at[7] = 0;
        m->n = q.len;
    } else if (f->manner == FAKE_TRUNCATED_HALF)
        m->n /= 2;
    else
        answer_spoil(f, &q, m);
}

/* Answers a datagram. One that would be too long is truncated. */
static bool
udp_serve(struct dns_fake *f)
{
    static struct message m;
    struct sockaddr_in from;
    socklen_t len = sizeof from;
    uint8_t msg[1024];
    ssize_t n = recvfrom(f->udp, msg, sizeof msg, MSG_DONTWAIT,
                         (struct sockaddr *)&from, &len);

    if (n < 0)
        return false;
    answer_make(f, msg, (size_t)n, false, &m);
    if (m.n > 1232) {
        m.at[2] |= 2;
        m.n = 1232;
    }
    if (m.n > 0)
        sendto(f->udp, m.at, m.n, 0, (struct sockaddr *)&from, len);
    return true;
}

/* Answers the questions of a connection; each is read at once, as c-ares sends
 * it at once. Returns false when the connection is over. */
static bool
tcp_serve(struct dns_fake *f, int fd)
{
    static struct message m;
    uint8_t msg[1024], size[2];
    ssize_t n = recv(fd, size, 2, MSG_DONTWAIT);
    size_t len = (size_t)size[0] << 8 | size[1], whole;

    if (n < 0)
        return true;
    if (n != 2 || len > sizeof msg ||
        recv(fd, msg, len, MSG_WAITALL) != (ssize_t)len)
        return false;
    answer_make(f, msg, len, true, &m);
    if (f->manner == FAKE_TRUNCATED_ONLY)
        return false;
    whole = f->manner == FAKE_TRUNCATED_HALF ? m.n * 2 : m.n;
    size[0] = (uint8_t)(whole >> 8);
    size[1] = (uint8_t)whole;
    send(fd, size, 2, MSG_NOSIGNAL | MSG_MORE);
    send(fd, m.at, m.n, MSG_NOSIGNAL);
    return f->manner != FAKE_TRUNCATED_HALF;
}

static void
tcp_accept(struct dns_fake *f)
{
    const struct linger none = {.l_onoff = 1};
    int fd = accept(f->tcp, NULL, NULL);

    if (fd >= 0 && f->manner == FAKE_TRUNCATED_PIPE) {
        shutdown(fd, SHUT_WR);
        setsockopt(fd, SOL_SOCKET, SO_LINGER, &none, sizeof none);
        close(fd);
        return;
    }
    for (int i = 0; i < FAKE_CONNECTIONS && fd >= 0; i++)
        if (f->connection[i] < 0) {
            f->connection[i] = fd;
            return;
        }
    if (fd >= 0)
        close(fd);
}

void
dns_fake_serve(struct dns_fake *f)
{
    unsigned before = f->asked;

    while (udp_serve(f))
        ;
    tcp_accept(f);
    for (int i = 0; i < FAKE_CONNECTIONS; i++)
        if (f->connection[i] >= 0 && !tcp_serve(f, f->connection[i])) {
            close(f->connection[i]);
            f->connection[i] = -1;
        }
    if (f->asked - before > f->burst)
        f->burst = f->asked - before;
}

size_t
dns_fake_polls(const struct dns_fake *f, struct pollfd *out)
{
    size_t n = 0;

    out[n++] = (struct pollfd){.fd = f->udp, .events = POLLIN};
    out[n++] = (struct pollfd){.fd = f->tcp, .events = POLLIN};
    for (int i = 0; i < FAKE_CONNECTIONS; i++)
        if (f->connection[i] >= 0)
            out[n++] =
                (struct pollfd){.fd = f->connection[i], .events = POLLIN};
    return n;
}

void
dns_fake_open(struct dns_fake *f)
{
    dns_fake_open_at(f, "127.0.0.1", 0);
}

void
dns_fake_open_at(struct dns_fake *f, const char *ip, unsigned port)
{
    struct sockaddr_in a = {.sin_family = AF_INET,
                            .sin_port = htons((uint16_t)port)};
    socklen_t len = sizeof a;

    *f = (struct dns_fake){.random = 1};
    inet_pton(AF_INET, ip, &a.sin_addr);
    for (int i = 0; i < FAKE_CONNECTIONS; i++)
        f->connection[i] = -1;
    f->tcp = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    assert_return_code(bind(f->tcp, (struct sockaddr *)&a, len), 0);
    assert_return_code(listen(f->tcp, 16), 0);
    getsockname(f->tcp, (struct sockaddr *)&a, &len);
    f->port = ntohs(a.sin_port);
    f->udp = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    assert_return_code(bind(f->udp, (struct sockaddr *)&a, len), 0);
}

void
dns_fake_close(struct dns_fake *f)
{
    close(f->udp);
    close(f->tcp);
    for (int i = 0; i < FAKE_CONNECTIONS; i++)
        if (f->connection[i] >= 0)
            close(f->connection[i]);
}
