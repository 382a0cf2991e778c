/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A client, a server, and a failure of one of them at a moment of their
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

/* Which side closes the connection after the call by itself. */
enum leaver {
    NOBODY,
    THE_CLIENT,
    THE_SERVER
};

struct moment {
    const char *name;
    const char *line; /* in the fake's trace; NULL: in the handler */
    unsigned nth;     /* which occurrence of the line */
    const char *says; /* further text that the right line has */
    enum leaver leaver;
    bool call_unsent; /* true: the client has not posted its call */
};

const char *cell_side(enum side side);
const char *cell_blow(enum blow blow);

/* Runs the cell. `end` is the expected end of the call, such as "UNAVAILABLE
 * no", as in tests/sim/test_matrix.c, whose first lines say what else is
 * checked. */
void cell_run(const struct moment *m, enum side side, enum blow blow,
              const char *end, uint64_t seed);

#endif
