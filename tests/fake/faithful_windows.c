/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Scenarios of tests/fake/faithful.c: memory windows and SEND_WITH_INV. In five
 * ways Soft-RoCE differs from adapters here; the fake's profile for it has
 * them, and the strict profile is as adapters:
 * - the completion of a SEND_WITH_INV has the flag of the kernel (bit 2), and
 *   not IBV_WC_WITH_INV (bit 3); its invalidated_rkey is right;
 * - who sends the key of no window has success, and only the receiver fails;
 * - before a window is bound again, mw->rkey must be the key that was bound
 *   last, as a posted bind does not change it;
 * - a peer may write beyond a window, up to the end of its region;
 * - a region with a window bound to it is refused with EINVAL, not EBUSY. */
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "tests/fake/faithful.h"
#include "tests/fake/scenarios.h"

#define LENGTH 64u
#define WAIT   2000 /* ms */

static const struct wish rights = {.access = IBV_ACCESS_REMOTE_WRITE |
                                             IBV_ACCESS_REMOTE_READ |
                                             IBV_ACCESS_MW_BIND};

/* Posts the request, and returns how it ended. */
static const char *
does(struct end *e, struct ibv_send_wr *wr)
{
    struct ibv_send_wr *bad;
    int err;

    wr->send_flags |= IBV_SEND_SIGNALED;
    err = ibv_post_send(e->id->qp, wr, &bad);
    return err != 0 ? errno_name(err) : complete_text(e, WAIT);
}

/* The server binds the first bytes of its memory. */
static const char *
binds(struct pair *p, struct ibv_mw *mw, uint32_t rkey)
{
    struct ibv_send_wr wr = {.opcode = IBV_WR_BIND_MW};

    wr.bind_mw.mw = mw;
    wr.bind_mw.rkey = rkey;
    wr.bind_mw.bind_info = (struct ibv_mw_bind_info){
        .mr = p->server.mr,
        .addr = (uintptr_t)p->server.memory,
        .length = LENGTH,
        .mw_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ};
    return does(&p->server, &wr);
}

static const char *
invalidates(struct end *e, uint32_t rkey)
{
    struct ibv_send_wr wr = {.opcode = IBV_WR_LOCAL_INV,
                             .invalidate_rkey = rkey};

    return does(e, &wr);
}

/* The client writes so many bytes at this offset of the server's memory. */
static const char *
writes(struct pair *p, uint32_t offset, uint32_t length, uint32_t rkey)
{
    struct ibv_sge sge = {.addr = (uintptr_t)p->client.memory,
                          .length = length,
                          .lkey = p->client.mr->lkey};
    struct ibv_send_wr wr = {
        .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE};

    wr.wr.rdma.remote_addr = (uintptr_t)p->server.memory + offset;
    wr.wr.rdma.rkey = rkey;
    return does(&p->client, &wr);
}

static const char *
sends_with_inv(struct pair *p, uint32_t rkey)
{
    struct ibv_send_wr wr = {.opcode = IBV_WR_SEND_WITH_INV,
                             .invalidate_rkey = rkey};

    return does(&p->client, &wr);
}

static void
say_states(struct pair *p)
{
    const char *client = state_text(&p->client);

    say("  %s %s", client, state_text(&p->server));
}

/* Connects, and allocates a window of the server; NULL: it failed. */
static struct ibv_mw *
window_of(struct pair *p, enum ibv_mw_type type)
{
    struct ibv_mw *mw;

    if (!pair_connect(p, &rights))
        return NULL;
    mw = ibv_alloc_mw(p->server.pd, type);
    if (mw == NULL)
        say("  no window: %s", errno_name(errno));
    return mw;
}

static void
windows_end(struct pair *p, struct ibv_mw *mw)
{
    if (mw != NULL)
        say("  freed: %s", errno_name(ibv_dealloc_mw(mw)));
    pair_close(p);
}

/* --- scenarios --------------------------------------------------------- */

static void
a_window_from_bind_to_invalidation(void)
{
    struct pair p;
    struct ibv_mw *mw = window_of(&p, IBV_MW_TYPE_2);

    if (mw != NULL) {
        uint32_t key = ibv_inc_rkey(mw->rkey);

        say("  bind: %s", binds(&p, mw, key));
        memset(p.client.memory, 7, LENGTH);
        say("  write: %s", writes(&p, 0, LENGTH, key));
        say("  %u", p.server.memory[LENGTH - 1]);
        say("  its region: %s", errno_name(ibv_dereg_mr(p.server.mr)));
        say("  invalidate: %s", invalidates(&p.server, key));
        say("  write: %s", writes(&p, 0, LENGTH, key));
        say_states(&p);
    }
    windows_end(&p, mw);
}

