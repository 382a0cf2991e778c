/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The end of a wire of shared memory: what its peer has published before is
 * handled first, and no more than a ring holds, though the peer has closed its
 * socket and goes on. The peer is this test: it publishes inside received(), as
 * a thread of another process may. transport/shm/wire.c is included, for a wire
 * that has not connected. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/socket.h>

#include <cmocka.h>

#include "transport/shm/wire.c"

/* The peer gives up then, so that the test has an end. */
#define MANY 10000u

struct bench {
    struct vc__engine engine;
    struct vc__shm_context context;
    struct vc__shm_wire wire;
    struct vc__shm_region *mine[2]; /* of the wire; of its peer */
    const struct vc__shm_region *theirs[2];
    struct vc__shm_out out; /* the peer's */
    int socket;             /* the peer's; -1: closed */
    bool goes_on;           /* publishes one more for each that is handled */
    unsigned received, left, failed;
};

static struct bench *bench;

/* False: its ring is full. */
static bool
peer_publish(struct bench *b)
{
    if (b->out.tail - atomic_load(&b->mine[0]->head) == VC__SHM_ENTRIES)
        return false;
    assert_non_null(vc__shm_out_reserve(&b->out));
    vc__shm_out_commit(&b->out, 1);
    return true;
}

static void
on_received(struct vc__wire *w, const uint8_t *data, uint32_t len)
{
    (void)w;
    (void)data;
    (void)len;
    if (++bench->received < MANY && bench->goes_on)
        assert_true(peer_publish(bench));
}

static void
on_left(struct vc__wire *w)
{
    (void)w;
    bench->left++;
}

static void
on_failed(struct vc__wire *w, const char *why)
{
    (void)w;
    (void)why;
    bench->failed++;
}

static const struct vc__wire_ops ops = {
    .received = on_received, .left = on_left, .failed = on_failed};

/* Makes the region of one end; returns its memfd. */
static int
region_make(struct bench *b, unsigned end)
{
    int fd;

    b->mine[end] = vc__shm_region_make(&fd);
    assert_non_null(b->mine[end]);
    b->theirs[1 - end] = vc__shm_region_map(fd);
    assert_non_null(b->theirs[1 - end]);
    return fd;
}

/* The wire is open. */
static int
bench_setup(void **state)
{
    struct bench *b = calloc(1, sizeof *b);
    struct vc__context_opts opts = {.memory = 0};
    struct vc__shm_wire *s = &b->wire;
    int pair[2];

    assert_non_null(b);
    *state = bench = b;
    assert_int_equal(vc__engine_init(&b->engine, 0), 0);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    b->context.context.engine = &b->engine;
    assert_int_equal(vc__shm_open(&b->context.context, &opts), VC_OK);
    s->wire.context = &b->context.context;
    s->wire.ops = &ops;
    wire_init(s);
    s->memfd = region_make(b, 0);
    close(region_make(b, 1));
    s->out.mine = s->in.mine = b->mine[0];
    b->out.mine = b->mine[1];
    b->out.theirs = b->theirs[1];
    s->source.fd = pair[0];
    b->socket = pair[1];
    assert_int_equal(vc__shm_watch(s), 0);
    vc__shm_begin(s, b->theirs[0]);
    return 0;
}

static int
bench_teardown(void **state)
{
    struct bench *b = *state;

    vc__shm_unwatch(&b->wire);
    close(b->wire.source.fd);
    for (unsigned i = 0; i < 2; i++) {
        vc__shm_region_unmap(b->mine[i]);
        vc__shm_region_unmap(b->theirs[i]);
    }
    vc__shm_close(&b->context.context);
    vc__engine_fini(&b->engine);
    free(b);
    return 0;
}

/* The peer closes its socket, and the engine sees that. */
static void
peer_end(struct bench *b)
{
    close(b->socket);
    shm_on_ready(&b->wire.source);
    assert_int_equal(b->wire.phase, VC__SHM_ENDED);
}

static void
what_was_published_before_the_end_is_handled_first(void **state)
{
    struct bench *b = *state;
    unsigned n = 0;

    while (peer_publish(b))
        n++;
    peer_end(b);
    assert_int_equal(n, VC__SHM_ENTRIES);
    assert_int_equal(b->received, n);
    assert_int_equal(b->left, 1);
    assert_int_equal(b->failed, 0);
}

static void
a_peer_that_goes_on_after_its_end_is_not_heard(void **state)
{
    struct bench *b = *state;

    b->goes_on = true;
    assert_true(peer_publish(b));
    peer_end(b);
    assert_in_range(b->received, 1, VC__SHM_ENTRIES);
    assert_int_equal(b->left, 1);
    assert_int_equal(b->failed, 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            what_was_published_before_the_end_is_handled_first, bench_setup,
            bench_teardown),
        cmocka_unit_test_setup_teardown(
            a_peer_that_goes_on_after_its_end_is_not_heard, bench_setup,
            bench_teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
