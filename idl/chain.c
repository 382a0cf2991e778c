/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Runs protoc-gen-c as a child process. Both pipes are served as they become
 * ready: a child that writes before it has read everything must not cause a
 * deadlock.
 *
 * All of it runs within chain_run(), which generate.c calls at most once, on
 * the only thread of the plugin. Error texts are constants or lie in the arena,
 * as does the answer: no caller frees them. */
#define _POSIX_C_SOURCE 200809L
#include "idl/chain.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "idl/text.h"

#define CHAIN_PROGRAM "protoc-gen-c"
#define CHAIN_READ    65536

extern char **environ;

struct chain {
    struct arena *arena;
    pid_t pid;
    int to, from;         /* our ends of the pipes, or -1 */
    struct bytes request; /* what is still to be written */
    struct text answer;
};

/* Closes the descriptor and makes it -1; does nothing if it is -1. Called for
 * the ends of both pipes, by the functions below. */
static void
fd_close(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

/* Returns the error text for an errno, never NULL; what says which step failed.
 * Called by the functions below. */
static const char *
chain_system_error(struct arena *arena, const char *what, int error)
{
    return arena_printf(arena, "%s " CHAIN_PROGRAM ": %s", what,
                        strerror(error));
}

/* Writes as much as the pipe takes, when chain_serve() finds it writable, and
 * closes it after the last byte. EPIPE closes it too and is no error here: the
 * child's exit status decides. Returns NULL, or the error text. */
static const char *
chain_write(struct chain *chain)
{
    ssize_t n = write(chain->to, chain->request.data, chain->request.length);

    if (n < 0 && errno != EAGAIN && errno != EINTR && errno != EPIPE)
        return chain_system_error(
            chain->arena, "cannot write to the standard input of", errno);
    if (n > 0) {
        chain->request.data += n;
        chain->request.length -= (size_t)n;
    }
    if (chain->request.length == 0 || (n < 0 && errno == EPIPE))
        fd_close(&chain->to);
    return NULL;
}

/* Reads once, when chain_serve() finds the pipe readable, and closes it at its
 * end. Returns NULL, or the error text. */
static const char *
chain_read(struct chain *chain)
{
    struct text *answer = &chain->answer;
    ssize_t n;

    text_reserve(answer, CHAIN_READ);
    n = read(chain->from, answer->data + answer->length, CHAIN_READ);
    if (n < 0 && errno != EAGAIN && errno != EINTR)
        return chain_system_error(chain->arena,
                                  "cannot read the standard output of", errno);
    if (n > 0)
        answer->length += (size_t)n;
    if (n == 0)
        fd_close(&chain->from);
    return NULL;
}

/* Serves both pipes until the child closes its output. Called by chain_run()
 * when the child runs. Returns NULL, or the error text. */
static const char *
chain_serve(struct chain *chain)
{
    const char *problem = NULL;

    while (chain->from >= 0 && problem == NULL) {
        struct pollfd fds[2] = {
            {.fd = chain->from, .events = POLLIN},
            {.fd = chain->to, .events = POLLOUT}, /* poll() ignores -1 */
        };

        if (poll(fds, 2, -1) < 0) {
            if (errno != EINTR)
                problem =
                    chain_system_error(chain->arena, "cannot wait for", errno);
            continue;
        }
        if (fds[0].revents != 0)
            problem = chain_read(chain);
        if (fds[1].revents != 0 && problem == NULL)
            problem = chain_write(chain);
    }
    return problem;
}

/* Starts protoc-gen-c, for chain_start(), with in and out as standard input and
 * output. Restores the default action of SIGPIPE in the child: main() ignores
 * it. Returns 0 and the pid, or an errno. */
static int
spawn_child(pid_t *pid, int in, int out)
{
    char name[] = CHAIN_PROGRAM;
    char *const argv[] = {name, NULL};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attr;
    sigset_t pipe_signal;
    int error;

    sigemptyset(&pipe_signal);
    sigaddset(&pipe_signal, SIGPIPE);
    error = posix_spawn_file_actions_init(&actions);
    if (error != 0)
        return error;
    error = posix_spawnattr_init(&attr);
    if (error != 0)
        goto out_actions;
    error = posix_spawn_file_actions_adddup2(&actions, in, STDIN_FILENO);
    if (error == 0)
        error = posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
    if (error == 0)
        error = posix_spawnattr_setsigdefault(&attr, &pipe_signal);
    if (error == 0)
        error = posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGDEF);
    if (error == 0)
        error =
            posix_spawnp(pid, CHAIN_PROGRAM, &actions, &attr, argv, environ);
    posix_spawnattr_destroy(&attr);
out_actions:
    posix_spawn_file_actions_destroy(&actions);
    return error;
}

