/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Processes of the simulated world: killed, frozen, or ended with resources
 * left; and failures of their calls. Bodies of processes assert nothing: they
 * store their results for the test. */
#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <pthread.h>
#include <rdma/rdma_cma.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include <cmocka.h>

#include "fake/fake.h"

#define SECOND 1000000u /* us */

static void
world(void)
{
    fake_begin(&(struct fake_opts){.seed = 1, .profile = FAKE_RXE});
}

static struct fake_census
census(const struct fake_process *p)
{
    struct fake_census c;

    fake_census(p, &c);
    return c;
}

/* Returns the device's context as rdma_cm opens it for this process; it is
 * not counted. */
static struct ibv_context *
context_borrow(const char *addr)
{
    struct rdma_event_channel *channel = rdma_create_event_channel();
    struct sockaddr_in sin = {.sin_family = AF_INET};
    struct ibv_context *context = NULL;
    struct rdma_cm_id *id;

    inet_pton(AF_INET, addr, &sin.sin_addr);
    if (rdma_create_id(channel, &id, NULL, RDMA_PS_TCP) == 0) {
        if (rdma_bind_addr(id, (struct sockaddr *)&sin) == 0)
            context = id->verbs;
        rdma_destroy_id(id);
    }
    rdma_destroy_event_channel(channel);
    return context;
}

/* --- the end of a process ---------------------------------------------- */

struct life {
    atomic_uint ticks;
    atomic_bool made;
};

static void
tick(void *arg)
{
    struct life *l = arg;

    for (;;) {
        fake_sleep_us(100);
        atomic_fetch_add(&l->ticks, 1);
    }
}

static void *
tick_too(void *arg)
{
    tick(arg);
    return NULL;
}

/* Allocates one resource of each kind, and starts a second thread. */
static void
live(void *arg)
{
    struct life *l = arg;
    struct rdma_event_channel *channel = rdma_create_event_channel();
    struct ibv_context *context = context_borrow("10.9.0.2");
    struct ibv_pd *pd = ibv_alloc_pd(context);
    char *memory = malloc(4096);
    struct rdma_cm_id *id;
    pthread_t thread;

    rdma_create_id(channel, &id, NULL, RDMA_PS_TCP);
    ibv_create_cq(context, 8, NULL, ibv_create_comp_channel(context), 0);
    ibv_reg_mr(pd, memory, 4096, 0);
    ibv_alloc_mw(pd, IBV_MW_TYPE_2);
    eventfd(0, 0);
    mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    pthread_create(&thread, NULL, tick_too, l);
    atomic_store(&l->made, true);
    tick(l);
}

static void
no_thread_of_a_killed_process_runs_on(void **state)
{
    struct life l = {0};
    struct fake_process *p;
    unsigned ticks;

    (void)state;
    world();
    p = fake_process_start(fake_host_new("there", "10.9.0.2"), "there", live,
                           &l);
    fake_sleep_us(10000);
    ticks = atomic_load(&l.ticks);
    assert_in_range(ticks, 150, 200); /* of both threads */
    assert_int_equal(census(p).threads, 2);
    assert_false(fake_process_wait(p, 1000));

    fake_process_kill(p);
    ticks = atomic_load(&l.ticks);
    fake_sleep_us(SECOND);
    assert_int_equal(atomic_load(&l.ticks), ticks);
    assert_true(fake_process_ended(p));
    assert_true(fake_process_wait(p, 0));
    assert_int_equal(fake_end(), 0);
}

static void
the_kernel_takes_all_that_a_killed_process_had(void **state)
{
    struct fake_census none = {0}, had, left;
    struct life l = {0};
    struct fake_process *p;

    (void)state;
    world();
    p = fake_process_start(fake_host_new("there", "10.9.0.2"), "there", live,
                           &l);
    fake_sleep_us(10000);
    assert_true(atomic_load(&l.made));
    had = census(p);
    assert_int_equal(had.pds, 1);
    assert_int_equal(had.cqs, 1);
    assert_int_equal(had.mrs, 1);
    assert_int_equal(had.mws, 1);
    assert_int_equal(had.ids, 1);
    assert_int_equal(had.event_channels, 1);
    assert_int_equal(had.comp_channels, 1);
    assert_int_equal(had.descriptors, 3);
    assert_int_equal(had.blocks, 2);

    fake_process_kill(p);
    left = census(p);
    assert_memory_equal(&left, &none, sizeof none);
    assert_int_equal(fake_end(), 0); /* a killed process cannot free */
}

