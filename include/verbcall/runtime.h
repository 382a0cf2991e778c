/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The runtime: everything that is shared within one process. A program creates
 * one, opens channels and servers in it, and frees it last. */
#ifndef VERBCALL_RUNTIME_H
#define VERBCALL_RUNTIME_H

#include <stddef.h>
#include <stdint.h>

#include <verbcall/export.h>
#include <verbcall/log.h>
#include <verbcall/status.h>

VC_BEGIN_DECLS

struct vc_runtime;

/* Options of a runtime. Initialize it with VC_RUNTIME_OPTS_INIT, or write
 * VC_RUNTIME_OPTS(.spin_us = VC_SPIN_NEVER) where it is used; 0 in a field
 * means its default. */
struct vc_runtime_opts {
    size_t size; /* see VC_SIZED in verbcall/export.h */

    /* Threads of the library, 1..64, default 1. Each advances an engine of its
     * own, which is a progress loop with its own completion and receive queues;
     * connections are spread over the engines. The threads start with the first
     * vc_server_listen(), so a server needs no other call. A runtime without
     * servers has no threads before vc_runtime_start(), as callers that wait
     * advance the engines themselves. VC_THREADS_NONE: the library never starts
     * a thread that advances an engine, and there is one engine; the program
     * advances it by vc_runtime_poll() or within blocking calls. In any case
     * the library has a thread while it looks up a name, and for a moment when
     * it reads the list of RDMA devices. */
    unsigned threads;

    /* Longest time in microseconds, 1..1000000, that a waiting thread polls
     * before it sleeps; default 2000. Under steady traffic the thread polls for
     * all of it. Else it polls for as long as waking a thread takes on this
     * machine, which is measured; five times as long when the last event came
     * soon, and ever shorter while events come late. VC_SPIN_NEVER: the thread
     * always sleeps. */
    unsigned spin_us;

    /* Bytes of registered (pinned) memory that each engine may use on each
     * device, 384 KiB.., which is enough for one connection; default 256 MiB.
     * It is allocated slab by slab as links are opened. A link that would need
     * more ends with VC_RESOURCE_EXHAUSTED, or is rejected with "busy".
     * Connections by inproc:// have a limit of their own of the same size, of
     * memory that is not pinned. So have those by shm, each of which counts as
     * 276 KiB (8 while it is idle; less when there are many). So have those
     * over TCP, each of which counts as 72 KiB, the most that it takes while
     * its peer does not read; while idle it takes none of that. */
    size_t memory_limit;

    /* QPs, 1..4096, default 16, that each engine keeps on each device when
     * their connections are closed, for new connections: creating a QP takes
     * longer. They pin no memory of the library. VC_WARM_NONE keeps none. */
    unsigned warm_qps;

    /* Connections that the channels of this runtime may have together,
     * 1..65536, default 4096. A call that needs one more ends with
     * VC_RESOURCE_EXHAUSTED. */
    unsigned max_links;

    /* Threads, 1..4096, default 256, that may run handlers besides those of the
     * option threads; see vc_runtime_start(). If it is less than threads, it
     * counts as equal to threads. A thread that was started is kept. A handler
     * that blocks takes 16 to 20 KiB of resident memory besides what it
     * allocates itself, and the address space of a stack (8 MiB by ulimit -s).
     * This was measured with 200 and with 50 at a time over inproc://, both
     * ends of their calls included; 8 KiB of it are the thread's stack. No
     * client gets more than seven times as many threads as are left. Its calls
     * that find no thread in time are answered VC_RESOURCE_EXHAUSTED, not
     * executed. */
    unsigned handler_threads;

    /* Which lines are logged (verbcall/log.h): those of this level and of all
     * more important ones, as VC_LOG_INFO; VC_LOG_NONE: no line. Default: the
     * level that VERBCALL_LOG in the environment names, "none", "error",
     * "warning", "info" or "debug", or else VC_LOG_WARNING. */
    unsigned log_level;

    /* The callback for log lines, and its last argument. Both must stay valid
     * until vc_runtime_free() has returned. NULL, the default: lines go to
     * stderr, as "verbcall: warning: LINE". */
    vc_log_fn *log;
    void *log_arg;
};

#define VC_THREADS_NONE (~0u)
#define VC_SPIN_NEVER   (~0u)
#define VC_WARM_NONE    (~0u)

#define VC_RUNTIME_OPTS_INIT VC_SIZED_INIT(vc_runtime_opts)
#define VC_RUNTIME_OPTS(...) VC_SIZED(vc_runtime_opts, __VA_ARGS__)

