/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * What protoc-gen-c made of messages, so that it is C99 as well: its unnamed
 * union of a oneof's fields is C11 and C++, and marked __extension__ no
 * compiler warns of it elsewhere. */
#ifndef VC_IDL_UNIONS_H
#define VC_IDL_UNIONS_H

#include "idl/arena.h"
#include "idl/plugin.pb-c.h"

void unions_mark(struct arena *arena, Idl__Response *messages);

#endif
