/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * How much memory this process has. */
#ifndef VC_TESTS_UNIT_RESIDENT_H
#define VC_TESTS_UNIT_RESIDENT_H

#include <stdbool.h>
#include <stddef.h>

/* Bytes of this process that are in memory now (the kernel's statm). Fails the
 * test when the kernel does not say. */
size_t resident(void);

/* False under qemu-user (tests/cross.sh sets VC_TEST_EMULATED): the kernel
 * counts what qemu has translated, too, and qemu leaves out MADV_REMOVE. */
bool resident_is_known(void);

#endif
