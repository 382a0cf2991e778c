/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See tests/suite/wire.h. */
#include "tests/suite/wire.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/suite/crowd.h"
#include "tests/suite/wire_watch.h"

#define LOOK_US  20000 /* between looks at a file of another machine */
#define READY_MS 10000 /* for the watched links */

const char *wire_folder;

void
wire_path(const char *name, char path[WIRE_FILES])
{
    snprintf(path, WIRE_FILES, "%s/%s", wire_folder, name);
}

static bool
is_there(const char *name)
{
    char path[WIRE_FILES];

    wire_path(name, path);
    return access(path, F_OK) == 0;
}

void
wire_file_make(const char *name, const char *text)
{
    char made[WIRE_FILES + 4], path[WIRE_FILES];
    FILE *f;

    wire_path(name, path);
    snprintf(made, sizeof made, "%s.new", path);
    f = fopen(made, "w");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(0, fclose(f));
    assert_int_equal(0, rename(made, path));
}

void
wire_file_await(const char *name, bool there)
{
    uint64_t due = fixture_ms() + WIRE_BOOT_MS;

    while (is_there(name) != there) {
        if (fixture_ms() > due)
            fail_msg("%s is %s after %d ms", name,
                     there ? "not there" : "there", WIRE_BOOT_MS);
        usleep(LOOK_US);
    }
}

void
wire_runtime(struct vc_runtime **runtime)
{
    struct vc_runtime_opts opts = VC_RUNTIME_OPTS_INIT;

    opts.spin_us = VC_SPIN_NEVER;
    assert_status(VC_OK, vc_runtime_new(&opts, runtime));
}

void
wire_channel(struct vc_runtime *runtime, const char *scheme, uint16_t port,
             const struct vc_channel_opts *opts, struct vc_channel **channel)
{
    char target[80];

    snprintf(target, sizeof target, "%s://%s:%u", scheme,
             getenv("VC_TEST_PEER"), port);
    assert_status(VC_OK, vc_channel_open(runtime, target, opts, channel));
}

struct vc_counters
wire_counters(struct vc_runtime *runtime)
{
    struct vc_counters c = VC_COUNTERS_INIT;

    vc_runtime_counters(runtime, &c);
    return c;
}

/* --- the server -------------------------------------------------------- */

static void
listen_at(struct vc_server *server, const char *scheme, uint16_t port)
{
    char target[80];

    snprintf(target, sizeof target, "%s://%s:%u", scheme,
             getenv("VC_TEST_ADDR"), port);
    assert_status(VC_OK, vc_server_listen(server, target));
}

static atomic_uchar ran[WIRE_TAGS];

static enum vc_status
report(struct vc_call *call, size_t n, Suite__EchoReply *reply)
{
    if (n > WIRE_TAGS)
        return vc_call_fail(call, VC_INVALID_ARGUMENT, "there are %d",
                            WIRE_TAGS);
    reply->payload.data = vc_call_alloc(call, n);
    if (reply->payload.data == NULL)
        return vc_call_fail(call, VC_RESOURCE_EXHAUSTED, "no memory");
    for (size_t i = 0; i < n; i++)
        reply->payload.data[i] = atomic_load(&ran[i]);
    reply->payload.len = n;
    return VC_OK;
}

static enum vc_status
command(struct vc_call *call, const char *text)
{
    int status = system(text);

    return status == 0
               ? VC_OK
               : vc_call_fail(call, VC_INTERNAL, "%s: %d", text, status);
}

/* --- watched links ----------------------------------------------------- */

/* Each watched link has a server and a runtime of its own. */
static struct watched {
    struct vc_runtime *runtime;
    struct vc_server *server;
} watched[WATCHED];

static atomic_uint sleeping; /* the number of the last call of Sleep */

/* The task of the main thread; 0 when it has begun. */
static atomic_uint due_tag;

static void
end_call(struct vc_call *call, void *arg)
{
    (void)arg;
    vc_call_end(call, VC_CANCELLED);
}

/* Runs until the client cancels the call, or the server drops the client. */
static enum vc_status
sleep_on(struct vc_call *call, const Suite__SleepRequest *request,
         Suite__SleepReply *reply, void *arg)
{
    enum vc_status later = vc_call_later(call);

    (void)reply;
    (void)arg;
    if (vc_call_on_cancel(call, end_call, NULL) != VC_OK)
        return VC_INTERNAL;
    atomic_store(&sleeping, request->milliseconds);
    return later;
}

static bool
links_ready(unsigned number)
{
    for (unsigned i = 0; i < WATCHED; i++)
        if (wire_counters(watched[i].runtime).links_up != 1)
            return false;
    return atomic_load(&sleeping) == number;
}

/* Waits until the call of Sleep with this number has been received, each link
 * is up, and the main thread watches them. */
static enum vc_status
have_main_do(struct vc_call *call, unsigned tag, unsigned n)
{
    uint64_t due = fixture_ms() + READY_MS;

    while (!links_ready(n) && fixture_ms() < due)
        usleep(1000);
    if (!links_ready(n))
        return vc_call_fail(call, VC_INTERNAL,
                            "call %u sleeps, not %u, or a link is not up",
                            atomic_load(&sleeping), n);
    atomic_store(&due_tag, tag);
    while (atomic_load(&due_tag) != 0 && fixture_ms() < due)
        usleep(1000);
    return atomic_load(&due_tag) == 0
               ? VC_OK
               : vc_call_fail(call, VC_INTERNAL, "the main thread is busy");
}

/* Called when the main thread has begun. False when no failure will come: the
 * client has failed, and asks for the next task, or ends. */
static bool
await_struck(void)
{
    atomic_store(&due_tag, 0);
    while (!is_there("struck")) {
        if (atomic_load(&due_tag) != 0 || is_there("end"))
            return false;
        usleep(LOOK_US);
    }
    return true;
}

