/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 *     cost FILE COMMAND...
 *
 * Runs the command and writes into FILE how many milliseconds it took and how
 * many KiB it, or one that it ran, had in memory at most. Exits as it did. */
#define _DEFAULT_SOURCE /* wait4() */
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static long
milliseconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000L + now.tv_nsec / 1000000;
}

int
main(int argc, char **argv)
{
    long start = milliseconds();
    struct rusage usage;
    FILE *out;
    int status;
    pid_t pid;

    if (argc < 3 || (pid = fork()) < 0)
        return 2;
    if (pid == 0) {
        execvp(argv[2], &argv[2]);
        _exit(127);
    }
    if (wait4(pid, &status, 0, &usage) != pid)
        return 2;
    out = fopen(argv[1], "w");
    if (out == NULL)
        return 2;
    fprintf(out, "%ld %ld\n", milliseconds() - start, usage.ru_maxrss);
    if (fclose(out) != 0)
        return 2;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
