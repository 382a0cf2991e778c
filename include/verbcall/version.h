/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The version that a program was compiled for, and the one that it runs with.
 *
 * What a program may rely on while the version is 0.x: any release may change
 * the API and the ABI. The soname changes when a release breaks the ABI, so
 * that a program never runs with a library that does not fit it; CHANGES.md
 * says what to change. Within one soname exported symbols stay as they are: a
 * symbol version, as VERBCALL_0.1 (verbcall.map), is not changed once it was
 * released, and new functions get a new one. Structs that begin with `size`
 * grow at their end: a program that was compiled for a shorter struct still
 * works. The wire format stays compatible with that of the release before
 * (doc/wire.md). */
#ifndef VERBCALL_VERSION_H
#define VERBCALL_VERSION_H

#include <verbcall/export.h>

VC_BEGIN_DECLS

/* The version of these headers, for #if. configure.ac has the version, and its
 * configure fails when these differ from it. */
#define VC_VERSION_MAJOR 0
#define VC_VERSION_MINOR 1
#define VC_VERSION_PATCH 0

/* "MAJOR.MINOR.PATCH" */
#define VC_VERSION_STRING "0.1.0"

/* vc_version - returns the VC_VERSION_STRING of the library that is loaded.
 * Never NULL; the library owns the text. Any thread. */
VC_API const char *vc_version(void);

VC_END_DECLS

#endif
