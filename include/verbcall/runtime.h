/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The runtime: everything that one process shares. A program makes one,
 * opens channels and servers in it, and frees it last. */
#ifndef VERBCALL_RUNTIME_H
#define VERBCALL_RUNTIME_H

#include <stddef.h>
#include <stdint.h>

#include <verbcall/export.h>
#include <verbcall/log.h>
#include <verbcall/status.h>

VC_BEGIN_DECLS

struct vc_runtime;

/* It begins as VC_RUNTIME_OPTS_INIT, or is written where it is used as
 * VC_RUNTIME_OPTS(.spin_us = VC_SPIN_NEVER); 0 in a field means its default. */
struct vc_runtime_opts {
    size_t size; /* see VC_SIZED in verbcall/export.h */

    /* Threads of the library, 1..64, default 1. Each advances an engine of its
     * own, which is a progress loop with its own completion and receive queues;
     * connections are spread over the engines. The threads start with the first
     * vc_server_listen(), so a server needs no other call; a runtime without
     * servers has none before vc_runtime_start(), as callers that wait advance
     * the engines themselves. VC_THREADS_NONE: the program polls for itself, by
     * vc_runtime_poll() or within blocking calls; there is one engine, and no
     * thread of the library, ever. */
    unsigned threads;

    /* Longest time in microseconds, 1..1000000, that a waiting thread polls
     * before it sleeps; default 2000. All of it under steady traffic; else what
     * waking a thread costs here, which is measured, five times that when the
     * last event came soon, and ever less while events come late.
     * VC_SPIN_NEVER always sleeps. */
    unsigned spin_us;

    /* Bytes of registered (pinned) memory that each engine may use on each
     * device, 384 KiB.., which is enough for one connection; default 256 MiB.
     * It is taken slab by slab as links are opened; one that would need more
     * ends with VC_RESOURCE_EXHAUSTED, or is rejected with "busy". Connections
     * by inproc:// have a limit of the same size of their own, of memory that
     * is not pinned, and so have those by shm, each of which counts as
     * 276 KiB (8 while it is idle; less when there are many), and those over TCP, each of which counts as 72
     * KiB, the most that it takes while its peer does not read; idle it takes
     * none of that. */
    size_t memory_limit;

    /* QPs, 1..4096, default 16, that each engine keeps on each device when
     * their connections are closed, for new ones: making one anew takes longer.
     * They pin no memory of ours. VC_WARM_NONE keeps none. */
    unsigned warm_qps;

    /* Connections that the channels of this runtime may have together,
     * 1..65536, default 4096. A call that needs one more ends with
     * VC_RESOURCE_EXHAUSTED. */
    unsigned max_links;

    /* Threads, 1..4096, default 256, that may run handlers beside those of the
     * option threads; see vc_runtime_start(). Fewer than those count as so
     * many. Each that is started stays. A handler that blocks takes 16 to 20
     * KiB of resident memory beside what it allocates itself (measured with 200
     * and with 50 at a time over inproc://, both ends of their calls included;
     * 8 KiB of it are the thread's stack), and the address space of a stack (8
     * MiB by ulimit -s). No client gets more than seven times as many as are
     * left; its calls that find none in time are answered
     * VC_RESOURCE_EXHAUSTED, not executed. */
    unsigned handler_threads;

    /* Which lines of the log are wanted (verbcall/log.h): those of this level
     * and of all that matter more, as VC_LOG_INFO; VC_LOG_NONE: no line. By
     * default the level that VERBCALL_LOG in the environment names, "none",
     * "error", "warning", "info" or "debug", or else VC_LOG_WARNING. */
    unsigned log_level;

    /* The function that gets the lines, and its last argument. Both must stay
     * until vc_runtime_free() has returned. NULL, the default: they go to
     * stderr, as "verbcall: warning: LINE". */
    vc_log_fn *log;
    void *log_arg;
};

#define VC_THREADS_NONE (~0u)
#define VC_SPIN_NEVER   (~0u)
#define VC_WARM_NONE    (~0u)

#define VC_RUNTIME_OPTS_INIT VC_SIZED_INIT(vc_runtime_opts)
#define VC_RUNTIME_OPTS(...) VC_SIZED(vc_runtime_opts, __VA_ARGS__)

/* vc_runtime_new - makes a runtime. opts may be NULL. No device is opened
 * and no thread started yet (see the option threads). On VC_OK the caller owns *runtime and frees it
 * by vc_runtime_free().
 * VC_INVALID_ARGUMENT   an option is out of its range; opts have no size;
 *                       VERBCALL_LOG names no level
 * VC_RESOURCE_EXHAUSTED no memory or no file descriptors left */
