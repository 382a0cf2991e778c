/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Breaks the connection of a link below the library, as a bad cable or a
 * failing adapter does, over any transport but inproc. Only the holder of the
 * link's engine may call these functions. */
#ifndef VC_TESTS_SUITE_LINK_BREAK_H
#define VC_TESTS_SUITE_LINK_BREAK_H

#include <stdbool.h>

struct vc__link;

/* True when the link carries packets and its connection was not broken
 * before. */
bool link_is_whole(const struct vc__link *link);

/* Over RDMA it moves the QP to the error state, over TCP it resets the
 * connection, through shared memory it shuts down both directions of the
 * socket. The library is not notified. Returns false if the system refused. */
bool link_break(const struct vc__link *link);

#endif