static void
kill_it(void *arg)
{
    fake_process_kill(*(struct fake_process **)arg);
}

struct suicide {
    struct fake_process *self;
    atomic_uint reached;
};

static void
fails_once(void *arg)
{
    struct suicide *s = arg;
    uint8_t byte;

    atomic_store(&s->reached, 1);
    (void)!getrandom(&byte, 1, 0); /* fails, which is logged */
    atomic_store(&s->reached, 2);
}

static void
a_process_may_be_killed_within_its_own_call(void **state)
{
    struct suicide s = {0};

    (void)state;
    world();
    s.self = fake_process_start(fake_host_local(), "short", fails_once, &s);
    fake_fail(s.self, "getrandom", 1, EINTR);
    fake_when("short: getrandom fails", 1, kill_it, &s.self);
    assert_true(fake_process_wait(s.self, SECOND));
    assert_int_equal(atomic_load(&s.reached), 1);
    assert_int_equal(fake_end(), 0);
}

static void
leave_three(void *arg)
{
    void **keep = arg;

    *keep = malloc(10);
    ibv_alloc_pd(context_borrow("10.9.0.1"));
    eventfd(0, 0);
    free(malloc(10));
}

static void
what_a_process_leaves_by_itself_is_counted(void **state)
{
    struct fake_process *p;
    void *keep;

    (void)state;
    world();
    p = fake_process_start(fake_host_local(), "careless", leave_three, &keep);
    assert_true(fake_process_wait(p, SECOND));
    assert_int_equal(fake_end(), 3);
}

static void
what_main_leaves_is_counted(void **state)
{
    (void)state;
    world();
    eventfd(0, 0);
    rdma_create_event_channel();
    assert_int_equal(fake_end(), 3); /* two descriptors, one channel */
}

/* --- frozen processes -------------------------------------------------- */

static void
spin(void *arg)
{
    struct life *l = arg;

    for (;;) {
        sched_yield();
        atomic_fetch_add(&l->ticks, 1);
    }
}

static void
a_frozen_process_does_not_poll(void **state)
{
    struct life l = {0};
    struct fake_process *p;
    unsigned ticks;

    (void)state;
    world();
    p = fake_process_start(fake_host_local(), "p", spin, &l);
    fake_sleep_us(1000);
    ticks = atomic_load(&l.ticks);
    assert_true(ticks > 100);
    fake_process_freeze(p);
    fake_sleep_us(1000);
    assert_in_range(atomic_load(&l.ticks), ticks, ticks + 1);
    fake_process_thaw(p);
    fake_sleep_us(1000);
    assert_true(atomic_load(&l.ticks) > ticks + 100);
    assert_int_equal(fake_end(), 0);
}

static void
a_frozen_process_stands_still_until_it_thaws(void **state)
{
    struct life l = {0};
    struct fake_process *p;
    unsigned ticks;

    (void)state;
    world();
    p = fake_process_start(fake_host_local(), "p", tick, &l);
    fake_sleep_us(1000);
    fake_process_freeze(p);
    ticks = atomic_load(&l.ticks);
    fake_sleep_us(SECOND);
    assert_int_equal(atomic_load(&l.ticks), ticks);

    fake_process_thaw(p);
    fake_sleep_us(1050);
    assert_in_range(atomic_load(&l.ticks), ticks + 9, ticks + 11);
    fake_process_freeze(p);
    fake_process_kill(p); /* as SIGKILL does */
    assert_true(fake_process_ended(p));
    assert_int_equal(fake_end(), 0);
}

/* --- failing calls ----------------------------------------------------- */

static void
exactly_the_nth_call_fails(void **state)
{
    struct ibv_context *context;

    (void)state;
    world();
    context = context_borrow("10.9.0.1");
    fake_fail(NULL, "ibv_alloc_pd", 3, ENOSPC);
    for (int i = 1; i <= 5; i++) {
        struct ibv_pd *pd = ibv_alloc_pd(context);

        assert_int_equal(pd == NULL, i == 3);
        if (pd == NULL)
            assert_int_equal(errno, ENOSPC);
        else
            assert_int_equal(ibv_dealloc_pd(pd), 0);
    }
    assert_int_equal(fake_failed(), 1);
    assert_int_equal(fake_end(), 0);
}

