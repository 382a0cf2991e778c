/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A client, a server, and what happens to one of them at a moment of their
 * connection's life. */
#ifndef VC_TESTS_SIM_CELL_H
#define VC_TESTS_SIM_CELL_H

#include <stdbool.h>
#include <stdint.h>

enum side {
    client,
    server
};

enum blow {
    KILLED,
    FROZEN,
    CLOSED,
    PORT_DOWN,
    REMOVED,
    N_BLOWS
};

/* Who ends the connection after the call, of itself. */
enum leaver {
    NOBODY,
    THE_CLIENT,
    THE_SERVER
};

struct moment {
    const char *name;
    const char *line; /* of the fake's trace; NULL: in the handler */
    unsigned nth;     /* of these */
    const char *says; /* what else is in it, if it is the right one */
    enum leaver leaver;
    bool call_unsent; /* the client has not posted its call yet */
};

const char *cell_side(enum side side);
const char *cell_blow(enum blow blow);

/* Plays it: the call's end must be this one, "UNAVAILABLE no" as
 * tests/sim/test_matrix.c has it, and all else as its beginning says. */
void cell_run(const struct moment *m, enum side side, enum blow blow,
              const char *end, uint64_t seed);

#endif
