/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See tests/suite/misuse.h. */
#include "tests/suite/misuse.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <verbcall/call.h>

#include "tests/suite/streams.h"

#define CASE_MS 20000 /* after that the case hangs */
#define FAULTY  3     /* exit status of a case that is itself wrong */

#if defined __SANITIZE_ADDRESS__
#define SANITIZED true
#else
#define SANITIZED false
#endif

struct vc_call *misuse_call;
bool misuse_later;

/* The function that runs elsewhere, and its result. */
static struct elsewhere {
    struct fixture *f;
    misuse_what *what;
    enum vc_status status;
    char text[512];
    atomic_uint over;
} elsewhere;

void
misuse_fail(const char *what, const char *file, int line)
{
    fprintf(stderr, "%s:%d: %s: %s\n", file, line, what, vc_error());
    fflush(NULL);
    _exit(FAULTY);
}

/* --- the server's handler ------------------------------------------------ */

static void
elsewhere_run(void)
{
    if (elsewhere.what == NULL)
        return;
    elsewhere.status = elsewhere.what(elsewhere.f);
    snprintf(elsewhere.text, sizeof elsewhere.text, "%s", vc_error());
}

static enum vc_status
name(struct vc_call *call, const Suite__Empty *request, Suite__NameReply *reply,
     void *arg)
{
    (void)request, (void)reply, (void)arg;
    misuse_call = call;
    elsewhere_run();
    fixture_tell(&elsewhere.over);
    return misuse_later ? vc_call_later(call) : VC_OK;
}

static void
add_name(struct vc_server *server)
{
    static const struct suite_other_methods methods = {.name = name};

    vc_server_remove(server, &suite_other_service);
    assert_status(VC_OK, suite_other_add(server, &methods, NULL));
}

static void
begin(struct fixture *f, misuse_what *what)
{
    memset(&elsewhere, 0, sizeof elsewhere);
    elsewhere.f = f;
    elsewhere.what = what;
}

enum vc_status
misuse_in_handler(struct fixture *f, misuse_what *what)
{
    const Suite__Empty request = SUITE__EMPTY__INIT;
    Suite__NameReply *reply;

    begin(f, what);
    misuse_need(suite_other_name(f->channel, &request, NULL, &reply) == VC_OK);
    vc_message_free(reply);
    return elsewhere.status;
}

static void
name_done(enum vc_status status, Suite__NameReply *reply, void *arg)
{
    (void)status, (void)arg;
    vc_message_free(reply);
}

void
misuse_start_call(struct fixture *f)
{
    const Suite__Empty request = SUITE__EMPTY__INIT;

    begin(f, NULL);
    misuse_need(vc_runtime_start(f->runtime) == VC_OK);
    misuse_need(suite_other_name_async(f->channel, &request, NULL, name_done,
                                       NULL, NULL) == VC_OK);
    fixture_await(&elsewhere.over, 1);
}

static void
echo_done(enum vc_status status, Suite__EchoReply *reply, void *arg)
{
    misuse_need(status == VC_OK);
    vc_message_free(reply);
    elsewhere_run();
    fixture_tell(arg);
}

enum vc_status
misuse_in_done(struct fixture *f, misuse_what *what)
{
    const Suite__EchoRequest request = SUITE__ECHO_REQUEST__INIT;

    begin(f, what);
    misuse_need(vc_runtime_start(f->runtime) == VC_OK);
    misuse_need(suite_probe_echo_async(f->channel, &request, NULL, echo_done,
                                       &elsewhere.over, NULL) == VC_OK);
    fixture_await(&elsewhere.over, 1);
    return elsewhere.status;
}

static void *
thread_main(void *arg)
{
    (void)arg;
    elsewhere_run();
    return NULL;
}

enum vc_status
misuse_in_thread(struct fixture *f, misuse_what *what)
{
    pthread_t thread;

    begin(f, what);
    misuse_need(pthread_create(&thread, NULL, thread_main, NULL) == 0);
    pthread_join(thread, NULL);
    return elsewhere.status;
}

enum vc_status
misuse_in_child(struct fixture *f, misuse_what *what)
{
    int status;
    pid_t pid;

    fflush(NULL);
    pid = fork();
    misuse_need(pid >= 0);
    if (pid == 0) {
        enum vc_status its = what(f);

        printf("%s\n", vc_error());
        fflush(stdout);
        _exit((int)its);
    }
    misuse_need(waitpid(pid, &status, 0) == pid);
    misuse_need(WIFEXITED(status));
    return (enum vc_status)WEXITSTATUS(status);
}

/* --- one case ------------------------------------------------------------ */

