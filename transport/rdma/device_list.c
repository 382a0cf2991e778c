/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See transport/rdma/device_list.h. */
#include "transport/rdma/device_list.h"

#include <limits.h>
#include <pthread.h>
#include <rdma/rdma_cma.h>
#include <stdatomic.h>
#include <stddef.h>

#include "transport/core/thread.h"

#define DEVICES 64u

/* A device was far from the others: its place in librdmacm's list is not
 * known. */
static atomic_bool is_far;

/* misses: a device was removed and none is known to be back. left: the number
 * of devices after that removal. */
static atomic_bool misses;
static atomic_uint left;

bool
vc__device_list_is_near(const uintptr_t *at, unsigned n)
{
    uintptr_t first = UINTPTR_MAX, last = 0;

    for (unsigned i = 0; i < n; i++) {
        first = at[i] < first ? at[i] : first;
        last = at[i] > last ? at[i] : last;
    }
    return n == 0 || last - first <= INT_MAX;
}

/* Returns the number of devices. Also checks whether they are near each other,
 * with the removed one unless it is NULL. Called by read_main() and
 * let_go_main(), on their threads. */
static unsigned
devices_read(const struct ibv_device *removed)
{
    struct ibv_device **list = ibv_get_device_list(NULL);
    uintptr_t at[DEVICES];
    unsigned n = 0;

    if (removed != NULL)
        at[n++] = (uintptr_t)removed;
    for (unsigned i = 0; list != NULL && list[i] != NULL && n < DEVICES; i++)
        at[n++] = (uintptr_t)list[i];
    if (n == DEVICES || !vc__device_list_is_near(at, n))
        atomic_store(&is_far, true);
    if (list != NULL)
        ibv_free_device_list(list);
    return removed != NULL ? n - 1 : n;
}

/* Main function of the thread of vc__device_list_read(), which reads the list.
 * Its result is not used. */
static void *
read_main(void *arg)
{
    (void)arg;
    if (devices_read(NULL) > atomic_load(&left))
        atomic_store(&misses, false);
    return NULL;
}

/* Main function of the thread of vc__device_list_let_go(), which has librdmacm
 * compare its list. Its result is not used. */
static void *
let_go_main(void *removed)
{
    struct ibv_context **list;

    atomic_store(&left, devices_read(removed));
    atomic_store(&misses, true);
    if (atomic_load(&is_far))
        return NULL;
    list = rdma_get_devices(NULL);
    if (list != NULL)
        rdma_free_devices(list);
    return NULL;
}

/* For vc__device_list_read() and vc__device_list_let_go(): runs body on a
 * thread of its own, and waits for its end. If there is no thread, it does not
 * run. */
static void
run_apart(void *(*body)(void *), void *arg)
{
    pthread_t thread;

    if (vc__thread_start(&thread, NULL, body, arg) == 0)
        pthread_join(thread, NULL);
}

void
vc__device_list_read(void)
{
    run_apart(read_main, NULL);
}

void
vc__device_list_expect(void)
{
    if (atomic_load_explicit(&misses, memory_order_relaxed))
        vc__device_list_read();
}

void
vc__device_list_let_go(const struct ibv_device *removed)
{
    run_apart(let_go_main, (void *)(uintptr_t)removed);
}
