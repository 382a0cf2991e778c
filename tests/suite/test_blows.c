/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The most important cells of tests/sim/test_matrix.c on a real kernel:
 * failures of either end at each phase of a connection. In every cell the
 * client's call ends by its deadline, with a status that doc/architecture.md
 * lists for it and a true outcome. After the repair the next call succeeds, and
 * so does a new client's. The surviving ends exit normally.
 *
 * The phases are reached by freezing the server, so that no timing is guessed.
 * This process only coordinates: both ends are its children. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/suite/callers.h"
#include "tests/suite/device.h"
#include "tests/suite/pace.h"

enum moment {
    CONNECTING, /* the connection request waits at a frozen server */
    IDLE,       /* connected; the call starts right after the failure */
    HANDLER,
    LONG,    /* sent until a frozen server has no more receives */
    CLOSING, /* the client has asked a frozen server to disconnect */
};

enum blow {
    SERVER_KILLED,
    SERVER_FROZEN, /* until the call has ended */
    SERVER_CLOSES,
    CLIENT_KILLED,
    CLIENT_FROZEN, /* until the deadline has passed */
    PORT_FLAPS,    /* no CM message may be sent meanwhile: see device_renew() */
    PORT_DOWN,     /* until the call has ended */
    REMOVED,       /* the device */
};

/* The statuses that a call may end with. */
#define OK          (1u << VC_OK)
#define UNAVAILABLE (1u << VC_UNAVAILABLE)
#define TOO_LATE    (1u << VC_DEADLINE_EXCEEDED)

struct cell {
    enum moment moment;
    enum blow blow;
    unsigned ends; /* bit set of statuses; 0: the result is not checked */
};

#define CALL_MS  9000
#define WHILE_MS 8000 /* longer than a flap takes on a busy machine */
#define SHORT_MS 1000 /* the timeout of calls in cells with a frozen end */
#define CLOSE_MS 2000 /* the documented time of vc_channel_close() */
#define GRACE_MS 1000 /* at the machine's usual pace */

/* The handler sleeps longer than the detection of a failure takes. For a frozen
 * client the handler replies in time, but the client does not read the
 * reply. */
#define HANDLER_MS       4000
#define HANDLER_SHORT_MS 300

/* A call may be the one that detects a dead link: an end is not notified if the
 * peer closed while the network was down. The next call works. */
#define FINDS_OUT 2

#define FIRST 1 /* tags of calls */
#define LATER 2

/* Words of the board; each is set to 1. */
enum {
    GO,     /* to the client: enter the phase */
    THERE,  /* by the client: the phase is reached */
    STRUCK, /* to the client: the failure has happened */
    ENDED,  /* by the client: its call has ended */
    MENDED, /* to the client: continue, or end when the device is lost */
};

static atomic_uint *
word(unsigned which)
{
    return &fixture_board->words[which];
}

/* --- shared state ------------------------------------------------------ */

/* The client's first call, in memory shared with this process. Its channel is
 * valid only in the client. */
static struct caller *first;

/* The running processes; 0: none. */
static pid_t server, client;
static uint16_t port;

