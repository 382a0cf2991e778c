/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A client, a server, and a fault that hits one of them at a given moment of
 * their connection. */
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

/* The side that closes the connection itself, after the call. */
enum leaver {
    NOBODY,
    THE_CLIENT,
    THE_SERVER
};

struct moment {
    const char *name;
    const char *line; /* of the fake's trace; NULL: in the handler */
    unsigned nth;     /* of these lines, the nth */
    const char *says; /* text that the right line must contain, too */
    enum leaver leaver;
    bool call_unsent; /* the client has not posted its call yet */
};

const char *cell_side(enum side side);
const char *cell_blow(enum blow blow);

/* Plays one cell. The call must end as `end` says: "UNAVAILABLE no", as in
 * tests/sim/test_matrix.c. All else must be as the first lines of that file
 * say. */
void cell_run(const struct moment *m, enum side side, enum blow blow,
              const char *end, uint64_t seed);

#endif
