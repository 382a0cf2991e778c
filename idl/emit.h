/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Writes out what the model says. The header is C99, C11 and C++, the source
 * C99 and C11; neither gives a warning with -Wall -Wextra -pedantic. Equal
 * models give equal bytes. */
#ifndef VC_IDL_EMIT_H
#define VC_IDL_EMIT_H

#include <stdbool.h>
#include <stddef.h>

#include "idl/model.h"
#include "idl/text.h"

/* x.vc.h */
void emit_header(struct text *out, const struct model_file *file);

/* x.vc.c */
void emit_source(struct text *out, const struct model_file *file);

/* What the two share, in emit.c. */

void emit_banner(struct text *out, const struct model_file *file);

/* A comment of a .proto file, which cannot end early, with notes of ours as
 * its last lines. comment may be NULL, and note "". */
void emit_comment(struct text *out, const char *indent, const char *comment,
                  const char *note);

/* Appends head, the arguments (n of them) and tail, the arguments below each
 * other where they pass the 80th column. */
void emit_list(struct text *out, const char *head, const char *const *args,
               size_t n, const char *tail);

/* A function's head, tail being what follows its arguments: of <service>_add,
 * and of a client's call. */
void emit_add_head(struct text *out, const struct model_service *service,
                   const char *tail);
void emit_call_head(struct text *out, const struct model_service *service,
                    const struct model_method *method, const char *tail);

#endif
