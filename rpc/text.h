/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Texts of errors that more than one place says, so that one cause has one
 * text. Formats begin with the names of the service and of its method. */
#ifndef VC_RPC_TEXT_H
#define VC_RPC_TEXT_H

/* The server fills this in; the client does for a server that has not. It goes
 * on with vc_status_name(). */
#define VC__TEXT_BARE "%s.%s: the handler ended with %s and no text"

/* Of streams, whichever end notices it. */
#define VC__TEXT_LATE "%s.%s: the deadline has passed"

#endif
