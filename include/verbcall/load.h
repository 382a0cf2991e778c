/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Load reports: with the policy "weighted_round_robin" a channel chooses its
 * servers by the load that they report with their replies. Servers do so with
 * the option load_reports (verbcall/server.h). The rules, the numbers and the
 * defaults are those of gRPC's proposal A58. Channels take these options by
 * their field `load`. See doc/balancing.md. */
#ifndef VERBCALL_LOAD_H
#define VERBCALL_LOAD_H

#include <stddef.h>
#include <stdint.h>

#include <verbcall/export.h>

VC_BEGIN_DECLS

/* For a value of 0, as 0 in a field stands for the default. */
#define VC_LOAD_NONE UINT32_MAX

/* The weight of a server is its replies per second, divided by the sum of its
 * utilization and the share of its failures times error_penalty. As long as
 * fewer than two servers of the channel have a weight by their reports, the
 * weights of the resolver count.
 *
 * Initialize it with VC_LOAD_OPTS_INIT, or write VC_CHANNEL_OPTS(.load =
 * VC_LOAD_OPTS()) where it is used; 0 in a field means its default. It is
 * copied. */
struct vc_load_opts {
    size_t size; /* see VC_SIZED in verbcall/export.h */

    /* 1: reports are ignored, and the weights of the resolver always count.
     * Default 0. */
    uint32_t ignore;

    /* How long a server must have sent reports, since it was connected, before
     * its weight is used, in milliseconds, 1..86400000 or VC_LOAD_NONE, default
     * 10000. */
    uint32_t blackout_ms;

    /* A weight is not used any more when the server has sent no report for so
     * long, in milliseconds, 1..86400000, default 180000. */
    uint32_t expiration_ms;

    /* Time between two computations of all weights, in milliseconds,
     * 100..86400000, default 1000. */
    uint32_t update_ms;

    /* What failures cost, in thousandths, 1..1000000 or VC_LOAD_NONE, default
     * 1000: a server whose calls all fail counts as one with a utilization that
     * is higher by 1. */
    uint32_t error_penalty;
};

#define VC_LOAD_OPTS_INIT VC_SIZED_INIT(vc_load_opts)
#define VC_LOAD_OPTS(...) VC_SIZED(vc_load_opts, __VA_ARGS__)

VC_END_DECLS

#endif
