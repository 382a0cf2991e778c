/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The memory of this process. */
#ifndef VC_TESTS_UNIT_RESIDENT_H
#define VC_TESTS_UNIT_RESIDENT_H

#include <stdbool.h>
#include <stddef.h>

/* Returns the bytes of this process that are in memory now (the kernel's
 * statm). Fails the test when the kernel does not report them. */
size_t resident(void);

/* False under qemu-user (tests/cross.sh sets VC_TEST_EMULATED): the kernel also
 * counts what qemu has translated, and qemu ignores MADV_REMOVE. */
bool resident_is_known(void);

#endif