/* Checks that the process is served as before, and closes everything. */
static void
go_on(struct fixture *f)
{
    if (f->channel != NULL && f->server != NULL)
        misuse_need(fixture_echo(f->channel, 100, 1) == VC_OK);
    misuse_need(vc_channel_close(f->channel) == VC_OK);
    vc_runtime_free(f->runtime);
    vc_server_free(f->server);
    vc_runtime_free(f->server_runtime);
}

static void
case_main(const struct misuse *m)
{
    struct fixture f;
    enum vc_status status;

    fixture_add = add_name;
    fixture_start(&f, 1, NULL, NULL);
    status = m->run(&f);
    printf("%s: %s\n%s\n", vc_status_name(status), vc_error(), elsewhere.text);
    fflush(stdout);
    go_on(&f);
}

static pid_t
case_fork(const struct misuse *m, int out)
{
    const struct rlimit none = {0, 0};
    pid_t pid;

    fflush(NULL);
    pid = fork();
    assert_true(pid >= 0);
    if (pid > 0)
        return pid;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    setrlimit(RLIMIT_CORE, &none);
    setenv("CMOCKA_TEST_ABORT", "1", 1);
    dup2(out, STDOUT_FILENO);
    dup2(out, STDERR_FILENO);
    close(out);
    case_main(m);
    exit(0); /* not _exit(): the leak check must run */
}

/* Reads all output of the case until its end. False: the case hangs. */
static bool
case_read(int in, char *said, size_t size)
{
    uint64_t until = fixture_ms() + CASE_MS;
    size_t len = 0;

    said[0] = '\0';
    for (;;) {
        struct pollfd p = {.fd = in, .events = POLLIN};
        uint64_t now = fixture_ms();
        ssize_t n;

        if (now >= until || poll(&p, 1, (int)(until - now)) != 1)
            return false;
        n = read(in, said + len, size - 1 - len);
        if (n <= 0)
            return true;
        len += (size_t)n;
        said[len] = '\0';
        if (len == size - 1)
            len = size / 2; /* longer output is cut */
    }
}

/* The address sanitizer detects a use of freed memory before the library
 * does. */
static bool
ends_well(const struct misuse *m, int status, const char *said)
{
    const char *name = vc_status_name(m->status);

    if (SANITIZED && m->status == VC_OK &&
        strstr(said, "heap-use-after-free") != NULL)
        return true;
    if (strstr(said, m->says) == NULL)
        return false;
    if (m->status == VC_OK)
        return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT &&
               strstr(said, "verbcall: ") != NULL;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0 &&
           strstr(said, name) != NULL;
}

static void
case_run(const struct misuse *m)
{
    char said[8192];
    int ends[2], status;
    pid_t pid;
    bool over;

    assert_int_equal(0, pipe(ends));
    pid = case_fork(m, ends[1]);
    close(ends[1]);
    over = case_read(ends[0], said, sizeof said);
    close(ends[0]);
    if (!over)
        kill(pid, SIGKILL);
    assert_int_equal(pid, waitpid(pid, &status, 0));
    if (over && ends_well(m, status, said))
        return;
    fail_msg("%s: %s: %s, status 0x%x, is to say \"%s\": %s", m->kind, m->name,
             over ? "it ends otherwise" : "it hangs", (unsigned)status, m->says,
             said);
}

/* True under qemu-user: a child of fork() whose memory has a page that the
 * kernel wipes (MADV_WIPEONFORK) does not end there, whatever it runs. */
static bool
is_left_out(const struct misuse *m)
{
    if (getenv("VC_TEST_EMULATED") == NULL || strcmp(m->kind, "child") != 0)
        return false;
    print_message("# left out: %s: %s\n", m->kind, m->name);
    return true;
}

void
misuse_run(const struct misuse *cases, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!is_left_out(&cases[i]))
            case_run(&cases[i]);
}

/* --- for the rows --------------------------------------------------------- */

enum vc_status
misuse_echo(struct fixture *f, const struct vc_call_opts *opts)
{
    const Suite__EchoRequest request = SUITE__ECHO_REQUEST__INIT;
    Suite__EchoReply *reply;
    enum vc_status status =
        suite_probe_echo(f->channel, &request, opts, &reply);

    if (status == VC_OK)
        vc_message_free(reply);
    return status;
}

struct vc_stream *
misuse_talk(struct fixture *f)
{
    struct vc_stream *s;

    misuse_need(vc_stream_open(f->channel, &suite_streams_service, TALK, NULL,
                               NULL, &s) == VC_OK);
    return s;
}

enum vc_status
misuse_close_with(struct vc_stream *s, enum vc_status status)
{
    vc_stream_close(s);
    return status;
}
