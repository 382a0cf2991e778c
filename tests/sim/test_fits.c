/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A message that just fits into a packet is packed there, and its endpoint
 * needs no memory for it. A message that is a byte longer needs memory. */
#include <string.h>

#include <verbcall/call.h>

#include "cm/link/schedule.h"
#include "tests/sim/scene.h"

#define WARM 20u
/* Bytes of a message besides its payload: the field's key and its length. */
#define MORE 3u
#define FITS (VC__EAGER_MAX - MORE)

static uint8_t payload[FITS + 1];

/* Replies with as many bytes as the request asks for. */
static enum vc_status
handle(struct sim_server *s, struct vc_call *call,
       const Suite__EchoRequest *request, Suite__EchoReply *reply)
{
    (void)s;
    (void)call;
    reply->payload.data = payload;
    reply->payload.len = request->reply_size;
    return VC_OK;
}

/* Returns the number of allocations of a call in this process, after some calls
 * before it. */
static unsigned
allocations(struct scene *s, struct fake_process *p,
            const Suite__EchoRequest *request)
{
    unsigned before = 0;

    for (unsigned i = 0; i <= WARM; i++) {
        Suite__EchoReply *reply;

        before = fake_allocations(p);
        assert_int_equal(suite_probe_echo(s->channel, request, NULL, &reply),
                         VC_OK);
        vc_message_free(reply);
    }
    return fake_allocations(p) - before;
}

static unsigned
allocations_of_request(struct scene *s, size_t size)
{
    Suite__EchoRequest request = SUITE__ECHO_REQUEST__INIT;

    request.payload.data = payload;
    request.payload.len = size;
    return allocations(s, fake_process_self(), &request);
}

static unsigned
allocations_of_reply(struct scene *s, size_t size)
{
    Suite__EchoRequest request = SUITE__ECHO_REQUEST__INIT;

    request.reply_size = (uint32_t)size;
    return allocations(s, s->server.process, &request);
}

static void
sends_what_fits_and_more(struct scene *s)
{
    assert_int_equal(allocations_of_request(s, FITS), 0);
    assert_int_equal(allocations_of_request(s, FITS + 1), 1);
    assert_int_equal(allocations_of_reply(s, FITS), 0);
    assert_int_equal(allocations_of_reply(s, FITS + 1), 1);
}

static void
a_message_that_fits_into_a_packet_takes_no_memory(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 4; seed++) {
        struct scene s = {.opts = VC_CHANNEL_OPTS_INIT,
                          .act = sends_what_fits_and_more};

        s.server.handle = handle;
        scene_run(&s, seed);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_message_that_fits_into_a_packet_takes_no_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
