/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Clients and servers in processes of their own, because limits and rights
 * belong to a process and librdmacm never closes a device. The processes report
 * their results. The process that starts them must not have used RDMA
 * itself. */
#ifndef VC_TESTS_SUITE_ROLE_H
#define VC_TESTS_SUITE_ROLE_H

#include "tests/suite/fixture.h"

/* The report of such a process, sent as soon as the result is known. */
struct role_report {
    enum vc_status status;
    unsigned ms;    /* until the result */
    uint16_t port;  /* of a server */
    char text[256]; /* vc_error() */
};

/* Limits that are set before the process begins; 0: unchanged. */
struct role_limits {
    unsigned memlock_kib;
    bool nobody;          /* true: without this process's user and
                           * capabilities */
    unsigned descriptors; /* limit of open descriptors */
    bool later;           /* true, for a server: memlock_kib and descriptors are
                           * set only once it listens; the latter to the number
                           * of its open descriptors */
};

struct role {
    pid_t pid;
    int hold; /* writing end of its standard input */
    struct role_report report;
};

/* The functions that such a process can run, for role_start(). */
typedef int role_play(const char *target);
role_play role_connect; /* connects to target, reports and ends */
role_play role_pair;    /* opens two channels one after the other; the first
                         * must work all the time; reports on the second */
role_play role_serve;   /* listens at target until role_end() */

/* Starts the process, and waits for its report. limits may be NULL. */
struct role role_start(role_play *play, const char *target,
                       const struct role_limits *limits);
void role_end(struct role *role);

/* Starts the process, and ends it after its report. */
struct role_report role_report_of(role_play *play, const char *target,
                                  const struct role_limits *limits);

/* Runs another program with these arguments; returns its exit status. */
int role_program(const char *const argv[]);

#endif
