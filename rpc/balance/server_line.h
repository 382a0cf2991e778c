/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The line of vc_channel_describe() about a server: one of several, or one
 * whose health is watched, or that a resolver has named. It has its health, its
 * weight, its calls, and how often it was ejected. On the thread that describes
 * the channel, any, between vc__servers_enter() and vc__servers_exit().
 *
 * Called by: servers.c (server_line). */
#ifndef VC_RPC_SERVER_LINE_H
#define VC_RPC_SERVER_LINE_H

#include "rpc/balance/server_set.h"

/* Writes the line about server i, which leads somewhere, to `text`, truncated
 * to size. weighs: the resolver has not given all the same weight. Returns the
 * length of all of it, as snprintf(). */
size_t vc__server_line(const struct vc__server_set *set, unsigned i,
                       bool weighs, char *text, size_t size);

#endif
