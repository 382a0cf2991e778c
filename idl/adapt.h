/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Our request, made into one that protoc-gen-c takes: without our parameter,
 * without services (it would make code of them that nobody needs and that
 * does not compile for some names), and without the mark of proto3 optional
 * fields, which it says it does not know: they are then what protoc made of
 * them, oneofs of one member. Fields named by words of C or C++ that it does
 * not know get the `_` that it gives those it knows. All other bytes stay as they are, those of
 * options and of fields unknown here included. Pure. */
#ifndef VC_IDL_ADAPT_H
#define VC_IDL_ADAPT_H

#include "idl/text.h"
#include "idl/wire.h"

/* adapt_request - appends the adapted request to out, which is empty. The
 * request has passed request_parse(). */
void adapt_request(struct text *out, struct bytes request);

#endif
