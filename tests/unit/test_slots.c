/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Frames of a peer that name a slot or a binding, at either end: a frame for
 * a slot that does not exist is a protocol error, and memory past the slots
 * is not read. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cm/pool/pool.h"
#include "cm/pool/session.h"
#include "rpc/server/server.h"
#include "rpc/server/server_link.h"
#include "rpc/server/server_session.h"
#include "transport/rdma/rdma.h"

#define SESSION  3u
#define SEATS    4u
#define SEQUENCE 7u

/* --- at a server --------------------------------------------------------- */

/* A link with one session of one slot; the second slot lies past its end. */
struct served {
    struct vc_server server;
    struct vc__progress progress;
    struct vc__context context;
    struct vc__wire wire;
    struct vc__server_part part;
    struct vc__server_peer peer;
    struct vc__server_seat seats[SEATS];
    struct vc__server_slot slots[2];
    struct vc__server_session session;
    struct vc__server_link link;
};

static void
served_begin(struct served *s)
{
    static const struct vc__link_ops ops;

    memset(s, 0, sizeof *s);
    vc__ledger_init(&s->progress.engine.ledger);
    s->context.engine = &s->progress.engine;
    s->context.transport = &vc__rdma;
    s->server.max_sessions = SEATS;
    s->part.server = &s->server;
    s->part.progress = &s->progress;
    s->peer.part = &s->part;
    s->peer.seats = s->seats;
    s->peer.n_seats = SEATS;
    s->session.peer = &s->peer;
    s->session.link = &s->link;
    s->session.slots = s->slots;
    s->session.n_slots = 1;
    s->seats[SESSION - 1].session = &s->session;
    s->seats[SESSION - 1].binding = 1;
    vc__link_init(&s->link.link, &s->context, &s->wire, &ops, 0);
    CDS_INIT_LIST_HEAD(&s->link.sessions);
    s->link.part = &s->part;
    s->link.peer = &s->peer;
}

static void
served_end(struct served *s)
{
    vc__link_fini(&s->link.link);
    vc__ledger_fini(&s->progress.engine.ledger);
}

/* A stream that has ended: a frame for it is late, and no error. */
static const struct vc__server_slot late = {
    .stream = true, .sequence = SEQUENCE, .state = VC__SLOT_KEPT};

static void
a_server_knows_no_stream_behind_its_slots(void **state)
{
    static const uint8_t types[] = {VC__FRAME_MESSAGE, VC__FRAME_WINDOW,
                                    VC__FRAME_HALF};
    static struct served s;

    (void)state;
    served_begin(&s);
    s.slots[0] = s.slots[1] = late;
    for (unsigned i = 0; i < sizeof types; i++) {
        struct vc__frame f = {
            .type = types[i], .session = SESSION, .sequence = SEQUENCE};

        s.link.link.breach = NULL;
        assert_true(vc__server_session_stream(&s.link, &f));
        assert_null(s.link.link.breach);
        f.slot = 1;
        assert_false(vc__server_session_stream(&s.link, &f));
        assert_string_equal(s.link.link.breach, "a frame of an unknown stream");
    }
    served_end(&s);
}

/* --- CLOSE ------------------------------------------------------------- */

/* An OPEN whose binding is not newer than that of the CLOSE is from
 * a lost link. */
static void
a_close_is_remembered_by_its_binding(void **state)
{
    static struct served s;
    struct vc__server_seat *seat = &s.seats[SESSION - 1];
    struct vc__frame f = {
        .type = VC__FRAME_CLOSE, .session = SESSION, .sequence = 5};

    (void)state;
    served_begin(&s);
    seat->session = NULL; /* closed before */
    assert_true(vc__server_session_leave(&s.link, &f));
    assert_int_equal(seat->binding, 5);
    f.type = VC__FRAME_OPEN;
    for (f.sequence = 4; f.sequence <= 5; f.sequence++) {
        assert_true(vc__server_session_open(&s.link, &f));
        assert_null(seat->session);
        assert_int_equal(seat->binding, 5);
    }
    assert_null(s.link.link.breach);
    served_end(&s);
}

/* --- at a client --------------------------------------------------------- */

struct served_by {
    struct vc__pool pool;
    struct vc__peer peer;
    struct vc__pool_link link;
    struct vc__slot slots[2];
    struct vc__session session;
};

/* An abandoned stream: frames for it are ignored. */
static const struct vc__slot given_up = {.busy = true,
                                         .sequence = SEQUENCE,
                                         .stream = VC__FRAME_CLIENT_STREAM |
                                                   VC__FRAME_SERVER_STREAM};

static bool
reply(struct served_by *c, const struct vc__frame *f)
{
    struct vc__reply_frame reply;
    struct vc__assembly done;
    struct vc__request *r;

    c->link.link.breach = NULL;
    return vc__session_reply(&c->session, f, &r, &reply, &done);
}

static void
a_client_knows_no_call_behind_its_slots(void **state)
{
    static const uint8_t types[] = {VC__FRAME_WINDOW, VC__FRAME_MESSAGE};
    static struct served_by c;

    (void)state;
    memset(&c, 0, sizeof c);
    c.peer.pool = &c.pool;
    c.session.peer = &c.peer;
    c.session.client = (struct vc__client *)&c; /* only needs to be non-NULL */
    c.session.link = &c.link;
    c.session.slots = c.slots;
    c.session.n_slots = 1;
    c.slots[0] = c.slots[1] = given_up;
    for (unsigned i = 0; i < sizeof types; i++) {
        struct vc__frame f = {
            .type = types[i], .session = SESSION, .sequence = SEQUENCE};

        assert_true(reply(&c, &f));
        assert_null(c.link.link.breach);
        f.slot = 1;
        assert_false(reply(&c, &f));
        assert_string_equal(c.link.link.breach, "an answer to an unknown call");
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_server_knows_no_stream_behind_its_slots),
        cmocka_unit_test(a_close_is_remembered_by_its_binding),
        cmocka_unit_test(a_client_knows_no_call_behind_its_slots),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
