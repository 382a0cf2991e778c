/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * What protoc-gen-c made of messages with a oneof, so that no compiler warns of
 * it: the unnamed union of the oneof's fields, which is no C99, is marked
 * __extension__; and its initializer, which is {0}, gets the braces of a first
 * field that is a structure (bytes), and the cast of one that is an enum, which
 * C++ wants. */
#ifndef VC_IDL_UNIONS_H
#define VC_IDL_UNIONS_H

#include "idl/arena.h"
#include "idl/plugin.pb-c.h"

void unions_mark(struct arena *arena, Idl__Response *messages);

#endif
