/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * All faults that can hit either endpoint at each moment of a connection's
 * life. The moments are lines of the fake's trace. Each cell of the table has
 * one result, for all seeds and both devices: the call's status, its outcome,
 * and how often its handler runs. The call ends in time, and other clients are
 * served meanwhile. After the fault has ended, the next call has the expected
 * result, and the surviving endpoint frees everything. The table is in
 * doc/outcomes.md, too, and tests/lint.sh checks that both are the same. */
#include <stdio.h>
#include <string.h>

#include "tests/sim/cell.h"
#include "tests/sim/sim.h"

#define SEEDS 2u /* one for each device */

static const struct moment moments[] = {
    {"address_resolved", "client: event ADDR_RESOLVED", 1, "", NOBODY, false},
    {"route_resolved", "client: event ROUTE_RESOLVED", 1, "", NOBODY, false},
    {"connect_sent", "client: REQ ->", 1, "", NOBODY, false},
    {"connect_came", "server: event CONNECT_REQUEST", 1, "", NOBODY, true},
    {"accept_sent", "server: REP ->", 1, "", NOBODY, true},
    {"accept_came", "client: event CONNECT_RESPONSE", 1, "", NOBODY, true},
    {"ready_sent", "client: RTU ->", 1, "", NOBODY, false},
    {"call_sent", "client qp", 1, ": SEND", NOBODY, false},
    {"ready_came", "server: event ESTABLISHED", 1, "", NOBODY, false},
    {"call_came", "server qp", 1, "completion RECV success", NOBODY, false},
    {"handler_runs", NULL, 1, "", NOBODY, false},
    {"reply_sent", "server qp", 2, ": SEND", NOBODY, false},
    {"reply_came", "client qp", 2, "completion RECV success", NOBODY, false},
    {"client_leaves", "client: DREQ ->", 1, "", THE_CLIENT, false},
    {"server_is_left", "server: event DISCONNECTED", 1, "", THE_CLIENT, false},
    {"server_answers", "server: DREP ->", 1, "", THE_CLIENT, false},
    {"client_has_left", "client: event DISCONNECTED", 1, "", THE_CLIENT, false},
    {"server_leaves", "server: DREQ ->", 1, "", THE_SERVER, false},
    {"client_is_left", "client: event DISCONNECTED", 1, "", THE_SERVER, false},
    {"client_answers", "client: DREP ->", 1, "", THE_SERVER, false},
};

#define N_MOMENTS (sizeof moments / sizeof moments[0])

/* The result of the call when the side is killed, frozen, closes, loses its
 * port or its device at that moment: the status, and whether the call was
 * executed ("yes", "no", or "?" with the number of handler runs). The call of a
 * killed process is "dead". */
struct row {
    const char *moment;
    enum side side;
    const char *ends[N_BLOWS];
};

#define ROW(moment, side, ...)                                                 \
    {                                                                          \
#moment, side,                                                         \
        {                                                                      \
            __VA_ARGS__                                                        \
        }                                                                      \
    }
/* A cell that is impossible, because that side has closed already. */
#define IS_CLOSED "is closed already"

