/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Writes the model as C. The header and the source are C99, C11 and C++;
 * neither causes a warning with -Wall -Wextra -pedantic. Equal models give
 * equal bytes.
 *
 * One thread, as all of the plugin.
 *
 * Called by: generate.c (header, source), emit_header.c (banner, comment, list,
 * add_head, call_head, deprecated, inline, stream_types, stream), emit_source.c
 * (banner, list, add_head, call_head, library_call), emit_stream.c (comment,
 * list, library_call, deprecated), emit.c (list), emit_inline.c (list,
 * library_call, deprecated). */
#ifndef VC_IDL_EMIT_H
#define VC_IDL_EMIT_H

#include <stdbool.h>
#include <stddef.h>

#include "idl/model.h"
#include "idl/text.h"

/* Append the content of x.vc.h, and that of x.vc.c. Called by files_make()
 * through file_make(), for each file to generate. */
void emit_header(struct text *out, const struct model_file *file);
void emit_source(struct text *out, const struct model_file *file);

/* Helpers of all files that emit, in emit.c. */

/* Appends the first line of either file, by which they begin. */
void emit_banner(struct text *out, const struct model_file *file);

/* Appends the comment that stands before a service, handler or function, taken
 * from the .proto file, and made safe so that it cannot end early, with our
 * note as its last lines. comment may be NULL, and note "": without any text,
 * nothing is appended. */
void emit_comment(struct text *out, const char *indent, const char *comment,
                  const char *note);

/* Appends head, the n arguments and tail. An argument that would pass column
 * 80 goes to a new line, below the first one. If one does not fit at all beside
 * head, the first goes to a new line, too. */
void emit_list(struct text *out, const char *head, const char *const *args,
               size_t n, const char *tail);

/* Append the head of a function; tail is what follows its arguments. For
 * <service>_add(), and for the client's call of a method without streams,
 * blocking or one-way (which has no reply argument): each is declared in x.vc.h
 * and defined in x.vc.c. */
void emit_add_head(struct text *out, const struct model_service *service,
                   const char *tail);
void emit_call_head(struct text *out, const struct model_service *service,
                    const struct model_method *method, const char *tail);

/* Appends a call of the library's function as a whole statement. Its arguments
 * after head are the channel, the method as the library names it, and those of
 * args, at most EMIT_ARGS_MAX. */
#define EMIT_ARGS_MAX 8
void emit_library_call(struct text *out, const char *head,
                       const struct model_service *service,
                       const struct model_method *method,
                       const char *const *args, size_t n);

/* Appends the attribute that stands in x.vc.h before the head of a client's
 * function; nothing unless the method or its service is deprecated. */
void emit_deprecated(struct text *out, const struct model_service *service,
                     const struct model_method *method);

/* In emit_inline.c: the functions of x.vc.h that are typed wrappers of the
 * library's asynchronous calls. Called for every method; a one-way
 * method and one with streams has none. */
void emit_inline(struct text *out, const struct model_service *service,
                 const struct model_method *method);

/* In emit_stream.c, for x.vc.h: the stream types of a method, which handlers
 * use, and the stream functions of both ends. */
void emit_stream_types(struct text *out, const struct model_service *service,
                       const struct model_method *method);
void emit_stream(struct text *out, const struct model_service *service,
                 const struct model_method *method);

#endif