/* Makes a pipe, for chain_start(). Both ends are close-on-exec, and our end is
 * non-blocking. Returns 0, or an errno; then fds may be open: the caller closes
 * what is not -1. */
static int
pipe_make(int fds[2], int ours)
{
    if (pipe(fds) != 0)
        return errno;
    if (fcntl(fds[0], F_SETFD, FD_CLOEXEC) == 0 &&
        fcntl(fds[1], F_SETFD, FD_CLOEXEC) == 0 &&
        fcntl(fds[ours], F_SETFL, O_NONBLOCK) == 0)
        return 0;
    return errno;
}

/* Returns the error text for an errno of chain_start(), never NULL. It says
 * what to install if protoc-gen-c is not there. */
static const char *
spawn_error(struct arena *arena, int error)
{
    if (error == ENOENT)
        return "protoc-gen-c, which makes the C code of messages, is not in "
               "PATH; it comes with the package protobuf-c-compiler of Debian "
               "and Fedora. With the parameter 'services' it is not needed";
    return chain_system_error(arena, "cannot start", error);
}

/* Makes the pipes and starts the child. Called by chain_run(), which closes our
 * ends, also after an error. Returns NULL; or the error text, and there is no
 * child. */
static const char *
chain_start(struct chain *chain)
{
    int in[2] = {-1, -1}, out[2] = {-1, -1};
    int error = pipe_make(in, 1);

    if (error == 0)
        error = pipe_make(out, 0);
    if (error == 0)
        error = spawn_child(&chain->pid, in[0], out[1]);
    fd_close(&in[0]);
    fd_close(&out[1]);
    chain->to = in[1];
    chain->from = out[0];
    return error == 0 ? NULL : spawn_error(chain->arena, error);
}

/* Waits for the end of the child. Called by chain_run() when our ends are
 * closed. Returns an error that says how the child ended; NULL if it
 * succeeded. */
static const char *
chain_wait(struct chain *chain)
{
    int status;

    while (waitpid(chain->pid, &status, 0) < 0)
        if (errno != EINTR)
            return chain_system_error(chain->arena,
                                      "cannot learn the exit status of", errno);
    if (WIFSIGNALED(status))
        return arena_printf(chain->arena,
                            CHAIN_PROGRAM " died of signal %d (%s)",
                            WTERMSIG(status), strsignal(WTERMSIG(status)));
    if (WEXITSTATUS(status) != 0)
        return arena_printf(chain->arena,
                            CHAIN_PROGRAM " failed with exit status %d",
                            WEXITSTATUS(status));
    return NULL;
}

/* Unpacks the answer and frees its bytes. Called by chain_run() when the child
 * has ended well; *response is NULL. Returns NULL and the response; or the
 * error text, which may be that of protoc-gen-c. */
static const char *
answer_parse(struct arena *arena, struct text *answer, Idl__Response **response)
{
    struct bytes bytes = {(const uint8_t *)answer->data, answer->length};
    ProtobufCAllocator allocator = arena_allocator(arena);

    if (wire_check(&idl__response__descriptor, bytes) == NULL)
        *response = idl__response__unpack(&allocator, bytes.length, bytes.data);
    arena_free(answer->data);
    if (*response == NULL)
        return CHAIN_PROGRAM " gave an answer that cannot be read";
    if ((*response)->error != NULL && (*response)->error[0] != '\0')
        return arena_printf(arena, CHAIN_PROGRAM ": %s", (*response)->error);
    return NULL;
}

const char *
chain_run(struct arena *arena, struct bytes request, Idl__Response **response)
{
    struct chain chain = {.arena = arena, .request = request};
    const char *problem, *end;

    text_init(&chain.answer, arena);
    problem = chain_start(&chain);
    if (problem == NULL) {
        problem = chain_serve(&chain);
        fd_close(&chain.to);
        fd_close(&chain.from);
        end = chain_wait(&chain);
        problem = problem != NULL ? problem : end;
    }
    fd_close(&chain.to);
    fd_close(&chain.from);
    *response = NULL;
    return problem != NULL ? problem
                           : answer_parse(arena, &chain.answer, response);
}
