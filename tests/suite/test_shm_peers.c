/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Only for shared memory: peers with wrong descriptors, or that change a packet
 * while the peer reads it. Other clients are not harmed. */
#define _GNU_SOURCE /* memfd_create() */
#include <fcntl.h>
#include <linux/sockios.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "cm/connect/hello.h"
#include "tests/suite/entries.h"
#include "tests/suite/fixture.h"
#include "tests/unit/random.h"
#include "transport/shm/ring.h"
#include "transport/shm/shm.h"
#include "transport/shm/wire.h"

#define CLOSED_MS 10000
/* After some flips there is nothing to answer. */
#define ANSWER_MS 20
#define ACCEPT_MS 5000

/* Bytes of a request's payload; number of bits flipped in a body. */
#define BODY       1000u
#define BODY_FLIPS 32u

/* --- a bad client -------------------------------------------------------- */

struct bad {
    int fd, memfd;
    struct vc__shm_out out;
    struct vc__shm_in in;
};

static int
connect_to(const char *target)
{
    struct sockaddr_storage addr;
    struct sockaddr_un un;
    char name[100];
    socklen_t len;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    snprintf(name, sizeof name, "@%s", target + strlen("shm:"));
    vc__addr_local(&addr, name);
    len = vc__shm_sockaddr(&addr, &un);
    assert_int_equal(0, connect(fd, (struct sockaddr *)&un, len));
    return fd;
}

static void
hello_make(uint8_t out[VC__HELLO_SIZE], unsigned number)
{
    struct vc__hello hello = {.version_min = 1,
                              .version_max = 1,
                              .credits = 32,
                              .log2_eager = VC__PACKET_LOG2,
                              .log2_message = 22,
                              .service = suite_probe_service.id,
                              .instance = {1, (uint8_t)number,
                                           (uint8_t)(number >> 8),
                                           (uint8_t)(number >> 16)}};

    vc__hello_put(out, &hello);
}

/* Sends a hello with these descriptors. */
static void
say_hello(int fd, const int *fds, unsigned n)
{
    struct vc__socket_fds with = {.n = n};
    uint8_t hello[VC__HELLO_SIZE];

    hello_make(hello, 1);
    for (unsigned i = 0; i < n; i++)
        with.fd[i] = fds[i];
    assert_int_equal(0, vc__socket_say(fd, VC__RECORD_HELLO, hello,
                                       sizeof hello, n > 0 ? &with : NULL));
}

/* Checks that the server closes the connection without a byte. */
static void
expect_closed(int fd)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};
    char byte;

    assert_int_equal(1, poll(&p, 1, CLOSED_MS));
    assert_true(recv(fd, &byte, 1, 0) <= 0);
    close(fd);
}

static int
memfd_of(off_t size, int seals)
{
    int fd = memfd_create("bad", MFD_CLOEXEC | MFD_ALLOW_SEALING);

    assert_true(fd >= 0);
    assert_int_equal(0, ftruncate(fd, size));
    if (seals != 0)
        assert_int_equal(0, fcntl(fd, F_ADD_SEALS, seals));
    return fd;
}

static void
what_could_end_the_server_is_refused(void **state)
{
    const off_t size = sizeof(struct vc__shm_region);
    struct fixture *f = *state;
    int pipe_fds[2], region, fds[2], bad[8];
    struct vc__shm_region *mapped;

    assert_int_equal(0, pipe(pipe_fds));
    bad[0] = memfd_of(size, 0);
    bad[1] = memfd_of(size, F_SEAL_GROW);
    bad[2] = memfd_of(size, F_SEAL_SHRINK);
    bad[3] = memfd_of(size - 1, F_SEAL_SHRINK | F_SEAL_GROW);
    bad[4] = memfd_of(0, F_SEAL_SHRINK | F_SEAL_GROW);
    bad[5] = memfd_of(size * 2, F_SEAL_SHRINK | F_SEAL_GROW);
    bad[6] = pipe_fds[0];
    bad[7] = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    for (unsigned i = 0; i < 8; i++) {
        int fd = connect_to(f->target);

        say_hello(fd, &bad[i], 1);
        expect_closed(fd);
        close(bad[i]);
        assert_status(VC_OK, fixture_echo(f->channel, 100, i));
    }
    close(pipe_fds[1]);
    for (unsigned n = 0; n <= 2; n += 2) { /* none; one too many */
        int fd = connect_to(f->target);

        mapped = vc__shm_region_make(&region);
        fds[0] = fds[1] = region;
        say_hello(fd, fds, n);
        expect_closed(fd);
        close(region);
        vc__shm_region_unmap(mapped);
        assert_status(VC_OK, fixture_echo(f->channel, 100, n));
    }
}

