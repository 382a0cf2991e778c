/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Edits the C code that protoc-gen-c made of messages with a oneof, so that no
 * compiler warns about it. The unnamed union of the oneof's fields, which is
 * not C99, is marked __extension__. The union's initializer, which is {0}, gets
 * braces if the first field is a structure (bytes), and a cast if it is an
 * enum, which C++ requires.
 *
 * One thread, as all of the plugin.
 *
 * Called by: generate.c (mark). */
#ifndef VC_IDL_UNIONS_H
#define VC_IDL_UNIONS_H

#include "idl/arena.h"
#include "idl/plugin.pb-c.h"

/* unions_mark - edits all files of protoc-gen-c's answer. Called within
 * generate(), after chain_run(). */
void unions_mark(struct arena *arena, Idl__Response *messages);

#endif
