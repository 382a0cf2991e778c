/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See tests/suite/wire_watch.h. */
#include "tests/suite/wire_watch.h"

#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include "tests/suite/pace.h"
#include "tests/suite/stall.h"
#include "tests/suite/wire.h"

#define LOOK_US 2000
#define NEVER   UINT_MAX

/* In paced milliseconds. */
static const unsigned limits[WATCHED] = {WATCH_BUSY_MS, WATCH_IDLE_MS};

static unsigned
asked(const struct vc_counters *c)
{
    return (unsigned)(c->keepalive_pings + c->keepalive_probes);
}

bool
watch_ready(struct vc_runtime *const runtimes[WATCHED])
{
    for (unsigned i = 0; i < WATCHED; i++)
        if (wire_counters(runtimes[i]).links_up != 1)
            return false;
    return true;
}

void
watch_begin(struct watch *w, struct vc_runtime *const runtimes[WATCHED])
{
    for (unsigned i = 0; i < WATCHED; i++) {
        struct vc_counters c = wire_counters(runtimes[i]);

        w->runtimes[i] = runtimes[i];
        w->asked[i] = asked(&c);
    }
    stall_begin();
}

void
watch_give_up(void)
{
    stall_end();
}

/* Looks once at a link whose loss has not been detected yet. */
static void
look(const struct watch *w, unsigned i, uint64_t since_ms,
     struct watch_found *found)
{
    struct vc_counters c = wire_counters(w->runtimes[i]);

    if (c.links_up > 0)
        return;
    found->ms[i] = (unsigned)pace_since(since_ms);
    found->asked[i] = asked(&c) - w->asked[i];
}

void
watch_end(struct watch *w, uint64_t since_ms, struct watch_found *found)
{
    unsigned left;

    *found = (struct watch_found){.ms = {NEVER, NEVER}};
    do {
        left = 0;
        for (unsigned i = 0; i < WATCHED; i++) {
            if (found->ms[i] == NEVER)
                look(w, i, since_ms, found);
            left += found->ms[i] == NEVER;
        }
        usleep(LOOK_US);
    } while (left > 0 && pace_since(since_ms) <= WATCH_IDLE_MS);
    found->stalled_ms = stall_end();
}

void
watch_assert_found(const struct watch_found *found, const char *who)
{
    static const char *const links[WATCHED] = {"a call outstanding", "idle"};

    stall_print(found->stalled_ms);
    for (unsigned i = 0; i < WATCHED; i++)
        printf("# %s, %s: found after %d ms, at most %u; keepalive asked %u "
               "times\n",
               who, links[i], (int)found->ms[i], limits[i], found->asked[i]);
    for (unsigned i = 0; i < WATCHED; i++) {
        assert_in_range(found->ms[i], 0, limits[i]);
        assert_in_range(found->asked[i], 1, 100);
    }
}

void
watch_write(const struct watch_found *found, char text[WATCH_TEXT])
{
    snprintf(text, WATCH_TEXT, "%u %u %u %u %u\n", found->ms[0], found->ms[1],
             found->asked[0], found->asked[1], found->stalled_ms);
}

bool
watch_read(struct watch_found *found, const char *text)
{
    return sscanf(text, "%u %u %u %u %u", &found->ms[0], &found->ms[1],
                  &found->asked[0], &found->asked[1], &found->stalled_ms) == 5;
}
