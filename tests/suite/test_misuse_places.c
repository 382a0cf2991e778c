/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Misuse by the place of a call: in a handler, in done(), in a child of fork(),
 * on another thread; and calls or objects that are never ended. The rows are
 * those of doc/bad-input.md. Also what a child of fork() may do, and what the
 * library does to signals and descriptors. */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <verbcall/async.h>
#include <verbcall/verbcall.h>

#include "tests/suite/misuse.h"
#include "tests/suite/streams.h"

/* --- functions to be called in a wrong place ----------------------------- */

static enum vc_status
call(struct fixture *f)
{
    const Suite__EchoRequest request = SUITE__ECHO_REQUEST__INIT;
    Suite__EchoReply *reply;
    enum vc_status status =
        suite_probe_echo(f->channel, &request, NULL, &reply);

    if (status == VC_OK)
        vc_message_free(reply);
    return status;
}

static enum vc_status
server_drain(struct fixture *f)
{
    return vc_server_drain(f->server, NULL, VC_NO_DEADLINE);
}

static enum vc_status
server_close(struct fixture *f)
{
    return vc_server_close(f->server, VC_NO_DEADLINE);
}

static enum vc_status
server_close_soon(struct fixture *f)
{
    return vc_server_close(f->server, 50);
}

static enum vc_status
server_free(struct fixture *f)
{
    vc_server_free(f->server);
    return VC_OK;
}

static enum vc_status
server_poll(struct fixture *f)
{
    return vc_runtime_poll(f->server_runtime, VC_NO_DEADLINE);
}

static enum vc_status
server_stop(struct fixture *f)
{
    vc_runtime_stop(f->server_runtime);
    return VC_OK;
}

static enum vc_status
channel_close(struct fixture *f)
{
    return vc_channel_close(f->channel);
}

static enum vc_status
client_poll(struct fixture *f)
{
    return vc_runtime_poll(f->runtime, VC_NO_DEADLINE);
}

static enum vc_status
client_stop(struct fixture *f)
{
    vc_runtime_stop(f->runtime);
    return VC_OK;
}

static enum vc_status
client_free(struct fixture *f)
{
    vc_runtime_free(f->runtime);
    return VC_OK;
}

static enum vc_status
end_call(struct fixture *f)
{
    (void)f;
    vc_call_end(misuse_call, VC_OK);
    return VC_OK;
}

static enum vc_status
fail_call(struct fixture *f)
{
    (void)f;
    return vc_call_fail(misuse_call, VC_NOT_FOUND, "too late");
}

static enum vc_status
add_to_call(struct fixture *f)
{
    (void)f;
    return vc_call_add_trailing(misuse_call, "key", "value", 5);
}

static enum vc_status
intercept(struct fixture *f)
{
    struct vc_interceptor interceptor = VC_INTERCEPTOR_INIT;

    misuse_need(call(f) == VC_OK);
    return vc_channel_intercept(f->channel, &interceptor);
}

/* --- the rows ------------------------------------------------------------ */

#define in(place, what)                                                        \
    static enum vc_status place##_##what(struct fixture *f)                    \
    {                                                                          \
        return misuse_in_##place(f, what);                                     \
    }
in(handler, server_drain)in(handler, server_close)in(handler, server_free)
    in(handler, server_poll)in(handler, server_stop)in(done, channel_close)
        in(done, client_poll)in(done, client_stop)in(done, client_free)
            in(child, call)in(child, server_close_soon)in(child, client_poll)
                in(thread, client_free)in(thread, intercept)

    /* Here one runtime has both ends. */
    static enum vc_status done_server_close(struct fixture *f)
{
    struct vc_server *server = f->server;
    enum vc_status status;

    misuse_need(vc_server_new(f->runtime, NULL, &f->server) == VC_OK);
    status = misuse_in_done(f, server_close);
    vc_server_free(f->server);
    f->server = server;
    return status;
}

static enum vc_status
child_send(struct fixture *f)
{
    const Suite__EchoRequest message = SUITE__ECHO_REQUEST__INIT;
    static struct vc_stream *s;
    enum vc_status status;

    if (s != NULL)
        return vc_stream_send(s, &message);
    misuse_need(vc_stream_open(f->channel, &suite_streams_service, TALK, NULL,
                               NULL, &s) == VC_OK);
    misuse_need(vc_stream_send(s, &message) == VC_OK);
    status = misuse_in_child(f, child_send);
    misuse_need(vc_stream_send(s, &message) == VC_OK);
    vc_stream_close(s);
    return status;
}

