/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * What the program holds begins or goes on with a mark, by which each public
 * function knows that it was given one of the right kind, which has not been
 * freed, and in the process that has made it. A mark is the process' number
 * and the kind. The number stands in a page that a child of fork() finds wiped,
 * so nothing of its parent has a good mark there. Any thread. */
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
};

struct vc__handle {
    uint32_t mark;
};

/* The process' number, shifted behind the kinds; 0: nothing was made here. The
 * pointer is constant once the library is loaded. */
extern const volatile uint32_t *vc__process;

/* This process makes a runtime. */
void vc__process_begin(void);

static inline void
vc__handle_init(struct vc__handle *h, enum vc__kind kind)
{
    h->mark = *vc__process | (uint32_t)kind;
}

/* It is freed, or over. */
static inline void
vc__handle_fini(struct vc__handle *h)
{
    /* Volatile: a compiler leaves out what is written just before free(). */
    *(volatile uint32_t *)&h->mark = 0;
}

static inline bool
vc__handle_is(const struct vc__handle *h, enum vc__kind kind)
{
    return __builtin_expect(h->mark == (*vc__process | (uint32_t)kind), 1);
}

/* Why it is not, h may be NULL: a status and vc_error(), or the end of the
 * program where it was freed, is of another kind, or no handle at all. */
enum vc_status vc__handle_fail(const struct vc__handle *h, enum vc__kind kind,
                               const char *function) __attribute__((cold));

/* The same where there is no status to return: always the end, but when it is
 * the parent's and `harmless`. */
void vc__handle_misuse(const struct vc__handle *h, enum vc__kind kind,
                       const char *function, bool harmless)
    __attribute__((cold));

/* For an object with a member `handle`, or NULL. */
#define vc__good(object, kind)                                                 \
    ((object) != NULL && vc__handle_is(&(object)->handle, kind))
#define vc__bad(object, kind)                                                  \
    vc__handle_fail((object) != NULL ? &(object)->handle : NULL, kind, __func__)
#define vc__must(object, kind)                                                 \
    (vc__good(object, kind)                                                    \
         ? (void)0                                                             \
         : vc__handle_misuse((object) != NULL ? &(object)->handle : NULL,      \
                             kind, __func__, false))

/* For what frees: true when there is nothing to free, be it that the object is
 * the parent's of a child of fork(). */
#define vc__nothing_to_free(object, kind)                                      \
    ((object) == NULL ||                                                       \
     (!vc__handle_is(&(object)->handle, kind) &&                               \
      (vc__handle_misuse(&(object)->handle, kind, __func__, true), true)))

#endif
