/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Each object that the program holds contains a mark (struct vc__handle). By it
 * each public function checks that the object is of the right kind, was not
 * freed, and was made in this process. A mark is the process's number and the
 * kind. The number stands in a page that the kernel wipes in a child of fork(),
 * so no mark of the parent's objects is valid there. Any thread.
 *
 * Called by: rpc/runtime.c (process_begin), rpc/codec/reply_arena.c (is,
 * misuse), handle.c (fail), many files (init, fini). */
#ifndef VC_TRANSPORT_HANDLE_H
#define VC_TRANSPORT_HANDLE_H

#include <stdbool.h>
#include <stdint.h>

#include <verbcall/status.h>

enum vc__kind {
    VC__RUNTIME = 1,
    VC__CHANNEL,
    VC__SERVER,
    VC__CALL,
    VC__STREAM,
    VC__ASYNC,
    VC__COMPLETIONS,
    VC__CANCELLER,
    VC__HEALTH,
    VC__CLOSURES,
    VC__RESOLVER,
    VC__MESSAGE, /* that the program received */
};

struct vc__handle {
    uint32_t mark;
};

/* The process's number, shifted past the kinds; 0 if nothing was made in this
 * process. The pointer is constant once the library is loaded. */
extern const volatile uint32_t *vc__process;

/* Called by vc_runtime_new(), on any thread: gives this process a number if it
 * has none. */
void vc__process_begin(void);

/* Marks a new object. Called by the functions that make such objects, before
 * the program or a handler gets it. */
static inline void
vc__handle_init(struct vc__handle *h, enum vc__kind kind)
{
    h->mark = *vc__process | (uint32_t)kind;
}

/* Clears the mark, so that the handle is not valid any more: the object is
 * about to be freed, or has ended. Called by the thread that does that. */
static inline void
vc__handle_fini(struct vc__handle *h)
{
    /* Volatile: compilers drop writes to memory just before free(). */
    *(volatile uint32_t *)&h->mark = 0;
}

/* True if the handle is a valid one of this kind, made in this process. For the
 * macros below, which public functions begin with, and vc_message_free(). */
static inline bool
vc__handle_is(const struct vc__handle *h, enum vc__kind kind)
{
    return __builtin_expect(h->mark == (*vc__process | (uint32_t)kind), 1);
}

/* Explains why a handle is not valid; h may be NULL. For vc__bad(), in public
 * functions that return a status or -1, and for vc__handle_misuse(). Sets
 * vc_error() and returns VC_INVALID_ARGUMENT if h is NULL,
 * VC_FAILED_PRECONDITION if the parent's. Aborts if it was freed, is of another
 * kind, or is no handle at all. */
enum vc_status vc__handle_fail(const struct vc__handle *h, enum vc__kind kind,
                               const char *function) __attribute__((cold));

/* Explains why a handle is not valid, for public functions that return no
 * status (vc__must(), vc__nothing_to_free(), vc_message_free()): always aborts,
 * except for a handle of the parent's if `harmless`. */
void vc__handle_misuse(const struct vc__handle *h, enum vc__kind kind,
                       const char *function, bool harmless)
    __attribute__((cold));

/* object: NULL, or has a member `handle`. */
#define vc__good(object, kind)                                                 \
    ((object) != NULL && vc__handle_is(&(object)->handle, kind))
#define vc__bad(object, kind)                                                  \
    vc__handle_fail((object) != NULL ? &(object)->handle : NULL, kind, __func__)
#define vc__must(object, kind)                                                 \
    (vc__good(object, kind)                                                    \
         ? (void)0                                                             \
         : vc__handle_misuse((object) != NULL ? &(object)->handle : NULL,      \
                             kind, __func__, false))

/* For functions that free: true if there is nothing to free, also if this is a
 * child of fork() and the object is the parent's. */
#define vc__nothing_to_free(object, kind)                                      \
    ((object) == NULL ||                                                       \
     (!vc__handle_is(&(object)->handle, kind) &&                               \
      (vc__handle_misuse(&(object)->handle, kind, __func__, true), true)))

#endif