static enum vc_status
child_next(struct fixture *f)
{
    static struct vc_completions *queue;
    struct vc_completion c;
    enum vc_status status;

    if (queue != NULL)
        return vc_completions_next(queue, 0, &c);
    misuse_need(vc_completions_new(f->runtime, &queue) == VC_OK);
    status = misuse_in_child(f, child_next);
    vc_completions_free(queue);
    return status;
}

/* Runs what() for a call that has ended: the server has sent the reply, so no
 * handler has the call any more. */
static enum vc_status
ended(struct fixture *f, misuse_what *what)
{
    misuse_in_handler(f, NULL);
    misuse_need(call(f) == VC_OK); /* this acknowledges the reply */
    return misuse_in_thread(f, what);
}

static enum vc_status
thread_end_call(struct fixture *f)
{
    return ended(f, end_call);
}

static enum vc_status
thread_fail_call(struct fixture *f)
{
    return ended(f, fail_call);
}

static enum vc_status
thread_add_to_call(struct fixture *f)
{
    return ended(f, add_to_call);
}

static enum vc_status
call_that_is_not_ended(struct fixture *f)
{
    enum vc_status status;

    misuse_later = true;
    misuse_start_call(f);
    status = server_close_soon(f);
    vc_call_end(misuse_call, VC_OK);
    vc_server_free(f->server);
    f->server = NULL;
    return status;
}

static enum vc_status
drain_of_a_call_that_is_not_ended(struct fixture *f)
{
    enum vc_status status;

    misuse_later = true;
    misuse_start_call(f);
    status = vc_server_drain(f->server, NULL, 50);
    vc_call_end(misuse_call, VC_OK);
    misuse_need(vc_server_close(f->server, 10000) == VC_OK);
    vc_server_free(f->server);
    f->server = NULL;
    return status;
}

static enum vc_status
channel_that_is_not_closed(struct fixture *f)
{
    misuse_need(call(f) == VC_OK);
    vc_runtime_free(f->runtime);
    return VC_OK;
}

static enum vc_status
server_that_is_not_freed(struct fixture *f)
{
    misuse_need(vc_server_close(f->server, 10000) == VC_OK);
    vc_runtime_free(f->server_runtime);
    return VC_OK;
}

/* The channel is closed, which ends the stream. */
static enum vc_status
stream_that_is_not_closed(struct fixture *f)
{
    const Suite__EchoRequest message = SUITE__ECHO_REQUEST__INIT;
    enum vc_status status;
    struct vc_stream *s;

    misuse_need(vc_stream_open(f->channel, &suite_streams_service, TALK, NULL,
                               NULL, &s) == VC_OK);
    misuse_need(vc_channel_close(f->channel) == VC_OK);
    f->channel = NULL;
    status = vc_stream_send(s, &message);
    vc_stream_close(s);
    return status;
}

#define row(kind, status, says, run)                                           \
    {                                                                          \
        kind, #run, status, says, run                                          \
    }
#define aborts VC_OK
#define state  VC_FAILED_PRECONDITION