/* --- descriptors ---------------------------------------------------------- */

/* Waits until this process has n descriptors, 5 s at most. */
static void
descriptors_await(unsigned n)
{
    uint64_t end = fixture_ms() + 5000;

    while (entries_descriptors() != n && fixture_ms() < end)
        usleep(1000);
    assert_int_equal(n, entries_descriptors());
}

/* Waits until the peer has read all that was sent, 1 s at most. */
static void
read_await(int fd)
{
    uint64_t end = fixture_ms() + 1000;
    int unread = 1;

    while (unread != 0 && fixture_ms() < end) {
        assert_int_equal(0, ioctl(fd, SIOCOUTQ, &unread));
        usleep(1000);
    }
    assert_int_equal(0, unread);
}

/* Sends part of a hello with two descriptors, and returns the rest. */
static size_t
half_hello(int fd, uint8_t rest[VC__RECORD_HEADER + VC__HELLO_SIZE])
{
    uint8_t hello[VC__HELLO_SIZE], all[VC__RECORD_HEADER + VC__HELLO_SIZE];
    union {
        char bytes[CMSG_SPACE(2 * sizeof(int))];
        struct cmsghdr head;
    } control = {.head = {CMSG_LEN(2 * sizeof(int)), SOL_SOCKET, SCM_RIGHTS}};
    struct iovec part = {all, 10};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = sizeof control};
    int pair[2], sent[2] = {STDIN_FILENO, STDIN_FILENO};

    hello_make(hello, 1);
    assert_int_equal(0, socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
    assert_int_equal(0, vc__socket_say(pair[0], VC__RECORD_HELLO, hello,
                                       sizeof hello, NULL));
    assert_int_equal(sizeof all, recv(pair[1], all, sizeof all, 0));
    close(pair[0]);
    close(pair[1]);
    memcpy(CMSG_DATA(&control.head), sent, sizeof sent);
    assert_int_equal(10, sendmsg(fd, &message, 0));
    memcpy(rest, all + 10, sizeof all - 10);
    return sizeof all - 10;
}

/* The first client's hello has two descriptors with it when the second one
 * takes the last that the server had spare: the first is rejected. */
static void
descriptors_of_a_hello_are_closed_when_there_are_no_others(void **state)
{
    uint8_t rest[VC__RECORD_HEADER + VC__HELLO_SIZE];
    struct fixture *f = *state;
    struct rlimit was, low;
    unsigned before = entries_descriptors();
    int first = connect_to(f->target), second, next;
    size_t len = half_hello(first, rest);
    struct sockaddr_un un;
    socklen_t un_len = sizeof un;

    read_await(first);
    assert_int_equal(0, getpeername(first, (struct sockaddr *)&un, &un_len));
    second = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    next = dup(STDIN_FILENO);
    close(next);
    assert_int_equal(0, getrlimit(RLIMIT_NOFILE, &was));
    low = (struct rlimit){(rlim_t)next, was.rlim_max};
    assert_int_equal(0, setrlimit(RLIMIT_NOFILE, &low));
    assert_int_equal(0, connect(second, (struct sockaddr *)&un, un_len));
    assert_int_equal(1, send(second, "x", 1, MSG_NOSIGNAL));
    read_await(second);
    assert_int_equal(len, send(first, rest, len, MSG_NOSIGNAL));
    while (recv(first, rest, sizeof rest, 0) > 0) /* the reject, or the end */
        continue;
    assert_int_equal(0, setrlimit(RLIMIT_NOFILE, &was));
    close(first);
    close(second);
    descriptors_await(before);
    assert_status(VC_OK, fixture_echo(f->channel, 100, 1));
}

