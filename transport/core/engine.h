/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The engine: one progress loop. Whoever holds its token advances it: a
 * blocked caller while it waits, or a library thread. What an engine drives
 * (completion queues, file descriptors, timers, tasks) runs its callbacks on
 * the holder, one at a time, so their state needs no lock.
 *
 * A handler does not hold the engine while the program's code runs: when that
 * takes long, another thread becomes the holder (transport/core/handoff.h).
 *
 * May run together: wait, post, serve, waiter_done and kick from any threads.
 * Everything else belongs to the holder. */
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
#include "transport/core/spin.h"
#include "transport/core/timer.h"
#include "transport/core/token.h"
#include "transport/core/waiter.h"

/* Something to run once on the holder. Lives in its owner; may be posted
 * again, or freed, from its own run(). */
struct vc__task {
    void (*run)(struct vc__task *task);
    struct cds_list_head node;
};

/* Something that is polled, and whose descriptor wakes a sleeping engine. One
 * that is polled only for a while may be two: the descriptor, and what polls. */
struct vc__source {
    int fd;

    /* Looks for work and does a bounded part of it; says how much. In each turn,
     * so without a system call, or with a few while they are worth it. NULL when
     * only the descriptor tells. */
    unsigned (*poll)(struct vc__source *s);

    /* Before sleeping: makes the descriptor tell of what comes from now on.
     * There when poll() is. */
    void (*arm)(struct vc__source *s);

    /* The descriptor is readable, or what vc__engine_await_room() is for. */
    void (*ready)(struct vc__source *s);

    /* Whether what it brings is traffic is said by whoever handles that; else
     * all is that only the descriptor tells. */
    bool judges;

    struct cds_list_head node;
};

struct vc__habit;
struct vc__log;
struct vc__handler_run;

struct vc__engine {
    struct vc__token token;

    atomic_ullong run;       /* transport/core/handoff.h */
    atomic_int runner;       /* the system's number of the handlers' thread */
    unsigned takeovers;      /* the holder's, and of who becomes it so */
    struct vc__habit *habit; /* of the handler that runs; NULL: nobody asks */
    struct vc__share *share; /* the same */
    struct vc__crew *crew;   /* NULL: nobody takes it over */

    /* Tasks from other threads, under `inbox_lock`; has_inbox and asleep make
     * the common case free of locks and system calls. */
    pthread_mutex_t inbox_lock;
    struct cds_list_head inbox;
    atomic_bool has_inbox;
    atomic_bool asleep;
    int wake_fd; /* eventfd */

    /* The holder's own. */
    int epoll_fd;
    struct cds_list_head sources;  /* those with poll() */
    struct cds_list_head tasks;    /* posted, or deferred by the holder */
    struct cds_list_head handlers; /* run when the holder is in none */
    struct vc__timers timers;
    /* Of one that the program watches: its timers as a descriptor, and when
     * that tells; where it tells the program, and that it has. */
    struct vc__source alarm_source;
    uint64_t alarm;
    int loop_fd;
    atomic_bool told;

    unsigned depth; /* the holder waits in a handler */
    /* Links whose next step is an event of their wire: descriptors are looked
     * at more often (LOOK_WIRES_US). */
    unsigned awaiting_wires;
    /* Links that may bring packets and of which only descriptors tell: the same. */
    unsigned cold_wires;
    /* PINGs that are not answered yet; how many there were at the last look, and
     * since when that has not changed. */
    unsigned awaiting_answers, answers_seen;
    uint64_t answers_since;
    bool stirred; /* a look or a timer did something nobody counted yet */
    /* A request, a reply or an event of the CM came, or a caller waits: what
     * comes next is worth polling for. Not so timers, and what they ask for. */
    bool traffic;
    bool drowsy;      /* it has slept since there was traffic last */
    unsigned handled; /* handlers run since the clock was read */
    uint64_t round;   /* when one of those that run in a row began; 0: none */
    bool polls_soon;  /* the row has lasted long enough */
    unsigned turns;
    atomic_ullong looked; /* when the descriptors were last looked at */
    struct vc__spin spin;
    bool waits;           /* somebody has begun to wait since there was none */
    uint64_t quiet, woke; /* since when there is none; the last sleep's end */
    atomic_ullong kicked; /* when another thread last woke it */
    struct vc__ledger ledger; /* what was done; see there who writes */
    struct vc__log *log;      /* its runtime's; NULL: none */
};