static const struct misuse cases[] = {
    row("handler", state, "vc_server_drain_start()", handler_server_drain),
    row("handler", state, "vc_server_close_start()", handler_server_close),
    row("handler", aborts, "vc_server_free() within", handler_server_free),
    row("handler", state, "vc_runtime_poll() within", handler_server_poll),
    row("handler", aborts, "vc_runtime_stop() within", handler_server_stop),
    row("done()", state, "vc_channel_close() within", done_channel_close),
    row("done()", state, "vc_runtime_poll() within", done_client_poll),
    row("done()", aborts, "vc_runtime_stop() within", done_client_stop),
    row("done()", aborts, "vc_runtime_free() within", done_client_free),
    row("done()", state, "vc_server_close_start()", done_server_close),
    row("child", state, "vc_channel_call(): the channel is of the process",
        child_call),
    row("child", state, "vc_server_close(): the server is of the process",
        child_server_close_soon),
    row("child", state, "vc_runtime_poll(): the runtime is of the process",
        child_client_poll),
    row("child", state, "vc_stream_send(): the stream is of the process",
        child_send),
    row("child", state, "vc_completions_next(): the completion queue is of",
        child_next),
    row("other thread", aborts, "vc_call_end(): this is no call",
        thread_end_call),
    row("other thread", aborts, "vc_call_fail(): this is no call",
        thread_fail_call),
    row("other thread", aborts, "vc_call_add_trailing(): this is no call",
        thread_add_to_call),
    row("other thread", aborts, "1 channel or server", thread_client_free),
    row("other thread", state, "before the first", thread_intercept),
    row("never ended", VC_DEADLINE_EXCEEDED,
        "suite.Other.Name (waiting for vc_call_end()) has run for ",
        call_that_is_not_ended),
    row("never ended", VC_DEADLINE_EXCEEDED, "some calls still run",
        drain_of_a_call_that_is_not_ended),
    row("never ended", aborts,
        "vc_runtime_free(): 1 channel or server of the runtime is still open",
        channel_that_is_not_closed),
    row("never ended", aborts,
        "vc_runtime_free(): 1 channel or server of the runtime is still open",
        server_that_is_not_freed),
    row("never ended", VC_CANCELLED, "closed", stream_that_is_not_closed),
};

static void
no_wrong_place_hangs_is_silent_or_corrupts_memory(void **s)
{
    (void)s;
    misuse_run(cases, sizeof cases / sizeof cases[0]);
}

/* --- fork, exec and signals ---------------------------------------------- */

/* The child frees all objects of its parent, and runs a server and a client of
 * its own. */
static enum vc_status
free_and_serve(struct fixture *parents)
{
    struct fixture f;

    vc_channel_close(parents->channel);
    vc_server_free(parents->server);
    vc_runtime_free(parents->runtime);
    vc_runtime_free(parents->server_runtime);
    fixture_start(&f, 1, NULL, NULL);
    misuse_need(call(&f) == VC_OK);
    fixture_stop(&f);
    return VC_NOT_FOUND;
}

static enum vc_status
leave_at_once(struct fixture *f)
{
    (void)f;
    exit(VC_NOT_FOUND);
}

static enum vc_status
child_that_frees_and_serves(struct fixture *f)
{
    misuse_need(call(f) == VC_OK);
    return misuse_in_child(f, free_and_serve);
}

static enum vc_status
child_that_exits(struct fixture *f)
{
    misuse_need(call(f) == VC_OK);
    return misuse_in_child(f, leave_at_once);
}

static bool
is_inherited(int fd)
{
    int flags = fcntl(fd, F_GETFD);

    return flags >= 0 && !(flags & FD_CLOEXEC);
}

/* Counts the descriptors that a program would inherit by exec(), older ones
 * included. */
static unsigned
inherited(void)
{
    unsigned n = 0;

    for (int fd = 0; fd < 1024; fd++)
        n += is_inherited(fd);
    return n;
}

static enum vc_status
exec_that_inherits_nothing(struct fixture *f)
{
    unsigned before;
    struct fixture mine;

    misuse_need(call(f) == VC_OK);
    before = inherited();
    fixture_start(&mine, 1, NULL, NULL);
    misuse_need(call(&mine) == VC_OK);
    misuse_need(vc_runtime_fd(mine.runtime) >= 0);
    misuse_need(inherited() == before);
    /* Besides stdin, stdout and stderr only the test harness has some open. */
    for (int fd = 3; fd < 1024; fd++)
        if (is_inherited(fd))
            fcntl(fd, F_SETFD, FD_CLOEXEC), before--;
    misuse_need(before == 3);
    fixture_stop(&mine);
    return vc_server_remove(f->server, &suite_absent_service);
}

/* True if the thread blocks the signals that programs handle, except those of
 * faults. */
static bool
thread_blocks_all(const char *number)
{
    const unsigned long long wants =
        1ull << (SIGTERM - 1) | 1ull << (SIGINT - 1) | 1ull << (SIGCHLD - 1) |
        1ull << (SIGALRM - 1) | 1ull << (SIGPIPE - 1) | 1ull << (SIGUSR1 - 1);
    unsigned long long blocked = 0;
    char path[300], line[256];
    FILE *file;

    snprintf(path, sizeof path, "/proc/self/task/%s/status", number);
    file = fopen(path, "re");
    while (file != NULL && fgets(line, sizeof line, file) != NULL)
        sscanf(line, "SigBlk: %llx", &blocked);
    if (file != NULL)
        fclose(file);
    return (blocked & wants) == wants;
}

