/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * How much memory this process has. */
#ifndef VC_TESTS_UNIT_RESIDENT_H
#define VC_TESTS_UNIT_RESIDENT_H

#include <stddef.h>

/* Bytes of this process that are in memory now (the kernel's statm). Fails the
 * test when the kernel does not say. */
size_t resident(void);

#endif
