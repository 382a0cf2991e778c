/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See tests/suite/fixture.h. */
#include "tests/suite/fixture.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/suite/pace.h"
#include "tests/suite/streams.h"
#include "transport/rdma/device_list.h"

#define CHILD_READY_MS 30000
#define CHILD_END_MS   30000
#define APART_MS       240000
#define AWAIT_MS       30000
#define PATIENT_MS     8000

void
fixture_assert_status(enum vc_status expected, enum vc_status actual,
                      const char *what, const char *file, int line)
{
    if (expected == actual)
        return;
    print_error("%s gave %s, not %s: %s\n", what, vc_status_name(actual),
                vc_status_name(expected), vc_error());
    _fail(file, line);
}

uint64_t
fixture_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

bool
fixture_begin(void)
{
    fixture_program = getpid();
    if (getenv("VC_TEST_ADDR") == NULL)
        return false;
    cmocka_set_test_filter(getenv("VC_TEST_ONLY"));
    pace_start();
    return true;
}

unsigned
fixture_many(unsigned few, unsigned many)
{
    const char *late = getenv("VC_TEST_LONG");

    return late != NULL && *late != '\0' ? many : few;
}

int
fixture_skip_all(size_t n)
{
    printf("1..%zu\n", n);
    for (size_t i = 1; i <= n; i++)
        printf("ok %zu # SKIP no RDMA device: VC_TEST_ADDR is not set\n", i);
    return 0;
}

/* --- the board --------------------------------------------------------- */

struct fixture_board *fixture_board;

