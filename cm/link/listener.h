/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * An address that is listened at: reads hellos and turns bad ones away;
 * nothing is allocated before a hello was found good. */
#ifndef VC_CM_LISTENER_H
#define VC_CM_LISTENER_H

#include "cm/connect/cm.h"
#include "cm/connect/hello.h"

struct vc__listener {
    struct vc__ear *ear; /* NULL when not open */

    /* A request with a good hello, which the owner answers: it takes it, or
     * gives it to vc__listener_reject(). On the holder of the engine. */
    void (*request)(struct vc__listener *l, const struct vc__incoming *in,
                    const struct vc__hello *hello);
    /* It hears no more, for this reason: it may be closed, but not here, and
     * opened again. The holder of the engine. */
    void (*lost)(struct vc__listener *l, const struct vc__error *why);
};

/* Listens at an address of this transport; opts live as long. Requests may come before it returns.
 * Any thread. Errors as vc__cm_open() and transport->listen(). */
enum vc_status vc__listener_open(struct vc__listener *l, struct vc__cm *cm,
                                 const struct vc__transport *transport,
                                 const struct sockaddr *addr,
                                 const struct vc__ear_opts *opts);

/* The holder of the engine. Does nothing when not open. */
void vc__listener_close(struct vc__listener *l);

uint16_t vc__listener_port(const struct vc__listener *l);

/* Rejects a request. The versions are filled in. This is the holder of the
 * engine, in whose ledger it counts. */
void vc__listener_reject_with(struct vc__engine *engine,
                              const struct vc__incoming *in,
                              struct vc__reject *reject);

/* The same with a reason, a time and a text only. The text is cut to what fits. */
void vc__listener_reject(struct vc__engine *engine,
                         const struct vc__incoming *in,
                         enum vc__reject_reason reason, uint32_t retry_ms,
                         const char *format, ...)
    __attribute__((format(printf, 5, 6)));

#endif
