/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A call that is shed: counted by why and by its priority, and the program told
 * when that begins and when it is over. The holder of the engine only. */
#ifndef VC_RPC_SERVER_SHED_H
#define VC_RPC_SERVER_SHED_H

#include "rpc/server/server_call.h"

enum vc__shed_why {
    VC__SHED_QUEUE, /* too many wait: new clients come later, this one, too */
    VC__SHED_ADAPTIVE, /* too many handlers wait for others: the same */
    VC__SHED_THREADS,  /* there is no thread for its handler */
    VC__SHED_MEMORY,
};

/* Before it is refused. */
void vc__shed(struct vc_call *call, enum vc__shed_why why);

/* The part closes: the program is told no more. */
void vc__shed_stop(struct vc__server_part *part);

#endif
