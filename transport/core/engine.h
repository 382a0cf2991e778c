/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The engine: one progress loop. The thread that holds its token, the holder,
 * advances it: a blocked caller while it waits, a library thread, or a thread
 * in vc_runtime_poll(). What an engine drives (completion queues, file
 * descriptors, timers, tasks) runs its callbacks on the holder, one at a time,
 * so their state needs no lock.
 *
 * A handler does not hold the engine while the program's code runs: when that
 * takes long, another thread becomes the holder (transport/core/handoff.h).
 *
 * May run together, from any threads: wait, catch_up, serve, kick, settle,
 * stir, post, watch, turn and await_room. Release and resume are for the
 * handler's thread, rearm for the thread that has left the token. Init and fini
 * run alone. Everything else belongs to the holder, unless its comment says
 * otherwise.
 *
 * Called by: rpc/runtime.c (init, fini), engine.c (queue, has_tasks, run_tasks,
 * alarm, rearm), cm/pool/pool_await.c (catch_up), rpc/client/attempt.c
 * (catch_up), rpc/client/publisher.c (catch_up), rpc/client/stream_open.c
 * (catch_up), rpc/stream/stream_send.c (catch_up, stir), crew.c (serve),
 * rpc/runtime_threads.c (settle), rpc/server/stream_server.c (stir),
 * rpc/stream/stream_events.c (stir, release, resume), engine_post.c (stir),
 * rpc/server/server_thread.c (defer), transport/rdma/device.c (defer),
 * transport/rdma/group.c (defer), transport/shm/connect.c (defer),
 * rpc/client/async_call.c (release, resume), rpc/protobuf_c/protobuf_c_server.c
 * (release, resume), rpc/server/server_handler.c (release, resume, handled),
 * rpc/server/server_op.c (release, resume), rpc/runtime_loop.c (watch, turn),
 * transport/inproc/half.c (poll_source), transport/shm/context.c (poll_source),
 * transport/tcp/context.c (poll_source, look), rpc/balance/resolver.c
 * (await_room), transport/tcp/connect.c (await_room), transport/tcp/write.c
 * (await_room), many files (wait, kick, post, handle, add, remove). */
#ifndef VC_TRANSPORT_ENGINE_H
#define VC_TRANSPORT_ENGINE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <urcu/list.h>

#include "transport/core/clock.h"
#include "transport/core/counts.h"
#include "transport/core/crew.h"
#include "transport/core/lock.h"
#include "transport/core/spin.h"
#include "transport/core/tenure.h"
#include "transport/core/timer.h"
#include "transport/core/token.h"
#include "transport/core/waiter.h"

/* Work to run once on the holder. A task lives in its owner, and may be posted
 * again, or freed, from its own run(). */
struct vc__task {
    void (*run)(struct vc__task *task);
    struct cds_list_head node;
};

/* A source of events: its descriptor wakes a sleeping engine, and it may be
 * polled. What is polled only for a while may be two sources: one for the
 * descriptor, one that polls. */
struct vc__source {
    int fd;

    /* Looks for work, does a bounded part of it and returns how much. Called in
     * each turn, so it makes no system call, or a few while they are worth it.
     * NULL if only the descriptor reports events. */
    unsigned (*poll)(struct vc__source *s);

    /* Called before the engine sleeps, or is left to the program's loop: makes
     * the descriptor report what comes from now on. Set if poll() is. */
    void (*arm)(struct vc__source *s);

    /* The descriptor is readable, or what vc__engine_await_room() awaits. */
    void (*ready)(struct vc__source *s);

    /* True if the code that handles the events sets engine->traffic itself.
     * Otherwise each event of a source without poll() is traffic. */
    bool judges;

    struct cds_list_head node;
};

struct vc__habit;
struct vc__log;
struct vc__handler_run;

struct vc__engine {
    struct vc__token token;

