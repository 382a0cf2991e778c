/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See tests/sim/cell.h. */
#include "tests/sim/cell.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/sim/sim.h"

#define MS         1000u /* us */
#define CALL_MS    3000u
#define GRACE_MS   50u
#define LOOK_US    (2 * MS)
#define HANDLER_US (3 * MS) /* long enough for a takeover of its thread */
#define MEND_US    (2 * CALL_MS * MS)
/* After a cut connect the kernel may keep its resources for this long: it sends
 * the request 15 times. */
#define PATIENCE 200000000u /* us */
/* A server forgets a client that has had no link for ten seconds. */
#define FORGET_US (14000 * MS)

/* Tags of calls. */
enum {
    FIRST = 1,
    SECOND,
    BESIDE
};

static const char *const blow_names[N_BLOWS] = {
    "is killed", "is frozen", "closes", "loses its port", "loses its device"};

const char *
cell_side(enum side side)
{
    return side == server ? "server" : "client";
}

const char *
cell_blow(enum blow blow)
{
    return blow_names[blow];
}

/* --- one cell ----------------------------------------------------------- */

struct caller {
    char target[80];
    struct fake_host *host;
    struct fake_process *process;
    enum leaver leaver;
    bool closes;             /* one of its threads closes the channel */
    atomic_uint close;       /* set: it closes the channel now */
    atomic_bool reborn;      /* its process was started a second time */
    atomic_uint mended;      /* the second call may be made */
    atomic_uint first_ended; /* stays 0 if that call never ends */
    atomic_int status, outcome, next;
    atomic_uint took_ms;
    const char *fault; /* of its counters */
};

struct cell {
    const struct moment *moment;
    enum side side; /* the side that the fault hits */
    enum blow blow;
    struct sim_server s;
    struct caller c;
    struct fake_process *beside;
    atomic_int beside_status;
    atomic_bool set_up; /* strike() may read the fields above */
    atomic_bool struck, in_handler;
    bool hit; /* struck at the line that was meant */
};

static struct cell cell;

static bool
on_client(enum blow blow)
{
    return cell.side == client && cell.blow == blow;
}

/* --- the client --------------------------------------------------------- */

static enum vc_status
call_once(struct vc_channel *channel, unsigned tag, enum vc_outcome *outcome)
{
    struct vc_call_opts opts = VC_CALL_OPTS_INIT;

    opts.timeout_ms = CALL_MS;
    opts.flags = VC_CALL_NO_RETRY;
    return sim_echo_opts(channel, 64, tag, &opts, outcome);
}

static void
first_call(struct caller *c, struct vc_channel *channel)
{
    uint64_t start = fake_now_us();
    enum vc_outcome outcome;

    atomic_store(&c->status, (int)call_once(channel, FIRST, &outcome));
    atomic_store(&c->outcome, (int)outcome);
    atomic_store(&c->took_ms, (unsigned)((fake_now_us() - start) / MS));
    atomic_store(&c->first_ended, 1);
}

static void *
closer_main(void *arg)
{
    sim_await(&cell.c.close, PATIENCE);
    vc_channel_close(arg);
    return NULL;
}

/* Makes the first call. Returns true if the channel is still open
 * afterwards. */
static bool
client_begins(struct caller *c, struct vc_channel *channel)
{
    pthread_t thread;

    if (c->closes)
        pthread_create(&thread, NULL, closer_main, channel);
    first_call(c, channel);
    if (c->closes)
        pthread_join(thread, NULL);
    else if (c->leaver == THE_CLIENT)
        vc_channel_close(channel);
    return !c->closes && c->leaver != THE_CLIENT;
}

