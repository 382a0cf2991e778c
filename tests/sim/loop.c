/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See tests/sim/loop.h. */
#include "tests/sim/loop.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define FOREVER UINT64_C(1000000000) /* us */

void
loop_open(struct loop *l, struct vc_runtime *runtime)
{
    l->runtime = runtime;
    l->wakes = 0;
    atomic_store(&l->over, 0);
    l->wake = eventfd(0, EFD_NONBLOCK);
    assert_true(l->wake >= 0);
    assert_true(vc_runtime_fd(runtime) >= 0);
}

void
loop_close(struct loop *l)
{
    close(l->wake);
}

/* One iteration; ms is the timeout of poll(). */
static void
loop_turn(struct loop *l, int ms)
{
    struct pollfd fds[] = {
        {.fd = vc_runtime_fd(l->runtime), .events = POLLIN},
        {.fd = l->wake, .events = POLLIN},
    };
    enum vc_status status;

    poll(fds, 2, ms);
    if (fds[0].revents == 0)
        return;
    l->wakes++;
    status = vc_runtime_poll(l->runtime, 0);
    assert_true(status == VC_OK || status == VC_DEADLINE_EXCEEDED);
}

bool
loop_until(struct loop *l, atomic_uint *word, uint64_t us)
{
    uint64_t until = fake_now_us() + us, now;

    while (atomic_load(word) == 0 && (now = fake_now_us()) < until)
        loop_turn(l, (int)((until - now + 999) / 1000));
    return atomic_load(word) != 0;
}

/* Only the two descriptors wake this thread. */
static void *
loop_main(void *arg)
{
    struct loop *l = arg;

    while (atomic_load(&l->over) == 0)
        loop_turn(l, -1);
    return NULL;
}

void
loop_start(struct loop *l, struct vc_runtime *runtime)
{
    loop_open(l, runtime);
    assert_int_equal(0, pthread_create(&l->thread, NULL, loop_main, l));
}

void
loop_stop(struct loop *l)
{
    uint64_t one = 1;

    atomic_store(&l->over, 1);
    assert_int_equal(sizeof one, write(l->wake, &one, sizeof one));
    pthread_join(l->thread, NULL);
    loop_close(l);
}
