/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A file with all that it imports, as a packed FileDescriptorSet: what
 * reflection returns for a service. The bytes are those of protoc, so that
 * fields which our plugin.proto does not have are kept. Only the locations
 * (comments among them) are left out.
 *
 * One thread, as all of the plugin.
 *
 * Called by: generate.c (file_sets_build). */
#ifndef VC_IDL_FILE_SET_H
#define VC_IDL_FILE_SET_H

#include "idl/arena.h"
#include "idl/model.h"
#include "idl/plugin.pb-c.h"
#include "idl/wire.h"

/* file_sets_build - sets the set of each file of the model that has services,
 * for x.vc.c. bytes are the request, packed. Called within generate(), before
 * the files are emitted. */
void file_sets_build(struct arena *arena, struct bytes bytes,
                     const Idl__Request *request, struct model *model);

#endif
