/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * What protoc sends on standard input: read, bounded, unpacked, and looked
 * over, so that the rest can rely on it. What fails here never came from a
 * protoc that works; what a user can mend is refused by model.c. */
#ifndef VC_IDL_REQUEST_H
#define VC_IDL_REQUEST_H

#include <stdbool.h>
#include <stdio.h>

#include "idl/arena.h"
#include "idl/plugin.pb-c.h"
#include "idl/wire.h"

/* request_read - all that comes from in. NULL, or what is wrong. */
const char *request_read(FILE *in, struct arena *arena, struct bytes *bytes);

/* request_parse - NULL, or what is wrong. Afterwards there are files to
 * generate, each is among proto_file, file names can stand in an #include,
 * everything that has a name has a valid one, and messages are nested at most
 * WIRE_DEPTH deep. */
const char *request_parse(struct arena *arena, struct bytes bytes,
                          Idl__Request **request);

/* The file of that name, or NULL. */
const Idl__File *request_file(const Idl__Request *request, const char *name);

/* Whether the file is one to generate, not only imported by one. */
bool request_generates(const Idl__Request *request, const Idl__File *file);

#endif
