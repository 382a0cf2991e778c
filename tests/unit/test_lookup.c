/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Name lookup: which addresses of a resolver's answer are used, and which
 * waiters are notified. The resolver is the one in this file. */
#include <netdb.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include "cm/connect/target.h"

#define DEADLINE_US 5000000u
#define LONGEST     sizeof(struct sockaddr_storage)
#define ANSWERS     (VC__TARGET_ADDRS + 1)

static const struct vc__target target = {.host = "name", .port = "7"};

/* --- the resolver ------------------------------------------------------ */

static struct {
    int err;
    unsigned freed;
    pid_t thread; /* the last that called getaddrinfo() */
    struct addrinfo info[ANSWERS];
    unsigned char addr[ANSWERS][LONGEST + 1];
    pthread_mutex_t gate; /* guards all; while it is held, no answer comes */
} resolver = {.gate = PTHREAD_MUTEX_INITIALIZER};

/* Sets an answer of n addresses of len bytes; the bytes of each are its
 * number, from 1 on. */
static void
resolver_answer(unsigned n, size_t len)
{
    pthread_mutex_lock(&resolver.gate);
    resolver.err = 0;
    resolver.freed = 0;
    resolver.thread = 0;
    for (unsigned i = 0; i < n; i++) {
        memset(resolver.addr[i], (int)i + 1, len);
        resolver.info[i] = (struct addrinfo){
            .ai_addrlen = (socklen_t)len,
            .ai_addr = (struct sockaddr *)resolver.addr[i],
            .ai_next = i + 1 < n ? &resolver.info[i + 1] : NULL};
    }
    pthread_mutex_unlock(&resolver.gate);
}

static void
resolver_fail(int err)
{
    pthread_mutex_lock(&resolver.gate);
    resolver.err = err;
    resolver.freed = 0;
    resolver.thread = 0;
    pthread_mutex_unlock(&resolver.gate);
}

int
getaddrinfo(const char *restrict name, const char *restrict service,
            const struct addrinfo *restrict hints,
            struct addrinfo **restrict list)
{
    int err;

    pthread_mutex_lock(&resolver.gate);
    if (strcmp(name, target.host) != 0 || strcmp(service, target.port) != 0 ||
        hints->ai_socktype != SOCK_STREAM)
        err = EAI_FAIL;
    else
        err = resolver.err;
    *list = resolver.info;
    resolver.thread = (pid_t)syscall(SYS_gettid);
    pthread_mutex_unlock(&resolver.gate);
    return err;
}

void
freeaddrinfo(struct addrinfo *list)
{
    pthread_mutex_lock(&resolver.gate);
    resolver.freed += list == resolver.info;
    pthread_mutex_unlock(&resolver.gate);
}

/* --- which addresses are used ------------------------------------------ */

static void
as_many_addresses_are_taken_as_there_is_room_for(void **state)
{
    (void)state;
    for (unsigned n = 1; n <= ANSWERS; n++) {
        unsigned taken = n < ANSWERS ? n : VC__TARGET_ADDRS;
        struct {
            struct vc__addrs addrs;
            char behind;
        } to = {.behind = 'x'};

        resolver_answer(n, 16);
        assert_true(vc__target_numeric(&target, &to.addrs));
        assert_int_equal(taken, to.addrs.n);
        assert_memory_equal(resolver.addr[taken - 1], &to.addrs.addr[taken - 1],
                            16);
        assert_int_equal('x', to.behind);
        assert_int_equal(1, resolver.freed);
    }
}

static void
behind_an_address_all_is_zero(void **state)
{
    static const unsigned char zeros[LONGEST];
    struct vc__addrs addrs;

    (void)state;
    memset(&addrs, 0xff, sizeof addrs);
    resolver_answer(1, 16);
    assert_true(vc__target_numeric(&target, &addrs));
    assert_memory_equal(zeros, (char *)&addrs.addr[0] + 16, LONGEST - 16);
}

static void
an_address_that_does_not_fit_is_left_out(void **state)
{
    struct vc__addrs addrs;

    (void)state;
    resolver_answer(2, LONGEST);
    assert_true(vc__target_numeric(&target, &addrs));
    assert_int_equal(2, addrs.n);
    resolver.info[0].ai_addrlen++;
    assert_true(vc__target_numeric(&target, &addrs));
    assert_int_equal(1, addrs.n);
    assert_memory_equal(resolver.addr[1], &addrs.addr[0], LONGEST);
}

