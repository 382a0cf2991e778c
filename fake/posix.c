/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The clock, sleeping, threads and locks of the program. Locks are the real
 * ones, so that the thread sanitizer sees them. But no thread blocks in them: a
 * thread that finds a lock taken lets others run. Static functions run on the
 * thread of their caller: one thread of the world runs at a time (world.h). */
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <netdb.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "real.h"

int __wrap_clock_gettime(clockid_t clock, struct timespec *t);
int __wrap_clock_getres(clockid_t clock, struct timespec *t);
int __wrap_nanosleep(const struct timespec *t, struct timespec *left);
int __wrap_usleep(useconds_t us);
int __wrap_sched_yield(void);
long __wrap_syscall(long number, ...);
ssize_t __wrap_getrandom(void *data, size_t len, unsigned flags);
int __wrap_getrusage(int who, struct rusage *usage);
int __real_getrusage(int who, struct rusage *usage);
int __wrap_pthread_create(pthread_t *t, const pthread_attr_t *attr,
                          void *(*body)(void *), void *arg);
int __wrap_pthread_join(pthread_t t, void **result);
int __wrap_pthread_mutex_lock(pthread_mutex_t *m);
int __wrap_pthread_mutex_trylock(pthread_mutex_t *m);
int __wrap_pthread_mutex_unlock(pthread_mutex_t *m);
int __wrap_pthread_cond_wait(pthread_cond_t *c, pthread_mutex_t *m);
int __wrap_pthread_cond_timedwait(pthread_cond_t *c, pthread_mutex_t *m,
                                  const struct timespec *t);
int __wrap_pthread_cond_signal(pthread_cond_t *c);
int __wrap_pthread_cond_broadcast(pthread_cond_t *c);
int __wrap_access(const char *path, int mode);
int __wrap_getaddrinfo(const char *host, const char *port,
                       const struct addrinfo *hints, struct addrinfo **list);
void __wrap_freeaddrinfo(struct addrinfo *list);
void __real_freeaddrinfo(struct addrinfo *list);
int __real_getaddrinfo(const char *host, const char *port,
                       const struct addrinfo *hints, struct addrinfo **list);
int __real_usleep(useconds_t us);
int __real_nanosleep(const struct timespec *t, struct timespec *left);
int __real_pthread_mutex_lock(pthread_mutex_t *m);
int __real_pthread_mutex_trylock(pthread_mutex_t *m);
ssize_t __real_getrandom(void *data, size_t len, unsigned flags);

/* A thread number that /proc does not know, so that it does not matter whether
 * the thread runs at this moment. */
#define NO_THREAD INT_MAX

/* --- time -------------------------------------------------------------- */

/* All clocks are the same, also the one that a kernel advances by ticks. */
int
__wrap_clock_gettime(clockid_t clock, struct timespec *t)
{
    FAKE_CALL_SAFE("clock_gettime");

    if (!fake__inside())
        return __real_clock_gettime(clock, t);
    t->tv_sec = (time_t)(fake__world.now / FAKE__S);
    t->tv_nsec = (long)(fake__world.now % FAKE__S);
    return 0;
}

int
__wrap_clock_getres(clockid_t clock, struct timespec *t)
{
    FAKE_CALL_SAFE("clock_getres");

    if (!fake__inside())
        return __real_clock_getres(clock, t);
    *t = (struct timespec){0};
    return 0;
}

/* Called by __wrap_nanosleep(), __wrap_usleep() and __wrap_getaddrinfo(). */
static void
sleep_until(uint64_t until)
{
    while (fake__world.now < until)
        fake__block(NULL, until);
}

int
__wrap_nanosleep(const struct timespec *t, struct timespec *left)
{
    FAKE_CALL_SAFE("nanosleep");

    if (!fake__inside())
        return __real_nanosleep(t, left);
    sleep_until(fake__world.now + (uint64_t)t->tv_sec * FAKE__S +
                (uint64_t)t->tv_nsec);
    return 0;
}

int
__wrap_usleep(useconds_t us)
{
    FAKE_CALL_SAFE("usleep");

    if (!fake__inside())
        return __real_usleep(us);
    sleep_until(fake__world.now + us * FAKE__US);
    return 0;
}

int
__wrap_sched_yield(void)
{
    FAKE_CALL_SAFE("sched_yield");

    if (!fake__inside())
        return __real_sched_yield();
    fake__idle();
    return 0;
}

/* --- futexes ----------------------------------------------------------- */

/* Checks the word like the kernel: no other thread runs in between. Called by
 * futex(). */
