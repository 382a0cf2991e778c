/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The structures that protoc-gen-c makes of messages: it does not look whether
 * two members get the same name, nor whether the type of one is there. */
#ifndef VC_IDL_MEMBERS_H
#define VC_IDL_MEMBERS_H

#include "idl/arena.h"
#include "idl/plugin.pb-c.h"
#include "idl/types.h"

/* members_check - of all messages that are generated. NULL when each member
 * has a name of its own and a type, else what is wrong and where. */
const char *members_check(struct arena *arena, const Idl__Request *request,
                          const struct types *types);

#endif
