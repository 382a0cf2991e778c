/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See tests/suite/role.h. */
#include "tests/suite/role.h"

#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define REPORT_MS 10000

#define NOBODY 65534

/* --- roles ------------------------------------------------------------- */

static int
report_send(struct role_report *r, enum vc_status status, uint64_t start)
{
    r->status = status;
    r->ms = (unsigned)(fixture_ms() - start);
    if (status != VC_OK)
        snprintf(r->text, sizeof r->text, "%s", vc_error());
    return write(STDOUT_FILENO, r, sizeof *r) == (ssize_t)sizeof *r ? 0 : 1;
}

static int
role_connect(const char *target)
{
    struct fixture f = {0};
    struct role_report r = {.port = 0};
    uint64_t start = fixture_ms();
    enum vc_status status;
    int result;

    snprintf(f.target, sizeof f.target, "%s", target);
    fixture_start_client(&f, NULL);
    status = vc_channel_connect(f.channel, &suite_probe_service);
    result = report_send(&r, status, start);
    fixture_stop_client(&f);
    return result;
}

/* The servers here have no handlers, and say so. */
static bool
answers(struct vc_channel *channel)
{
    return fixture_echo(channel, 1000, 1) == VC_UNIMPLEMENTED &&
           strstr(vc_error(), "handler") != NULL;
}

static int
role_pair(const char *target)
{
    struct fixture f = {0};
    struct role_report r = {.port = 0};
    struct vc_channel *second;
    uint64_t start;
    int result;

    snprintf(f.target, sizeof f.target, "%s", target);
    fixture_start_client(&f, NULL);
    if (!answers(f.channel) ||
        vc_channel_open(f.runtime, target, NULL, &second) != VC_OK)
        return 1;
    start = fixture_ms();
    result = report_send(&r, vc_channel_connect(second, &suite_probe_service),
                         start);
    vc_channel_close(second);
    if (!answers(f.channel))
        return 1;
    fixture_stop_client(&f);
    return result;
}

static enum vc_status
server_begin(struct fixture *f, const char *target)
{
    static const struct suite_probe_methods none = {0};
    enum vc_status status = vc_runtime_new(NULL, &f->server_runtime);

    if (status == VC_OK)
        status = vc_server_new(f->server_runtime, NULL, &f->server);
    if (status == VC_OK)
        status = suite_probe_add(f->server, &none, NULL);
    if (status == VC_OK)
        status = vc_server_listen(f->server, target);
    return status == VC_OK ? vc_runtime_start(f->server_runtime, 1) : status;
}

/* Serves until its standard input ends. */
static int
role_serve(const char *target)
{
    struct fixture f = {0};
    struct role_report r = {.port = 0};
    uint64_t start = fixture_ms();
    enum vc_status status = server_begin(&f, target);
    char byte;

    if (status == VC_OK)
        r.port = vc_server_port(f.server);
    if (report_send(&r, status, start) != 0 ||
        (status == VC_OK && read(STDIN_FILENO, &byte, 1) != 0))
        return 1;
    fixture_stop_server(&f);
    return 0;
}

static bool
limit(const char *memlock_kib, const char *who)
{
    rlim_t bytes = (rlim_t)strtoul(memlock_kib, NULL, 10) * 1024;
    struct rlimit memlock = {bytes, bytes};

    if (bytes != 0 && setrlimit(RLIMIT_MEMLOCK, &memlock) != 0)
        return false;
    if (strcmp(who, "nobody") != 0)
        return true;
    /* Its capabilities go with the user, CAP_IPC_LOCK among them. */
    return geteuid() != 0 || (setgroups(0, NULL) == 0 && setgid(NOBODY) == 0 &&
                              setuid(NOBODY) == 0);
}

/* ROLE TARGET MEMLOCK WHO */
bool
role_main(int argc, char **argv, int *result)
{
    if (argc != 5)
        return false;
    if (!limit(argv[3], argv[4]))
        *result = 1;
    else if (strcmp(argv[1], "connect") == 0)
        *result = role_connect(argv[2]);
    else if (strcmp(argv[1], "pair") == 0)
        *result = role_pair(argv[2]);
    else
        *result = role_serve(argv[2]);
    return true;
}

/* --- starting and ending them ------------------------------------------ */

static void
program_exec(int in, int out, const char *const argv[])
{
    setenv("PATH", "/usr/sbin:/usr/bin:/sbin:/bin", 1);
    dup2(in, STDIN_FILENO);
    dup2(out, STDOUT_FILENO);
    execvp(argv[0], (char *const *)argv);
    _exit(127);
}

/* Waits for the report; without one the child has failed. */
static void
report_take(struct role_report *r, int from)
{
    struct pollfd p = {.fd = from, .events = POLLIN};
    ssize_t n = 0;

    /* It is shorter than what a pipe passes on at once. */
    if (poll(&p, 1, REPORT_MS) == 1)
        n = read(from, r, sizeof *r);
    close(from);
    if (n != (ssize_t)sizeof *r)
        fail_msg("a child does not report");
}

/* Of no other child's business. */
static void
pipe_open(int ends[2])
{
    assert_int_equal(0, pipe(ends));
    fcntl(ends[0], F_SETFD, FD_CLOEXEC);
    fcntl(ends[1], F_SETFD, FD_CLOEXEC);
}

struct role
role_start(const char *name, const char *target, const char *memlock_kib,
           const char *who)
{
    const char *const argv[] = {"/proc/self/exe", name, target,
                                memlock_kib,      who,  NULL};
    struct role c;
    int in[2], out[2];

    pipe_open(in);
    pipe_open(out);
    c.pid = fork();
    assert_true(c.pid >= 0);
    if (c.pid == 0)
        program_exec(in[0], out[1], argv);
    close(in[0]);
    close(out[1]);
    c.hold = in[1];
    report_take(&c.report, out[0]);
    return c;
}

void
role_end(struct role *c)
{
    close(c->hold);
    assert_int_equal(0, fixture_wait(c->pid));
}

struct role_report
role_report_of(const char *name, const char *target, const char *memlock_kib,
               const char *who)
{
    struct role c = role_start(name, target, memlock_kib, who);

    role_end(&c);
    return c.report;
}

int
role_program(const char *const argv[])
{
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0)
        program_exec(STDIN_FILENO, STDERR_FILENO, argv);
    return fixture_wait(pid);
}
