/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Sheds a call: counts it by reason and by priority, and notifies the program
 * when shedding begins and when it ends. The holder of the engine only.
 *
 * Called by: server_begin.c (shed), server_handler.c (shed), server_thread.c
 * (shed), server_close.c (shed_stop). */
#ifndef VC_RPC_SERVER_SHED_H
#define VC_RPC_SERVER_SHED_H

#include "rpc/server/server_call.h"

enum vc__shed_why {
    VC__SHED_QUEUE, /* too many calls wait: delays connects and this client */
    VC__SHED_ADAPTIVE, /* too many handlers wait for others: the same delays */
    VC__SHED_THREADS,  /* no thread is free for its handler */
    VC__SHED_MEMORY,
};

/* Counts the call, and adds a retry time for its client if too many calls or
 * handlers wait; the first one begins the shedding. Called before the call is
 * refused: by server_begin_refuse() at its arrival (MEMORY), by
 * call_turn_down() at its turn (QUEUE), by vc__thread_take() when its handler
 * needs a thread (ADAPTIVE), and by the timers on_no_thread() and on_no_turn()
 * while it waits for a thread or its turn (THREADS). */
void vc__shed(struct vc_call *call, enum vc__shed_why why);

/* The part closes: the program is not notified any more. Called by part_close()
 * (rpc/server/server_close.c). */
void vc__shed_stop(struct vc__server_part *part);

#endif
