/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The addresses of one server, "ADDRESS|ADDRESS|...", each a target of its own,
 * and the order in which they are tried (gRPC's A61, "endpoint"). What is tried
 * when is the plan of cm/connect/dial.h. Pure; any thread.
 *
 * Called by: addresses.c (get), rpc/balance/near.c (get), cm/pool/pool_lookup.c
 * (parse, interleave), rpc/balance/target_opts.c (parse). */
#ifndef VC_CM_ADDRESSES_H
#define VC_CM_ADDRESSES_H

#include "cm/connect/dial.h"

#define VC__ADDRESSES_MAX ((unsigned)VC__TARGET_ADDRS)
/* The most bytes of the text, with the final NUL. */
#define VC__ADDRESS_TEXT 320u

/* Copies address i of the text. Returns false if there are not so many, or the
 * address is too long for `out`. A '|' separates two addresses only if a scheme
 * and ':' follow: else it belongs to the path of a socket. Called by
 * vc__addresses_parse(), and to find out whether a server is near. */
bool vc__addresses_get(const char *text, unsigned i,
                       char out[VC__ADDRESS_TEXT]);

/* Parses the addresses, one or several, and returns their number in *n. If
 * there are several, targets[0].all is the text, which is not copied. text may
 * be NULL, which is malformed. VC_OK; or, with a text for vc__error_last(),
 * VC_INVALID_ARGUMENT if one is malformed, or there twice; there are too many,
 * or they are too long; or only some of several are of vc://. Called when a
 * server is added to a channel, and for each attempt to connect to one that has
 * several. */
enum vc_status vc__addresses_parse(struct vc__target targets[VC__ADDRESSES_MAX],
                                   unsigned *n, const char *text);

/* Orders places of one transport that follow each other so that the families of
 * their addresses take turns, beginning with that of the first (RFC 8305,
 * section 4). Within a family the order stays, and so does that of transports.
 * n: VC__ADDRESSES_MAX at most. Called by lookup_end() of
 * cm/pool/pool_lookup.c. */
void vc__addresses_interleave(struct vc__place *places, unsigned n);

#endif
