/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Makes and frees an engine, and adds and removes what wakes it. See
 * transport/core/engine.h. */
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "transport/core/invariant.h"

#include "transport/core/engine.h"

/* What a wake-up costs, until it is measured. */
#define WAKEUP_US 50

/* --- sources ------------------------------------------------------------ */

int
vc__engine_add(struct vc__engine *e, struct vc__source *s)
{
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = s};

    /* First: the holder may call s->ready(), and remove the source, as soon as
     * epoll knows it. A listener's is added by any thread. */
    CDS_INIT_LIST_HEAD(&s->node);
    if (epoll_ctl(e->epoll_fd, EPOLL_CTL_ADD, s->fd, &event) != 0)
        return errno;
    if (s->poll != NULL)
        cds_list_add_tail(&s->node, &e->sources);
    return 0;
}

void
vc__engine_poll_source(struct vc__engine *e, struct vc__source *s,
                       unsigned (*poll)(struct vc__source *s),
                       void (*arm)(struct vc__source *s))
{
    s->poll = poll;
    s->arm = arm;
    cds_list_add_tail(&s->node, &e->sources);
}

void
vc__engine_await_room(struct vc__engine *e, struct vc__source *s, bool awaits)
{
    struct epoll_event event = {.events = awaits ? EPOLLIN | EPOLLOUT : EPOLLIN,
                                .data.ptr = s};

    /* epoll_ctl() fails only for a source that was removed. */
    epoll_ctl(e->epoll_fd, EPOLL_CTL_MOD, s->fd, &event);
}

void
vc__engine_remove(struct vc__engine *e, struct vc__source *s)
{
    epoll_ctl(e->epoll_fd, EPOLL_CTL_DEL, s->fd, NULL);
    cds_list_del(&s->node);
}

/* --- init and fini ----------------------------------------------------- */

int
vc__engine_init(struct vc__engine *e, uint32_t spin_max_us)
{
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = NULL};
    int err;

    memset(e, 0, sizeof *e);
    e->alarm_source.fd = -1;
    vc__spin_init(&e->spin, spin_max_us, WAKEUP_US);
    CDS_INIT_LIST_HEAD(&e->inbox);
    CDS_INIT_LIST_HEAD(&e->sources);
    CDS_INIT_LIST_HEAD(&e->tasks);
    CDS_INIT_LIST_HEAD(&e->handlers);
    vc__timers_init(&e->timers);
    e->wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (e->wake_fd < 0)
        return errno;
    e->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (e->epoll_fd < 0 ||
        epoll_ctl(e->epoll_fd, EPOLL_CTL_ADD, e->wake_fd, &event) != 0)
        goto out_wake;
    vc__token_init(&e->token);
    vc__tenure_init(&e->tenure);
    vc__lock_init(&e->inbox_lock);
    vc__ledger_init(&e->ledger);
    e->rough_us = vc__rough_us();
    return 0;
out_wake:
    err = errno;
    if (e->epoll_fd >= 0)
        close(e->epoll_fd);
    close(e->wake_fd);
    return err;
}

void
vc__engine_fini(struct vc__engine *e)
{
    vc__invariant(!vc__token_is_held(&e->token) && e->depth == 0);
    vc__invariant(cds_list_empty(&e->tasks) && cds_list_empty(&e->inbox) &&
                  cds_list_empty(&e->handlers));
    vc__ledger_fini(&e->ledger);
    vc__token_fini(&e->token);
    if (e->alarm_source.fd >= 0)
        close(e->alarm_source.fd);
    close(e->epoll_fd);
    close(e->wake_fd);
    vc__timers_fini(&e->timers);
}

/* --- watched by the program ---------------------------------------------- */

void
vc__engine_alarm(struct vc__engine *e, uint64_t due)
{
    struct itimerspec t = {.it_interval = {0, 0}};

    e->alarm = due;
    if (due != VC__FOREVER) {
        t.it_value.tv_sec = (time_t)(due / 1000000u);
        t.it_value.tv_nsec = (long)(due % 1000000u) * 1000;
    }
    /* It fails only for a descriptor that is no timer. */
    timerfd_settime(e->alarm_source.fd, TFD_TIMER_ABSTIME, &t, NULL);
}

/* ready() of alarm_source: the holder calls it when the timerfd is readable.
 * Notes only that it has fired: the timers themselves are run in each turn. */
static void
on_alarm(struct vc__source *s)
{
    struct vc__engine *e = caa_container_of(s, struct vc__engine, alarm_source);
    uint64_t count;

    if (read(s->fd, &count, sizeof count) > 0)
        e->alarm = VC__FOREVER;
}

/* For vc__engine_watch(): makes the timerfd of an engine that the program
 * begins to watch. Returns 0 or an errno. */
static int
alarm_open(struct vc__engine *e)
{
    int err;

    e->alarm = VC__FOREVER;
    e->alarm_source.ready = on_alarm;
    e->alarm_source.fd =
        timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    if (e->alarm_source.fd < 0)
        return errno;
    err = vc__engine_add(e, &e->alarm_source);
    if (err == 0)
        return 0;
    close(e->alarm_source.fd);
    e->alarm_source.fd = -1;
    return err;
}

/* The program's epoll reports the engine once, and then again only after
 * vc__engine_rearm(): while another thread is the holder, the program could do
 * nothing for it. */
int
vc__engine_watch(struct vc__engine *e, int loop_fd)
{
    struct epoll_event event = {.events = EPOLLIN | EPOLLONESHOT,
                                .data.ptr = e};
    int err = e->alarm_source.fd < 0 ? alarm_open(e) : 0;

    if (err != 0)
        return err;
    if (epoll_ctl(loop_fd, EPOLL_CTL_ADD, e->epoll_fd, &event) != 0)
        return errno;
    e->loop_fd = loop_fd;
    atomic_fetch_or(&e->token.word, VC__TOKEN_WATCHED);
    vc__engine_kick(e); /* no thread has parked it yet */
    return 0;
}

void
vc__engine_rearm(struct vc__engine *e)
{
    struct epoll_event event = {.events = EPOLLIN | EPOLLONESHOT,
                                .data.ptr = e};

    /* Sequentially consistent, as are the leaving of the token before this and
     * the two operations in vc__engine_turn(): `must_rearm` of a turn that
     * found the token held is seen here. Without that the program's loop would
     * get no event any more. */
    if (atomic_load(&e->must_rearm) && atomic_exchange(&e->must_rearm, false))
        epoll_ctl(e->loop_fd, EPOLL_CTL_MOD, e->epoll_fd, &event);
}
