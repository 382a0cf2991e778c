/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See transport/core/rcu.h. */
#include "transport/core/rcu.h"

/* What vc__rcu_reader leads to at first. Nothing writes it. */
static struct urcu_bp_reader *none;

_Thread_local struct urcu_bp_reader **vc__rcu_reader
    __attribute__((tls_model("initial-exec"))) = &none;

#ifdef __SANITIZE_THREAD__
atomic_uint vc__rcu_left;
#endif

void
vc__rcu_learn(void)
{
#ifdef CONFIG_RCU_TLS /* else the variable has no address of its own */
    if (urcu_bp_has_sys_membarrier)
        vc__rcu_reader = &URCU_TLS(urcu_bp_reader);
#endif
}
