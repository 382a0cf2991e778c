/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * From protoc's request to our response.
 *
 * One thread, as all of the plugin.
 *
 * Called by: main.c (generate). */
#ifndef VC_IDL_GENERATE_H
#define VC_IDL_GENERATE_H

#include "idl/arena.h"
#include "idl/plugin.pb-c.h"
#include "idl/wire.h"

/* generate - fills response: all files, or the error for the user. Returns
 * NULL; or an error text, when a working protoc cannot have written these
 * bytes. Called by main.c with what request_read() has read. */
const char *generate(struct arena *arena, struct bytes bytes,
                     Idl__Response *response);

#endif
