/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See transport/core/thread.h; proc(5), getrusage(2). */
#define _GNU_SOURCE /* RUSAGE_THREAD */
#include "transport/core/thread.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

int
vc__thread_start(pthread_t *thread, const pthread_attr_t *attr,
                 void *(*body)(void *), void *arg)
{
    sigset_t all, before;
    int err;

    /* The new thread inherits the signal mask of its creator. */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    err = pthread_create(thread, attr, body, arg);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return err;
}

int
vc__thread_number(void)
{
    return (int)syscall(SYS_gettid);
}

/* For vc__thread_burns(): the state in "NUMBER (NAME) STATE ..."; a name may
 * have any characters. */
static char
state_of(const char *stat)
{
    const char *end = strrchr(stat, ')');

    return end != NULL && end[1] == ' ' ? end[2] : '?';
}

bool
vc__thread_burns(int number)
{
    char path[64], stat[512];
    ssize_t len;
    int fd;

    snprintf(path, sizeof path, "/proc/self/task/%d/stat", number);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    len = read(fd, stat, sizeof stat - 1);
    close(fd);
    if (len <= 0)
        return false;
    stat[len] = '\0';
    return state_of(stat) == 'R';
}

long
vc__thread_waits(void)
{
    struct rusage usage;

    return getrusage(RUSAGE_THREAD, &usage) == 0 ? usage.ru_nvcsw : 0;
}
