/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Breaks the connection of a link below the library, as a bad cable or a
 * failing adapter does, over any transport but inproc. Only for the holder of
 * the link's engine. */
#ifndef VC_TESTS_SUITE_LINK_BREAK_H
#define VC_TESTS_SUITE_LINK_BREAK_H

#include <stdbool.h>

struct vc__link;

/* True if the link carries packets, and its connection is not broken. */
bool link_is_whole(const struct vc__link *link);

/* Over RDMA the QP is moved to the error state; over TCP the connection is
 * reset; over shared memory both directions of the socket are shut down. The
 * library is not notified. False: the system refused. */
bool link_break(const struct vc__link *link);

#endif
