/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Frames of a session that belong to no request: OPEN, CLOSE and CANCEL. Each
 * is freed when the link no longer uses it. Under the pool's lock; any
 * thread.
 *
 * Called by: session.c (all), session_note.c (note_new, note_open_len,
 * note_open_put). */
#ifndef VC_CM_SESSION_NOTE_H
#define VC_CM_SESSION_NOTE_H

#include <verbcall/service.h>

#include "cm/pool/session.h"

/* Makes a frame with room for a body. NULL if out of memory. Once it is
 * appended to a link, the link frees it. Called for a CLOSE, a CANCEL, and by
 * vc__note_open(). */
struct vc__send *vc__note_new(const struct vc__session *s,
                              enum vc__frame_type type, size_t len);

/* Length of the body of an OPEN: name length, name, number of methods, their
 * hashes. Called as the next function. */
uint32_t vc__note_open_len(const struct vc_service *service);
/* Writes that body to out. Called for an OPEN, and to keep it when a session
 * closes. */
void vc__note_open_put(const struct vc_service *service, uint8_t *out);

/* Makes an OPEN; for a closing session from the body it has kept. NULL if out
 * of memory. As vc__note_new(). Called by open_send(), when a session is bound,
 * or closes before the peer may have an OPEN. */
struct vc__send *vc__note_open(const struct vc__session *s);

#endif
