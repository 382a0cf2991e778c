/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * How soon either end of a link detects that the other machine is dead, while a
 * call is outstanding and while the link is idle. Each of the two links has a
 * runtime of its own at either end, so that counters are of one link. For both
 * ends of tests/suite/test_wire.c. */
#ifndef VC_TESTS_SUITE_WIRE_WATCH_H
#define VC_TESTS_SUITE_WIRE_WATCH_H

#include "tests/suite/fixture.h"

enum {
    WATCH_BUSY,
    WATCH_IDLE,
    WATCHED
};

#define WATCH_TEXT 80

/* By include/verbcall/channel.h a dead peer is detected within keepalive_ms, 1
 * s by default, or three times that when the link is idle. A call whose link is
 * lost, but not silent, waits as long again for another link. Measured by the
 * clock of tests/suite/pace.h, with one more second for two guests. */
#define WATCH_BUSY_MS 2000
#define WATCH_CALL_MS 3000
#define WATCH_IDLE_MS 4000

/* The result for each link. */
struct watch_found {
    unsigned ms[WATCHED];    /* from the failure until no link was up, paced */
    unsigned asked[WATCHED]; /* keepalive probes by then */
    unsigned stalled_ms;
};

struct watch {
    struct vc_runtime *runtimes[WATCHED];
    unsigned asked[WATCHED]; /* probes before */
};

/* True when each runtime has its link up. If the other machine gets no time for
 * its keepalive, a link may be lost before the failure. */
bool watch_ready(struct vc_runtime *const runtimes[WATCHED]);

/* Begins to watch: each runtime has its link, and the failure is imminent. */
void watch_begin(struct watch *w, struct vc_runtime *const runtimes[WATCHED]);

/* Stops watching; there was no failure. */
void watch_give_up(void);

/* The machine at the other end died at since_ms. Returns when no link is up any
 * more, or the longer limit has passed. */
void watch_end(struct watch *w, uint64_t since_ms, struct watch_found *found);

/* Prints the result. Fails the test if a link was detected too late, or without
 * a keepalive probe. */
void watch_assert_found(const struct watch_found *found, const char *who);

/* Writes the result as a line of text, and reads it; false if the text is
 * malformed. */
void watch_write(const struct watch_found *found, char text[WATCH_TEXT]);
bool watch_read(struct watch_found *found, const char *text);

#endif
