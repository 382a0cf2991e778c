/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The numbers are those of
 * https://datatracker.ietf.org/doc/draft-eastlake-fnv/, section 5. */
#include "idl/hash.h"

uint32_t
hash_32(const char *data, size_t length)
{
    uint32_t hash = UINT32_C(0x811c9dc5);

    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)data[i]) * UINT32_C(0x01000193);
    return hash;
}

uint64_t
hash_64(const char *data, size_t length)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);

    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)data[i]) * UINT64_C(0x100000001b3);
    return hash;
}
