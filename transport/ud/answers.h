/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The wires of datagrams that this process has accepted, by what their clients
 * have introduced themselves with. A client whose answer was lost or is late
 * asks again, with the same introduction: it gets the same answer, so that no
 * second connection is made for it, which nobody would use. A client that asks
 * often without an answer would otherwise take many of the places for
 * connections that are half open.
 *
 * The listener's engine looks up what other engines have accepted: any thread.
 *
 * Called by: connect.c (ud_answer_keep, ud_answer_again), wire.c
 * (ud_answer_drop). */
#ifndef VC_TRANSPORT_UD_ANSWERS_H
#define VC_TRANSPORT_UD_ANSWERS_H

#include "transport/ud/wire.h"

/* The wire has been accepted: u->said is the answer, until it is dropped. Drop
 * may be called for any wire that was in a port. */
void vc__ud_answer_keep(struct vc__ud_wire *u);
void vc__ud_answer_drop(struct vc__ud_wire *u);

/* Answers the request of this id, and destroys it, if its sender has been
 * accepted in the last second. False: it has not. */
bool vc__ud_answer_again(struct rdma_cm_id *id, const struct vc__intro *theirs);

#endif
