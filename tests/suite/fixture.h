/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Shared by all suites: the server of suite.proto, in this process or in a
 * process of its own, and its clients. The address comes from $VC_TEST_ADDR,
 * which tests/rdma sets; without it a suite is skipped. */
#ifndef VC_TESTS_SUITE_FIXTURE_H
#define VC_TESTS_SUITE_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <cmocka.h>

#include "tests/suite/suite.vc.h"

/* Fails the test with vc_error() unless actual is expected. */
#define assert_status(expected, actual)                                        \
    fixture_assert_status(expected, actual, #actual, __FILE__, __LINE__)
void fixture_assert_status(enum vc_status expected, enum vc_status actual,
                           const char *what, const char *file, int line);

/* "rdma://ADDRESS:PORT" of this machine's RDMA device; with VC_TEST_ADDR=inproc
 * "inproc://suite-PORT". */
const char *fixture_target(uint16_t port, char out[80]);
bool fixture_is_inproc(void);
/* True if the port number is part of a name: over inproc and shm. */
bool fixture_has_names(void);
/* "rdma", or $VC_TEST_SCHEME. */
const char *fixture_scheme(void);
bool fixture_is_rdma(void);
/* Skips the test unless it runs over RDMA, and prints why. */
void fixture_needs_rdma(const char *why);
/* The port for fixture_target() to listen at: 0, so that the system picks a
 * port; where the number is part of a name, a number that this process has not
 * used. */
uint16_t fixture_free_number(void);

/* vc_channel_open() with an idle timeout of its own, so that the channel shares
 * no link with other channels. */
enum vc_status fixture_open_alone(struct vc_runtime *runtime,
                                  const char *target,
                                  struct vc_channel **channel);

/* The program's main: skips all tests without a device; runs only the test
 * $VC_TEST_ONLY if that is set. */
#define fixture_main(tests)                                                    \
    (fixture_begin() ? cmocka_run_group_tests(tests, NULL, NULL)               \
                     : fixture_skip_all(sizeof(tests) / sizeof((tests)[0])))
bool fixture_begin(void);
extern pid_t fixture_program; /* the parent of all other processes */

/* How much a test does: `few` in the default run, `many` with
 * VC_TEST_LONG=1. */
unsigned fixture_many(unsigned few, unsigned many);
int fixture_skip_all(size_t n);

/* --- a server in this process ------------------------------------------ */

struct fixture {
    struct vc_runtime *server_runtime;
    struct vc_server *server;
    char target[80];
    uint16_t port;              /* of target */
    struct vc_runtime *runtime; /* the client's */
    struct vc_channel *channel;
};

/* Starts server and client. opts may be NULL. */
void fixture_start(struct fixture *f, unsigned threads,
                   const struct vc_server_opts *server_opts,
                   const struct vc_channel_opts *channel_opts);
void fixture_stop(struct fixture *f);

/* Makes a runtime without threads: its server is served only while a caller is
 * in vc_runtime_poll(). */
void fixture_runtime_without_threads(struct vc_runtime **runtime);

/* Adds further services to a server before it listens; or NULL. */
extern void (*fixture_add)(struct vc_server *server);

/* Of the runtime of a server; 0: the default. */
extern unsigned fixture_handler_threads;

/* Receives all log lines, with this argument, of the runtimes of servers and
 * clients that are started from now on; or NULL. */
extern vc_log_fn *fixture_log;
extern void *fixture_log_arg;

/* Start and stop only the server of a fixture, or only the client. */
void fixture_start_server(struct fixture *f, unsigned threads,
                          const struct vc_server_opts *opts);
void fixture_start_server_at(struct fixture *f, uint16_t port, unsigned threads,
                             const struct vc_server_opts *opts);
void fixture_stop_server(struct fixture *f);
void fixture_start_client(struct fixture *f,
                          const struct vc_channel_opts *opts);
void fixture_stop_client(struct fixture *f);

/* Setup and teardown of cmocka with the defaults; *state is the fixture. */
int fixture_setup(void **state);
int fixture_teardown(void **state);

/* Makes one Echo call with `size` bytes of a pattern and compares the reply.
 * Returns the status of the call. */
enum vc_status fixture_echo(struct vc_channel *channel, size_t size,
                            uint64_t tag);

/* --- a server, or anything else, in a process of its own ---------------- */

/* Runs body(arg, ready) in a child. Returns when the child has written a byte
 * to the descriptor `ready`. The child exits with the value that body returns;
 * an assertion that fails in the child aborts it. The kernel kills the child
 * when the thread that forked it ends. Call this before this process uses
 * RDMA. */
pid_t fixture_fork(int (*body)(void *arg, int ready), void *arg);

/* Forks a child that serves on this port (0: any, see the board) until it is
 * killed, or until the board's `stop` is set; then it shuts down cleanly. */
pid_t fixture_fork_server(uint16_t port);
pid_t fixture_fork_server_opts(uint16_t port,
                               const struct vc_server_opts *opts);

/* Waits up to 30 s, or ms, for the end of a child; then kills it and fails the
 * test. Returns the exit status, or -signal. */
int fixture_wait(pid_t pid);
int fixture_wait_ms(pid_t pid, unsigned ms);

/* A test whose body runs in a process of its own. So the body may use RDMA, and
 * the next test can still fork. Rounds count from 0; each runs in a new process
 * with a cleared board, for 240 s at most. For the table of tests. */
struct fixture_story {
    void (*body)(unsigned round);
    unsigned rounds;
};
#define fixture_apart(body_, rounds_)                                          \
    {                                                                          \
        .name = #body_, .test_func = fixture_run_apart,                        \
        .initial_state = &(struct fixture_story)                               \
        {                                                                      \
            .body = body_, .rounds = rounds_                                   \
        }                                                                      \
    }
void fixture_run_apart(void **story);

/* --- state shared by processes ------------------------------------------ */

#define FIXTURE_TAGS 4096

/* Shared by this process and all processes forked from it afterwards. */
struct fixture_board {
    atomic_uint port;     /* of the last fixture_fork_server() */
    atomic_uint stop;     /* not 0: the servers shall stop */
    atomic_uint sleeping; /* calls of Sleep that have reached the handler */
    atomic_uint echoing;  /* the same for Echo */
    atomic_uint words[8]; /* for the test's own use */
    atomic_bool ran[FIXTURE_TAGS]; /* true once the handler of Echo ran with
                                    * this tag */
};

/* NULL until fixture_board_make(), which also clears it. */
extern struct fixture_board *fixture_board;
void fixture_board_make(void);

/* fixture_tell() adds 1 to a word of the board and wakes waiters.
 * fixture_await() waits until the word is at least n, 30 s at most; then it
 * fails the test. */
void fixture_tell(atomic_uint *word);
void fixture_await(atomic_uint *word, unsigned n);

/* CLOCK_MONOTONIC in milliseconds. */
uint64_t fixture_ms(void);

#endif
