/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * What a .proto file may say and we cannot generate; each refusal begins with
 * the place and tells what to write instead. Names that meet: symbols.h. */
#ifndef VC_IDL_CHECK_H
#define VC_IDL_CHECK_H

#include "idl/arena.h"
#include "idl/model.h"
#include "idl/plugin.pb-c.h"
#include "idl/types.h"

/* check_files - what must be known before anything is done with the files:
 * their syntax, and groups, of which protoc-gen-c crashes. NULL when good. */
const char *check_files(struct arena *arena, const Idl__Request *request,
                        const struct types *types);

/* check_services - streams, number of methods, their hashes. */
const char *check_services(struct arena *arena, const struct model *model);

#endif
