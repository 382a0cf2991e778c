/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The structures that protoc-gen-c makes of messages. protoc-gen-c does not
 * check that all members have different names, nor that their types exist.
 *
 * One thread, as all of the plugin.
 *
 * Called by: generate.c (check). */
#ifndef VC_IDL_MEMBERS_H
#define VC_IDL_MEMBERS_H

#include "idl/arena.h"
#include "idl/plugin.pb-c.h"
#include "idl/types.h"

/* members_check - checks all messages that are generated. Called within
 * generate(), before the model is built. Returns NULL when each member has a
 * name of its own and a type, else what is wrong and where. */
const char *members_check(struct arena *arena, const Idl__Request *request,
                          const struct types *types);

#endif
