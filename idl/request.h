/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Reads, bounds, unpacks and validates what protoc sends on standard input, so
 * that other files can rely on it. An input that fails here never came from a
 * working protoc. Errors that a user can fix are found later in generate(), by
 * check.c, members.c, model.c, symbols.c and others.
 *
 * One thread, as all of the plugin.
 *
 * Called by: compat.c (read, parse_set), main.c (read), generate.c (parse),
 * model.c (file), request.c (file), check.c (generates), members.c (generates),
 * symbols.c (generates). */
#ifndef VC_IDL_REQUEST_H
#define VC_IDL_REQUEST_H

#include <stdbool.h>
#include <stdio.h>

#include "idl/arena.h"
#include "idl/plugin.pb-c.h"
#include "idl/wire.h"

/* request_read - reads all of in, the first step of a run. Returns NULL and the
 * bytes, which lie in the arena; or an error text, also if there are none. */
const char *request_read(FILE *in, struct arena *arena, struct bytes *bytes);

/* request_parse - unpacks and checks the request, the first step of generate().
 * Returns NULL and the request, which lies in the arena; or an error text. On
 * success there are files to generate, and each is among proto_file. File names
 * can stand in an #include, and all names that files define are valid. Messages
 * are nested at most WIRE_DEPTH deep. */
const char *request_parse(struct arena *arena, struct bytes bytes,
                          Idl__Request **request);

/* Returns the file with this name, or NULL. Called for each file to
 * generate. */
const Idl__File *request_file(const Idl__Request *request, const char *name);

/* True when the file is one to generate, not only an import of one. Asked by
 * the checks. */
bool request_generates(const Idl__Request *request, const Idl__File *file);

/* request_parse_set - the same for a FileDescriptorSet: *request has its files,
 * and none to generate. Returns NULL, or the error text. Called by
 * compat_add(). */
const char *request_parse_set(struct arena *arena, struct bytes bytes,
                              Idl__Request **request);

#endif
