/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A dnsmasq at a port of its own on 127.0.0.1, which ends with the test. It
 * knows the hosts of a file, with a TTL of 1 s, and what its options say; names
 * below "example" that it does not know do not exist. On the test's thread. */
#ifndef VC_TESTS_DNS_MASQ_H
#define VC_TESTS_DNS_MASQ_H

#include <stdbool.h>
#include <sys/types.h>

/* Makes the folder of the hosts. False if there is no dnsmasq: then it prints
 * that all tests are skipped. */
bool masq_begin(void);
/* Removes the folder. */
void masq_end(void);

/* Starts it with these hosts, as in /etc/hosts, and options (the last is
 * NULL), and waits until it serves. */
#define MASQ_OPTIONS 16
void masq_start(unsigned port, const char *hosts,
                const char *const options[MASQ_OPTIONS]);
/* Kills it, if it runs. */
void masq_stop(void);

/* Changes the hosts, and waits until it has read them. */
void masq_change(const char *hosts);
/* The two parts of that. A dnsmasq that is frozen reads them later. */
void masq_change_begin(const char *hosts);
void masq_change_end(void);

/* Stops it as by SIGSTOP, and has it go on. */
void masq_freeze(void);
void masq_thaw(void);

#endif
