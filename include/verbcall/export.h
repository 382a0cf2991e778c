/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * What every public header needs: the mark of an exported symbol and the
 * linkage of C. Programs include <verbcall/verbcall.h> instead. */
#ifndef VERBCALL_EXPORT_H
#define VERBCALL_EXPORT_H

#ifdef __cplusplus
#define VC_BEGIN_DECLS extern "C" {
#define VC_END_DECLS   }
#else
#define VC_BEGIN_DECLS
#define VC_END_DECLS
#endif

VC_BEGIN_DECLS

/* Any function: generated code casts callbacks to it, and back to the type that
 * they have before it calls them. */
typedef void vc_function(void);

VC_END_DECLS

#define VC_API __attribute__((visibility("default")))

#endif
