/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The simulated world itself: threads, the clock, locks, descriptors. */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "fake/fake.h"

#define THREADS 4
#define SECOND  1000000u /* us */

static void
world(uint64_t seed, unsigned switch_every)
{
    fake_begin(&(struct fake_opts){.seed = seed,
                                   .profile = FAKE_RXE,
                                   .switch_every = switch_every,
                                   .trace = true});
}

static void
threads_run(void *(*body)(void *), void *arg)
{
    pthread_t threads[THREADS];

    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, body, arg), 0);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
}

/* Returns the nanoseconds between two readings of the clock. */
static long
look_ns(void)
{
    struct timespec a, b;

    clock_gettime(CLOCK_MONOTONIC, &a);
    clock_gettime(CLOCK_MONOTONIC, &b);
    return (b.tv_sec - a.tv_sec) * 1000000000 + b.tv_nsec - a.tv_nsec;
}

static void
a_call_takes_as_long_as_it_is_told(void **state)
{
    (void)state;
    fake_begin(&(struct fake_opts){.seed = 1});
    assert_int_equal(look_ns(), 200);
    assert_int_equal(fake_end(), 0);
    fake_begin(&(struct fake_opts){.seed = 1, .call_ns = 10});
    assert_int_equal(look_ns(), 10);
    assert_int_equal(fake_end(), 0);
}

static struct fake_census
census(const struct fake_process *p)
{
    struct fake_census c;

    fake_census(p, &c);
    return c;
}

/* --- one seed, one run ------------------------------------------------- */

struct log {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    unsigned word; /* a futex */
    atomic_uint numbers;
    size_t len;
    char text[16384];
};

static void
log_line(struct log *log, unsigned number, int i)
{
    pthread_mutex_lock(&log->lock);
    log->len += (size_t)snprintf(log->text + log->len,
                                 sizeof log->text - log->len, "%u %d at %llu\n",
                                 number, i, (unsigned long long)fake_now_us());
    pthread_cond_signal(&log->changed);
    pthread_mutex_unlock(&log->lock);
}

static void
wait_a_little(struct log *log)
{
    struct timespec t;

    pthread_mutex_lock(&log->lock);
    clock_gettime(CLOCK_REALTIME, &t);
    t.tv_nsec += 40000;
    if (t.tv_nsec >= 1000000000) {
        t.tv_nsec -= 1000000000;
        t.tv_sec++;
    }
    pthread_cond_timedwait(&log->changed, &log->lock, &t);
    pthread_mutex_unlock(&log->lock);
}

static void *
mixed_work(void *arg)
{
    struct log *log = arg;
    unsigned number = atomic_fetch_add(&log->numbers, 1);
    struct timespec t = {.tv_nsec = 30000};

    for (int i = 0; i < 20; i++) {
        uint8_t chance = 0;

        getrandom(&chance, 1, 0);
        log_line(log, number, i);
        if (chance % 4 == 0)
            usleep(chance);
        else if (chance % 4 == 1)
            wait_a_little(log);
        else if (chance % 4 == 2)
            syscall(SYS_futex, &log->word, FUTEX_WAIT_PRIVATE, 0, &t, NULL, 0);
        else
            syscall(SYS_futex, &log->word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL,
                    0);
    }
    return NULL;
}

static void
mixed_run(struct log *log, uint64_t seed)
{
    *log = (struct log){.lock = PTHREAD_MUTEX_INITIALIZER,
                        .changed = PTHREAD_COND_INITIALIZER};
    world(seed, 3);
    threads_run(mixed_work, log);
    log->len += (size_t)snprintf(
        log->text + log->len, sizeof log->text - log->len,
        "steps %llu, %llu us", (unsigned long long)fake_steps(),
        (unsigned long long)fake_now_us());
    assert_int_equal(fake_end(), 0);
}

static void
a_seed_is_one_run_to_the_byte(void **state)
{
    static struct log first, again;

    (void)state;
    for (uint64_t seed = 1; seed <= 5; seed++) {
        mixed_run(&first, seed);
        mixed_run(&again, seed);
        assert_string_equal(first.text, again.text);
    }
}

static void
another_seed_is_another_run(void **state)
{
    static struct log first, other;

    (void)state;
    mixed_run(&first, 1);
    mixed_run(&other, 2);
    assert_string_not_equal(first.text, other.text);
}

/* --- the clock --------------------------------------------------------- */

