/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The scenarios of the program faithful, by file. Each array ends with a
 * scenario without a name. */
#ifndef FAKE_FAITHFUL_H
#define FAKE_FAITHFUL_H

#include <stdbool.h>

struct scenario {
    const char *name;
    void (*run)(void);
};

extern const struct scenario datagram_scenarios[];
extern const struct scenario faithful_windows[];
extern const struct scenario faithful_sync[];
/* They take the port and the device away. Run them last, and only if
 * machine_may_change(). */
extern const struct scenario faithful_device[];

/* Returns the outcome of a call that sets errno: "0", or the name of errno. */
const char *outcome(int result);

/* --- the machine: machine_fake.c, machine_real.c ----------------------- */

/* True if the program may take the device away from this machine: this is the
 * fake, or the guest. */
bool machine_may_change(void);

/* Sets the port of the device up or down. */
void machine_port_set(bool up);

/* Removes the device for the rest of the run. */
void machine_device_remove(void);

#endif
