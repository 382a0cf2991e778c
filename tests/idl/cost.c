/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 *     cost FILE COMMAND...
 *
 * Runs the command, and adds a line to FILE: the processor time in milliseconds
 * of the command and all that it ran, and the largest memory in KiB of one of
 * them. The exit status is that of the command. */
#define _DEFAULT_SOURCE /* wait4() */
#include <stdio.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

static long
milliseconds(struct timeval t)
{
    return t.tv_sec * 1000L + t.tv_usec / 1000;
}

int
main(int argc, char **argv)
{
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
    out = fopen(argv[1], "a");
    if (out == NULL)
        return 2;
    fprintf(out, "%ld %ld\n",
            milliseconds(usage.ru_utime) + milliseconds(usage.ru_stime),
            usage.ru_maxrss);
    if (fclose(out) != 0)
        return 2;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
