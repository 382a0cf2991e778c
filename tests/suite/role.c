/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See tests/suite/role.h. */
#include "tests/suite/role.h"
#include "tests/suite/pace.h"

#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#define REPORT_MS 30000

#define NOBODY 65534
#define PLENTY ((rlim_t)64 << 20) /* bytes of locked memory */

/* The tests judge the behaviour with default options. */
static const struct vc_channel_opts defaults = VC_CHANNEL_OPTS_INIT;

/* --- roles ------------------------------------------------------------- */

static int
report_send(struct role_report *r, enum vc_status status, uint64_t start)
{
    r->status = status;
    r->ms = (unsigned)pace_since(start);
    if (status != VC_OK)
        snprintf(r->text, sizeof r->text, "%s", vc_error());
    return write(STDOUT_FILENO, r, sizeof *r) == (ssize_t)sizeof *r ? 0 : 1;
}

int
role_connect(const char *target)
{
    struct fixture f = {0};
    struct role_report r = {.port = 0};
    uint64_t start = fixture_ms();
    enum vc_status status;
    int result;

    status = vc_runtime_new(NULL, &f.runtime);
    if (status == VC_OK)
        status = vc_channel_open(f.runtime, target, &defaults, &f.channel);
    if (status == VC_OK)
        status = vc_channel_connect(f.channel, &suite_probe_service);
    result = report_send(&r, status, start);
    fixture_stop_client(&f);
    return result;
}

/* The servers here have no handlers, and their error says so. */
static bool
answers(struct vc_channel *channel)
{
    return fixture_echo(channel, 1000, 1) == VC_UNIMPLEMENTED &&
           strstr(vc_error(), "handler") != NULL;
}

int
role_pair(const char *target)
{
    struct fixture f = {0};
    struct role_report r = {.port = 0};
    struct vc_channel_opts alone = defaults;
    struct vc_channel *second;
    uint64_t start;
    int result;

    /* An option of its own keeps the channel from sharing the first one's
     * link. */
    alone.idle_timeout_ms = 60001;
    snprintf(f.target, sizeof f.target, "%s", target);
    fixture_start_client(&f, &defaults);
    if (!answers(f.channel) ||
        vc_channel_open(f.runtime, target, &alone, &second) != VC_OK)
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

static bool
descriptors_limit(rlim_t n)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return false;
    limit.rlim_cur = n;
    return setrlimit(RLIMIT_NOFILE, &limit) == 0;
}

static bool
limits_take(const struct role_limits *limits)
{
    rlim_t bytes = (rlim_t)limits->memlock_kib * 1024;
    struct rlimit memlock = {bytes, bytes};

    if (bytes != 0 && setrlimit(RLIMIT_MEMLOCK, &memlock) != 0)
        return false;
    return limits->descriptors == 0 || descriptors_limit(limits->descriptors);
}

/* Drops the user and with it all capabilities, CAP_IPC_LOCK included. Called
 * before anything is opened: the kernel accepts no RDMA commands by a
 * descriptor that another user has opened. */
static bool
rights_leave(const struct role_limits *limits)
{
    if (!limits->nobody || geteuid() != 0)
        return true;
    return setgroups(0, NULL) == 0 && setgid(NOBODY) == 0 &&
           setuid(NOBODY) == 0;
}

/* Limits of this process, to be set once it listens; or NULL. */
static const struct role_limits *later;

static bool
limits_begin(const struct role_limits *limits)
{
    const struct rlimit plenty = {PLENTY, PLENTY};

    if (limits->later) {
        later = limits;
        setrlimit(RLIMIT_MEMLOCK, &plenty); /* if this fails, the limit may
                                             * suffice */
    } else if (!limits_take(limits)) {
        return false;
    }
    return rights_leave(limits);
}

static bool
limits_take_later(void)
{
    struct role_limits limits = *later;
    int next = dup(STDOUT_FILENO);

    close(next);
    if (limits.descriptors != 0)
        limits.descriptors = (unsigned)next;
    return limits_take(&limits);
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
    return status;
}

int
role_serve(const char *target)
{
    struct fixture f = {0};
    struct role_report r = {.port = 0};
    uint64_t start = fixture_ms();
    enum vc_status status = server_begin(&f, target);
    char byte;

    if (status == VC_OK)
        r.port = vc_server_port(f.server);
    if (status == VC_OK && later != NULL && !limits_take_later())
        return 1;
    if (report_send(&r, status, start) != 0 ||
        (status == VC_OK && read(STDIN_FILENO, &byte, 1) != 0))
        return 1;
    fixture_stop_server(&f);
    return 0;
}

/* --- starting and ending processes ------------------------------------- */

/* Waits for the report; a child that sends none has failed. */
static void
report_take(struct role_report *r, int from)
{
    struct pollfd p = {.fd = from, .events = POLLIN};
    ssize_t n = 0;

    /* The report is short enough for one read() of a pipe. */
    if (poll(&p, 1, REPORT_MS) == 1)
        n = read(from, r, sizeof *r);
    close(from);
    if (n != (ssize_t)sizeof *r)
        fail_msg("a child does not report");
}

struct role
role_start(role_play *play, const char *target,
           const struct role_limits *limits)
{
    struct role role;
    int in[2], out[2];

    assert_int_equal(0, pipe(in));
    assert_int_equal(0, pipe(out));
    fflush(NULL);
    role.pid = fork();
    assert_true(role.pid >= 0);
    if (role.pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        dup2(in[0], STDIN_FILENO);
        dup2(out[1], STDOUT_FILENO);
        close(in[1]);
        _exit(limits == NULL || limits_begin(limits) ? play(target) : 1);
    }
    close(in[0]);
    close(out[1]);
    role.hold = in[1];
    report_take(&role.report, out[0]);
    return role;
}

void
role_end(struct role *role)
{
    close(role->hold);
    assert_int_equal(0, fixture_wait(role->pid));
}

struct role_report
role_report_of(role_play *play, const char *target,
               const struct role_limits *limits)
{
    struct role role = role_start(play, target, limits);

    role_end(&role);
    return role.report;
}

int
role_program(const char *const argv[])
{
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0) {
        setenv("PATH", "/usr/sbin:/usr/bin:/sbin:/bin", 1);
        dup2(STDERR_FILENO, STDOUT_FILENO);
        execvp(argv[0], (char *const *)argv);
        _exit(127);
    }
    return fixture_wait(pid);
}