static long
futex_wait(unsigned *word, unsigned seen, uint64_t until)
{
    if (__atomic_load_n(word, __ATOMIC_SEQ_CST) != seen) {
        errno = EAGAIN;
        return -1;
    }
    if (fake__block(word, until))
        return 0;
    errno = ETIMEDOUT;
    return -1;
}

/* Called by futex() and __wrap_pthread_cond_timedwait(). */
static uint64_t
ns_of(const struct timespec *t)
{
    return (uint64_t)t->tv_sec * FAKE__S + (uint64_t)t->tv_nsec;
}

/* Called by __wrap_syscall(). */
static long
futex(unsigned *word, int op, unsigned value, const struct timespec *t)
{
    switch (op & FUTEX_CMD_MASK) {
    case FUTEX_WAIT:
        return futex_wait(word, value,
                          t == NULL ? FAKE__FOREVER
                                    : fake__world.now + ns_of(t));
    case FUTEX_WAIT_BITSET:
        return futex_wait(word, value, t == NULL ? FAKE__FOREVER : ns_of(t));
    case FUTEX_WAKE:
        fake__wake(word);
        return 1;
    default:
        errno = ENOSYS;
        return -1;
    }
}

long
__wrap_syscall(long number, ...)
{
    FAKE_CALL_SAFE("syscall");
    va_list args;
    long a[6];

    va_start(args, number);
    for (int i = 0; i < 6; i++)
        a[i] = va_arg(args, long);
    va_end(args);
    if (fake__inside() && number == SYS_gettid)
        return NO_THREAD;
    if (!fake__inside() || number != SYS_futex)
        return __real_syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
    return futex((unsigned *)a[0], (int)a[1], (unsigned)a[2],
                 (const struct timespec *)a[3]);
}

/* --- threads -------------------------------------------------------------- */

/* Reports a voluntary switch since each call before. Only one thread runs at a
 * time, so the system's own figures would show the fake's switches. */
int
__wrap_getrusage(int who, struct rusage *usage)
{
    FAKE_CALL_SAFE("getrusage");
    static atomic_long waits;

    if (!fake__inside())
        return __real_getrusage(who, usage);
    memset(usage, 0, sizeof *usage);
    usage->ru_nvcsw = atomic_fetch_add(&waits, 1);
    return 0;
}

/* --- random numbers ---------------------------------------------------- */

ssize_t
__wrap_getrandom(void *data, size_t len, unsigned flags)
{
    FAKE_CALL("getrandom");
    unsigned char *out = data;

    if (!fake__inside())
        return __real_getrandom(data, len, flags);
    if (call.err != 0) {
        errno = call.err;
        return -1;
    }
    for (size_t i = 0; i < len; i++)
        out[i] = (unsigned char)fake__random(256);
    return (ssize_t)len;
}

/* --- threads ----------------------------------------------------------- */

int
__wrap_pthread_create(pthread_t *t, const pthread_attr_t *attr,
                      void *(*body)(void *), void *arg)
{
    FAKE_CALL("pthread_create");

    if (!fake__inside())
        return __real_pthread_create(t, attr, body, arg);
    if (call.err != 0)
        return EAGAIN;
    return fake__thread_new(fake__self(), body, arg, t);
}

int
__wrap_pthread_join(pthread_t t, void **result)
{
    FAKE_CALL_SAFE("pthread_join");

    if (!fake__inside())
        return __real_pthread_join(t, result);
    return fake__thread_join(t, result);
}

/* --- locks ------------------------------------------------------------- */

/* Called by __wrap_pthread_mutex_lock(). */
static void
lock_await(pthread_mutex_t *m)
{
    FAKE_CALL_SAFE(NULL);

    fake__block(m, FAKE__FOREVER);
}

/* Called by __wrap_pthread_mutex_unlock(), __wrap_pthread_cond_signal() and
 * __wrap_pthread_cond_broadcast(). */
static void
lock_wake(const void *lock)
{
    FAKE_CALL_SAFE("");

    fake__wake(lock);
}

int
__wrap_pthread_mutex_lock(pthread_mutex_t *m)
{
    int err;

    if (!fake__inside())
        return __real_pthread_mutex_lock(m);
    fake__point();
    while ((err = __real_pthread_mutex_trylock(m)) == EBUSY)
        lock_await(m);
    return err;
}

int
__wrap_pthread_mutex_trylock(pthread_mutex_t *m)
{
    if (fake__inside())
        fake__point();
    return __real_pthread_mutex_trylock(m);
}

/* Aborts if the mutex is not locked. No other thread runs meanwhile. Called by
 * __wrap_pthread_mutex_unlock(). */
