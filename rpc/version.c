/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See verbcall/version.h. */
#include <verbcall/version.h>

const char *
vc_version(void)
{
    return VC_VERSION_STRING;
}