/* 0, or an errno. */
int vc__engine_init(struct vc__engine *e, uint32_t spin_max_us);
void vc__engine_fini(struct vc__engine *e);

/* Waits for w, advancing the engine when nobody else does. True when w is
 * done, false when the clock passes `until` first; then the caller must make
 * sure that nobody calls vc__waiter_done() on it any more. Any thread, also
 * from a handler of this engine, whether that was taken over or not. */
bool vc__engine_wait(struct vc__engine *e, struct vc__waiter *w,
                     uint64_t until);

/* Lets the engine catch up when nobody has advanced it for a while: a client
 * between two calls does not hear that its link was lost. No handler is run:
 * those that come are left to whoever advances it next. Any thread. */
void vc__engine_catch_up(struct vc__engine *e, uint64_t now);

/* Advances the engine until *stop, or until it was taken over from a handler;
 * for a library thread, which `holds` it already or waits until it does.
 * Whoever sets *stop calls vc__engine_kick(). */
void vc__engine_serve(struct vc__engine *e, atomic_bool *stop, bool holds);
void vc__engine_kick(struct vc__engine *e);

/* Runs what was posted, if nobody advances the engine. Any thread. */
void vc__engine_settle(struct vc__engine *e);

/* Has a holder that sleeps see whether what it waits for is done: for who does
 * that on another thread. Any thread. */
void vc__engine_stir(struct vc__engine *e);

/* Runs task on the holder, soon; in the order of posting. Any thread. */
void vc__engine_post(struct vc__engine *e, struct vc__task *task);

/* The same, from the holder itself: after the present batch of work, never
 * nested in another callback. */
void vc__engine_defer(struct vc__engine *e, struct vc__task *task);

/* The same for what runs code of the program, which may block, and may call
 * vc__engine_wait() in turn: never runs inside of another on one thread, so
 * that the stack stays bounded. The task calls release before that code and
 * resume, with what release gave, behind it; `habit`, or NULL, learns of it when
 * the engine is taken over meanwhile, and lives until the handler's call is
 * over; `share`, or NULL, has the thread from then on. False: another thread has become the holder, and there is nothing left
 * but to post a task to it and return. */
void vc__engine_handle(struct vc__engine *e, struct vc__task *task);
struct vc__handler_run *vc__engine_release(struct vc__engine *e,
                                           struct vc__habit *habit,
                                           struct vc__share *share);
bool vc__engine_resume(struct vc__handler_run *s);

/* A task of vc__engine_handle() knows the time. Others that wait go on after
 * the engine was polled when they have run long enough. */
void vc__engine_handled(struct vc__engine *e, uint64_t now);

/* From now on the epoll of this descriptor tells of e (by its data.ptr) when a
 * turn would find something to do, and not while another thread is the holder;
 * so a program can wait for it in a loop of its own. 0 or an errno, and then it
 * may be tried again. Any thread. */
int vc__engine_watch(struct vc__engine *e, int loop_fd);

/* A bounded part of what there is to do now, handlers included; of an engine
 * that has told. False: nothing, or another thread is the holder. Any thread
 * but from a handler of e. */
bool vc__engine_turn(struct vc__engine *e);

/* For the engine itself: sets the alarm; it may tell again. */
void vc__engine_alarm(struct vc__engine *e, uint64_t due);
void vc__engine_rearm(struct vc__engine *e);

/* 0 or an errno. Holder only, but a source that has no poll may be added by
 * any thread. */
int vc__engine_add(struct vc__engine *e, struct vc__source *s);
/* One that was added without poll() has it, and arm(), from now on. The
 * holder. */
void vc__engine_poll_source(struct vc__engine *e, struct vc__source *s,
                            unsigned (*poll)(struct vc__source *s),
                            void (*arm)(struct vc__source *s));
void vc__engine_remove(struct vc__engine *e, struct vc__source *s);

/* From now on ready() is also for when the descriptor can be written to, or only
 * for reading again. Any thread. */
void vc__engine_await_room(struct vc__engine *e, struct vc__source *s,
                           bool awaits);

/* Looks at the descriptors now, for a source's poll(), while it has work: not
 * when the engine goes to sleep. How many told. */
unsigned vc__engine_look(struct vc__engine *e);

#endif
