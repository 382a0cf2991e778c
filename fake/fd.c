/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Descriptors of the world: epoll, eventfd, timerfd, and those of channels.
 * Numbers from FIRST up are simulated, all others are the system's. Static
 * functions run on the thread of their caller: one thread of the world runs at
 * a time (world.h). */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>

#include "real.h"

#define FIRST   10000
#define WATCHES 64 /* of one epoll */

enum kind {
    KIND_CLOSED,
    KIND_CHANNEL,
    KIND_EVENT,
    KIND_TIMER,
    KIND_EPOLL
};

struct watch {
    int fd;
    struct epoll_event event;
};

struct file {
    enum kind kind;
    struct fake_process *owner;
    bool nonblocking;
    bool ready;     /* of a channel */
    uint64_t count; /* of an eventfd */
    uint64_t due;   /* of a timerfd, ns; 0: not set */
    struct watch *watches;
    unsigned n_watches;
};

static struct {
    struct file **files;
    unsigned n, room;
    char any; /* its address is the key to wait for descriptors */
} F;

/* Called by most functions of this file. */
static struct file *
file_of(int fd)
{
    struct file *f;

    if (fd < FIRST || (unsigned)(fd - FIRST) >= F.n)
        return NULL;
    f = F.files[fd - FIRST];
    return f->kind == KIND_CLOSED ? NULL : f;
}

/* Creates a descriptor with the lowest free number. Called by fake__fd_new(),
 * __wrap_epoll_create1(), __wrap_eventfd() and __wrap_timerfd_create(). */
static int
file_new(enum kind kind, struct fake_process *p)
{
    unsigned i = 0;

    while (i < F.n && F.files[i]->kind != KIND_CLOSED)
        i++;
    if (i == F.room) {
        F.room = F.room == 0 ? 64 : F.room * 2;
        F.files = __real_realloc(F.files, F.room * sizeof(struct file *));
        if (F.files == NULL)
            abort();
    }
    if (i == F.n)
        F.n++;
    F.files[i] = fake__alloc(sizeof(struct file));
    F.files[i]->kind = kind;
    F.files[i]->owner = p;
    p->census.descriptors++;
    return FIRST + (int)i;
}

static bool is_ready(const struct file *f);

/* True if a watched descriptor is ready. One epoll may watch another. Called by
 * is_ready(). */
static bool
watches_ready(const struct file *f)
{
    for (unsigned i = 0; i < f->n_watches; i++) {
        const struct file *watched = file_of(f->watches[i].fd);

        if (watched != NULL && f->watches[i].event.events != 0 &&
            is_ready(watched))
            return true;
    }
    return false;
}

/* Called by watches_ready(), epoll_take(), poll_take() and timer_read(). */
static bool
is_ready(const struct file *f)
{
    switch (f->kind) {
    case KIND_EVENT:
        return f->count > 0;
    case KIND_TIMER:
        return f->due != 0 && f->due <= fake__world.now;
    case KIND_EPOLL:
        return watches_ready(f);
    default:
        return f->ready;
    }
}

/* Waits until some descriptor may be ready; false on timeout. Called by
 * __wrap_epoll_wait(), __wrap_poll() and timer_read(). */
static bool
await_any(uint64_t until)
{
    uint64_t alarm = until;

    for (unsigned i = 0; i < F.n; i++) {
        const struct file *f = F.files[i];

        if (f->kind == KIND_TIMER && f->due > fake__world.now && f->due < alarm)
            alarm = f->due;
    }
    return fake__block(&F.any, alarm) || alarm < until;
}

/* Called by file_close() and __wrap_epoll_ctl(). */
static struct watch *
watch_find(struct file *f, int fd)
{
    for (unsigned i = 0; i < f->n_watches; i++)
        if (f->watches[i].fd == fd)
            return &f->watches[i];
    return NULL;
}

/* Closes a descriptor and removes it from every epoll; otherwise the next one
 * with its number would seem to be watched. Called by fake__fds_exit(),
 * fake__fd_close() and __wrap_close(). */
static void
file_close(unsigned i)
{
    F.files[i]->owner->census.descriptors--;
    F.files[i]->kind = KIND_CLOSED;
    for (unsigned k = 0; k < F.n; k++) {
        struct file *f = F.files[k];
        struct watch *w = watch_find(f, FIRST + (int)i);

        if (w != NULL)
            *w = f->watches[--f->n_watches];
    }
}

/* Called by fake__process_end() (process.c). */
void
fake__fds_exit(struct fake_process *p)
{
    for (unsigned i = 0; i < F.n; i++)
        if (F.files[i]->kind != KIND_CLOSED && F.files[i]->owner == p)
            file_close(i);
}

/* Called by world_free() (process.c). */
void
fake__fds_end(void)
{
    __real_free(F.files);
    memset(&F, 0, sizeof F);
}

/* --- for verbs and rdma_cm --------------------------------------------- */