static void
must_be_locked(pthread_mutex_t *m)
{
    if (__real_pthread_mutex_trylock(m) == 0)
        fake__stuck("a mutex is unlocked that is not locked");
}

/* Another thread may run while the mutex is still locked, and fail to lock
 * it. */
int
__wrap_pthread_mutex_unlock(pthread_mutex_t *m)
{
    int err;

    if (!fake__inside())
        return __real_pthread_mutex_unlock(m);
    must_be_locked(m);
    fake__point();
    err = __real_pthread_mutex_unlock(m);
    lock_wake(m);
    return err;
}

/* Called by __wrap_pthread_cond_wait() and __wrap_pthread_cond_timedwait(). */
static int
cond_wait(pthread_cond_t *c, pthread_mutex_t *m, uint64_t until)
{
    bool woken;

    __real_pthread_mutex_unlock(m);
    {
        FAKE_CALL_SAFE(NULL);

        fake__wake(m);
        woken = fake__block(c, until);
    }
    __wrap_pthread_mutex_lock(m);
    return woken ? 0 : ETIMEDOUT;
}

int
__wrap_pthread_cond_wait(pthread_cond_t *c, pthread_mutex_t *m)
{
    return cond_wait(c, m, FAKE__FOREVER);
}

int
__wrap_pthread_cond_timedwait(pthread_cond_t *c, pthread_mutex_t *m,
                              const struct timespec *t)
{
    return cond_wait(c, m, ns_of(t));
}

int
__wrap_pthread_cond_signal(pthread_cond_t *c)
{
    lock_wake(c);
    return 0;
}

int
__wrap_pthread_cond_broadcast(pthread_cond_t *c)
{
    lock_wake(c);
    return 0;
}

/* --- the rest ---------------------------------------------------------- */

/* Every device may be opened by every user. */
int
__wrap_access(const char *path, int mode)
{
    FAKE_CALL_SAFE("access");

    if (!fake__inside() || strncmp(path, "/dev/infiniband/", 16) != 0)
        return __real_access(path, mode);
    return 0;
}

/* Called by name_find(). */
static bool
address_text(const struct fake_host *h, char text[INET6_ADDRSTRLEN])
{
    return getnameinfo((const struct sockaddr *)&h->addr,
                       h->addr.ss_family == AF_INET
                           ? sizeof(struct sockaddr_in)
                           : sizeof(struct sockaddr_in6),
                       text, INET6_ADDRSTRLEN, NULL, 0, NI_NUMERICHOST) == 0;
}

/* Lists the addresses of all hosts of this name, in the order of creation.
 * Called by __wrap_getaddrinfo(). */
static int
name_find(const char *name, const char *port, const struct addrinfo *numeric,
          struct addrinfo **list)
{
    struct addrinfo **end = list;

    *list = NULL;
    for (const struct fake_host *h = fake__world.hosts; h != NULL;
         h = h->next) {
        char text[INET6_ADDRSTRLEN];

        if (strcmp(h->name, name) == 0 && address_text(h, text) &&
            __real_getaddrinfo(text, port, numeric, end) != 0)
            *end = NULL; /* of another family than requested */
        while (*end != NULL)
            end = &(*end)->ai_next;
    }
    return *list == NULL ? EAI_NONAME : 0;
}

/* The system parses addresses. Names are those of hosts; a look-up takes a
 * millisecond. */
int
__wrap_getaddrinfo(const char *host, const char *port,
                   const struct addrinfo *hints, struct addrinfo **list)
{
    FAKE_CALL("getaddrinfo");
    struct addrinfo numeric = {.ai_flags = AI_NUMERICHOST};
    int err;

    if (!fake__inside())
        return __real_getaddrinfo(host, port, hints, list);
    if (call.err != 0)
        return EAI_AGAIN;
    if (hints != NULL) {
        numeric = *hints;
        numeric.ai_flags |= AI_NUMERICHOST;
    }
    err = __real_getaddrinfo(host, port, &numeric, list);
    if (err != EAI_NONAME ||
        (hints != NULL && (hints->ai_flags & AI_NUMERICHOST) != 0))
        return err;
    sleep_until(fake__world.now + FAKE__MS);
    return name_find(host, port, &numeric, list);
}

/* Frees entries one by one, as a list may be made of several of the
 * system's. */
void
__wrap_freeaddrinfo(struct addrinfo *list)
{
    while (list != NULL) {
        struct addrinfo *next = list->ai_next;

        list->ai_next = NULL;
        __real_freeaddrinfo(list);
        list = next;
    }
}
