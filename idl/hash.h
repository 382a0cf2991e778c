/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * FNV-1a, which names services and methods on the wire. Pure. */
#ifndef VC_IDL_HASH_H
#define VC_IDL_HASH_H

#include <stddef.h>
#include <stdint.h>

uint32_t hash_32(const char *data, size_t length);
uint64_t hash_64(const char *data, size_t length);

#endif
