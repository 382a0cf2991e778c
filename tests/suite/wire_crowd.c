/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See tests/suite/wire_crowd.h. */
#include "tests/suite/wire_crowd.h"

#include <stdio.h>
#include <stdlib.h>

#include "tests/suite/crowd.h"
#include "tests/suite/wire_load.h"

#define CLIENTS      40
#define LONG_CLIENTS 200

/* Returns the number that the server gives for this tag. */
static unsigned
server_number(struct vc_channel *control, uint64_t tag, unsigned n)
{
    Suite__EchoReply *reply = server_does(control, tag, n);
    unsigned number;

    assert_non_null(reply);
    number = (unsigned)reply->tag;
    vc_message_free(reply);
    return number;
}

static void
crowd_pass(struct crowd *crowd, struct vc_channel *control)
{
    have_server_do(control, WIRE_SPOIL);
    assert_int_equal(0, system(WIRE_TC_SPOIL));
    crowd_run_here(crowd);
    assert_int_equal(0, system(WIRE_TC_RESTORE));
    have_server_do(control, WIRE_RESTORE);
}

void
each_call_of_a_crowd_over_a_bad_wire_is_good_and_executed_once(void **state)
{
    struct crowd_opts opts = {.clients = fixture_many(CLIENTS, LONG_CLIENTS),
                              .tag_base = WIRE_CROWD,
                              .threads = true};
    struct vc_runtime *runtime;
    struct vc_channel *control;
    struct crowd *crowd;
    unsigned resent, server_resent;

    (void)state;
    snprintf(opts.target, sizeof opts.target, "rdma+ud://%s:%u",
             getenv("VC_TEST_PEER"), WIRE_PORT);
    wire_runtime(&runtime);
    wire_channel(runtime, "tcp", WIRE_PORT, NULL, &control);
    crowd = crowd_new(&opts);
    crowd_pass(crowd, control);
    resent = crowd_check(crowd);
    server_resent = server_number(control, WIRE_RESENT, 0);
    printf("# the server sent %u datagrams again\n", server_resent);
    assert_int_equal(0, server_number(control, WIRE_CROWD_FAULTS,
                                      opts.clients * CROWD_CALLS));
    /* One of a hundred datagrams is lost. */
    assert_in_range(resent, opts.clients, UINT32_MAX);
    assert_in_range(server_resent, opts.clients, UINT32_MAX);
    crowd_free(crowd);
    vc_channel_close(control);
    vc_runtime_free(runtime);
}