static void
time_jumps_over_a_day_of_sleep(void **state)
{
    struct timespec day = {.tv_sec = 86400}, before, after;
    uint64_t start;

    (void)state;
    world(1, 0);
    start = fake_now_us();
    clock_gettime(CLOCK_MONOTONIC, &before);
    nanosleep(&day, NULL);
    clock_gettime(CLOCK_REALTIME, &after);
    assert_int_equal(after.tv_sec - before.tv_sec, 86400);
    assert_in_range(fake_now_us() - start, UINT64_C(86400) * SECOND,
                    UINT64_C(86400) * SECOND + 10);
    usleep(500);
    fake_sleep_us(500);
    assert_in_range(fake_now_us() - start, UINT64_C(86400) * SECOND + 1000,
                    UINT64_C(86400) * SECOND + 1020);
    assert_int_equal(fake_end(), 0);
}

struct sleeper {
    uint64_t us;
    uint64_t woke;
};

static void *
sleep_once(void *arg)
{
    struct sleeper *s = arg;

    fake_sleep_us(s->us);
    s->woke = fake_now_us();
    return NULL;
}

static void
sleepers_wake_in_the_order_of_their_times(void **state)
{
    struct sleeper s[3] = {{.us = 3000}, {.us = 1000}, {.us = 2000}};
    pthread_t threads[3];
    uint64_t start;

    (void)state;
    world(7, 0);
    start = fake_now_us();
    for (int i = 0; i < 3; i++)
        pthread_create(&threads[i], NULL, sleep_once, &s[i]);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < 3; i++)
        assert_in_range(s[i].woke - start, s[i].us, s[i].us + 10);
    assert_int_equal(fake_end(), 0);
}

static void
time_passes_for_those_who_poll_in_vain(void **state)
{
    uint64_t start;

    (void)state;
    world(1, 0);
    start = fake_now_us();
    while (fake_now_us() < start + 1000)
        sched_yield();
    assert_in_range(fake_steps(), 100, 2000);
    assert_int_equal(fake_end(), 0);
}

/* --- locks ------------------------------------------------------------- */

struct counter {
    pthread_mutex_t lock;
    bool locked;
    atomic_int value;
};

static void *
count_slowly(void *arg)
{
    struct counter *c = arg;

    for (int i = 0; i < 50; i++) {
        int seen;

        if (c->locked)
            pthread_mutex_lock(&c->lock);
        seen = atomic_load(&c->value);
        sched_yield();
        atomic_store(&c->value, seen + 1);
        if (c->locked)
            pthread_mutex_unlock(&c->lock);
    }
    return NULL;
}

static int
count(bool locked, uint64_t seed)
{
    struct counter c = {.lock = PTHREAD_MUTEX_INITIALIZER, .locked = locked};

    world(seed, 1);
    threads_run(count_slowly, &c);
    assert_int_equal(fake_end(), 0);
    return atomic_load(&c.value);
}

static void
a_mutex_excludes_at_every_switch(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 10; seed++)
        assert_int_equal(count(true, seed), 50 * THREADS);
}

static void
without_a_mutex_counts_are_lost(void **state)
{
    (void)state;
    assert_true(count(false, 1) < 50 * THREADS);
}

struct box {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool full;
    int value, sum;
};

static void *
box_fill(void *arg)
{
    struct box *b = arg;

    for (int i = 1; i <= 100; i++) {
        pthread_mutex_lock(&b->lock);
        while (b->full)
            pthread_cond_wait(&b->changed, &b->lock);
        b->value = i;
        b->full = true;
        pthread_cond_broadcast(&b->changed);
        pthread_mutex_unlock(&b->lock);
    }
    return NULL;
}

static void
conditions_hand_over_each_value_once(void **state)
{
    struct box b = {.lock = PTHREAD_MUTEX_INITIALIZER,
                    .changed = PTHREAD_COND_INITIALIZER};
    pthread_t filler;

    (void)state;
    world(3, 1);
    pthread_create(&filler, NULL, box_fill, &b);
    for (int i = 1; i <= 100; i++) {
        pthread_mutex_lock(&b.lock);
        while (!b.full)
            pthread_cond_wait(&b.changed, &b.lock);
        b.sum += b.value == i;
        b.full = false;
        pthread_cond_signal(&b.changed);
        pthread_mutex_unlock(&b.lock);
    }
    pthread_join(filler, NULL);
    assert_int_equal(b.sum, 100);
    assert_int_equal(fake_end(), 0);
}

static void
a_condition_times_out_at_its_moment(void **state)
{
    struct box b = {.lock = PTHREAD_MUTEX_INITIALIZER,
                    .changed = PTHREAD_COND_INITIALIZER};
    struct timespec t;
    uint64_t start;

    (void)state;
    world(1, 0);
    start = fake_now_us();
    clock_gettime(CLOCK_REALTIME, &t);
    t.tv_sec += 2;
    pthread_mutex_lock(&b.lock);
    assert_int_equal(pthread_cond_timedwait(&b.changed, &b.lock, &t),
                     ETIMEDOUT);
    assert_int_equal(pthread_mutex_trylock(&b.lock), EBUSY);
    pthread_mutex_unlock(&b.lock);
    assert_in_range(fake_now_us() - start, 2 * SECOND, 2 * SECOND + 10);
    assert_int_equal(fake_end(), 0);
}

