/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Clients and servers in processes of their own, as limits and rights belong
 * to a process and librdmacm never lets a device go. What they meet they
 * report. The process that starts them must not have used RDMA itself. */
#ifndef VC_TESTS_SUITE_ROLE_H
#define VC_TESTS_SUITE_ROLE_H

#include "tests/suite/fixture.h"

/* What such a process says, as soon as it knows. */
struct role_report {
    enum vc_status status;
    unsigned ms;    /* that it took */
    uint16_t port;  /* of a server */
    char text[256]; /* vc_error() */
};

/* How it is limited before it begins; 0: as this process. */
struct role_limits {
    unsigned memlock_kib;
    bool nobody;          /* without this process's user and capabilities */
    unsigned descriptors; /* that it may have */
    bool later;           /* of a server: the other two only once it listens,
                             and then as many descriptors as it has already */
};

struct role {
    pid_t pid;
    int hold; /* its standard input */
    struct role_report report;
};

/* What it can do; for role_start(), which calls it. */
typedef int role_play(const char *target);
role_play role_connect; /* connects to target, and ends */
role_play role_pair;    /* opens two channels one after the other, the first of
                         * which must work all the time; reports of the second */
role_play role_serve;   /* listens at target until role_end() */

/* Starts it, and waits for its report. limits may be NULL. */
struct role role_start(role_play *play, const char *target,
                       const struct role_limits *limits);
void role_end(struct role *role);

/* One that ends by itself, or at once. */
struct role_report role_report_of(role_play *play, const char *target,
                                  const struct role_limits *limits);

/* Another program, by its words; its exit status. */
int role_program(const char *const argv[]);

#endif
