/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Adapts our request to one that protoc-gen-c accepts. It removes our parameter
 * and the services: protoc-gen-c would make code of them that nobody needs, and
 * that does not compile for some names. It also removes the mark of proto3
 * optional fields, which protoc-gen-c says it does not support: they are then
 * oneofs of one member, as protoc writes them. A field named by a word of C or
 * C++ that protoc-gen-c does not escape gets the `_` that others get from it.
 * All other bytes stay as they are, those of options and of unknown fields
 * included. Pure.
 *
 * One thread, as all of the plugin.
 *
 * Called by: generate.c (request). */
#ifndef VC_IDL_ADAPT_H
#define VC_IDL_ADAPT_H

#include "idl/text.h"
#include "idl/wire.h"

/* adapt_request - appends the adapted request to out, which is empty. The
 * request has passed request_parse(). Called within generate(), for
 * chain_run(). */
void adapt_request(struct text *out, struct bytes request);

#endif