    atomic_ullong run;       /* see transport/core/handoff.h */
    atomic_int runner;       /* thread ID (gettid) of the handlers' thread */
    unsigned takeovers;      /* the holder's, and the watcher's at a takeover */
    struct vc__habit *habit; /* of the running handler; NULL: none */
    struct vc__share *share; /* of the running handler; NULL: none */
    struct vc__crew *crew;   /* NULL: no thread takes it over */

    /* Posted tasks, under `inbox_lock`; has_inbox and asleep make the common
     * case free of locks and system calls. */
    struct vc__lock inbox_lock;
    struct cds_list_head inbox;
    atomic_bool has_inbox;
    atomic_bool asleep;
    int wake_fd; /* eventfd */

    /* Used by the holder only. */
    int epoll_fd;
    struct cds_list_head sources;  /* those with poll() */
    struct cds_list_head tasks;    /* posted, or deferred by the holder */
    struct cds_list_head handlers; /* run while the holder is in no handler */
    struct vc__timers timers;
    uint32_t rough_us; /* what vc__now_rough() may be late; constant */
    /* For an engine that the program watches: its timers as a descriptor, and
     * when that fires; the program's epoll, and whether that must be armed
     * again because it may have reported the engine. */
    struct vc__source alarm_source;
    uint64_t alarm;
    int loop_fd;
    atomic_bool must_rearm;

    unsigned depth; /* above 0: the holder waits in a handler */
    /* Links whose next step is an event of their wire: descriptors are looked
     * at more often (LOOK_WIRES_US). */
    unsigned awaiting_wires;
    /* Links that may receive packets which only their descriptors report: the
     * same. */
    unsigned cold_wires;
    /* PINGs not answered yet, how many there were at the last look, and since
     * when that number has not changed. */
    unsigned awaiting_answers, answers_seen;
    uint64_t answers_since;
    /* The same of PINGs that have come. */
    unsigned pings, pings_seen;
    uint64_t pings_since;
    bool stirred; /* a look or a timer did work not yet reported */
    /* True if a request, a reply, a task or an event of the CM came, or a
     * caller waits: then the next event is worth polling for. Timers, and what
     * they request, are not traffic. */
    bool traffic;
    bool drowsy;          /* it has slept since the last traffic */
    unsigned handled;     /* handlers run since the clock was read */
    uint64_t round;       /* when this row of handlers began; 0: not known */
    bool polls_soon;      /* the row has lasted long enough: poll next */
    unsigned polls;       /* since the clock was read */
    atomic_ullong looked; /* when the descriptors were last looked at */
    struct vc__spin spin;
    struct vc__tenure tenure;
    bool waits;           /* a caller began to wait since traffic was noted */
    uint64_t quiet, woke; /* start of the time without traffic; last wake-up */
    uint64_t ticked;      /* the last tick, by which waits are measured */
    atomic_ullong kicked; /* when another thread last woke the engine */
    struct vc__ledger ledger; /* counters; counts.h says who writes them */
    struct vc__log *log;      /* of its runtime; NULL: none */
};

/* Called by rpc/runtime.c inside vc_runtime_new() and vc_runtime_free(), on
 * their thread. Init returns 0 or an errno, and then fini must not follow. */
int vc__engine_init(struct vc__engine *e, uint32_t spin_max_us);
void vc__engine_fini(struct vc__engine *e);

/* Waits for w, and advances the engine while no other thread does. Returns true
 * when w is done. Returns false when the clock passes `until` first; then the
 * caller must make sure that no thread calls vc__waiter_done() on w any more.
 * Called inside the program's blocking functions (a call, a stream's wait,
 * connecting, draining, closing, ...), on the thread that calls these, without
 * locks. Also from a handler of this engine, whether that was taken over or
 * not. */
bool vc__engine_wait(struct vc__engine *e, struct vc__waiter *w,
                     uint64_t until);

