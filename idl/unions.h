/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * What protoc-gen-c made of messages with a oneof, so that no compiler warns of
 * it: the unnamed union of the oneof's fields, which is no C99, is marked
 * __extension__, and where its first field is a structure (bytes) the
 * initializer gets the braces of that. */
#ifndef VC_IDL_UNIONS_H
#define VC_IDL_UNIONS_H

#include "idl/arena.h"
#include "idl/plugin.pb-c.h"

void unions_mark(struct arena *arena, Idl__Response *messages);

#endif