/* vc_runtime_new - creates a runtime. opts may be NULL. No device is opened and
 * no thread started yet (see the option threads). On VC_OK the caller owns
 * *runtime and frees it by vc_runtime_free().
 * VC_INVALID_ARGUMENT   an option is out of range; opts have no size;
 *                       VERBCALL_LOG names no level
 * VC_RESOURCE_EXHAUSTED no memory or no file descriptors left */
VC_API enum vc_status vc_runtime_new(const struct vc_runtime_opts *opts,
                                     struct vc_runtime **runtime);

/* vc_runtime_start - starts the library's threads now, as many as the option
 * threads says. vc_server_listen() does the same, so a server need not call it.
 * A client that only makes blocking calls need not call it either: a caller
 * polls for itself while it waits. A client calls it when asynchronous calls,
 * streams with callbacks and keepalive are to make progress while none of its
 * threads waits; also when it sends many messages on a stream at once and then
 * rests: what exceeds the credits of the link is sent when the next function of
 * the stream is called.
 * When the threads run already, it does nothing and returns VC_OK. Any
 * thread.
 *
 * One more thread, the watcher, watches the handlers of servers. When a handler
 * takes long, a further thread takes over its engine (see vc_server_add()). If
 * the handler waited at that moment, the next handlers of its method begin on
 * threads of their own, until four in a row took less than 100 us or did not
 * wait. If it used the processor, they begin so only while threads are short.
 * Handlers of a method marked as blocking (verbcall/options.proto) always begin
 * on threads of their own. Such threads are started as they are needed, and
 * kept for the next time. When there are handler_threads of them, handlers wait
 * for one another, and everything else goes on. A call that finds no thread in
 * time is answered VC_RESOURCE_EXHAUSTED, not executed. The watcher uses no
 * processor time while no handler runs.
 *
 * fork() does not copy the threads. So fork before a runtime is created, and
 * let the child create its own.
 * VC_FAILED_PRECONDITION the option threads is VC_THREADS_NONE, or
 *                        vc_runtime_stop() is ending the threads at this moment
 * VC_RESOURCE_EXHAUSTED  the system gives no thread; none was started. If the
 *                        system gives none later on, an engine stays with its
 *                        handler */
VC_API enum vc_status vc_runtime_start(struct vc_runtime *runtime);

/* vc_runtime_stop - ends and joins the library's threads, after the handlers
 * that they run. Must not be called from a handler, nor by two threads at a
 * time. Links stay up, but nothing advances them until a caller waits, or
 * vc_runtime_poll(), vc_runtime_start() or another vc_server_listen() is
 * called. When no thread runs, it only runs what was posted to the engines. */
VC_API void vc_runtime_stop(struct vc_runtime *runtime);

/* --- in the program's own loop ------------------------------------------ */

/* vc_runtime_fd - returns one descriptor for poll(), epoll, libuv or glib. It
 * is readable when vc_runtime_poll() has work: an event arrived, a deadline or
 * another timer is due, or another thread has started a call. So a program with
 * a loop of its own needs no threads of the library for asynchronous calls,
 * completion queues and servers. If it serves, it sets the option threads to
 * VC_THREADS_NONE; otherwise threads would serve beside the loop:
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
 * The descriptor is level-triggered: it stays readable while work is left. The
 * runtime owns it and closes it; use it for nothing but waiting. A blocking
 * call on any thread may run at the same time. The first call creates the
 * descriptor, and must not be made by two threads at a time; a runtime without
 * this call pays nothing for it. Returns -1 when no file descriptors are left;
 * vc_error() says so. */
VC_API int vc_runtime_fd(struct vc_runtime *runtime);

/* vc_runtime_poll - does the work that there is now, a bounded part of it if
 * there is much; if there is none, it waits for some first. Handlers of servers
 * and callbacks of asynchronous calls run on this thread, and everything else
 * waits for them. If the library's threads run too, they take over from a
 * handler or callback that takes long. One thread at a time. timeout_ms 0: does
 * not wait; VC_NO_DEADLINE: no timeout. VC_OK: some work was done, so check
 * what you wait for.
 * VC_DEADLINE_EXCEEDED   there was no work in time
 * VC_FAILED_PRECONDITION inside a handler, or a callback of a call
 * VC_RESOURCE_EXHAUSTED  as vc_runtime_fd() */
VC_API enum vc_status vc_runtime_poll(struct vc_runtime *runtime,
                                      uint32_t timeout_ms);

/* vc_runtime_free - stops the threads, then frees all that the runtime holds.
 * Every channel must have been closed and every server freed before, and the
 * function must not be called in a handler or another callback of the runtime;
 * otherwise it prints a text and ends the program. NULL is allowed, and in a
 * child of fork() it does nothing (verbcall(7)). */
VC_API void vc_runtime_free(struct vc_runtime *runtime);

VC_END_DECLS

#endif
