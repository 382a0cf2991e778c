/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Breaks the connection of a link below the library, as a bad cable or a dying
 * adapter does, over any transport but inproc. The holder of the link's engine
 * only. */
#ifndef VC_TESTS_SUITE_LINK_BREAK_H
#define VC_TESTS_SUITE_LINK_BREAK_H

#include <stdbool.h>

struct vc__link;

/* The link carries packets, and its connection was not broken before. */
bool link_is_whole(const struct vc__link *link);

/* Over RDMA the QP goes into the error state, over TCP the connection is reset,
 * through shared memory both directions of the socket are closed. The library
 * is told nothing. False: the system refused. */
bool link_break(const struct vc__link *link);

#endif