VC_API enum vc_status vc_runtime_new(const struct vc_runtime_opts *opts,
                                     struct vc_runtime **runtime);

/* vc_runtime_start - starts the library's threads now, as many as the option
 * threads says. vc_server_listen() does the same, so a server has no need of it.
 * A client that only makes blocking calls has none either: a caller polls for
 * itself while it waits. A client calls it when asynchronous calls, streams with
 * callbacks and keepalive are to go on while none of its threads waits. When the
 * threads run already, it does nothing and returns VC_OK. Any thread.
 *
 * One thread more watches the handlers of servers: when one takes long, a
 * further thread takes its engine over (see vc_server_add()), and the next
 * handlers of its method begin on threads of their own, until four in a row
 * took less than 100 us; as do those of a method that is said to block
 * (verbcall/options.proto). Such threads are started as they are needed, and
 * kept for the next time. When there are as many as handler_threads, handlers
 * wait for one another, and everything else goes on; what finds none in time is
 * answered VC_RESOURCE_EXHAUSTED, not executed. The watcher uses no
 * processor while no handler runs.
 *
 * The threads are of this process: fork() does not copy them. So fork before a
 * runtime is made, and let the child make its own.
 * VC_FAILED_PRECONDITION the option threads is VC_THREADS_NONE, or
 *                        vc_runtime_stop() is ending the threads at this moment
 * VC_RESOURCE_EXHAUSTED  the system gives no thread; none was started. When it
 *                        gives none later on, an engine stays with its handler
 */
VC_API enum vc_status vc_runtime_start(struct vc_runtime *runtime);

/* vc_runtime_stop - ends and joins the library's threads, after the handlers
 * that they run. Not from a handler, and by one thread at a time. Links stay
 * up, but nothing advances them until a caller waits, or vc_runtime_poll(),
 * vc_runtime_start() or another vc_server_listen() is called. Does nothing when
 * none runs. */
VC_API void vc_runtime_stop(struct vc_runtime *runtime);

/* --- in the program's own loop ------------------------------------------ */

/* vc_runtime_fd - one descriptor for poll(), epoll, libuv or glib: it is
 * readable when vc_runtime_poll() has something to do, be it that something
 * came, a deadline or another timer is due, or another thread has started a call.
 * So a program with a loop of its own needs no threads of the library for
 * asynchronous calls, completion queues and servers; if it serves, it sets the
 * option threads to VC_THREADS_NONE, or threads would serve beside the loop:
 *
 *     struct pollfd fds[] = {{.fd = vc_runtime_fd(runtime), .events = POLLIN},
 *                            {.fd = mine, .events = POLLIN}};
 *
 *     while (poll(fds, 2, -1) >= 0) {
 *         if (fds[0].revents != 0)
 *             vc_runtime_poll(runtime, 0);
 *         if (fds[1].revents != 0)
 *             my_work();
 *     }
 *
 * Level-triggered: what is left to do keeps it readable. It is the runtime's,
 * and closed with it; use it for nothing but waiting. A blocking call on any
 * thread may go on beside it. The first call makes it, and is not made by two
 * threads at a time; a runtime that is never asked pays nothing for it.
 * -1, and vc_error() says why: no file descriptors are left. */
VC_API int vc_runtime_fd(struct vc_runtime *runtime);

/* vc_runtime_poll - does what there is to do now, a bounded part of it if there
 * is much, or waits for that first. Handlers of servers and functions of
 * asynchronous calls run on this thread, and keep everything waiting that
 * long, unless the library's threads run too, which take over from those that
 * take long. One thread at a time. timeout_ms 0: does not wait;
 * VC_NO_DEADLINE: waits for ever. VC_OK: there was something, so look after
 * what you wait for.
 * VC_DEADLINE_EXCEEDED   there was nothing in time
 * VC_FAILED_PRECONDITION within a handler, or a function of a call
 * VC_RESOURCE_EXHAUSTED  as vc_runtime_fd() */
VC_API enum vc_status vc_runtime_poll(struct vc_runtime *runtime,
                                      uint32_t timeout_ms);

/* vc_runtime_free - stops the threads, then gives back all that the runtime
 * holds. Every channel must have been closed and every server freed, and this is
 * no handler or other callback of it: otherwise it ends the program with a text.
 * NULL is fine, and in a child of fork() it does nothing (verbcall(7)). */
VC_API void vc_runtime_free(struct vc_runtime *runtime);

VC_END_DECLS

#endif