/* Called by fake__cm_channel_new() (cm_event.c), ibv_create_comp_channel()
 * (cq.c) and context_open() (verbs.c). */
int
fake__fd_new(struct fake_process *p)
{
    return file_new(KIND_CHANNEL, p);
}

/* Called in cm_event.c, cq.c and verbs.c. */
void
fake__fd_close(int fd)
{
    struct file *f = file_of(fd);

    if (f != NULL)
        file_close((unsigned)(fd - FIRST));
}

/* Called in cm_event.c, cq.c and verbs.c. */
void
fake__fd_ready(int fd, bool ready)
{
    struct file *f = file_of(fd);

    if (f == NULL)
        return;
    f->ready = ready;
    if (ready)
        fake__wake(&F.any);
}

bool
fake__fd_is_nonblocking(int fd)
{
    const struct file *f = file_of(fd);

    return f != NULL && f->nonblocking;
}

/* Called by fake__cm_event_get() (cm.c), ibv_get_cq_event() (cq.c) and
 * ibv_get_async_event() (verbs.c). */
bool
fake__fd_await(int fd)
{
    struct file *f;

    while ((f = file_of(fd)) != NULL && !f->ready) {
        if (f->nonblocking) {
            errno = EAGAIN;
            return false;
        }
        fake__block(&F.any, FAKE__FOREVER);
    }
    if (f == NULL)
        errno = EBADF;
    return f != NULL;
}

/* --- the calls --------------------------------------------------------- */

int __wrap_epoll_create1(int flags);
int __wrap_epoll_ctl(int epfd, int op, int fd, struct epoll_event *event);
int __wrap_epoll_wait(int epfd, struct epoll_event *events, int max, int ms);
int __wrap_eventfd(unsigned count, int flags);
int __wrap_timerfd_create(int clock, int flags);
int __wrap_timerfd_settime(int fd, int flags, const struct itimerspec *new,
                           struct itimerspec *old);
ssize_t __wrap_read(int fd, void *data, size_t len);
ssize_t __wrap_write(int fd, const void *data, size_t len);
int __wrap_close(int fd);
int __wrap_fcntl(int fd, int cmd, ...);
int __wrap_poll(struct pollfd *fds, nfds_t n, int ms);

int
__wrap_epoll_create1(int flags)
{
    FAKE_CALL("epoll_create1");
    int fd;

    (void)flags;
    if (call.err != 0) {
        errno = call.err;
        return -1;
    }
    fd = file_new(KIND_EPOLL, fake__self());
    file_of(fd)->watches = fake__alloc(WATCHES * sizeof(struct watch));
    return fd;
}

int
__wrap_epoll_ctl(int epfd, int op, int fd, struct epoll_event *event)
{
    FAKE_CALL("epoll_ctl");
    struct file *f = file_of(epfd);
    struct watch *w = f == NULL ? NULL : watch_find(f, fd);

    if (call.err != 0 && op != EPOLL_CTL_DEL) {
        errno = call.err;
        return -1;
    }
    if (f == NULL || file_of(fd) == NULL) {
        errno = EBADF;
        return -1;
    }
    if ((op == EPOLL_CTL_ADD) != (w == NULL)) {
        errno = w == NULL ? ENOENT : EEXIST;
        return -1;
    }
    if (op == EPOLL_CTL_DEL) {
        *w = f->watches[--f->n_watches];
        return 0;
    }
    if (w == NULL) {
        if (f->n_watches == WATCHES) {
            errno = ENOSPC;
            return -1;
        }
        w = &f->watches[f->n_watches++];
    }
    *w = (struct watch){fd, *event};
    fake__release(&F.any);
    fake__wake(&F.any);
    return 0;
}

/* Called by __wrap_epoll_wait(). */
static int
epoll_take(struct file *f, struct epoll_event *events, int max)
{
    int n = 0;

    for (unsigned i = 0; i < f->n_watches && n < max; i++) {
        struct watch *w = &f->watches[i];
        const struct file *watched = file_of(w->fd);

        if (watched == NULL || w->event.events == 0 || !is_ready(watched))
            continue;
        events[n] = w->event;
        events[n++].events = EPOLLIN;
        if (w->event.events & EPOLLONESHOT) /* until changed by EPOLL_CTL_MOD */
            w->event.events = 0;
    }
    return n;
}

/* Called by __wrap_epoll_wait() and __wrap_poll(). */
static uint64_t
until_of(int ms)
{
    return ms < 0 ? FAKE__FOREVER : fake__world.now + (uint64_t)ms * FAKE__MS;
}

int
__wrap_epoll_wait(int epfd, struct epoll_event *events, int max, int ms)
{
    FAKE_CALL_SAFE("epoll_wait");
    uint64_t until = until_of(ms);
    struct file *f = file_of(epfd);
    int n;

    if (f == NULL) {
        errno = EBADF;
        return -1;
    }
    while ((n = epoll_take(f, events, max)) == 0 && ms != 0 && await_any(until))
        continue;
    fake__acquire(&F.any);
    return n;
}