static void
watch(void)
{
    struct vc_runtime *const runtimes[WATCHED] = {watched[WATCH_BUSY].runtime,
                                                  watched[WATCH_IDLE].runtime};
    struct watch_found found;
    struct watch w;
    char text[WATCH_TEXT];

    watch_begin(&w, runtimes);
    if (!await_struck()) {
        watch_give_up();
        return;
    }
    watch_end(&w, fixture_ms(), &found);
    watch_write(&found, text);
    wire_file_make("found", text);
}

/* Includes links that are not up any more, but still hold an id of rdma_cm. */
static unsigned
links_of(unsigned which)
{
    return (unsigned)wire_counters(watched[which].runtime).links_server;
}

static void
device_remove(void)
{
    if (!await_struck())
        return;
    assert_int_equal(0, system(WIRE_DEVICE_REMOVE));
    /* The kernel sends a DREQ for each id that is destroyed; after that, this
     * machine's network is restored. */
    while (links_of(WATCH_BUSY) + links_of(WATCH_IDLE) > 0)
        usleep(1000);
    assert_int_equal(0, system(WIRE_TC_RESTORE));
}

static void
watched_start(const struct suite_probe_methods *methods)
{
    for (unsigned i = 0; i < WATCHED; i++) {
        struct watched *w = &watched[i];

        wire_runtime(&w->runtime);
        assert_status(VC_OK, vc_server_new(w->runtime, NULL, &w->server));
        assert_status(VC_OK, suite_probe_add(w->server, methods, w->runtime));
        listen_at(w->server, "vc", (uint16_t)WIRE_WATCH_PORT(i));
    }
}

static void
watched_stop(void)
{
    for (unsigned i = 0; i < WATCHED; i++) {
        vc_server_free(watched[i].server);
        vc_runtime_free(watched[i].runtime);
    }
}

/* --- the service ------------------------------------------------------- */

static uint64_t
repeats(struct vc_runtime *runtime)
{
    struct vc_counters c = wire_counters(runtime);

    return c.calls_joined + c.calls_answered_again;
}

static atomic_uchar crowd_ran[CROWD_TAGS];

static unsigned
crowd_faults(size_t n)
{
    unsigned faults = 0;

    for (size_t i = 0; i < n && i < CROWD_TAGS; i++)
        faults += atomic_load(&crowd_ran[i]) != 1;
    return faults;
}

/* Reports a lost link by a file, as the network may not reach the client. */
static void
hold(struct vc_runtime *runtime)
{
    uint64_t lost = wire_counters(runtime).links_lost;
    uint64_t due = fixture_ms() + WIRE_BOOT_MS;

    wire_file_make("held", "");
    while (is_there("held") && fixture_ms() < due) {
        if (wire_counters(runtime).links_lost > lost && !is_there("lost"))
            wire_file_make("lost", "");
        usleep(LOOK_US);
    }
}

static enum vc_status
echo(struct vc_call *call, const Suite__EchoRequest *request,
     Suite__EchoReply *reply, void *arg)
{
    reply->tag = request->tag;
    switch (request->tag) {
    case WIRE_REPORT:
        return report(call, request->reply_size, reply);
    case WIRE_SPOIL:
        return command(call, WIRE_TC_SPOIL);
    case WIRE_RESTORE:
        return command(call, WIRE_TC_RESTORE);
    case WIRE_BLOCK:
        return command(call, WIRE_TC_BLOCK);
    case WIRE_ALLOW:
        return command(call, WIRE_TC_ALLOW);
    case WIRE_NOTHING:
        return VC_OK;
    case WIRE_REPEATS:
        reply->tag = repeats(arg);
        return VC_OK;
    case WIRE_HOLD:
        hold(arg);
        return VC_OK;
    case WIRE_WATCH:
    case WIRE_REMOVE:
    case WIRE_READY:
        return have_main_do(call, (unsigned)request->tag, request->reply_size);
    case WIRE_RESENT:
        reply->tag = wire_counters(arg).datagrams_resent;
        return VC_OK;
    case WIRE_CROWD_FAULTS:
        reply->tag = crowd_faults(request->reply_size);
        return VC_OK;
    default:
        if (request->tag >= WIRE_CROWD) {
            atomic_fetch_add(
                &crowd_ran[(request->tag - WIRE_CROWD) % CROWD_TAGS], 1);
            reply->payload = request->payload;
            return VC_OK;
        }
        atomic_fetch_add(&ran[request->tag % WIRE_TAGS], 1);
        usleep(request->reply_size * 1000);
        reply->payload = request->payload;
        return VC_OK;
    }
}

/* tests/wire.sh kills this guest when the client cannot make `end`. */
static void
main_run(void)
{
    while (!is_there("end")) {
        unsigned tag = atomic_load(&due_tag);

        if (tag == WIRE_WATCH)
            watch();
        else if (tag == WIRE_REMOVE)
            device_remove();
        else if (tag == WIRE_READY)
            atomic_store(&due_tag, 0);
        usleep(LOOK_US);
    }
}

void
wire_serve(void)
{
    const struct suite_probe_methods methods = {.echo = echo,
                                                .sleep = sleep_on};
    struct vc_runtime *runtime;
    struct vc_server *server;

    wire_runtime(&runtime);
    assert_status(VC_OK, vc_server_new(runtime, NULL, &server));
    assert_status(VC_OK, suite_probe_add(server, &methods, runtime));
    listen_at(server, "vc", WIRE_PORT);
    listen_at(server, "rdma+ud", WIRE_PORT);
    watched_start(&methods);
    wire_file_make("serving", "");
    main_run();
    watched_stop();
    vc_server_free(server);
    vc_runtime_free(runtime);
}