static enum vc_status
threads_that_block_signals(struct fixture *f)
{
    DIR *tasks = opendir("/proc/self/task");
    const struct dirent *e;
    unsigned n = 0;

    misuse_need(call(f) == VC_OK);
    misuse_need(vc_runtime_start(f->runtime) == VC_OK);
    misuse_need(tasks != NULL);
    while ((e = readdir(tasks)) != NULL) {
        if (e->d_name[0] == '.' || atoi(e->d_name) == (int)getpid())
            continue;
        misuse_need(thread_blocks_all(e->d_name));
        n++;
    }
    closedir(tasks);
    misuse_need(n >= 4); /* an engine's thread and a watcher for each runtime */
    misuse_need(!thread_blocks_all("self/../../../thread-self"));
    return vc_server_remove(f->server, &suite_absent_service);
}

static atomic_uint pipes;

static void
on_pipe(int number)
{
    (void)number;
    atomic_fetch_add(&pipes, 1);
}

#define LONG_REQUEST 100000u

/* Calls to a process that is killed during them: its kernel resets the
 * connection. */
static enum vc_status
peer_that_resets(struct fixture *f)
{
    struct fixture other = {.runtime = f->runtime};
    enum vc_status status = VC_OK;
    pid_t pid;

    if (fixture_is_inproc())
        return VC_UNAVAILABLE;
    signal(SIGPIPE, on_pipe);
    fixture_board_make();
    pid = fixture_fork_server(0);
    fixture_target((uint16_t)atomic_load(&fixture_board->port), other.target);
    misuse_need(fixture_open_alone(f->runtime, other.target, &other.channel) ==
                VC_OK);
    misuse_need(fixture_echo(other.channel, LONG_REQUEST, 1) == VC_OK);
    kill(pid, SIGKILL);
    for (unsigned i = 0; i < 20 || status == VC_OK; i++)
        status = fixture_echo(other.channel, LONG_REQUEST, 1);
    fixture_wait(pid);
    misuse_need(vc_channel_close(other.channel) == VC_OK);
    misuse_need(atomic_load(&pipes) == 0);
    return status;
}

static const struct misuse uses[] = {
    row("child", VC_NOT_FOUND, "", child_that_frees_and_serves),
    row("child", VC_NOT_FOUND, "", child_that_exits),
    row("exec", VC_NOT_FOUND, "", exec_that_inherits_nothing),
    row("signals", VC_NOT_FOUND, "", threads_that_block_signals),
    row("signals", VC_UNAVAILABLE, "", peer_that_resets),
};

static void
a_child_may_free_what_is_its_parents_and_have_its_own(void **s)
{
    (void)s;
#ifdef __SANITIZE_THREAD__
    print_message("# the thread sanitizer lets no such child have threads\n");
    skip();
#endif
    misuse_run(&uses[0], 1);
}

static void
a_child_that_exits_does_not_harm_its_parent(void **s)
{
    (void)s;
    misuse_run(&uses[1], 1);
}

static void
no_descriptor_is_inherited_by_exec(void **s)
{
    (void)s;
    misuse_run(&uses[2], 1);
}

static void
threads_of_the_library_block_all_signals(void **s)
{
    (void)s;
    misuse_run(&uses[3], 1);
}

static void
a_peer_that_resets_raises_no_sigpipe(void **s)
{
    (void)s;
    misuse_run(&uses[4], 1);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_wrong_place_hangs_is_silent_or_corrupts_memory),
        cmocka_unit_test(a_child_may_free_what_is_its_parents_and_have_its_own),
        cmocka_unit_test(a_child_that_exits_does_not_harm_its_parent),
        cmocka_unit_test(no_descriptor_is_inherited_by_exec),
        cmocka_unit_test(threads_of_the_library_block_all_signals),
        cmocka_unit_test(a_peer_that_resets_raises_no_sigpipe),
    };

    return fixture_main(tests);
}
