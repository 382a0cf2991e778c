/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Finds what is valid in a .proto file but cannot be generated. Each error
 * begins with the place and says what to write instead. For name clashes see
 * symbols.h.
 *
 * One thread, as all of the plugin.
 *
 * Called by: generate.c (all). */
#ifndef VC_IDL_CHECK_H
#define VC_IDL_CHECK_H

#include "idl/arena.h"
#include "idl/model.h"
#include "idl/plugin.pb-c.h"
#include "idl/types.h"

/* check_files - checks what must be known before the files are processed: their
 * syntax, groups and message sets, default values, and the use of option
 * use_oneof_field_name. protoc-gen-c crashes on some of them. Called within
 * generate(), before the model is built. Returns NULL when good, else an error
 * text. */
const char *check_files(struct arena *arena, const Idl__Request *request,
                        const struct types *types);

/* check_services - checks the options of methods, their number, and their
 * hashes. Called within generate(), when the model has been built. Returns NULL
 * when good, else an error text. */
const char *check_services(struct arena *arena, const struct model *model);

#endif