void
fixture_board_make(void)
{
    if (fixture_board == NULL) {
        fixture_board =
            mmap(NULL, sizeof *fixture_board, PROT_READ | PROT_WRITE,
                 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        assert_true(fixture_board != MAP_FAILED);
    }
    memset(fixture_board, 0, sizeof *fixture_board);
}

void
fixture_tell(atomic_uint *word)
{
    atomic_fetch_add(word, 1);
    syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

/* False when the word is still below n after ms. */
static bool
word_wait(atomic_uint *word, unsigned n, uint64_t ms)
{
    uint64_t due = fixture_ms() + ms;
    unsigned seen;

    while ((seen = atomic_load(word)) < n) {
        const struct timespec step = {.tv_sec = 1};

        if (fixture_ms() >= due)
            return false;
        syscall(SYS_futex, word, FUTEX_WAIT, seen, &step, NULL, 0);
    }
    return true;
}

void
fixture_await(atomic_uint *word, unsigned n)
{
    if (!word_wait(word, n, AWAIT_MS))
        fail_msg("a word of the board is at %u, not %u, after %d ms",
                 atomic_load(word), n, AWAIT_MS);
}

/* --- the service ------------------------------------------------------- */

static atomic_uint_fast64_t counted;

static enum vc_status
probe_echo(struct vc_call *call, const Suite__EchoRequest *request,
           Suite__EchoReply *reply, void *arg)
{
    size_t size =
        request->reply_size != 0 ? request->reply_size : request->payload.len;

    (void)arg;
    if ((uintptr_t)request->payload.data % _Alignof(max_align_t) != 0)
        return vc_call_fail(call, VC_INTERNAL, "the payload is not aligned");
    if (fixture_board != NULL) {
        atomic_store(&fixture_board->ran[request->tag % FIXTURE_TAGS], true);
        fixture_tell(&fixture_board->echoing);
    }
    reply->tag = request->tag;
    reply->payload = request->payload;
    if (size > request->payload.len) {
        reply->payload.data = vc_call_alloc(call, size);
        if (reply->payload.data == NULL)
            return vc_call_fail(call, VC_RESOURCE_EXHAUSTED, "no memory");
        if (request->payload.len > 0)
            memcpy(reply->payload.data, request->payload.data,
                   request->payload.len);
    }
    reply->payload.len = size;
    return VC_OK;
}

static enum vc_status
probe_fail(struct vc_call *call, const Suite__FailRequest *request,
           Suite__Empty *reply, void *arg)
{
    (void)reply;
    (void)arg;
    return vc_call_fail(call, (enum vc_status)request->status, "%s",
                        request->text);
}

static void
end_told(struct vc_call *call, void *arg)
{
    (void)arg;
    vc_call_end(call, VC_CANCELLED);
}

static enum vc_status
probe_sleep(struct vc_call *call, const Suite__SleepRequest *request,
            Suite__SleepReply *reply, void *arg)
{
    (void)arg;
    reply->deadline_us = vc_call_deadline_us(call);
    if (fixture_board != NULL)
        fixture_tell(&fixture_board->sleeping);
    if (request->told) {
        enum vc_status later = vc_call_later(call);

        return vc_call_on_cancel(call, end_told, NULL) == VC_OK ? later
                                                                : VC_INTERNAL;
    }
    usleep(request->milliseconds * 1000);
    return VC_OK;
}

static enum vc_status
probe_count(struct vc_call *call, const Suite__Empty *request,
            Suite__CountReply *reply, void *arg)
{
    (void)call;
    (void)request;
    (void)arg;
    reply->calls = atomic_fetch_add(&counted, 1) + 1;
    return VC_OK;
}

static enum vc_status
probe_nest(struct vc_call *call, const Suite__Nested *request,
           Suite__Empty *reply, void *arg)
{
    (void)call;
    (void)request;
    (void)reply;
    (void)arg;
    return VC_OK;
}

static enum vc_status
other_name(struct vc_call *call, const Suite__Empty *request,
           Suite__NameReply *reply, void *arg)
{
    (void)request;
    reply->name = vc_call_strdup(call, arg);
    return VC_OK;
}

static const struct suite_probe_methods probe_methods = {
    .echo = probe_echo,
    .fail = probe_fail,
    .sleep = probe_sleep,
    .count = probe_count,
    .nest = probe_nest,
};

/* The reply of Other.Name. */
static char other_text[] = "other";

static const struct suite_other_methods other_methods = {.name = other_name};

/* --- server and client ------------------------------------------------- */

unsigned fixture_handler_threads;
vc_log_fn *fixture_log;
void *fixture_log_arg;
void (*fixture_add)(struct vc_server *server);

void
fixture_runtime_without_threads(struct vc_runtime **runtime)
{
    struct vc_runtime_opts opts = VC_RUNTIME_OPTS_INIT;

    opts.threads = VC_THREADS_NONE;
    assert_status(VC_OK, vc_runtime_new(&opts, runtime));
}

static void
log_set(struct vc_runtime_opts *opts)
{
    opts->log = fixture_log;
    opts->log_arg = fixture_log_arg;
    opts->log_level = fixture_log != NULL ? VC_LOG_DEBUG : 0;
}

void
fixture_start_server_at(struct fixture *f, uint16_t port, unsigned threads,
                        const struct vc_server_opts *opts)
{
    struct vc_runtime_opts runtime_opts = VC_RUNTIME_OPTS_INIT;

    if (port == 0)
        port = fixture_free_number();
    runtime_opts.threads = threads;
    runtime_opts.handler_threads = fixture_handler_threads;
    log_set(&runtime_opts);
    assert_status(VC_OK, vc_runtime_new(&runtime_opts, &f->server_runtime));
    assert_status(VC_OK, vc_server_new(f->server_runtime, opts, &f->server));
    assert_status(VC_OK, suite_probe_add(f->server, &probe_methods, NULL));
    assert_status(VC_OK,
                  suite_other_add(f->server, &other_methods, other_text));
    assert_status(VC_OK, suite_streams_add(f->server, &streams_methods, NULL));
    if (fixture_add != NULL)
        fixture_add(f->server);
    assert_status(VC_OK,
                  vc_server_listen(f->server, fixture_target(port, f->target)));
    f->port = fixture_has_names() ? port : vc_server_port(f->server);
    fixture_target(f->port, f->target);
}

void
fixture_start_server(struct fixture *f, unsigned threads,
                     const struct vc_server_opts *opts)
{
    fixture_start_server_at(f, 0, threads, opts);
}

void
fixture_stop_server(struct fixture *f)
{
    vc_server_free(f->server);
    vc_runtime_free(f->server_runtime);
    f->server = NULL;
    f->server_runtime = NULL;
}

/* The options of a channel for a busy machine, which may stall a server for
 * longer than the defaults allow. */
static struct vc_channel_opts
patient(void)
{
    struct vc_channel_opts opts = VC_CHANNEL_OPTS_INIT;

    opts.connect_timeout_ms = PATIENT_MS;
    opts.keepalive_ms = PATIENT_MS;
    return opts;
}

void
fixture_start_client(struct fixture *f, const struct vc_channel_opts *opts)
{
    const struct vc_channel_opts of_tests = patient();
    struct vc_runtime_opts runtime_opts = VC_RUNTIME_OPTS_INIT;

    if (opts == NULL)
        opts = &of_tests;
    log_set(&runtime_opts);
    assert_status(VC_OK, vc_runtime_new(&runtime_opts, &f->runtime));
    assert_status(VC_OK,
                  vc_channel_open(f->runtime, f->target, opts, &f->channel));
}

void
fixture_stop_client(struct fixture *f)
{
    vc_channel_close(f->channel);
    vc_runtime_free(f->runtime);
    f->channel = NULL;
    f->runtime = NULL;
}

void
fixture_start(struct fixture *f, unsigned threads,
              const struct vc_server_opts *server_opts,
              const struct vc_channel_opts *channel_opts)
{
    memset(f, 0, sizeof *f);
    fixture_start_server(f, threads, server_opts);
    fixture_start_client(f, channel_opts);
}

void
fixture_stop(struct fixture *f)
{
    fixture_stop_client(f);
    fixture_stop_server(f);
}

int
fixture_setup(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);

    fixture_start(f, 1, NULL, NULL);
    *state = f;
    return 0;
}

static sigjmp_buf teardown_end;
static pthread_t teardown_thread;

/* Jumps back into fixture_teardown(): after a handler that returns, abort()
 * would still end the process. */
static void
on_abort(int signal)
{
    (void)signal;
    if (pthread_equal(pthread_self(), teardown_thread))
        siglongjmp(teardown_end, 1);
}

/* A test whose body failed has left objects open. Then vc_runtime_free()
 * aborts, before cmocka has reported which assertion failed. */
int
fixture_teardown(void **state)
{
    void (*former)(int) = signal(SIGABRT, on_abort);
    int left = 0;

    teardown_thread = pthread_self();
    if (sigsetjmp(teardown_end, 1) == 0) {
        fixture_stop(*state);
        free(*state);
    } else {
        left = -1;
    }
    signal(SIGABRT, former);
    return left;
}

/* --- echo -------------------------------------------------------------- */

/* Payloads are parts of one block of random bytes, so that making and comparing
 * them costs little compared with the call. */
#define NOISE_SHIFT 65521u
#define NOISE_SIZE  (((size_t)4 << 20) + NOISE_SHIFT)

static uint8_t noise[NOISE_SIZE];
static pthread_once_t noise_once = PTHREAD_ONCE_INIT;

static void
noise_fill(void)
{
    uint32_t x = 2463534242u;

    for (size_t i = 0; i < NOISE_SIZE; i++) {
        x ^= x << 13;
        x ^= x >> 17;
        x ^= x << 5;
        noise[i] = (uint8_t)x;
    }
}

static uint8_t *
payload_of(uint64_t tag)
{
    pthread_once(&noise_once, noise_fill);
    return noise + tag % NOISE_SHIFT;
}

static bool
echo_good(const Suite__EchoReply *reply, size_t size, uint64_t tag)
{
    return reply->tag == tag && reply->payload.len == size &&
           (size == 0 ||
            memcmp(reply->payload.data, payload_of(tag), size) == 0);
}

enum vc_status
fixture_echo(struct vc_channel *channel, size_t size, uint64_t tag)
{
    Suite__EchoRequest request = SUITE__ECHO_REQUEST__INIT;
    Suite__EchoReply *reply;
    enum vc_status status;

    assert_in_range(size, 0, NOISE_SIZE - NOISE_SHIFT);
    request.tag = tag;
    request.payload.data = payload_of(tag);
    request.payload.len = size;
    status = suite_probe_echo(channel, &request, NULL, &reply);
    if (status == VC_OK) {
        if (!echo_good(reply, size, tag))
            fail_msg("an echo of %zu bytes came back wrong", size);
        vc_message_free(reply);
    }
    return status;
}

/* --- processes --------------------------------------------------------- */

pid_t
fixture_fork(int (*body)(void *arg, int ready), void *arg)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    int ready[2];
    struct pollfd p;
    char byte;
    pid_t pid;

    /* Loads the verbs providers once, in the parent: that takes longer than all
     * other work of most children. No device is opened by this. */
    pthread_once(&once, vc__device_list_read);
    assert_int_equal(0, pipe(ready));
    fflush(NULL);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        /* After a failed assertion the child must not continue with the
         * parent's next test. */
        setenv("CMOCKA_TEST_ABORT", "1", 1);
        close(ready[0]);
        exit(body(arg, ready[1])); /* not _exit(): the leak check must run */
    }
    close(ready[1]);
    p = (struct pollfd){.fd = ready[0], .events = POLLIN};
    assert_int_equal(1, poll(&p, 1, CHILD_READY_MS));
    assert_int_equal(1, read(ready[0], &byte, 1));
    close(ready[0]);
    return pid;
}

