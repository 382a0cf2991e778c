/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Default values (proto2) that protoc-gen-c does not write as C.
 *
 * One thread, as all of the plugin.
 *
 * Called by: check.c (problem). */
#ifndef VC_IDL_DEFAULTS_H
#define VC_IDL_DEFAULTS_H

#include "idl/arena.h"
#include "idl/plugin.pb-c.h"

/* defaults_problem - returns why the field's default value cannot be generated,
 * and what to do; NULL when it can, and when the field has none. Called by
 * check_files(). */
const char *defaults_problem(struct arena *arena, const Idl__Field *field);

#endif