static void
client_main(void *arg)
{
    struct caller *c = arg;
    struct vc_runtime *runtime;
    struct vc_channel *channel;
    struct vc_counters counters = VC_COUNTERS_INIT;

    assert_int_equal(sim_runtime(&runtime, 1), VC_OK);
    if (c->leaver == THE_SERVER) /* handles events between its calls */
        assert_int_equal(vc_runtime_start(runtime), VC_OK);
    assert_int_equal(vc_channel_open(runtime, c->target, NULL, &channel),
                     VC_OK);
    if (!atomic_load(&c->reborn) && !client_begins(c, channel)) {
        sim_await(&c->mended, PATIENCE);
        assert_int_equal(vc_channel_open(runtime, c->target, NULL, &channel),
                         VC_OK);
    }
    sim_await(&c->mended, PATIENCE);
    atomic_store(&c->next, (int)call_once(channel, SECOND, NULL));
    vc_channel_close(channel);
    vc_runtime_counters(runtime, &counters);
    c->fault = sim_counters_fault(&counters);
    vc_runtime_free(runtime);
}

/* Another client, which no fault hits. */
static void
beside_main(void *arg)
{
    struct vc_runtime *runtime;
    struct vc_channel *channel;

    (void)arg;
    assert_int_equal(sim_runtime(&runtime, 1), VC_OK);
    assert_int_equal(vc_channel_open(runtime, cell.c.target, NULL, &channel),
                     VC_OK);
    atomic_store(&cell.beside_status, (int)call_once(channel, BESIDE, NULL));
    vc_channel_close(channel);
    vc_runtime_free(runtime);
}

/* --- faults ------------------------------------------------------------- */

/* True if the trace ends with the line of the moment. */
static bool
is_hit(const struct moment *m)
{
    const char *trace = fake_trace();
    size_t len = strlen(trace);

    if (m->line == NULL)
        return true;
    for (len -= len > 0; len > 0 && trace[len - 1] != '\n';)
        len--;
    return strstr(trace + len, m->line) != NULL &&
           strstr(trace + len, m->says) != NULL;
}

/* True if the server closes before the client can have sent its call. The
 * client is frozen meanwhile, because its next step must not race the close. */
static bool
closes_first(void)
{
    return cell.side == server && cell.blow == CLOSED &&
           cell.moment->call_unsent;
}

static void
close_side(void)
{
    if (cell.side != server) {
        sim_tell(&cell.c.close);
        return;
    }
    if (closes_first())
        fake_process_freeze(cell.c.process);
    sim_server_close(&cell.s);
}

static void
strike(void *arg)
{
    struct fake_process *p;
    struct fake_host *host;

    (void)arg;
    /* Acquires what cell_setup() wrote after the server had started. */
    if (!atomic_load(&cell.set_up))
        abort();
    p = cell.side == server ? cell.s.process : cell.c.process;
    host = cell.side == server ? cell.s.host : cell.c.host;
    cell.hit = is_hit(cell.moment);
    atomic_store(&cell.struck, true);
    switch (cell.blow) {
    case KILLED:
        fake_process_kill(p);
        break;
    case FROZEN:
        fake_process_freeze(p);
        break;
    case CLOSED:
        close_side();
        break;
    case PORT_DOWN:
        fake_port_set(host, false);
        break;
    case REMOVED:
        fake_device_remove(host);
        break;
    case N_BLOWS:
        break;
    }
}

static enum vc_status
handle(struct sim_server *s, struct vc_call *call,
       const Suite__EchoRequest *request, Suite__EchoReply *reply)
{
    (void)s;
    (void)call;
    if (request->tag == FIRST && cell.moment->line == NULL)
        strike(NULL);
    fake_sleep_us(HANDLER_US);
    reply->tag = request->tag;
    reply->payload = request->payload;
    return VC_OK;
}

/* Ends the fault, and starts killed processes again. A removed device stays
 * removed. */
