/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * uring N COUNT: would io_uring make transport/tcp faster? Two processes, each
 * pinned to a processor, pass N messages of 64 B to and fro over TCP on the
 * loopback interface, COUNT times. All bytes of one receive are answered by one
 * send. Both ends first use non-blocking send() and recv(), as transport/tcp
 * does. Then they use io_uring: a multishot receive into provided buffers,
 * whose queue is polled, and one send at a time. The program prints the
 * messages a second of both, and the ratio. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <liburing.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SIZE    64u
#define BLOCK   65536u
#define BUFFERS 16u
#define GROUP   1
#define ENTRIES 64u

/* What a completion queue entry belongs to. */
enum {
    SENDS,
    RECEIVES,
};

static void
die(const char *what)
{
    perror(what);
    exit(1);
}

static void
pin(int cpu)
{
    cpu_set_t set;

    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    if (sched_setaffinity(0, sizeof set, &set) != 0)
        die("sched_setaffinity");
}

static double
now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* --- one end -------------------------------------------------------------- */

struct end {
    int fd;
    struct io_uring ring;
    uint8_t *blocks;
    struct io_uring_buf_ring *buffers;
};

static uint8_t out[BLOCK];

/* Returns the bytes received; 0: none yet. */
static size_t
socket_take(struct end *e)
{
    static uint8_t in[BLOCK];
    ssize_t n = recv(e->fd, in, sizeof in, 0);

    if (n == 0 || (n < 0 && errno != EAGAIN))
        exit(0); /* the peer has ended */
    return n < 0 ? 0 : (size_t)n;
}

static void
socket_say(struct end *e, size_t len)
{
    while (len > 0) {
        ssize_t n = send(e->fd, out, len, MSG_NOSIGNAL);

        if (n < 0 && errno != EAGAIN)
            exit(0);
        len -= n > 0 ? (size_t)n : 0;
    }
}

static void
uring_receive(struct end *e)
{
    struct io_uring_sqe *sqe = io_uring_get_sqe(&e->ring);

    io_uring_prep_recv_multishot(sqe, e->fd, NULL, 0, 0);
    sqe->flags |= IOSQE_BUFFER_SELECT;
    sqe->buf_group = GROUP;
    sqe->user_data = RECEIVES;
}

static void
buffer_give(struct end *e, unsigned i)
{
    io_uring_buf_ring_add(e->buffers, e->blocks + (size_t)i * BLOCK, BLOCK,
                          (unsigned short)i, BUFFERS - 1, 0);
    io_uring_buf_ring_advance(e->buffers, 1);
}

static void
uring_begin(struct end *e)
{
    struct io_uring_buf_reg reg = {.ring_entries = BUFFERS, .bgid = GROUP};
    struct io_uring_params p = {.flags = IORING_SETUP_SINGLE_ISSUER |
                                         IORING_SETUP_DEFER_TASKRUN};

    if (io_uring_queue_init_params(ENTRIES, &e->ring, &p) != 0)
        die("io_uring_queue_init_params");
    e->blocks = malloc((size_t)BLOCK * BUFFERS);
    e->buffers = aligned_alloc(4096, 4096);
    reg.ring_addr = (uintptr_t)e->buffers;
    if (io_uring_register_buf_ring(&e->ring, &reg, 0) != 0)
        die("io_uring_register_buf_ring");
    io_uring_buf_ring_init(e->buffers);
    for (unsigned i = 0; i < BUFFERS; i++)
        buffer_give(e, i);
    uring_receive(e);
    io_uring_submit(&e->ring);
}

static size_t
uring_take(struct end *e)
{
    struct io_uring_cqe *cqe;
    size_t n = 0;

    if (io_uring_peek_cqe(&e->ring, &cqe) != 0) {
        io_uring_get_events(&e->ring);
        return 0;
    }
    if (cqe->user_data == RECEIVES) {
        if (cqe->res <= 0 && cqe->res != -ENOBUFS)
            exit(0);
        n = cqe->res > 0 ? (size_t)cqe->res : 0;
        if (n > 0)
            buffer_give(e, cqe->flags >> IORING_CQE_BUFFER_SHIFT);
        if (!(cqe->flags & IORING_CQE_F_MORE))
            uring_receive(e);
    }
    io_uring_cqe_seen(&e->ring, cqe);
    return n;
}

static void
uring_say(struct end *e, size_t len)
{
    struct io_uring_sqe *sqe = io_uring_get_sqe(&e->ring);

    io_uring_prep_send(sqe, e->fd, out, len, MSG_NOSIGNAL | MSG_WAITALL);
    sqe->user_data = SENDS;
    io_uring_submit(&e->ring);
}

/* --- both ends ------------------------------------------------------------ */

struct way {
    size_t (*take)(struct end *e);
    void (*say)(struct end *e, size_t len);
};

static int
listen_at(struct sockaddr_in *at)
{
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    socklen_t len = sizeof *at;

    *at = (struct sockaddr_in){.sin_family = AF_INET,
                               .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    if (bind(fd, (struct sockaddr *)at, len) != 0 || listen(fd, 1) != 0 ||
        getsockname(fd, (struct sockaddr *)at, &len) != 0)
        die("listen");
    return fd;
}

static void
end_begin(struct end *e, int fd, int cpu, const struct way *way)
{
    int on = 1;

    pin(cpu);
    e->fd = fd;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (way->take == uring_take)
        uring_begin(e);
    else
        fcntl(fd, F_SETFL, O_NONBLOCK);
}

static void
echo(int fd, const struct way *way)
{
    struct end e;
    size_t n;

    end_begin(&e, fd, 0, way);
    for (;;) {
        if ((n = way->take(&e)) > 0)
            way->say(&e, n);
    }
}

/* Returns messages a second. */
static double
measure(const struct way *way, unsigned under_way, double count)
{
    double bytes = 0, began;
    struct sockaddr_in at;
    int listener = listen_at(&at), fd;
    struct end e;
    pid_t pid = fork();
    size_t n;

    if (pid == 0)
        echo(accept(listener, NULL, NULL), way);
    fd = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(fd, (struct sockaddr *)&at, sizeof at) != 0)
        die("connect");
    end_begin(&e, fd, 1, way);
    began = now();
    way->say(&e, (size_t)under_way * SIZE);
    while (bytes < count * SIZE) {
        if ((n = way->take(&e)) == 0)
            continue;
        bytes += (double)n;
        way->say(&e, n);
    }
    began = now() - began;
    shutdown(fd, SHUT_RDWR);
    close(fd);
    close(listener);
    waitpid(pid, NULL, 0);
    return bytes / SIZE / began;
}

int
main(int argc, char **argv)
{
    const struct way socket_way = {socket_take, socket_say};
    const struct way uring_way = {uring_take, uring_say};
    unsigned n = argc == 3 ? (unsigned)atoi(argv[1]) : 0;
    double count = argc == 3 ? atof(argv[2]) : 0, sockets, uring;

    if (n == 0 || n > 512 || count < 1) {
        fprintf(stderr, "usage: uring N COUNT\n");
        return 2;
    }
    sockets = measure(&socket_way, n, count);
    uring = measure(&uring_way, n, count);
    printf("sockets_%u_per_s %.0f\nuring_%u_per_s %.0f\nuring_%u_over_sockets "
           "%.2f\n",
           n, sockets, n, uring, n, uring / sockets);
    return 0;
}
