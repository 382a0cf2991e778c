/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * What one direction of a stream may have under way: what its receiver holds
 * and the program has not taken yet is at most a window, or half of one and a
 * message that is longer (doc/wire.md, 4.10). Numbers are absolute, modulo
 * 2^32, so a later word makes up for an earlier one. Pure. */
#ifndef VC_RPC_STREAM_FLOW_H
#define VC_RPC_STREAM_FLOW_H

#include <stdbool.h>
#include <stdint.h>

#define VC__STREAM_WINDOW 65536u
/* Of each message, besides its length: empty ones take room, too. */
#define VC__STREAM_OVERHEAD 32u

struct vc__outflow {
    uint32_t sent; /* cost of all messages so far */
    uint32_t end;  /* of what may be sent */
};

struct vc__inflow {
    uint32_t came;
    uint32_t taken; /* by the program */
    uint32_t told;  /* the end that the sender knows */
};

static inline void
vc__outflow_init(struct vc__outflow *o)
{
    *o = (struct vc__outflow){.end = VC__STREAM_WINDOW};
}

static inline void
vc__inflow_init(struct vc__inflow *i)
{
    *i = (struct vc__inflow){.told = VC__STREAM_WINDOW};
}

/* Of a message with so many bytes, at most 2^30. */
static inline uint32_t
vc__stream_cost(uint32_t len)
{
    return len + VC__STREAM_OVERHEAD;
}

/* Both ends know the rule: what fits may go, and one that is longer when half
 * the window is free. So a receiver that has given back all but less than half
 * of a window never keeps its sender waiting. */
static inline bool
vc__stream_fits(uint32_t sent, uint32_t end, uint32_t cost)
{
    int32_t left = (int32_t)(end - sent);

    return left >= (int32_t)cost || left >= (int32_t)VC__STREAM_WINDOW / 2;
}

/* May a message of this cost go? If so it has gone. */
static inline bool
vc__outflow_take(struct vc__outflow *o, uint32_t cost)
{
    if (!vc__stream_fits(o->sent, o->end, cost))
        return false;
    o->sent += cost;
    return true;
}

/* One that was taken does not go after all. */
static inline void
vc__outflow_return(struct vc__outflow *o, uint32_t cost)
{
    o->sent -= cost;
}

/* The receiver says so. False: it takes back, or gives what was never sent. */
static inline bool
vc__outflow_window(struct vc__outflow *o, uint32_t end)
{
    if (end - o->end > o->sent + VC__STREAM_WINDOW - o->end)
        return false;
    o->end = end;
    return true;
}

/* May a message of this cost come? */
static inline bool
vc__inflow_fits(const struct vc__inflow *i, uint32_t cost)
{
    return vc__stream_fits(i->came, i->told, cost);
}

/* A message came. False: it might not. */
static inline bool
vc__inflow_arrived(struct vc__inflow *i, uint32_t cost)
{
    if (!vc__inflow_fits(i, cost))
        return false;
    i->came += cost;
    return true;
}

/* The program has taken it. True: the sender is to be told i->told. */
static inline bool
vc__inflow_taken(struct vc__inflow *i, uint32_t cost)
{
    uint32_t end;

    i->taken += cost;
    end = i->taken + VC__STREAM_WINDOW;
    if (end - i->told < VC__STREAM_WINDOW / 2)
        return false;
    i->told = end;
    return true;
}

#endif