static void *
word_set(void *arg)
{
    unsigned *word = arg;

    fake_sleep_us(100);
    __atomic_store_n(word, 1, __ATOMIC_SEQ_CST);
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
    return NULL;
}

static void
a_futex_waits_while_its_word_is_the_same(void **state)
{
    struct timespec t = {.tv_nsec = 50000};
    unsigned word = 0;
    pthread_t waker;

    (void)state;
    world(1, 0);
    assert_int_equal(
        syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 1, NULL, NULL, 0), -1);
    assert_int_equal(errno, EAGAIN);
    assert_int_equal(
        syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, &t, NULL, 0), -1);
    assert_int_equal(errno, ETIMEDOUT);
    pthread_create(&waker, NULL, word_set, &word);
    while (__atomic_load_n(&word, __ATOMIC_SEQ_CST) == 0)
        syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
    pthread_join(waker, NULL);
    assert_int_equal(fake_end(), 0);
}

/* --- descriptors ------------------------------------------------------- */

static void *
tell_later(void *arg)
{
    const int *fd = arg;
    uint64_t one = 1;

    fake_sleep_us(300);
    (void)!write(*fd, &one, sizeof one);
    return NULL;
}

static void
epoll_sees_an_eventfd_until_it_is_read(void **state)
{
    struct epoll_event e = {.events = EPOLLIN, .data.u64 = 42}, got;
    int fd, ep;
    pthread_t teller;
    uint64_t n = 5;

    (void)state;
    world(1, 0);
    fd = eventfd(0, EFD_NONBLOCK);
    ep = epoll_create1(0);
    assert_int_equal(epoll_ctl(ep, EPOLL_CTL_ADD, fd, &e), 0);
    assert_int_equal(epoll_ctl(ep, EPOLL_CTL_ADD, fd, &e), -1);
    assert_int_equal(errno, EEXIST);
    assert_int_equal(epoll_wait(ep, &got, 1, 0), 0);
    assert_int_equal(read(fd, &n, sizeof n), -1);
    assert_int_equal(errno, EAGAIN);

    pthread_create(&teller, NULL, tell_later, &fd);
    assert_int_equal(epoll_wait(ep, &got, 1, -1), 1);
    assert_int_equal(got.data.u64, 42);
    assert_int_equal(epoll_wait(ep, &got, 1, 0), 1); /* level-triggered */
    assert_int_equal(write(fd, &n, sizeof n), sizeof n);
    assert_int_equal(read(fd, &n, sizeof n), sizeof n);
    assert_int_equal(n, 6);
    assert_int_equal(epoll_wait(ep, &got, 1, 0), 0);
    pthread_join(teller, NULL);

    assert_int_equal(epoll_ctl(ep, EPOLL_CTL_DEL, fd, NULL), 0);
    assert_int_equal(epoll_ctl(ep, EPOLL_CTL_DEL, fd, NULL), -1);
    close(fd);
    close(ep);
    assert_int_equal(fake_end(), 0);
}

static void
epoll_forgets_a_descriptor_that_is_closed(void **state)
{
    struct epoll_event e = {.events = EPOLLIN}, got;
    int ep, fd, next;

    (void)state;
    world(1, 0);
    ep = epoll_create1(0);
    fd = eventfd(0, 0);
    assert_int_equal(epoll_ctl(ep, EPOLL_CTL_ADD, fd, &e), 0);
    close(fd);
    next = eventfd(1, 0);
    assert_int_equal(next, fd);
    assert_int_equal(epoll_wait(ep, &got, 1, 0), 0);
    assert_int_equal(epoll_ctl(ep, EPOLL_CTL_ADD, next, &e), 0);
    close(next);
    close(ep);
    assert_int_equal(fake_end(), 0);
}

static void
a_poll_times_out_at_its_moment(void **state)
{
    struct pollfd p = {.events = POLLIN};
    uint64_t start, one = 1;
    struct epoll_event got;
    int ep;

    (void)state;
    world(1, 0);
    p.fd = eventfd(0, 0);
    ep = epoll_create1(0);
    start = fake_now_us();
    assert_int_equal(poll(&p, 1, 20), 0);
    assert_int_equal(epoll_wait(ep, &got, 1, 30), 0);
    assert_in_range(fake_now_us() - start, 50000, 50020);
    assert_int_equal(write(p.fd, &one, sizeof one), sizeof one);
    assert_int_equal(poll(&p, 1, -1), 1);
    close(p.fd);
    close(ep);
    assert_int_equal(fake_end(), 0);
}

