/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The names that the generated C files define, protoc-gen-c's and ours, with
 * what each stands for: finds two things that folding made one of. */
#ifndef VC_IDL_SYMBOLS_H
#define VC_IDL_SYMBOLS_H

#include "idl/arena.h"
#include "idl/model.h"
#include "idl/plugin.pb-c.h"
#include "idl/types.h"

/* symbols_check - NULL, or the error of a generated symbol that C cannot
 * have, or of the first that has the name of another before it, one of the
 * two being generated and not only imported. */
const char *symbols_check(struct arena *arena, const Idl__Request *request,
                          const struct types *types, const struct model *model);

#endif
