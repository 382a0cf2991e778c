/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * protoc-gen-c as a child process, which makes the C code of messages. */
#ifndef VC_IDL_CHAIN_H
#define VC_IDL_CHAIN_H

#include "idl/arena.h"
#include "idl/plugin.pb-c.h"
#include "idl/wire.h"

/* chain_run - runs protoc-gen-c, found by PATH, on a request. NULL and its
 * answer, or why there is none. What it says on standard error goes to ours.
 * Must not run in two threads. */
const char *chain_run(struct arena *arena, struct bytes request,
                      Idl__Response **response);

#endif
