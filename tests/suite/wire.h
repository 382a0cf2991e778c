/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The server that tests/suite/test_wire.c calls from another guest, and what the
 * two guests and the host tell each other by files. */
#ifndef VC_TESTS_SUITE_WIRE_H
#define VC_TESTS_SUITE_WIRE_H

#include "tests/suite/fixture.h"

#define WIRE_PORT 7471
#define WIRE_TAGS 16384

/* Tags of Echo by which the client has the server do something else. */
#define WIRE_REPORT  (WIRE_TAGS + 0) /* tell how often it ran the first tags */
#define WIRE_SPOIL   (WIRE_TAGS + 1) /* make its end of the wire bad */
#define WIRE_RESTORE (WIRE_TAGS + 2)
#define WIRE_END     (WIRE_TAGS + 3)

/* Netem reorders by sending some packets at once while others wait. */
#define WIRE_TC_SPOIL                                                          \
    "tc qdisc replace dev w0 root netem loss 1% delay 2ms reorder 25%"
#define WIRE_TC_RESTORE "tc qdisc del dev w0 root || true"

#define WIRE_BOOT_MS 240000 /* the other guest, the host's hand */

/* Both guests and the host see it. */
extern const char *wire_folder;

/* Makes the file at once with this in it. */
void wire_file_make(const char *name, const char *text);

/* Waits until the file is there, or is not, WIRE_BOOT_MS at most: somebody
 * else sees to that, on another machine, so that there is nothing to be woken
 * by. */
void wire_file_await(const char *name, bool there);

/* One that does not spin: two guests share few cores. */
void wire_runtime(struct vc_runtime **runtime);

/* Serves, and makes the file `serving`, until the client has it end. */
void wire_serve(void);

#endif
