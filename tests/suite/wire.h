/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The server that tests/suite/test_wire.c calls from another guest, and the
 * files by which the two guests and the host communicate. */
#ifndef VC_TESTS_SUITE_WIRE_H
#define VC_TESTS_SUITE_WIRE_H

#include <verbcall/counters.h>

#include "tests/suite/fixture.h"

#define WIRE_PORT 7471
#define WIRE_TAGS 65536

/* All servers listen at vc://, which clients reach by rdma://, tcp:// and
 * vc://; the first one also at rdma+ud://. For the servers of the watched links
 * see tests/suite/wire_watch.h. */
#define WIRE_WATCH_PORT(which) (WIRE_PORT + 1 + (which))

/* Tags of Echo by which the client asks the server for something else. With
 * tags below WIRE_TAGS, reply_size is how many milliseconds the handler
 * takes. */
#define WIRE_REPORT  (WIRE_TAGS + 0) /* report how often the first tags ran */
#define WIRE_SPOIL   (WIRE_TAGS + 1) /* make the network bad at its end */
#define WIRE_RESTORE (WIRE_TAGS + 2)
#define WIRE_NOTHING (WIRE_TAGS + 3)
#define WIRE_WATCH   (WIRE_TAGS + 4) /* watch the links, see `struck` below */
#define WIRE_REMOVE  (WIRE_TAGS + 5) /* remove its device, see `struck` below */
#define WIRE_REPEATS (WIRE_TAGS + 6) /* reply's tag: calls received again */
#define WIRE_HOLD    (WIRE_TAGS + 7) /* make `held`; reply when it is removed */
#define WIRE_READY   (WIRE_TAGS + 8) /* check that the links to watch are up */
#define WIRE_BLOCK   (WIRE_TAGS + 9) /* drop incoming packets of RoCE */
#define WIRE_ALLOW   (WIRE_TAGS + 10)
#define WIRE_RESENT  (WIRE_TAGS + 11) /* reply's tag: datagrams sent again */

/* Tags of a crowd (tests/suite/wire_crowd.h) begin here. reply_size of the
 * request is how many there were; the reply's tag: how many of these calls did
 * not run once. */
#define WIRE_CROWD        (2 * WIRE_TAGS)
#define WIRE_CROWD_FAULTS (WIRE_TAGS + 12)

/* Files. `ask`: a request to tests/wire.sh, which removes the file when the
 * request is done. `struck`: made when the client's machine is about to be cut
 * off, or the server's device to be removed. `found`: how soon the server
 * detected that (watch_write()). `held`: of a handler, which runs until the
 * client removes the file. `lost`: the server lost a link while that handler
 * ran. `serving`, `end`: the server has started, shall end. */
#define WIRE_FILES 300 /* bytes of a file's path */

/* Netem reorders by sending some packets at once while others wait. */
#define WIRE_TC_SPOIL                                                          \
    "tc qdisc replace dev w0 root netem loss 1% delay 2ms reorder 25%"
#define WIRE_TC_RESTORE "tc qdisc del dev w0 root || true"

/* Removes the server's device, and drops the DREQ that the kernel sends for it.
 * The command that removes the device ends when no process has the device
 * open. */
#define WIRE_DEVICE_REMOVE                                                     \
    "tc qdisc replace dev w0 root netem loss 100% &&"                          \
    "{ rdma link delete rxe1 >/dev/null 2>&1 & }"

/* RoCE and the CM use UDP port 4791. These packets are dropped on ingress, so
 * the port stays up and TCP is not affected. */
#define WIRE_TC_BLOCK                                                          \
    "tc qdisc add dev w0 ingress && tc filter add dev w0 ingress protocol ip " \
    "flower ip_proto udp dst_port 4791 action drop"
#define WIRE_TC_ALLOW "tc qdisc del dev w0 ingress || true"

#define WIRE_BOOT_MS 240000 /* for the other guest, the host's actions */

/* A directory that both guests and the host see. */
extern const char *wire_folder;
void wire_path(const char *name, char path[WIRE_FILES]);

/* Makes the file with this text, atomically. */
void wire_file_make(const char *name, const char *text);

/* Waits until the file exists, or does not, WIRE_BOOT_MS at most. The file is
 * polled, as another machine makes or removes it without a notification. */
void wire_file_await(const char *name, bool there);

/* Makes a runtime that does not spin: two guests share few cores. */
void wire_runtime(struct vc_runtime **runtime);

/* Opens a channel to this port of the server, by this scheme. */
void wire_channel(struct vc_runtime *runtime, const char *scheme, uint16_t port,
                  const struct vc_channel_opts *opts,
                  struct vc_channel **channel);

struct vc_counters wire_counters(struct vc_runtime *runtime);

/* Serves, and makes the file `serving`, until the file `end` exists. */
void wire_serve(void);

#endif
