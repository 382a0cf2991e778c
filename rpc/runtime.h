/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The inside of a runtime. */
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

#define VC__ENGINES_MAX 64u

struct vc__progress {
    struct vc__engine engine;
    struct vc__cm cm;
    struct vc__pools pools;
};

/* What others keep here until the runtime ends. */
struct vc__kept {
    struct vc__kept *next;
    void (*end)(struct vc__kept *k); /* frees it; tells what it is, too */
};

/* Do the library's threads run? */
enum vc__threads {
    VC__THREADS_STOPPED,
    VC__THREADS_RUN,
    VC__THREADS_STOP, /* vc_runtime_stop() joins them */
};

struct vc_runtime {
    struct vc__handle handle;
    atomic_uint users;             /* channels and servers that are open */
    unsigned n;                    /* engines */
    struct vc__progress *progress; /* n of them */
    atomic_uint next;              /* engine of the next channel */
    uint8_t instance[VC__ID_SIZE];
    struct vc__log log;
    struct vc__replies replies;
    pthread_mutex_t keeping;
    struct vc__kept *kept;     /* keeping */
    struct vc__link_cap links; /* of its channels */

    struct vc__crew crew;
    unsigned handler_threads; /* that it may start */
    bool polls_itself;        /* option threads is VC_THREADS_NONE */
    pthread_mutex_t starting;
    enum vc__threads threads; /* starting */
    int loop_fd; /* for the program's loop; -1 until it is asked for */
};

/* Is this thread in a handler, or another callback, of the runtime? */
bool vc__runtime_is_within(const struct vc_runtime *runtime);

void vc__runtime_loop_fini(struct vc_runtime *runtime);

/* A server is about to listen: starts the threads unless they run, or the
 * program polls for itself. Any thread; fails as vc_runtime_start(). */
enum vc_status vc__runtime_serve(struct vc_runtime *runtime);

/* An engine's turn to take a channel. */
struct vc__progress *vc__runtime_progress(struct vc_runtime *runtime);

/* The option max_message of channels and servers. */
#define VC__MAX_MESSAGE     ((size_t)4 << 20) /* by default */
#define VC__MAX_MESSAGE_MIN ((size_t)4 << 10)
#define VC__MAX_MESSAGE_MAX ((size_t)VC__MESSAGE_MAX) /* cm/link/link.h */

/* Its logarithm, rounded up. */
uint8_t vc__log2_message(size_t max_message);

#endif
