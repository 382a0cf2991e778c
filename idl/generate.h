/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * From protoc's request to our answer. */
#ifndef VC_IDL_GENERATE_H
#define VC_IDL_GENERATE_H

#include "idl/arena.h"
#include "idl/plugin.pb-c.h"
#include "idl/wire.h"

/* generate - fills response: all files, or the error that the user is told.
 * Besides returns NULL, or what is wrong with bytes that no protoc writes. */
const char *generate(struct arena *arena, struct bytes bytes,
                     Idl__Response *response);

#endif