static void
mend(void)
{
    struct sim_server *s = &cell.s;
    struct caller *c = &cell.c;

    fake_process_thaw(s->process);
    fake_process_thaw(c->process);
    fake_port_set(s->host, true);
    fake_port_set(c->host, true);
    if (fake_process_ended(s->process)) {
        sim_server_start(s, s->host, 1);
        assert_true(sim_server_await(s));
    }
    if (on_client(KILLED)) {
        atomic_store(&c->reborn, true);
        c->process = fake_process_start(c->host, "client", client_main, c);
    }
}

/* --- the result ---------------------------------------------------------- */

static void
end_put(char *out, size_t size)
{
    unsigned runs = atomic_load(&sim_ran[FIRST]);
    const char *status =
        vc_status_name((enum vc_status)atomic_load(&cell.c.status));

    if (atomic_load(&cell.c.first_ended) == 0)
        snprintf(out, size, "%s %u", on_client(KILLED) ? "dead" : "no end",
                 runs);
    else if (atomic_load(&cell.c.outcome) == VC_OUTCOME_UNKNOWN)
        snprintf(out, size, "%s ?%u", status, runs);
    else if (atomic_load(&cell.c.outcome) == VC_OUTCOME_EXECUTED)
        snprintf(out, size, "%s yes%s", status,
                 runs == 1 ? "" : ", but it is not true");
    else
        snprintf(out, size, "%s no%s", status,
                 runs == 0 ? "" : ", but it is not true");
}

/* The time by which the call must have ended, in milliseconds. 0: its end is
 * reported at once. Otherwise a silent peer must be detected: by the connect
 * timeout, by keepalive, or by the adapter and an attempt to resume
 * (doc/architecture.md). */
static unsigned
limit_ms(void)
{
    if (on_client(FROZEN))
        return MEND_US / MS;
    if (cell.blow == KILLED || cell.blow == CLOSED || on_client(REMOVED))
        return 0;
    if (atomic_load(&cell.c.outcome) == VC_OUTCOME_NOT_EXECUTED)
        return 2000;
    return cell.blow == FROZEN ? 1000 : 2000;
}

/* A removed device does not come back, and after a close no server listens. */
static enum vc_status
next_expected(void)
{
    bool closed = cell.moment->leaver == THE_SERVER ||
                  (cell.side == server && cell.blow == CLOSED);

    if (cell.side == server && cell.blow == KILLED)
        return VC_OK; /* a new one was started */
    return cell.blow == REMOVED || closed ? VC_UNAVAILABLE : VC_OK;
}

static void
expect(bool good, const char *fault)
{
    char end[80];

    if (good)
        return;
    end_put(end, sizeof end);
    /* The trace is last, as cmocka cuts what is long. */
    print_error("at %s the %s %s: %s (%s after %u ms, then %s)\n%s\n",
                cell.moment->name, cell_side(cell.side), blow_names[cell.blow],
                fault, end, atomic_load(&cell.c.took_ms),
                vc_status_name((enum vc_status)atomic_load(&cell.c.next)),
                fake_trace());
    fail();
}

/* True if the server keeps no link and no session of the clients. */
static bool
is_forgotten(void)
{
    struct vc_counters c = VC_COUNTERS_INIT;
    struct vc_runtime *runtime = atomic_load(&cell.s.runtime);

    if (runtime == NULL) /* closed; its counters are checked later */
        return true;
    vc_runtime_counters(runtime, &c);
    return c.links_connecting + c.links_up + c.links_leaving +
               c.sessions_server ==
           0;
}

/* --- a cell is played ---------------------------------------------------- */

/* Fixes the order of events at both ends, for all seeds: the server is ready
 * before the call arrives, and messages take a while. */
static void
cell_order(void)
{
    fake_rule("client: RTU ->", 1, FAKE_DELAY, MS / 10);
    fake_rule("client qp", 1, FAKE_DELAY, MS);
    fake_rule("server qp", 2, FAKE_DELAY, MS);
    if (on_client(CLOSED)) /* before it reads what has arrived */
        fake_rule("client qp", 2, FAKE_DELAY, MS);
    /* Without this delay a thawed server might read the DREQ first. */
    if (cell.side == server && cell.blow == FROZEN &&
        cell.moment->leaver == NOBODY)
        fake_rule("client: DREQ ->", 1, FAKE_DELAY, MEND_US);
}

