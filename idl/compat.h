/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Older versions of the files to generate, of the parameter compat=: their
 * schemas are accepted by the generated servers, if by protobuf's rules clients
 * of them can be served.
 *
 * One thread, as all of the plugin.
 *
 * Called by: generate.c (add). */
#ifndef VC_IDL_COMPAT_H
#define VC_IDL_COMPAT_H

#include "idl/model.h"

/* compat_add - reads a FileDescriptorSet of `protoc -o`, compares its services
 * with those of the model that have the same name, and adds the fingerprints to
 * these. Returns NULL, or the error text: the file cannot be read, or a change
 * is not compatible; the text names field and rule. Called by
 * files_generate() for each file, when the model is built and checked. */
const char *compat_add(struct arena *arena, const char *file,
                       const struct types *types, struct model *model);

#endif