struct serving {
    uint16_t port;
    const struct vc_server_opts *opts;
};

static int
serve(void *arg, int ready)
{
    struct fixture f = {0};
    const struct serving *s = arg;

    fixture_start_server_at(&f, s->port, 1, s->opts);
    if (fixture_board != NULL)
        atomic_store(&fixture_board->port, f.port);
    if (write(ready, "r", 1) != 1)
        return 1;
    if (fixture_board == NULL)
        for (;;)
            pause();
    word_wait(&fixture_board->stop, 1, UINT32_MAX);
    fixture_stop_server(&f);
    return 0;
}

pid_t
fixture_fork_server_opts(uint16_t port, const struct vc_server_opts *opts)
{
    struct serving s = {.port = port, .opts = opts};

    return fixture_fork(serve, &s);
}

pid_t
fixture_fork_server(uint16_t port)
{
    return fixture_fork_server_opts(port, NULL);
}

int
fixture_wait(pid_t pid)
{
    return fixture_wait_ms(pid, CHILD_END_MS);
}

int
fixture_wait_ms(pid_t pid, unsigned ms)
{
    uint64_t due = fixture_ms() + ms;
    int status = 0;
    pid_t got;

    do {
        got = waitpid(pid, &status, WNOHANG);
        if (got == 0)
            usleep(1000);
    } while (got == 0 && fixture_ms() < due);
    if (got != pid) {
        kill(pid, SIGKILL);
        waitpid(pid, &status, 0);
        fail_msg("a child did not end within %u ms", ms);
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

/* --- tests in processes of their own ----------------------------------- */

struct apart {
    const struct fixture_story *story;
    unsigned round;
};

static int
apart_run(void *arg, int ready)
{
    const struct apart *a = arg;

    if (write(ready, "r", 1) != 1)
        return 1;
    close(ready);
    a->story->body(a->round);
    return 0;
}

void
fixture_run_apart(void **story)
{
    struct apart a = {.story = *story};
    int ended = 0;

    for (; a.round < a.story->rounds && ended == 0; a.round++) {
        fixture_board_make();
        ended = fixture_wait_ms(fixture_fork(apart_run, &a), APART_MS);
    }
    if (ended == 0)
        return;
    /* The child's last line may be incomplete, and TAP is read by lines. */
    fputc('\n', stderr);
    fail_msg("its process of round %u ended with %d", a.round - 1, ended);
}

enum vc_status
fixture_open_alone(struct vc_runtime *runtime, const char *target,
                   struct vc_channel **channel)
{
    static atomic_uint idle_ms = 60001;
    struct vc_channel_opts opts = patient();

    opts.idle_timeout_ms = atomic_fetch_add(&idle_ms, 1);
    return vc_channel_open(runtime, target, &opts, channel);
}