/* Queues for the token, which is not free; or the caller `holds` it, and its
 * tenure is over: then it is the last in the queue. Returns true if the caller
 * has the token, false if w is done or the clock has passed `until`. Called by
 * engine_await(), on the waiter's thread, without locks. */
bool vc__engine_queue(struct vc__engine *e, struct vc__waiter *w,
                      uint64_t until, bool holds);

/* Lets the engine catch up when no thread has advanced it for a while: a client
 * between two calls does not notice that its link was lost. No handler is run:
 * handlers that are ready are left to the next thread that advances the engine.
 * Called before an attempt of a call, a client's stream or its
 * vc_stream_send(), or vc_channel_connect() begins, without locks, on the
 * thread that begins it. Does nothing on the holder, as for an attempt that a
 * timer begins. */
void vc__engine_catch_up(struct vc__engine *e, uint64_t now);

/* Advances the engine until *stop, or until it was taken over from a handler,
 * or lent by one. Called by vc__hand_main() only, on a library thread, which
 * `holds` the engine already or waits until it does; afterwards the thread does
 * not hold it. The thread that sets *stop calls vc__engine_kick(). */
void vc__engine_serve(struct vc__engine *e, atomic_bool *stop, bool holds);
/* Wakes a sleeping holder, or without one the program's epoll, by a system
 * call. Called by a thread that ended a wait which the holder may sleep in (a
 * cancel, a close, a completion), by vc__engine_stir(), engine_park() and
 * vc__engine_watch(), and by the crew when handlers may run or threads are to
 * stop. The caller may have any lock. */
void vc__engine_kick(struct vc__engine *e);

/* Runs the tasks, but no handler, if no thread advances the engine: this thread
 * is the holder meanwhile. Called by vc_runtime_stop(), on its thread, when the
 * library's threads have ended or none ran. */
void vc__engine_settle(struct vc__engine *e);

/* Has a sleeping holder check whether what it waits for is done. For any thread
 * that has done that: vc__engine_post(); send_done() of
 * rpc/stream/stream_send.c, under the lock of the stream and mostly of the
 * link; stream_events_spoil() of rpc/stream/stream_events.c, under that of the
 * stream; and time_over() of rpc/server/stream_server.c. */
void vc__engine_stir(struct vc__engine *e);

/* Runs task on the holder, soon; in the order of posting. Called by all floors
 * for what only the holder may do; the caller may have any lock of
 * doc/architecture.md, "Locks". */
void vc__engine_post(struct vc__engine *e, struct vc__task *task);

/* Runs task after the present batch of work, never nested in another callback.
 * Called by the holder itself: transport/rdma frees a device by it,
 * transport/shm reports that it has connected, and rpc/server/server_thread.c
 * ends a call whose handler will not run. */
void vc__engine_defer(struct vc__engine *e, struct vc__task *task);

/* True if vc__engine_run_tasks() would do something. Relaxed: who posts a task
 * later wakes the holder. Called by engine_poll(), on the holder. */
static inline bool
vc__engine_has_tasks(struct vc__engine *e)
{
    return atomic_load_explicit(&e->has_inbox, memory_order_relaxed) ||
           !cds_list_empty(&e->tasks);
}

/* Called by engine_poll() and vc__engine_settle(). Runs all tasks; returns how
 * many, and 1 more if a thread, also the holder itself, has posted a task or
 * called vc__engine_stir() since the last time. */
unsigned vc__engine_run_tasks(struct vc__engine *e);

/* Defers a task that runs code of the program, which may block, and may call
 * vc__engine_wait() in turn. Called on the holder when a call's handler may
 * begin (rpc/server/server_turn.c), a protobuf-c method that had to wait, a
 * done() or a stream's callback. The task's run() then is called by
 * engine_run_handlers(), on the holder. Such a task never runs inside another
 * one of its engine on one thread, so that the stack stays bounded.
 *
 * The task calls release before that code, and after it, on the same thread,
 * resume with what release returned: the handler run, never NULL. A call whose
 * handler runs on a thread of the crew does the same: its handler run is lost
 * from the start (transport/core/share.h). `habit`, or NULL, is updated if the
 * engine is taken over meanwhile, and lives until the handler's call has ended.
 * `share`, or NULL, has the thread from then on. Resume returns true if the
 * calling thread is the holder again. If it returns false, another thread has
 * become the holder: the task may only post a task to it and return. */