static void
cell_setup(uint64_t seed)
{
    struct caller *c = &cell.c;

    sim_begin(seed, 0, true);
    sim_target("10.9.0.2", cell.s.target);
    sim_target("10.9.0.2", c->target);
    cell.s.handle = handle;
    sim_server_start(&cell.s, fake_host_new("there", "10.9.0.2"), 1);
    assert_true(sim_server_await(&cell.s));
    c->host = fake_host_new("here", "10.9.0.3");
    c->leaver = cell.moment->leaver;
    c->closes = on_client(CLOSED);
    c->process = fake_process_start(c->host, "client", client_main, c);
    cell_order();
    atomic_store(&cell.set_up, true);
    if (cell.moment->line != NULL)
        fake_when(cell.moment->line, cell.moment->nth, strike, NULL);
}

/* Waits until the fault has struck. */
static void
cell_await(void)
{
    uint64_t until = fake_now_us() + CALL_MS * MS;
    bool left = cell.moment->leaver != THE_SERVER;

    while (!atomic_load(&cell.struck) && fake_now_us() < until) {
        if (!left && atomic_load(&cell.c.first_ended) != 0) {
            left = true;
            sim_server_close(&cell.s);
        }
        fake_sleep_us(LOOK_US);
    }
    if (closes_first()) {
        fake_sleep_us(MS);
        fake_process_thaw(cell.c.process);
    }
    expect(atomic_load(&cell.struck), "it did not come to that");
    expect(cell.hit, "it was another line");
}

/* Another client calls, if the fault hits the client. */
static void
others_call(void)
{
    if (cell.side == server || cell.moment->leaver == THE_SERVER)
        return;
    cell.beside = fake_process_start(fake_host_new("beside", "10.9.0.4"),
                                     "beside", beside_main, NULL);
    expect(fake_process_wait(cell.beside, CALL_MS * MS),
           "another client does not end");
    expect(atomic_load(&cell.beside_status) == VC_OK,
           "another client is not served");
}

static void
cell_watch(void)
{
    uint64_t until, struck;

    cell_await();
    struck = fake_now_us();
    others_call();
    fake_sleep_us(struck + MEND_US - fake_now_us());
    mend();
    sim_tell(&cell.c.mended);
    expect(fake_process_wait(cell.c.process, PATIENCE),
           "the client does not end");
    until = fake_now_us() + FORGET_US;
    while (!is_forgotten() && fake_now_us() < until)
        fake_sleep_us(100 * LOOK_US);
    expect(is_forgotten(), "the server does not forget its clients");
    expect(sim_server_stop(&cell.s), "the server does not end");
}

static void
cell_check(const char *expected)
{
    char end[80];

    end_put(end, sizeof end);
    expect(strcmp(end, expected) == 0, expected);
    expect(atomic_load(&cell.c.took_ms) <= limit_ms() + GRACE_MS,
           "the call ended too late");
    expect(atomic_load(&cell.c.next) == (int)next_expected(),
           "the next call is another");
    expect(cell.c.fault == NULL, cell.c.fault);
    expect(sim_counters_fault(&cell.s.last) == NULL,
           sim_counters_fault(&cell.s.last));
}

void
cell_run(const struct moment *m, enum side side, enum blow blow,
         const char *end, uint64_t seed)
{
    memset(&cell, 0, sizeof cell);
    cell.moment = m;
    cell.side = side;
    cell.blow = blow;
    atomic_store(&cell.c.next, -1);
    atomic_store(&cell.beside_status, -1);
    cell_setup(seed);
    cell_watch();
    cell_check(end);
    assert_int_equal(fake_end(), 0);
}
