/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Connecting and listening where it cannot work: each way ends in time, and
 * its error says what is wrong and what to do. What touches RDMA runs in
 * processes of their own, as limits and rights belong to a process and
 * librdmacm never lets a device go; they are this program with a role. */
#include "tests/suite/fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define CONNECT_MS 2000 /* the default */
#define MARGIN_MS  1500 /* on a loaded machine */
#define CHILD_MS   15000

#define NOBODY 65534

/* --- processes with a role --------------------------------------------- */

/* What a child says, as soon as it knows. */
struct report {
    enum vc_status status;
    unsigned ms;   /* that it took */
    uint16_t port; /* of a server */
    char text[256];
};

/* How a child is limited before it does anything. */
struct limits {
    unsigned memlock_kib; /* 0: as it is */
    bool unprivileged;
};

struct child {
    pid_t pid;
    int in; /* what it says; a server serves until it is closed */
    int hold;
    struct report report;
};

static void
report_end(struct report *r, enum vc_status status, uint64_t start)
{
    r->status = status;
    r->ms = (unsigned)(fixture_ms() - start);
    if (status != VC_OK)
        snprintf(r->text, sizeof r->text, "%s", vc_error());
}

static int
report_send(const struct report *r)
{
    return write(STDOUT_FILENO, r, sizeof *r) == (ssize_t)sizeof *r ? 0 : 1;
}

static int
role_connect(const char *target)
{
    struct vc_runtime *runtime;
    struct vc_channel *channel = NULL;
    struct report r = {.port = 0};
    uint64_t start;
    enum vc_status status = vc_runtime_new(NULL, &runtime);

    if (status != VC_OK)
        return 1;
    start = fixture_ms();
    status = vc_channel_open(runtime, target, NULL, &channel);
    if (status == VC_OK)
        status = vc_channel_connect(channel, &suite_probe_service);
    report_end(&r, status, start);
    vc_channel_close(channel);
    vc_runtime_free(runtime);
    return report_send(&r);
}

/* Two channels one after the other; the report is of the second. */
static int
role_pair(const char *target)
{
    struct fixture f = {0};
    struct vc_channel *second;
    struct report r = {.port = 0};
    uint64_t start;

    snprintf(f.target, sizeof f.target, "%s", target);
    fixture_start_client(&f, NULL);
    if (fixture_echo(f.channel, 1000, 1) != VC_OK ||
        vc_channel_open(f.runtime, target, NULL, &second) != VC_OK)
        return 1;
    start = fixture_ms();
    report_end(&r, fixture_echo(second, 1000, 2), start);
    vc_channel_close(second);
    if (fixture_echo(f.channel, 1000, 3) != VC_OK)
        return 1;
    fixture_stop_client(&f);
    return report_send(&r);
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

static int
role_serve(const char *target)
{
    struct fixture f = {0};
    struct report r = {.port = 0};
    uint64_t start = fixture_ms();
    char byte;

    report_end(&r, server_begin(&f, target), start);
    if (r.status == VC_OK)
        r.port = vc_server_port(f.server);
    if (report_send(&r) != 0 || (r.status == VC_OK && read(0, &byte, 1) != 0))
        return 1;
    fixture_stop_server(&f);
    return 0;
}

