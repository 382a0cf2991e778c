/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Writes out what the model says. The header and the source are C99, C11 and
 * C++; neither gives a warning with -Wall -Wextra -pedantic. Equal
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
 * and of the client's blocking call of a method without streams. */
void emit_add_head(struct text *out, const struct model_service *service,
                   const char *tail);
void emit_call_head(struct text *out, const struct model_service *service,
                    const struct model_method *method, const char *tail);

/* Appends a call of the library's function, a whole statement: head, then
 * channel, the method as the library names it, and so many further arguments
 * as args has, at most EMIT_ARGS_MAX. */
#define EMIT_ARGS_MAX 8
void emit_library_call(struct text *out, const char *head,
                       const struct model_service *service,
                       const struct model_method *method,
                       const char *const *args, size_t n);

/* Before the head of a client's function of a deprecated method. */
void emit_deprecated(struct text *out, const struct model_service *service,
                     const struct model_method *method);

/* In emit_inline.c: the functions of x.vc.h that only give types to the
 * library's of asynchronous calls. */
void emit_inline(struct text *out, const struct model_service *service,
                 const struct model_method *method);

/* In emit_stream.c: a method's types of a stream, which handlers name, and what
 * may be done with it at either end. */
void emit_stream_types(struct text *out, const struct model_service *service,
                       const struct model_method *method);
void emit_stream(struct text *out, const struct model_service *service,
                 const struct model_method *method);

#endif
