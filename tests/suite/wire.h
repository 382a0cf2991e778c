/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The server that tests/suite/test_wire.c calls from another guest, and what the
 * two guests and the host tell each other by files. */
#ifndef VC_TESTS_SUITE_WIRE_H
#define VC_TESTS_SUITE_WIRE_H

#include <verbcall/counters.h>

#include "tests/suite/fixture.h"

#define WIRE_PORT 7471
#define WIRE_TAGS 65536

/* All servers listen at vc://, which clients reach by rdma://, tcp:// and vc://.
 * Servers of the links that are watched: see tests/suite/wire_watch.h. */
#define WIRE_WATCH_PORT(which) (WIRE_PORT + 1 + (which))

/* Tags of Echo by which the client has the server do something else. For the
 * tags below, reply_size is how many milliseconds the handler takes. */
#define WIRE_REPORT  (WIRE_TAGS + 0) /* tell how often it ran the first tags */
#define WIRE_SPOIL   (WIRE_TAGS + 1) /* make its end of the wire bad */
#define WIRE_RESTORE (WIRE_TAGS + 2)
#define WIRE_NOTHING (WIRE_TAGS + 3)
#define WIRE_WATCH   (WIRE_TAGS + 4) /* watch the links, see `struck` below */
#define WIRE_REMOVE  (WIRE_TAGS + 5) /* remove its device, see there */
#define WIRE_REPEATS (WIRE_TAGS + 6) /* calls that came again: by reply's tag */
#define WIRE_HOLD    (WIRE_TAGS + 7) /* make `held`; reply when it is gone */
#define WIRE_READY   (WIRE_TAGS + 8) /* see that the links to watch are up */
#define WIRE_BLOCK   (WIRE_TAGS + 9) /* drop the packets of RoCE that come in */
#define WIRE_ALLOW   (WIRE_TAGS + 10)

/* Files. `ask`: a word for tests/wire.sh, which removes it when it has done
 * that; `struck`: made when the client's machine is about to be lost to the
 * server, or the server's device to be removed; `found`: how soon the server
 * found it (watch_write()); `held`: of a handler, which runs until the client
 * removes it; `lost`: the server lost a link while that ran; `serving`, `end`: of
 * the server. */
#define WIRE_FILES 300 /* bytes of a file's path */

/* Netem reorders by sending some packets at once while others wait. */
#define WIRE_TC_SPOIL                                                          \
    "tc qdisc replace dev w0 root netem loss 1% delay 2ms reorder 25%"
#define WIRE_TC_RESTORE "tc qdisc del dev w0 root || true"

/* The server's device goes, and the farewell that the kernel sends for it is
 * lost. The command that removes it ends when no process has it open. */
#define WIRE_DEVICE_REMOVE                                                     \
    "tc qdisc replace dev w0 root netem loss 100% &&"                          \
    "{ rdma link delete rxe1 >/dev/null 2>&1 & }"

/* RoCE and the CM use UDP port 4791: dropped where they come in, they leave the
 * port up and TCP alone. */
#define WIRE_TC_BLOCK                                                          \
    "tc qdisc add dev w0 ingress && tc filter add dev w0 ingress protocol ip " \
    "flower ip_proto udp dst_port 4791 action drop"
#define WIRE_TC_ALLOW "tc qdisc del dev w0 ingress || true"

#define WIRE_BOOT_MS 240000 /* the other guest, the host's hand */

/* Both guests and the host see it. */
extern const char *wire_folder;
void wire_path(const char *name, char path[WIRE_FILES]);

/* Makes the file at once with this in it. */
void wire_file_make(const char *name, const char *text);

/* Waits until the file is there, or is not, WIRE_BOOT_MS at most: somebody
 * else sees to that, on another machine, so that there is nothing to be woken
 * by. */
void wire_file_await(const char *name, bool there);

/* One that does not spin: two guests share few cores. */
void wire_runtime(struct vc_runtime **runtime);

/* A channel to the server's port, by this scheme. */
void wire_channel(struct vc_runtime *runtime, const char *scheme, uint16_t port,
                  const struct vc_channel_opts *opts,
                  struct vc_channel **channel);

struct vc_counters wire_counters(struct vc_runtime *runtime);

/* Serves, and makes the file `serving`, until there is the file `end`. */
void wire_serve(void);

#endif
