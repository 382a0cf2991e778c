/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The internals of a runtime. Any thread, except vc__runtime_loop_fini().
 *
 * Called by: runtime.c (loop_fini), runtime_loop.c (loop_fini),
 * rpc/server/server_listen.c (serve), rpc/client/channel.c (progress,
 * log2_message), rpc/balance/target_opts.c (log2_message), rpc/server/server.c
 * (log2_message), rpc/server/server_opts.c (log2_message), many files
 * (is_within). */
#ifndef VC_RPC_RUNTIME_H
#define VC_RPC_RUNTIME_H

#include <verbcall/runtime.h>

#include "cm/connect/cm.h"
#include "cm/connect/hello.h"
#include "cm/pool/pools.h"
#include "rpc/codec/reply_arena.h"
#include "transport/core/crew.h"
#include "transport/core/engine.h"
#include "transport/core/handle.h"
#include "transport/core/log.h"
#include "transport/core/path_memory.h"
#include "transport/core/spare.h"

#define VC__ENGINES_MAX 64u

struct vc__progress {
    struct vc__engine engine;
    struct vc__spare spare; /* memory of calls and requests */
    struct vc__cm cm;
    struct vc__pools pools;
};

/* An object of another part of the library that lives until the runtime
 * ends. */
struct vc__kept {
    struct vc__kept *next;
    void (*end)(struct vc__kept *k); /* frees it; also identifies its type */
};

/* Whether the library's threads run. */
enum vc__threads {
    VC__THREADS_STOPPED,
    VC__THREADS_RUN,
    VC__THREADS_STOP, /* vc_runtime_stop() is joining them */
};

struct vc_runtime {
    struct vc__handle handle;
    atomic_uint users;             /* open channels and servers */
    unsigned n;                    /* engines */
    struct vc__progress *progress; /* n of them */
    atomic_uint next;              /* counts channels: picks the engine */
    uint8_t instance[VC__ID_SIZE];
    struct vc__log log;
    struct vc__replies replies;
    pthread_mutex_t keeping;
    struct vc__kept *kept;     /* keeping */
    struct vc__link_cap links; /* limit for all its channels */
    struct vc__path_memory paths;

    struct vc__crew crew;
    unsigned handler_threads; /* most that it may start */
    bool polls_itself;        /* option threads is VC_THREADS_NONE */
    pthread_mutex_t starting;
    enum vc__threads threads; /* starting */
    int loop_fd; /* for the program's event loop; -1 until requested */
};

/* True if this thread is in a handler, done() or a stream's callback of the
 * runtime. Called by public functions that must not run there, on the thread
 * that calls these. */
bool vc__runtime_is_within(const struct vc_runtime *runtime);

/* Closes loop_fd, if it is open. Called by vc_runtime_free(), or by loop_make()
 * within vc_runtime_fd() when that fails; no other thread uses loop_fd then. */
void vc__runtime_loop_fini(struct vc_runtime *runtime);

/* Called by vc_server_listen() before it listens: starts the library's threads,
 * unless they run already or the program polls the runtime itself, which is
 * VC_OK. VC_FAILED_PRECONDITION while they are being stopped, or
 * VC_RESOURCE_EXHAUSTED, with vc_error(). Any thread. */
enum vc_status vc__runtime_serve(struct vc_runtime *runtime);

/* Picks the engine for a new channel, in turn, and returns it. Called by
 * channel_new() within vc_channel_open(). */
struct vc__progress *vc__runtime_progress(struct vc_runtime *runtime);

/* The option max_message of channels and servers. */
#define VC__MAX_MESSAGE     ((size_t)4 << 20) /* by default */
#define VC__MAX_MESSAGE_MIN ((size_t)4 << 10)
#define VC__MAX_MESSAGE_MAX ((size_t)VC__MESSAGE_MAX) /* cm/link/link.h */

/* Returns the base-2 logarithm of max_message, rounded up. Called when a
 * channel is opened or a server made. */
uint8_t vc__log2_message(size_t max_message);

#endif
