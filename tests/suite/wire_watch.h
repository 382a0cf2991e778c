/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Measures how soon either end of a link detects that the other machine is
 * dead, while a call is outstanding and while the link is idle. Each of the two
 * links has a runtime of its own at either end, so that counters are of one
 * link. For both ends of tests/suite/test_wire.c. */
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
 * lost, not silent, waits as long again for another link. Measured by the clock
 * of tests/suite/pace.h, with one second more for two guests. */
#define WATCH_BUSY_MS 2000
#define WATCH_CALL_MS 3000
#define WATCH_IDLE_MS 4000

/* The results for each link. */
struct watch_found {
    unsigned ms[WATCHED];    /* from the failure until no link was up, paced */
    unsigned asked[WATCHED]; /* keepalive's probes and pings until then */
    unsigned stalled_ms;
};

struct watch {
    struct vc_runtime *runtimes[WATCHED];
    unsigned asked[WATCHED]; /* before the failure */
};

/* True if each runtime has its link up. If the other machine got no processor
 * time for its keepalive, a link may be lost before the failure. */
bool watch_ready(struct vc_runtime *const runtimes[WATCHED]);

/* Starts the measurement; each runtime has its link, and the failure is
 * near. */
void watch_begin(struct watch *w, struct vc_runtime *const runtimes[WATCHED]);

/* Ends the measurement without a failure. */
void watch_give_up(void);

/* The machine at the other end died at since_ms. Returns when no link is up any
 * more, or after the longer limit. */
void watch_end(struct watch *w, uint64_t since_ms, struct watch_found *found);

/* Prints the results. Fails the test when a link's loss was detected too late,
 * or when keepalive has sent nothing for it. */
void watch_assert_found(const struct watch_found *found, const char *who);

/* As a line of text and back; false when the text has another format. */
void watch_write(const struct watch_found *found, char text[WATCH_TEXT]);
bool watch_read(struct watch_found *found, const char *text);

#endif