/* --- bits that change ---------------------------------------------------- */

/* Waits for the accept and its region. */
static void
bad_open(struct bad *b, const char *target, unsigned number)
{
    struct vc__socket_fds fds = {.n = 0};
    uint8_t hello[VC__HELLO_SIZE], answer[VC__RECORD_HEADER + VC__ACCEPT_SIZE];
    uint32_t len = 0, wants;

    memset(b, 0, sizeof *b);
    b->fd = connect_to(target);
    b->out.mine = b->in.mine = vc__shm_region_make(&b->memfd);
    assert_non_null(b->out.mine);
    hello_make(hello, number);
    fds = (struct vc__socket_fds){.fd = {b->memfd}, .n = 1};
    assert_int_equal(
        0, vc__socket_say(b->fd, VC__RECORD_HELLO, hello, sizeof hello, &fds));
    fds.n = 0;
    while ((wants = vc__record_wants(answer, len, VC__RECORD_ACCEPT,
                                     VC__RECORD_ACCEPT)) > len) {
        struct pollfd p = {.fd = b->fd, .events = POLLIN};
        ssize_t n;

        assert_int_equal(1, poll(&p, 1, ACCEPT_MS));
        n = vc__socket_read(b->fd, answer + len, wants - len, &fds);
        assert_true(n > 0);
        len += (uint32_t)n;
    }
    assert_true(wants > 0);
    assert_int_equal(1, fds.n);
    b->out.theirs = b->in.theirs = vc__shm_region_map(fds.fd[0]);
    assert_non_null(b->in.theirs);
    close(fds.fd[0]);
}

static void
bad_close(struct bad *b)
{
    close(b->fd);
    close(b->memfd);
    vc__shm_region_unmap(b->out.mine);
    vc__shm_region_unmap(b->in.theirs);
}

/* A packet being built; `body` is where the body of its last frame begins. */
struct making {
    uint8_t *at;
    uint32_t len, body;
};

static void
add_frame(struct making *m, struct vc__frame f, const void *body)
{
    vc__frame_put(m->at + m->len, &f);
    m->body = m->len + VC__FRAME_HEADER;
    if (body != NULL && f.body_len > 0)
        memcpy(m->at + m->body, body, f.body_len);
    m->len = m->body + f.body_len;
}

/* Opens the session of the calls. */
static void
add_open(struct making *m)
{
    const struct vc_service *s = &suite_probe_service;
    struct vc__frame f = {.type = VC__FRAME_OPEN, .session = 1, .sequence = 1};
    uint8_t body[256];
    uint32_t name = (uint32_t)strlen(s->name);

    vc__put16(body, (uint16_t)name);
    memcpy(body + 2, s->name, name);
    vc__put16(body + 2 + name, (uint16_t)s->n_methods);
    f.body_len = 4 + name;
    for (unsigned i = 0; i < s->n_methods; i++, f.body_len += 4)
        vc__put32(body + f.body_len, s->methods[i].hash);
    add_frame(m, f, body);
}

/* An Echo of some bytes. */
static void
add_call(struct making *m, uint32_t sequence)
{
    static uint8_t payload[BODY];
    uint8_t body[BODY + 64];
    Suite__EchoRequest request = SUITE__ECHO_REQUEST__INIT;
    struct vc__frame f = {.type = VC__FRAME_CALL,
                          .session = 1,
                          .sequence = sequence,
                          .deadline = VC__DEADLINE_NONE};

    request.payload = (ProtobufCBinaryData){.len = BODY, .data = payload};
    f.body_len = (uint32_t)suite__echo_request__pack(&request, body);
    add_frame(m, f, body);
}

/* Builds a packet that the server answers: every fourth is a PING, the others
 * are calls. */
