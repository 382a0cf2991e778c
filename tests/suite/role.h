/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Clients and servers in processes of their own, because limits and privileges
 * belong to a process and librdmacm never closes a device. They report their
 * results. The process that starts them must not have used RDMA itself. */
#ifndef VC_TESTS_SUITE_ROLE_H
#define VC_TESTS_SUITE_ROLE_H

#include "tests/suite/fixture.h"

/* The report of such a process, sent as soon as it has one. */
struct role_report {
    enum vc_status status;
    unsigned ms;    /* how long it took */
    uint16_t port;  /* of a server */
    char text[256]; /* vc_error() */
};

/* Limits of the process, set before it begins; 0: as this process. */
struct role_limits {
    unsigned memlock_kib;
    bool nobody;          /* true: as user nobody, without capabilities */
    unsigned descriptors; /* maximum number */
    bool later;           /* true: a server sets the other two when it
                             listens, with only the descriptors it has */
};

struct role {
    pid_t pid;
    int hold; /* its standard input */
    struct role_report report;
};

/* The functions that such a process can run; for role_start(), which calls
 * it. */
typedef int role_play(const char *target);
role_play role_connect; /* connects to target, and ends */
role_play role_pair;    /* opens two channels in turn and reports of the second;
                         * the first must work all the time */
role_play role_serve;   /* listens at target until role_end() */

/* Starts the process, and waits for its report. limits may be NULL. */
struct role role_start(role_play *play, const char *target,
                       const struct role_limits *limits);
void role_end(struct role *role);

/* Starts a process and ends it; returns its report. */
struct role_report role_report_of(role_play *play, const char *target,
                                  const struct role_limits *limits);

/* Runs another program with these arguments; returns its exit status. */
int role_program(const char *const argv[]);

#endif