/* Called by __wrap_poll(). */
static int
poll_take(struct pollfd *fds, nfds_t n)
{
    int ready = 0;

    for (nfds_t i = 0; i < n; i++) {
        const struct file *f = file_of(fds[i].fd);

        fds[i].revents =
            f != NULL && is_ready(f) ? (short)(fds[i].events & POLLIN) : 0;
        ready += fds[i].revents != 0;
    }
    return ready;
}

int
__wrap_poll(struct pollfd *fds, nfds_t n, int ms)
{
    FAKE_CALL("poll");
    uint64_t until;
    int ready;

    if (call.err != 0) {
        errno = call.err;
        return -1;
    }
    if (!fake__inside() || n == 0 || file_of(fds[0].fd) == NULL)
        return __real_poll(fds, n, ms);
    until = until_of(ms);
    while ((ready = poll_take(fds, n)) == 0 && ms != 0 && await_any(until))
        continue;
    return ready;
}

int
__wrap_eventfd(unsigned count, int flags)
{
    FAKE_CALL("eventfd");
    int fd;

    if (call.err != 0) {
        errno = call.err;
        return -1;
    }
    fd = file_new(KIND_EVENT, fake__self());
    file_of(fd)->count = count;
    file_of(fd)->nonblocking = (flags & EFD_NONBLOCK) != 0;
    return fd;
}

int
__wrap_timerfd_create(int clock, int flags)
{
    FAKE_CALL("timerfd_create");
    int fd;

    (void)clock;
    if (call.err != 0) {
        errno = call.err;
        return -1;
    }
    fd = file_new(KIND_TIMER, fake__self());
    file_of(fd)->nonblocking = (flags & TFD_NONBLOCK) != 0;
    return fd;
}

/* Only for absolute times of the monotonic clock, without an interval. */
int
__wrap_timerfd_settime(int fd, int flags, const struct itimerspec *new,
                       struct itimerspec *old)
{
    FAKE_CALL_SAFE("timerfd_settime");
    struct file *f = file_of(fd);

    if (f == NULL || f->kind != KIND_TIMER || flags != TFD_TIMER_ABSTIME ||
        old != NULL || new->it_interval.tv_sec != 0 ||
        new->it_interval.tv_nsec != 0) {
        errno = EINVAL;
        return -1;
    }
    f->due = (uint64_t) new->it_value.tv_sec * 1000 * FAKE__MS +
             (uint64_t) new->it_value.tv_nsec;
    fake__release(&F.any);
    fake__wake(&F.any); /* waiting threads must recompute their timeout */
    return 0;
}

/* Called by __wrap_read(). */
static ssize_t
timer_read(struct file *f, void *data)
{
    const uint64_t once = 1;

    while (!is_ready(f)) {
        if (f->nonblocking) {
            errno = EAGAIN;
            return -1;
        }
        await_any(FAKE__FOREVER);
    }
    f->due = 0;
    memcpy(data, &once, sizeof once);
    return sizeof once;
}

ssize_t
__wrap_read(int fd, void *data, size_t len)
{
    FAKE_CALL_SAFE("read");
    struct file *f = file_of(fd);

    if (f == NULL)
        return __real_read(fd, data, len);
    if (f->kind == KIND_TIMER)
        return timer_read(f, data);
    while (f->count == 0) {
        if (f->nonblocking) {
            errno = EAGAIN;
            return -1;
        }
        fake__block(&F.any, FAKE__FOREVER);
    }
    memcpy(data, &f->count, sizeof f->count);
    f->count = 0;
    return sizeof f->count;
}

ssize_t
__wrap_write(int fd, const void *data, size_t len)
{
    FAKE_CALL_SAFE("write");
    struct file *f = file_of(fd);
    uint64_t n;

    if (f == NULL)
        return __real_write(fd, data, len);
    fake__release(&F.any);
    memcpy(&n, data, sizeof n);
    f->count += n;
    fake__wake(&F.any);
    return sizeof n;
}

int
__wrap_close(int fd)
{
    FAKE_CALL_SAFE("close");
    struct file *f = file_of(fd);

    if (f == NULL)
        return __real_close(fd);
    file_close((unsigned)(fd - FIRST));
    return 0;
}

int
__wrap_fcntl(int fd, int cmd, ...)
{
    FAKE_CALL("fcntl");
    struct file *f = file_of(fd);
    va_list args;
    long arg;

    va_start(args, cmd);
    arg = va_arg(args, long);
    va_end(args);
    if (f == NULL)
        return __real_fcntl(fd, cmd, arg);
    if (call.err != 0) {
        errno = call.err;
        return -1;
    }
    if (cmd == F_SETFL)
        f->nonblocking = (arg & O_NONBLOCK) != 0;
    return cmd == F_GETFL && f->nonblocking ? O_NONBLOCK : 0;
}