static const struct row rows[] = {
    ROW(address_resolved, client, "dead 0", "UNAVAILABLE no", "CANCELLED no",
        "UNAVAILABLE no", "UNAVAILABLE no"),
    ROW(address_resolved, server, "UNAVAILABLE no", "UNAVAILABLE no",
        "UNAVAILABLE no", "UNAVAILABLE no", "UNAVAILABLE no"),
    ROW(route_resolved, client, "dead 0", "UNAVAILABLE no", "CANCELLED no",
        "UNAVAILABLE no", "UNAVAILABLE no"),
    ROW(route_resolved, server, "UNAVAILABLE no", "UNAVAILABLE no",
        "UNAVAILABLE no", "UNAVAILABLE no", "UNAVAILABLE no"),
    ROW(connect_sent, client, "dead 0", "UNAVAILABLE no", "CANCELLED no",
        "UNAVAILABLE no", "UNAVAILABLE no"),
    ROW(connect_sent, server, "UNAVAILABLE no", "UNAVAILABLE no",
        "UNAVAILABLE no", "UNAVAILABLE no", "UNAVAILABLE no"),
    ROW(connect_came, client, "dead 0", "UNAVAILABLE no", "CANCELLED no",
        "UNAVAILABLE no", "UNAVAILABLE no"),
    ROW(connect_came, server, "UNAVAILABLE no", "UNAVAILABLE no",
        "UNAVAILABLE no", "UNAVAILABLE no", "UNAVAILABLE no"),
    ROW(accept_sent, client, "dead 0", "UNAVAILABLE no", "CANCELLED no",
        "UNAVAILABLE no", "UNAVAILABLE no"),
    ROW(accept_sent, server, "UNAVAILABLE no", "UNAVAILABLE ?1",
        "UNAVAILABLE no", "UNAVAILABLE no", "UNAVAILABLE no"),
    ROW(accept_came, client, "dead 0", "UNAVAILABLE no", "CANCELLED no",
        "UNAVAILABLE ?0", "UNAVAILABLE no"),
    ROW(accept_came, server, "UNAVAILABLE no", "UNAVAILABLE ?1",
        "UNAVAILABLE no", "UNAVAILABLE ?0", "UNAVAILABLE ?0"),
    ROW(ready_sent, client, "dead 0", "DEADLINE_EXCEEDED ?0", "CANCELLED ?1",
        "UNAVAILABLE ?0", "UNAVAILABLE ?0"),
    ROW(ready_sent, server, "UNAVAILABLE ?0", "UNAVAILABLE ?1",
        "UNAVAILABLE ?0", "UNAVAILABLE ?0", "UNAVAILABLE ?0"),
    ROW(call_sent, client, "dead 0", "OK yes", "CANCELLED ?1", "UNAVAILABLE ?0",
        "UNAVAILABLE ?0"),
    ROW(call_sent, server, "UNAVAILABLE ?0", "UNAVAILABLE ?1", "UNAVAILABLE ?0",
        "UNAVAILABLE ?0", "UNAVAILABLE ?0"),
    ROW(ready_came, client, "dead 0", "OK yes", "CANCELLED ?1",
        "UNAVAILABLE ?0", "UNAVAILABLE ?0"),
    ROW(ready_came, server, "UNAVAILABLE ?0", "UNAVAILABLE ?1",
        "UNAVAILABLE ?0", "UNAVAILABLE ?0", "UNAVAILABLE ?0"),
    ROW(call_came, client, "dead 1", "OK yes", "CANCELLED ?1", "UNAVAILABLE ?1",
        "UNAVAILABLE ?1"),
    ROW(call_came, server, "UNAVAILABLE ?0", "UNAVAILABLE ?1", "UNAVAILABLE ?1",
        "UNAVAILABLE ?1", "UNAVAILABLE ?0"),
    ROW(handler_runs, client, "dead 1", "OK yes", "CANCELLED ?1",
        "UNAVAILABLE ?1", "UNAVAILABLE ?1"),
    ROW(handler_runs, server, "UNAVAILABLE ?1", "UNAVAILABLE ?1",
        "UNAVAILABLE ?1", "UNAVAILABLE ?1", "UNAVAILABLE ?1"),
    ROW(reply_sent, client, "dead 1", "OK yes", "CANCELLED ?1",
        "UNAVAILABLE ?1", "UNAVAILABLE ?1"),
    ROW(reply_sent, server, "UNAVAILABLE ?1", "OK yes", "UNAVAILABLE ?1",
        "UNAVAILABLE ?1", "UNAVAILABLE ?1"),
    ROW(reply_came, client, "dead 1", "OK yes", "CANCELLED ?1", "OK yes",
        "UNAVAILABLE ?1"),
    ROW(reply_came, server, "OK yes", "OK yes", "OK yes", "OK yes", "OK yes"),
    ROW(client_leaves, client, "OK yes", "OK yes", IS_CLOSED, "OK yes",
        "OK yes"),
    ROW(client_leaves, server, "OK yes", "OK yes", "OK yes", "OK yes",
        "OK yes"),
    ROW(server_is_left, client, "OK yes", "OK yes", IS_CLOSED, "OK yes",
        "OK yes"),
    ROW(server_is_left, server, "OK yes", "OK yes", "OK yes", "OK yes",
        "OK yes"),
    ROW(server_answers, client, "OK yes", "OK yes", IS_CLOSED, "OK yes",
        "OK yes"),
    ROW(server_answers, server, "OK yes", "OK yes", "OK yes", "OK yes",
        "OK yes"),
    ROW(client_has_left, client, "OK yes", "OK yes", IS_CLOSED, "OK yes",
        "OK yes"),
    ROW(client_has_left, server, "OK yes", "OK yes", "OK yes", "OK yes",
        "OK yes"),
    ROW(server_leaves, client, "OK yes", "OK yes", "OK yes", "OK yes",
        "OK yes"),
    ROW(server_leaves, server, "OK yes", "OK yes", IS_CLOSED, "OK yes",
        "OK yes"),
    ROW(client_is_left, client, "OK yes", "OK yes", "OK yes", "OK yes",
        "OK yes"),
    ROW(client_is_left, server, "OK yes", "OK yes", IS_CLOSED, "OK yes",
        "OK yes"),
    ROW(client_answers, client, "OK yes", "OK yes", "OK yes", "OK yes",
        "OK yes"),
    ROW(client_answers, server, "OK yes", "OK yes", IS_CLOSED, "OK yes",
        "OK yes"),
};