static void
a_write_beyond_a_window(void)
{
    struct pair p;
    struct ibv_mw *mw = window_of(&p, IBV_MW_TYPE_2);

    if (mw != NULL) {
        uint32_t key = ibv_inc_rkey(mw->rkey);

        say("  bind: %s", binds(&p, mw, key));
        memset(p.client.memory, 9, LENGTH);
        say("  write: %s", writes(&p, 1, LENGTH, key));
        say("  %u", p.server.memory[LENGTH]);
        say("  beyond the region: %s",
            writes(&p, 2 * BUFFER - LENGTH + 1, LENGTH, key));
        say_states(&p);
    }
    windows_end(&p, mw);
}

static void
a_window_bound_again(void)
{
    struct pair p;
    struct ibv_mw *mw = window_of(&p, IBV_MW_TYPE_2);

    if (mw != NULL) {
        uint32_t key = mw->rkey;

        for (int i = 0; i < 3; i++) {
            key = ibv_inc_rkey(key);
            say("  bind: %s", binds(&p, mw, key));
            say("  invalidate: %s", invalidates(&p.server, key));
            mw->rkey = key;
        }
        key = ibv_inc_rkey(key);
        say("  bind: %s", binds(&p, mw, key));
        mw->rkey = key;
        say("  while it is bound: %s", binds(&p, mw, ibv_inc_rkey(key)));
        say_states(&p);
    }
    windows_end(&p, mw);
}

static void
a_window_whose_key_was_not_kept(void)
{
    struct pair p;
    struct ibv_mw *mw = window_of(&p, IBV_MW_TYPE_2);

    if (mw != NULL) {
        uint32_t key = ibv_inc_rkey(mw->rkey);

        say("  bind: %s", binds(&p, mw, key));
        say("  mw->rkey: %s", mw->rkey == key ? "new" : "old");
        say("  invalidate: %s", invalidates(&p.server, key));
        say("  bind: %s", binds(&p, mw, ibv_inc_rkey(key)));
        say_states(&p);
    }
    windows_end(&p, mw);
}

static void
a_window_of_type_1(void)
{
    struct ibv_mw_bind bind = {.send_flags = IBV_SEND_SIGNALED};
    struct pair p;
    struct ibv_mw *mw = window_of(&p, IBV_MW_TYPE_1);

    if (mw != NULL) {
        struct ibv_wc wc;

        bind.bind_info = (struct ibv_mw_bind_info){
            .mr = p.server.mr,
            .addr = (uintptr_t)p.server.memory,
            .length = LENGTH,
            .mw_access_flags = IBV_ACCESS_REMOTE_WRITE};
        say("  bind: %s", errno_name(ibv_bind_mw(p.server.id->qp, mw, &bind)));
        if (end_complete(&p.server, &wc, WAIT) == 0)
            say("  opcode %d", wc.opcode);
        say("  write: %s", writes(&p, 0, LENGTH, mw->rkey));
        say("  its old key: %s", writes(&p, 0, LENGTH, mw->rkey - 1));
        say_states(&p);
    }
    windows_end(&p, mw);
}

static void
a_send_that_invalidates(void)
{
    struct pair p;
    struct ibv_mw *mw = window_of(&p, IBV_MW_TYPE_2);

    if (mw != NULL) {
        uint32_t key = ibv_inc_rkey(mw->rkey);
        struct ibv_wc wc;

        say("  bind: %s", binds(&p, mw, key));
        end_receive(&p.server, LENGTH);
        say("  send: %s", sends_with_inv(&p, key));
        if (end_complete(&p.server, &wc, WAIT) == 0)
            say("  opcode %d, flags %u, %s key", wc.opcode, wc.wc_flags,
                wc.invalidated_rkey == key ? "its" : "another");
        say("  write: %s", writes(&p, 0, LENGTH, key));
        say_states(&p);
    }
    windows_end(&p, mw);
}

/* No window that is not bound, and no key twice: __rxe_put() of Linux 6.1 takes
 * down the whole kernel of the receiver then. */
static void
a_send_that_invalidates_a_region(void)
{
    struct pair p;

    if (pair_connect(&p, &rights)) {
        end_receive(&p.server, LENGTH);
        end_receive(&p.server, LENGTH);
        say("  send: %s", sends_with_inv(&p, p.server.mr->rkey));
        for (int i = 0; i < 2; i++)
            say("  receive: %s", complete_text(&p.server, WAIT));
        say_states(&p);
    }
    pair_close(&p);
}

static void
a_region_invalidated_at_home(void)
{
    struct pair p;

    if (pair_connect(&p, &rights)) {
        say("  %s", invalidates(&p.server, p.server.mr->rkey));
        say_states(&p);
    }
    pair_close(&p);
}

const struct scenario faithful_windows[] = {
    {"a window from bind to invalidation", a_window_from_bind_to_invalidation},
    {"a write beyond a window", a_write_beyond_a_window},
    {"a window bound again", a_window_bound_again},
    {"a window whose key was not kept", a_window_whose_key_was_not_kept},
    {"a window of type 1", a_window_of_type_1},
    {"a send that invalidates", a_send_that_invalidates},
    {"a send that invalidates a region", a_send_that_invalidates_a_region},
    {"a region invalidated at home", a_region_invalidated_at_home},
    {NULL, NULL},
};
