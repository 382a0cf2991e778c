/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See breaker.h. The dynamic linker finds the program's ibv_create_qp() and
 * ibv_destroy_qp() before those of libibverbs, so the library calls ours. */
#include "breaker.h"

#include <dlfcn.h>
#include <infiniband/verbs.h>
#include <stddef.h>

static struct ibv_qp *last;

struct ibv_qp *
ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
    struct ibv_qp *(*create)(struct ibv_pd *, struct ibv_qp_init_attr *);

    *(void **)&create = dlsym(RTLD_NEXT, "ibv_create_qp");
    last = create(pd, attr);
    return last;
}

int
ibv_destroy_qp(struct ibv_qp *qp)
{
    int (*destroy)(struct ibv_qp *);

    *(void **)&destroy = dlsym(RTLD_NEXT, "ibv_destroy_qp");
    if (qp == last)
        last = NULL;
    return destroy(qp);
}

bool
breaker_break(void)
{
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_ERR};

    return last != NULL && ibv_modify_qp(last, &attr, IBV_QP_STATE) == 0;
}