static void
a_timerfd_is_readable_from_its_moment_on(void **state)
{
    struct itimerspec t = {.it_interval = {0, 0}};
    struct epoll_event e = {.events = EPOLLIN | EPOLLONESHOT}, got;
    uint64_t due, count;
    int fd, inner, outer;

    (void)state;
    world(1, 0);
    fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
    inner = epoll_create1(0);
    outer = epoll_create1(0);
    assert_int_equal(epoll_ctl(inner, EPOLL_CTL_ADD, fd, &e), 0);
    assert_int_equal(epoll_ctl(outer, EPOLL_CTL_ADD, inner, &e), 0);
    assert_int_equal(epoll_wait(outer, &got, 1, 20), 0);
    due = fake_now_us() + 30000;
    t.it_value.tv_sec = (time_t)(due / 1000000);
    t.it_value.tv_nsec = (long)(due % 1000000) * 1000;
    assert_int_equal(timerfd_settime(fd, TFD_TIMER_ABSTIME, &t, NULL), 0);
    assert_int_equal(epoll_wait(outer, &got, 1, 1000), 1);
    assert_in_range(fake_now_us(), due, due + 20);
    assert_int_equal(epoll_wait(outer, &got, 1, 0), 0); /* reported once */
    assert_int_equal(epoll_wait(inner, &got, 1, 0), 1);
    assert_int_equal(epoll_ctl(inner, EPOLL_CTL_MOD, fd, &e), 0);
    assert_int_equal(epoll_wait(inner, &got, 1, 0), 1);
    assert_int_equal(read(fd, &count, sizeof count), sizeof count);
    assert_int_equal(read(fd, &count, sizeof count), -1);
    assert_int_equal(errno, EAGAIN);
    close(fd);
    close(inner);
    close(outer);
    assert_int_equal(fake_end(), 0);
}

static void
a_closed_descriptor_is_unknown(void **state)
{
    struct epoll_event e = {.events = EPOLLIN};
    int fd, ep;

    (void)state;
    world(1, 0);
    fd = eventfd(0, 0);
    ep = epoll_create1(0);
    close(fd);
    assert_int_equal(epoll_ctl(ep, EPOLL_CTL_ADD, fd, &e), -1);
    assert_int_equal(errno, EBADF);
    assert_int_equal(census(fake_process_self()).descriptors, 1);
    close(ep);
    assert_int_equal(fake_end(), 0);
}

static cpu_set_t at_start;

static cpu_set_t
processors(void)
{
    cpu_set_t set;

    assert_int_equal(sched_getaffinity(0, sizeof set, &set), 0);
    return set;
}

static void *
processors_count(void *arg)
{
    atomic_int *sum = arg;
    cpu_set_t set = processors();

    atomic_fetch_add(sum, CPU_COUNT(&set));
    return NULL;
}

static void
all_threads_of_a_world_have_the_same_processor(void **state)
{
    atomic_int sum = 0;
    cpu_set_t after;

    (void)state;
    world(1, 0);
    threads_run(processors_count, &sum);
    processors_count(&sum);
    assert_int_equal(fake_end(), 0);
    after = processors();
    assert_int_equal(sum, THREADS + 1);
    assert_true(CPU_EQUAL(&at_start, &after));
}

static void
a_forked_process_may_use_every_processor_again(void **state)
{
    cpu_set_t in_child;
    int status;
    pid_t pid;

    (void)state;
    world(1, 0);
    pid = fork();
    if (pid == 0) {
        in_child = processors();
        _exit(CPU_EQUAL(&at_start, &in_child) ? 0 : 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_int_equal(fake_end(), 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_seed_is_one_run_to_the_byte),
        cmocka_unit_test(another_seed_is_another_run),
        cmocka_unit_test(a_call_takes_as_long_as_it_is_told),
        cmocka_unit_test(time_jumps_over_a_day_of_sleep),
        cmocka_unit_test(sleepers_wake_in_the_order_of_their_times),
        cmocka_unit_test(time_passes_for_those_who_poll_in_vain),
        cmocka_unit_test(a_mutex_excludes_at_every_switch),
        cmocka_unit_test(without_a_mutex_counts_are_lost),
        cmocka_unit_test(conditions_hand_over_each_value_once),
        cmocka_unit_test(a_condition_times_out_at_its_moment),
        cmocka_unit_test(a_futex_waits_while_its_word_is_the_same),
        cmocka_unit_test(epoll_sees_an_eventfd_until_it_is_read),
        cmocka_unit_test(epoll_forgets_a_descriptor_that_is_closed),
        cmocka_unit_test(a_poll_times_out_at_its_moment),
        cmocka_unit_test(a_timerfd_is_readable_from_its_moment_on),
        cmocka_unit_test(a_closed_descriptor_is_unknown),
        cmocka_unit_test(all_threads_of_a_world_have_the_same_processor),
        cmocka_unit_test(a_forked_process_may_use_every_processor_again),
    };

    at_start = processors();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