static void
without_an_answer_there_is_no_address(void **state)
{
    struct vc__addrs addrs = {.n = 3};

    (void)state;
    resolver_fail(EAI_NONAME);
    assert_false(vc__target_numeric(&target, &addrs));
    assert_int_equal(0, addrs.n);
    assert_int_equal(0, resolver.freed);
}

/* --- who is notified --------------------------------------------------- */

struct asked {
    struct vc__engine engine;
    struct vc__waiter waiter;
    unsigned told;
    struct vc__addrs addrs;
    char text[128];
};

static bool
thread_is_gone(void)
{
    char path[64];
    pid_t thread;

    pthread_mutex_lock(&resolver.gate);
    thread = resolver.thread;
    pthread_mutex_unlock(&resolver.gate);
    snprintf(path, sizeof path, "/proc/self/task/%d", (int)thread);
    return thread != 0 && access(path, F_OK) != 0;
}

/* Waits until the thread of the last lookup has ended. */
static void
await_end_of_thread(void)
{
    uint64_t until = vc__now() + DEADLINE_US;

    while (!thread_is_gone()) {
        assert_true(vc__now() < until);
        sched_yield();
    }
}

static int
asked_setup(void **state)
{
    static struct asked a;

    memset(&a, 0, sizeof a);
    assert_int_equal(0, vc__engine_init(&a.engine, 0));
    vc__waiter_init(&a.waiter);
    *state = &a;
    return 0;
}

static int
asked_teardown(void **state)
{
    struct asked *a = *state;

    await_end_of_thread();
    vc__engine_fini(&a->engine);
    return 0;
}

static void
told(struct vc__lookup *l)
{
    struct asked *a = l->owner;

    a->told++;
    a->addrs = l->addrs;
    snprintf(a->text, sizeof a->text, "%s", l->text);
    vc__lookup_free(l);
    vc__waiter_done(&a->waiter);
}

static struct vc__lookup *
start(struct asked *a)
{
    struct vc__lookup *l = vc__lookup_start(&a->engine, &target, told, a);

    assert_non_null(l);
    return l;
}

static void
the_owner_is_told_the_addresses(void **state)
{
    struct asked *a = *state;

    resolver_answer(2, 16);
    start(a);
    assert_true(
        vc__engine_wait(&a->engine, &a->waiter, vc__now() + DEADLINE_US));
    assert_int_equal(1, a->told);
    assert_int_equal(2, a->addrs.n);
    assert_memory_equal(resolver.addr[1], &a->addrs.addr[1], 16);
    assert_string_equal("", a->text);
}

static void
the_owner_is_told_why_there_is_none(void **state)
{
    struct asked *a = *state;

    resolver_fail(EAI_AGAIN);
    start(a);
    assert_true(
        vc__engine_wait(&a->engine, &a->waiter, vc__now() + DEADLINE_US));
    assert_int_equal(1, a->told);
    assert_int_equal(0, a->addrs.n);
    assert_string_equal(gai_strerror(EAI_AGAIN), a->text);
}

static void
nobody_is_told_of_what_was_cancelled_before_its_answer(void **state)
{
    struct asked *a = *state;

    resolver_answer(1, 16);
    pthread_mutex_lock(&resolver.gate);
    vc__lookup_cancel(start(a));
    pthread_mutex_unlock(&resolver.gate);
    await_end_of_thread();
    vc__engine_settle(&a->engine);
    assert_int_equal(0, a->told);
}

static void
nobody_is_told_of_what_was_cancelled_behind_its_answer(void **state)
{
    struct asked *a = *state;
    struct vc__lookup *l;

    resolver_answer(1, 16);
    l = start(a);
    await_end_of_thread();
    vc__lookup_cancel(l);
    vc__engine_settle(&a->engine);
    assert_int_equal(0, a->told);
}

#define LOOKUP_TEST(name)                                                      \
    cmocka_unit_test_setup_teardown(name, asked_setup, asked_teardown)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_many_addresses_are_taken_as_there_is_room_for),
        cmocka_unit_test(behind_an_address_all_is_zero),
        cmocka_unit_test(an_address_that_does_not_fit_is_left_out),
        cmocka_unit_test(without_an_answer_there_is_no_address),
        LOOKUP_TEST(the_owner_is_told_the_addresses),
        LOOKUP_TEST(the_owner_is_told_why_there_is_none),
        LOOKUP_TEST(nobody_is_told_of_what_was_cancelled_before_its_answer),
        LOOKUP_TEST(nobody_is_told_of_what_was_cancelled_behind_its_answer),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