#define N_ROWS (sizeof rows / sizeof rows[0])

/* --- rows --------------------------------------------------------------- */

static const struct moment *
moment_of(const struct row *row)
{
    for (unsigned i = 0; i < N_MOMENTS; i++) {
        if (strcmp(moments[i].name, row->moment) == 0)
            return &moments[i];
    }
    fail_msg("no moment %s", row->moment);
    return NULL;
}

static void
row_play(void **state)
{
    const struct row *row = *state;

    for (unsigned b = 0; b < N_BLOWS; b++) {
        if (strcmp(row->ends[b], IS_CLOSED) == 0) {
            print_message("# it cannot be that the %s %s at %s: it %s\n",
                          cell_side(row->side), cell_blow((enum blow)b),
                          row->moment, IS_CLOSED);
            continue;
        }
        for (uint64_t seed = 1; seed <= SEEDS; seed++)
            cell_run(moment_of(row), row->side, (enum blow)b, row->ends[b],
                     seed);
    }
}

/* The table has each moment for each side. Its impossible cells are those of a
 * side that closes itself. */
static void
the_table_is_whole(void **state)
{
    (void)state;
    assert_int_equal(N_ROWS, 2 * N_MOMENTS);
    for (unsigned i = 0; i < N_ROWS; i++) {
        const struct row *row = &rows[i];
        const struct moment *m = moment_of(row);
        enum leaver side = row->side == server ? THE_SERVER : THE_CLIENT;

        assert_ptr_equal(m, &moments[i / 2]);
        assert_int_equal(row->side, i % 2);
        for (unsigned b = 0; b < N_BLOWS; b++)
            assert_int_equal(strcmp(row->ends[b], IS_CLOSED) == 0,
                             b == CLOSED && m->leaver == side);
    }
}

int
main(void)
{
    static struct CMUnitTest tests[1 + N_ROWS];
    static struct row own[N_ROWS]; /* cmocka needs non-const data */
    static char names[N_ROWS][80];

    tests[0] = (struct CMUnitTest)cmocka_unit_test(the_table_is_whole);
    for (unsigned i = 0; i < N_ROWS; i++) {
        own[i] = rows[i];
        snprintf(names[i], sizeof names[i], "what_strikes_the_%s_at_%s",
                 cell_side(rows[i].side), rows[i].moment);
        tests[1 + i] = (struct CMUnitTest){
            .name = names[i], .test_func = row_play, .initial_state = &own[i]};
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