void vc__engine_handle(struct vc__engine *e, struct vc__task *task);
struct vc__handler_run *vc__engine_release(struct vc__engine *e,
                                           struct vc__habit *habit,
                                           struct vc__share *share);
bool vc__engine_resume(struct vc__handler_run *s);

/* Called on the holder by a task of vc__engine_handle() that knows the time: by
 * judge_after_others() (rpc/server/server_handler.c), for a call that has
 * waited while other handlers began. If handlers have run long enough in a row,
 * the next ones wait until the engine was polled. */
void vc__engine_handled(struct vc__engine *e, uint64_t now);

/* From now on the epoll `loop_fd` reports e (by its data.ptr) when a turn would
 * find something to do, but not while another thread is the holder. So a
 * program can wait for the engine in a loop of its own. Called by loop_make()
 * for the first vc_runtime_fd() or vc_runtime_poll(), on that thread. Returns 0
 * or an errno, and then the caller may try again. */
int vc__engine_watch(struct vc__engine *e, int loop_fd);

/* Does a bounded part of the present work, handlers included, of an engine that
 * the epoll has reported. Called by runtime_loop_turn() for vc_runtime_poll(),
 * on the program's thread. Returns false if there was nothing to do, or another
 * thread is the holder. Not from a handler of e. */
bool vc__engine_turn(struct vc__engine *e);

/* For engine.c, when the holder leaves a watched engine. Alarm, called by
 * engine_park() while the thread still is the holder, sets the timerfd to
 * `due`; VC__FOREVER stops it. */
void vc__engine_alarm(struct vc__engine *e, uint64_t due);
/* Arms the program's epoll again, see vc__engine_watch(): called by
 * engine_leave_to_others() when the thread is not the holder any more. */
void vc__engine_rearm(struct vc__engine *e);

/* From now on the holder calls the source's functions. Called by the transports
 * for each descriptor, of a context, wire, ear or device, by alarm_open(), and
 * by rpc/balance/resolver.c for those of a resolver. Returns 0 or an errno of
 * epoll_ctl(2). Holder only, but a source that has no poll may be added by any
 * thread. */
int vc__engine_add(struct vc__engine *e, struct vc__source *s);
/* From now on the holder polls the source by these two functions: one that was
 * added without them, or has no descriptor and was not added. Called on the
 * holder for a context's source: of inproc at its first event, of shm at its
 * first wire, of tcp when a wire is first polled. */
void vc__engine_poll_source(struct vc__engine *e, struct vc__source *s,
                            unsigned (*poll)(struct vc__source *s),
                            void (*arm)(struct vc__source *s));
/* Removes a source. The look that is under way may still call its ready() once:
 * so ready() checks whether the source is in use, and its memory outlives that
 * look. Called on the holder when its owner ends, pauses or forgets it, also
 * inside its own ready(); or alone when a context is closed. */
void vc__engine_remove(struct vc__engine *e, struct vc__source *s);

/* From now on ready() is also called when the descriptor is writable, or, if
 * `awaits` is false, only when it is readable. Called by transport/tcp: on the
 * holder while it connects, later by any thread that sends, under the link's
 * lock; and by vc_resolver_watch(), on the holder. */
void vc__engine_await_room(struct vc__engine *e, struct vc__source *s,
                           bool awaits);

/* Looks at the descriptors now, calls ready() of those with events, and returns
 * how many had events. Called on the holder by the poll() of transport/tcp
 * while it has hot sockets, so not when the engine goes to sleep. */
unsigned vc__engine_look(struct vc__engine *e);

#endif