static struct making
packet_make(uint8_t *out, uint32_t sequence)
{
    struct making m = {.at = out, .len = VC__PACKET_HEADER};
    struct vc__packet p = {.sequence = sequence, .count = 1};
    struct vc__frame ping = {.type = VC__FRAME_PING, .sequence = sequence + 1};

    p.word.window = 32;
    p.word.ack = sequence; /* all packets before were answered */
    if (sequence == 0) {
        p.count = 2;
        add_open(&m);
    }
    if (sequence % 4 == 3)
        add_frame(&m, ping, NULL);
    else
        add_call(&m, sequence - sequence / 4 + 1);
    vc__packet_put(out, &p);
    return m;
}

/* Flips n of the bits from byte `from` to byte `to`. */
static unsigned
flip(const struct making *m, uint32_t from, uint32_t to, unsigned n,
     uint64_t *seed)
{
    for (unsigned i = 0; i < n; i++)
        m->at[from + random_below(seed, to - from)] ^=
            (uint8_t)(1u << random_below(seed, 8));
    return n;
}

/* Flips bits of what the server reads next, before publishing it: one bit of
 * the entry, of newest, of tail or of the headers, or several of the body.
 * Returns how many. */
static unsigned
bad_publish(struct bad *b, const struct making *m, uint64_t *seed, bool flips)
{
    struct vc__shm_entry *e =
        &b->out.mine->entries[b->out.tail % VC__SHM_ENTRIES];
    uint32_t word[4] = {b->out.at, m->len,
                        vc__shm_newest(b->out.tail, b->out.at, m->len),
                        b->out.tail + 1};
    unsigned which = flips ? random_below(seed, 7) : 7, n = flips;

    b->out.tail++;
    if (which < 4)
        word[which] ^= 1u << random_below(seed, 32);
    else if (which < 5 || (flips && m->len == m->body))
        n = flip(m, 0, m->body, 1, seed);
    else if (flips)
        n = flip(m, m->body, m->len, BODY_FLIPS, seed);
    atomic_store(&e->offset, word[0]);
    atomic_store(&e->len, word[1]);
    atomic_store(&b->out.mine->newest, word[2]);
    atomic_store(&b->out.mine->tail, word[3]);
    if (vc__shm_out_wakes(&b->out))
        send(b->fd, "", 1, MSG_NOSIGNAL);
    return n;
}

/* True: the server has answered, and the connection is up. */
static bool
bad_answered(struct bad *b)
{
    struct pollfd p = {.fd = b->fd, .events = POLLIN};
    uint8_t packet[VC__PACKET_MAX], bytes[64];
    uint64_t until = fixture_ms() + ANSWER_MS;

    while (fixture_ms() < until) {
        if (vc__shm_in_take(&b->in, packet) >= 0)
            return true;
        if (poll(&p, 1, 0) > 0 && recv(b->fd, bytes, sizeof bytes, 0) <= 0)
            return false;
    }
    return false; /* the server waits because of the flip */
}

/* The clients run one after the other, each until the server has closed its
 * link. */
static void
bits_that_are_flipped_harm_nobody_else(void **state)
{
    unsigned flips = fixture_many(100000, 10000000), links = 0, n = 0;
    struct fixture *f = *state;
    uint64_t seed = 1;
    struct bad b;

    while (n < flips) {
        uint32_t sequence = 0;

        bad_open(&b, f->target, ++links);
        do {
            struct making m =
                packet_make(vc__shm_out_reserve(&b.out), sequence);

            n += bad_publish(&b, &m, &seed,
                             sequence > 0); /* the first packet is good */
            sequence++;
        } while (bad_answered(&b) && n < flips);
        bad_close(&b);
        if (links % 100 == 0)
            assert_status(VC_OK, fixture_echo(f->channel, 100, links));
    }
    print_message("%u flips, %u links\n", n, links);
    assert_status(VC_OK, fixture_echo(f->channel, 100, 1));
}

#define WITH_FIXTURE(test)                                                     \
    cmocka_unit_test_setup_teardown(test, fixture_setup, fixture_teardown)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_FIXTURE(what_could_end_the_server_is_refused),
        WITH_FIXTURE(
            descriptors_of_a_hello_are_closed_when_there_are_no_others),
        WITH_FIXTURE(bits_that_are_flipped_harm_nobody_else),
    };

    return fixture_main(tests);
}
