/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The test's program again in a process of its own, as a client or a server:
 * limits and rights belong to a process, and librdmacm never lets a device go.
 * What it met it reports. */
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

struct role {
    pid_t pid;
    int hold; /* its standard input */
    struct role_report report;
};

/* main() gives it the command line: true, and *result is what to return, when
 * this process has a role. */
bool role_main(int argc, char **argv, int *result);

/* Starts it, and waits for its report. The roles:
 *   connect  connects to target, and ends
 *   pair     opens two channels, of which the first must work all the time
 *            and the report is of the second
 *   serve    listens at target until role_end()
 * memlock_kib limits locked memory unless "0"; who is "me" or "nobody". */
struct role role_start(const char *name, const char *target,
                       const char *memlock_kib, const char *who);
void role_end(struct role *role);

/* One that ends by itself. */
struct role_report role_report_of(const char *name, const char *target,
                                  const char *memlock_kib, const char *who);

/* Another program, by its words; its exit status. */
int role_program(const char *const argv[]);

#endif