static void
a_star_is_any_call_that_may_fail(void **state)
{
    struct ibv_context *context;
    struct ibv_pd *pd;
    unsigned calls;

    (void)state;
    world();
    context = context_borrow("10.9.0.1");
    fake_fail(fake_process_self(), "*", 2, EIO);
    calls = fake_calls(fake_process_self());
    pd = ibv_alloc_pd(context);
    assert_non_null(pd);
    assert_null(ibv_create_cq(context, 1, NULL, NULL, 0));
    assert_int_equal(errno, EIO);
    assert_int_equal(fake_calls(fake_process_self()), calls + 2);
    ibv_dealloc_pd(pd);

    fake_fail(NULL, "ibv_alloc_pd", 1, EIO);
    fake_fail_no_more();
    pd = ibv_alloc_pd(context);
    assert_non_null(pd);
    ibv_dealloc_pd(pd);
    assert_int_equal(fake_failed(), 1);
    assert_int_equal(fake_end(), 0);
}

static void
another_process(void *arg)
{
    struct ibv_pd *pd = ibv_alloc_pd(context_borrow("10.9.0.1"));

    atomic_store((atomic_bool *)arg, pd != NULL);
    if (pd != NULL)
        ibv_dealloc_pd(pd);
}

static void
a_fault_of_one_process_spares_the_others(void **state)
{
    struct fake_process *p;
    struct ibv_pd *pd;
    atomic_bool well = true;

    (void)state;
    world();
    p = fake_process_start(fake_host_local(), "p", another_process, &well);
    fake_fail(p, "ibv_alloc_pd", 1, ENOMEM);
    pd = ibv_alloc_pd(context_borrow("10.9.0.1"));
    assert_non_null(pd);
    ibv_dealloc_pd(pd);
    assert_true(fake_process_wait(p, SECOND));
    assert_false(atomic_load(&well));
    assert_int_equal(fake_end(), 0);
}

/* --- names ------------------------------------------------------------- */

static void
names_of_hosts_are_looked_up(void **state)
{
    struct addrinfo *list, v6 = {.ai_family = AF_INET6};
    char text[INET6_ADDRSTRLEN];
    uint64_t start;

    (void)state;
    world();
    fake_host_new("there", "10.9.0.2");
    fake_host_new("six", "fd00::6");
    start = fake_now_us();
    assert_int_equal(getaddrinfo("there", "7", NULL, &list), 0);
    assert_true(fake_now_us() - start >= 1000);
    inet_ntop(AF_INET, &((struct sockaddr_in *)list->ai_addr)->sin_addr, text,
              sizeof text);
    assert_string_equal(text, "10.9.0.2");
    assert_int_equal(ntohs(((struct sockaddr_in *)list->ai_addr)->sin_port), 7);
    freeaddrinfo(list);
    assert_int_equal(getaddrinfo("six", "7", &v6, &list), 0);
    assert_int_equal(list->ai_family, AF_INET6);
    freeaddrinfo(list);
    fake_host_new("there", "10.9.0.3");
    assert_int_equal(getaddrinfo("there", "7", NULL, &list), 0);
    for (unsigned i = 0; i < 2; i++) {
        const struct addrinfo *at = list;

        while (at->ai_next != NULL &&
               ntohl(((struct sockaddr_in *)at->ai_addr)->sin_addr.s_addr) !=
                   0x0a090002 + i)
            at = at->ai_next;
        assert_int_equal(
            ntohl(((struct sockaddr_in *)at->ai_addr)->sin_addr.s_addr),
            0x0a090002 + i);
    }
    freeaddrinfo(list);
    assert_int_equal(getaddrinfo("nowhere", "7", NULL, &list), EAI_NONAME);
    fake_fail(NULL, "getaddrinfo", 1, EIO);
    assert_int_equal(getaddrinfo("there", "7", NULL, &list), EAI_AGAIN);
    assert_int_equal(fake_end(), 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_thread_of_a_killed_process_runs_on),
        cmocka_unit_test(the_kernel_takes_all_that_a_killed_process_had),
        cmocka_unit_test(a_process_may_be_killed_within_its_own_call),
        cmocka_unit_test(what_a_process_leaves_by_itself_is_counted),
        cmocka_unit_test(what_main_leaves_is_counted),
        cmocka_unit_test(a_frozen_process_stands_still_until_it_thaws),
        cmocka_unit_test(a_frozen_process_does_not_poll),
        cmocka_unit_test(exactly_the_nth_call_fails),
        cmocka_unit_test(a_star_is_any_call_that_may_fail),
        cmocka_unit_test(a_fault_of_one_process_spares_the_others),
        cmocka_unit_test(names_of_hosts_are_looked_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
