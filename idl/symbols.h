/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The names that the generated C files define, protoc-gen-c's and ours, with
 * what each stands for. Finds two things that have the same name in C.
 *
 * One thread, as all of the plugin.
 *
 * Called by: generate.c (check). */
#ifndef VC_IDL_SYMBOLS_H
#define VC_IDL_SYMBOLS_H

#include "idl/arena.h"
#include "idl/model.h"
#include "idl/plugin.pb-c.h"
#include "idl/types.h"

/* symbols_check - the last check within generate(), when the model has been
 * built. Returns NULL, or an error text: of a generated symbol that is not
 * allowed in C, or of the first symbol with the name of an earlier one, if one
 * of the two is generated and not only imported. */
const char *symbols_check(struct arena *arena, const Idl__Request *request,
                          const struct types *types, const struct model *model);

#endif
