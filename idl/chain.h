/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Runs protoc-gen-c, which makes the C code of messages (x.pb-c.h, x.pb-c.c),
 * as a child process. Called within generate(), unless the parameter is
 * `services`.
 *
 * One thread, as all of the plugin.
 *
 * Called by: generate.c (run). */
#ifndef VC_IDL_CHAIN_H
#define VC_IDL_CHAIN_H

#include "idl/arena.h"
#include "idl/plugin.pb-c.h"
#include "idl/wire.h"

/* chain_run - runs protoc-gen-c, found by PATH, on a request. Returns NULL and
 * its answer, which lies in the arena; or an error text. The child's standard
 * error goes to ours. Must not run in two threads at a time. */
const char *chain_run(struct arena *arena, struct bytes request,
                      Idl__Response **response);

#endif
