/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Counts the entries of folders, as of /proc: a process' descriptors and
 * threads. */
#ifndef VC_TESTS_SUITE_ENTRIES_H
#define VC_TESTS_SUITE_ENTRIES_H

/* The entries whose names contain `with`; "": all, with "." and "..". */
unsigned entries_of(const char *path, const char *with);

/* The descriptors that this process has open, and three more. */
unsigned entries_descriptors(void);

#endif