static void
first_share(void)
{
    if (first == NULL) {
        first = mmap(NULL, sizeof *first, PROT_READ | PROT_WRITE,
                     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        assert_true(first != MAP_FAILED);
    }
    memset(first, 0, sizeof *first);
}

static void
server_start(uint16_t at)
{
    atomic_store(&fixture_board->stop, 0);
    server = fixture_fork_server(at);
    port = (uint16_t)atomic_load(&fixture_board->port);
}

/* Waits for a child and checks how it ends. */
static void
expect_end(pid_t *pid, int how)
{
    pid_t ending = *pid;

    *pid = 0;
    assert_int_equal(how, fixture_wait(ending));
}

static void
server_stop(void)
{
    fixture_tell(&fixture_board->stop);
    expect_end(&server, 0);
}

static void
freeze(pid_t pid)
{
    siginfo_t info;

    assert_int_equal(0, kill(pid, SIGSTOP));
    assert_int_equal(0, waitid(P_PID, (id_t)pid, &info, WSTOPPED));
}

static void
thaw(pid_t pid)
{
    if (pid != 0)
        assert_int_equal(0, kill(pid, SIGCONT));
}

/* True: the device is not repaired but replaced, for which both ends must
 * end. */
static bool
is_final(enum blow blow)
{
    return blow == PORT_DOWN || blow == REMOVED;
}

/* --- the client -------------------------------------------------------- */

/* keepalive_ms: 0 for the default. */
static void
client_open(struct fixture *f, uint32_t keepalive_ms)
{
    struct vc_channel_opts opts = VC_CHANNEL_OPTS_INIT;

    memset(f, 0, sizeof *f);
    opts.connect_timeout_ms = WHILE_MS;
    opts.keepalive_ms = keepalive_ms;
    fixture_target((uint16_t)atomic_load(&fixture_board->port), f->target);
    fixture_start_client(f, &opts);
}

static void
tell_ready(int ready)
{
    assert_int_equal(1, write(ready, "r", 1));
}

static void *
close_run(void *arg)
{
    struct fixture *f = arg;

    atomic_store(&first->tid, (pid_t)syscall(SYS_gettid));
    fixture_tell(&first->started);
    first->began_ms = fixture_ms();
    vc_channel_close(f->channel);
    first->ended_ms = fixture_ms();
    f->channel = NULL;
    return NULL;
}

/* Brings the client to the cell's phase, where it is blocked. */
static void
first_begin(const struct cell *cell, struct fixture *f)
{
    bool frozen = cell->blow == SERVER_FROZEN || cell->blow == CLIENT_FROZEN;
    bool flaps = cell->blow == PORT_FLAPS;

    first->channel = f->channel;
    first->tag = FIRST;
    first->timeout_ms = frozen ? SHORT_MS : flaps ? WHILE_MS : CALL_MS;
    first->size = 100;
    if (cell->moment == LONG)
        first->size = CALLER_LONG;
    if (cell->moment == HANDLER)
        first->sleep_ms =
            cell->blow == CLIENT_FROZEN ? HANDLER_SHORT_MS : HANDLER_MS;
    /* The failure happens during a loop of calls: one of them is affected. */
    first->again = cell->moment == IDLE && cell->blow == REMOVED;

    if (cell->moment == IDLE)
        return;
    if (cell->moment == CLOSING)
        assert_int_equal(0, pthread_create(&first->thread, NULL, close_run, f));
    else
        caller_start(first);
    if (cell->moment == HANDLER)
        fixture_await(&fixture_board->sleeping, 1);
    else
        caller_await_asleep(first);
}

static void
assert_in_time(const struct caller *c)
{
    if (pace_between(c->began_ms, c->ended_ms) > c->timeout_ms + GRACE_MS)
        fail_msg("the call ended only after %u ms of %u: %s",
                 (unsigned)(c->ended_ms - c->began_ms), c->timeout_ms, c->text);
}

/* After the repair, calls succeed on the channel or a new one; `most` limits
 * the number of calls tried. */
static void
call_again(struct fixture *f, unsigned most)
{
    struct caller c = {.tag = LATER, .size = 3000, .timeout_ms = CALL_MS};
    unsigned tries = 1;

    if (f->channel == NULL)
        assert_status(
            VC_OK, vc_channel_open(f->runtime, f->target, NULL, &f->channel));
    c.channel = f->channel;
    while (caller_call(&c) == VC_UNAVAILABLE && tries < most) {
        assert_in_time(&c);
        caller_assert_true(&c);
        tries++;
    }
    if (c.status != VC_OK)
        fail_msg("call %u after all is well gave %s after %u ms: %s", tries,
                 vc_status_name(c.status), (unsigned)(c.ended_ms - c.began_ms),
                 c.text);
}

static int
client_run(void *arg, int ready)
{
    const struct cell *cell = arg;
    struct fixture f;

    client_open(&f, cell->blow == PORT_FLAPS ? WHILE_MS : 0);
    if (cell->moment != CONNECTING)
        assert_status(VC_OK,
                      vc_channel_connect(f.channel, &suite_probe_service));
    tell_ready(ready);
    fixture_await(word(GO), 1);
    first_begin(cell, &f);
    fixture_tell(word(THERE));
    if (cell->moment == IDLE) {
        fixture_await(word(STRUCK), 1);
        caller_start(first);
    }
    caller_join(first);
    fixture_tell(word(ENDED));
    fixture_await(word(MENDED), 1);
    if (!is_final(cell->blow))
        call_again(&f, FINDS_OUT);
    fixture_stop_client(&f);
    return 0;
}

/* A new client after the repair. */
static int
fresh_run(void *arg, int ready)
{
    struct fixture f;

    (void)arg;
    tell_ready(ready);
    client_open(&f, 0);
    call_again(&f, 1);
    fixture_stop_client(&f);
    return 0;
}

/* --- failures, and their repair ---------------------------------------- */

static void
strike(enum blow blow)
{
    switch (blow) {
    case SERVER_KILLED:
        assert_int_equal(0, kill(server, SIGKILL));
        expect_end(&server, -SIGKILL);
        break;
    case SERVER_FROZEN: /* already frozen in the phases of this failure */
        break;
    case SERVER_CLOSES:
        fixture_tell(&fixture_board->stop);
        break;
    case CLIENT_KILLED:
        assert_int_equal(0, kill(client, SIGKILL));
        expect_end(&client, -SIGKILL);
        break;
    case CLIENT_FROZEN:
        freeze(client);
        usleep((SHORT_MS + HANDLER_SHORT_MS) * 1000);
        thaw(client);
        break;
    case PORT_FLAPS:
        device_port_down();
        device_port_up();
        device_await_active();
        break;
    case PORT_DOWN:
        device_port_down();
        break;
    case REMOVED:
        device_remove();
        break;
    }
}

static void
mend(enum blow blow)
{
    switch (blow) {
    case SERVER_CLOSES:
        expect_end(&server, 0);
        /* fall through */
    case SERVER_KILLED:
        server_start(port);
        break;
    case PORT_DOWN:
    case REMOVED: /* the client has ended */
        server_stop();
        device_renew();
        server_start(0);
        break;
    default:
        break;
    }
}

static void
client_finish(void)
{
    if (client == 0)
        return;
    fixture_tell(word(MENDED));
    expect_end(&client, 0);
}

static void
first_check(const struct cell *cell)
{
    if (cell->moment == CLOSING) {
        first->timeout_ms = CLOSE_MS;
        assert_in_time(first);
        return;
    }
    if ((cell->ends & 1u << first->status) == 0)
        fail_msg("the call ended with %s after %u ms: %s",
                 vc_status_name(first->status),
                 (unsigned)(first->ended_ms - first->began_ms), first->text);
    if (cell->blow != CLIENT_FROZEN)
        assert_in_time(first);
    if (first->status != VC_OK && cell->moment == HANDLER)
        assert_int_not_equal(VC_OUTCOME_NOT_EXECUTED, first->outcome);
}

/* --- a cell ------------------------------------------------------------ */

static void
scene_begin(const struct cell *cell)
{
    fixture_board_make();
    first_share();
    server_start(0);
    client = fixture_fork(client_run, (void *)cell);
    if (cell->moment == CONNECTING || cell->moment == LONG ||
        cell->moment == CLOSING)
        freeze(server);
    fixture_tell(word(GO));
    fixture_await(word(THERE), 1);
}

static void
cell_run(void **state)
{
    const struct cell *cell = *state;

    if (cell->blow == PORT_FLAPS || is_final(cell->blow))
        device_need_guest();
    scene_begin(cell);

    strike(cell->blow);
    if (cell->blow != SERVER_FROZEN && cell->blow != REMOVED)
        thaw(server);
    fixture_tell(word(STRUCK));
    if (client != 0)
        fixture_await(word(ENDED), 1);
    thaw(server);
    if (cell->ends != 0)
        first_check(cell);

    if (is_final(cell->blow))
        client_finish();
    mend(cell->blow);
    client_finish();
    assert_int_equal(0, fixture_wait(fixture_fork(fresh_run, NULL)));
    server_stop();
    /* No process is left that could still run the call. */
    if (cell->ends != 0)
        caller_assert_true(first);
}

static void
end_at_once(pid_t *pid)
{
    if (*pid != 0 && kill(*pid, SIGKILL) == 0)
        waitpid(*pid, NULL, 0);
    *pid = 0;
}

/* Restores the device, also after a test that failed halfway. */
static int
cell_teardown(void **state)
{
    (void)state;
    end_at_once(&client);
    end_at_once(&server);
    device_restore();
    return 0;
}

#define CELL(name_, moment_, blow_, ends_)                                     \
    {                                                                          \
        .name = #name_, .test_func = cell_run, .teardown_func = cell_teardown, \
        .initial_state = &(struct cell)                                        \
        {                                                                      \
            .moment = moment_, .blow = blow_, .ends = ends_                    \
        }                                                                      \
    }

int
main(void)
{
    const struct CMUnitTest tests[] = {
        CELL(connecting_to_a_frozen_server_ends_by_the_deadline, CONNECTING,
             SERVER_FROZEN, TOO_LATE),
        CELL(a_server_may_close_while_a_client_connects, CONNECTING,
             SERVER_CLOSES, OK | UNAVAILABLE),
        CELL(a_client_may_be_killed_before_it_is_accepted, CONNECTING,
             CLIENT_KILLED, 0),
        CELL(the_port_may_flap_while_a_client_connects, CONNECTING, PORT_FLAPS,
             OK),
        CELL(the_device_may_go_while_a_client_connects, CONNECTING, REMOVED,
             UNAVAILABLE),
        CELL(a_server_may_be_killed_behind_an_idle_link, IDLE, SERVER_KILLED,
             UNAVAILABLE),
        CELL(an_idle_client_may_freeze_and_thaw, IDLE, CLIENT_FROZEN, OK),
        CELL(the_port_may_go_down_under_an_idle_link, IDLE, PORT_DOWN,
             UNAVAILABLE | TOO_LATE),
        CELL(the_device_may_go_under_a_new_link, IDLE, REMOVED, UNAVAILABLE),
        CELL(a_server_may_close_with_a_call_in_its_handler, HANDLER,
             SERVER_CLOSES, OK | UNAVAILABLE),
        CELL(a_reply_to_a_frozen_client_is_not_lost, HANDLER, CLIENT_FROZEN,
             OK | TOO_LATE),
        CELL(the_port_may_go_down_under_a_handler, HANDLER, PORT_DOWN,
             UNAVAILABLE | TOO_LATE),
        CELL(the_device_may_go_under_a_handler, HANDLER, REMOVED, UNAVAILABLE),
        CELL(a_long_request_to_a_frozen_server_ends_by_its_deadline, LONG,
             SERVER_FROZEN, UNAVAILABLE | TOO_LATE),
        CELL(a_server_may_close_while_a_long_request_comes, LONG, SERVER_CLOSES,
             OK | UNAVAILABLE),
        CELL(the_port_may_flap_under_a_long_request, LONG, PORT_FLAPS, OK),
        CELL(the_device_may_go_under_a_long_request, LONG, REMOVED,
             UNAVAILABLE),
        CELL(a_server_may_be_killed_while_a_client_closes, CLOSING,
             SERVER_KILLED, OK),
        CELL(the_port_may_go_down_while_a_client_closes, CLOSING, PORT_DOWN,
             OK),
        CELL(the_device_may_go_while_a_client_closes, CLOSING, REMOVED, OK),
    };

    return fixture_main(tests);
}
