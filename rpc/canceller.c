/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See rpc/canceller.h. */
#include "rpc/canceller.h"

#include <stdlib.h>

#include "transport/core/error.h"

/* --- cancellers -------------------------------------------------------- */

struct vc_canceller *
vc__canceller_make(void)
{
    struct vc_canceller *c = calloc(1, sizeof *c);

    if (c == NULL)
        return NULL;
    vc__handle_init(&c->handle, VC__CANCELLER);
    atomic_init(&c->refs, 1);
    pthread_mutex_init(&c->lock, NULL);
    CDS_INIT_LIST_HEAD(&c->calls);
    return c;
}

void
vc__canceller_put(struct vc_canceller *c)
{
    if (c == NULL || atomic_fetch_sub(&c->refs, 1) > 1)
        return;
    vc__handle_fini(&c->handle);
    pthread_mutex_destroy(&c->lock);
    free(c);
}

enum vc_status
vc_canceller_new(struct vc_canceller **canceller)
{
    struct vc_canceller *c = vc__canceller_make();

    if (c == NULL)
        return vc__fail(VC_RESOURCE_EXHAUSTED, "out of memory");
    *canceller = c;
    return VC_OK;
}

void
vc_canceller_free(struct vc_canceller *canceller)
{
    if (!vc__nothing_to_free(canceller, VC__CANCELLER))
        vc__canceller_put(canceller);
}

/* A cancelled call stays in the list until place_leave(), which takes the lock:
 * so the call exists while its cancel() runs. Also called by
 * vc__parent_children() and vc__parent_cancel_children(). */
void
vc_cancel(struct vc_canceller *canceller)
{
    struct vc__cancellable *place;

    vc__must(canceller, VC__CANCELLER);
    pthread_mutex_lock(&canceller->lock);
    if (!atomic_exchange(&canceller->cancelled, true))
        cds_list_for_each_entry (place, &canceller->calls, node)
            place->call->cancel(place->call);
    pthread_mutex_unlock(&canceller->lock);
}

/* --- calls ------------------------------------------------------------- */

/* For vc__cancelling_begin(): fills the entry, not yet in the list, and takes a
 * reference to the canceller, which may be NULL. */
static void
canceller_place_take(struct vc__cancellable *place,
                     struct vc_canceller *canceller,
                     struct vc__cancelling *call)
{
    place->canceller = canceller;
    place->call = call;
    CDS_INIT_LIST_HEAD(&place->node);
    if (canceller != NULL)
        atomic_fetch_add(&canceller->refs, 1);
}

/* For vc__cancelling_join(): adds the entry to the list of its canceller, if it
 * has one. If that is cancelled already, runs cancel() here, under the lock. */
static void
place_join(struct vc__cancellable *place)
{
    struct vc_canceller *c = place->canceller;

    if (c == NULL)
        return;
    pthread_mutex_lock(&c->lock);
    cds_list_add_tail(&place->node, &c->calls);
    if (atomic_load(&c->cancelled))
        place->call->cancel(place->call);
    pthread_mutex_unlock(&c->lock);
}

/* For vc__cancelling_end(): takes the entry out of the list, and drops the
 * reference. Waits until no cancel() of this canceller runs. */
static void
place_leave(struct vc__cancellable *place)
{
    struct vc_canceller *c = place->canceller;

    if (c == NULL)
        return;
    pthread_mutex_lock(&c->lock);
    cds_list_del(&place->node);
    pthread_mutex_unlock(&c->lock);
    vc__canceller_put(c);
}

/* For vc__cancelling_begin(): true if there is a canceller and it is
 * cancelled. */
static bool
is_cancelled(const struct vc_canceller *c)
{
    return c != NULL && atomic_load(&c->cancelled);
}

enum vc_status
vc__cancelling_begin(struct vc__cancelling *c, struct vc_canceller *canceller,
                     struct vc_canceller *parent,
                     void (*cancel)(struct vc__cancelling *c))
{
    if (is_cancelled(canceller) || is_cancelled(parent))
        return vc__fail(VC_CANCELLED, "%s was cancelled before the call began",
                        is_cancelled(parent) ? "its parent" : "its canceller");
    c->cancel = cancel;
    canceller_place_take(&c->own, canceller, c);
    canceller_place_take(&c->parent, parent, c);
    return VC_OK;
}

void
vc__cancelling_join(struct vc__cancelling *c)
{
    place_join(&c->own);
    place_join(&c->parent);
}

void
vc__cancelling_end(struct vc__cancelling *c)
{
    place_leave(&c->own);
    place_leave(&c->parent);
}

/* --- parents ------------------------------------------------------------- */

/* Sequentially consistent, as are vc__parent_cancel() and
 * vc__parent_cancel_children(): either they see the children's canceller, or
 * this function sees that the parent is cancelled. */
struct vc_canceller *
vc__parent_children(struct vc__parent *p)
{
    struct vc_canceller *c = atomic_load(&p->children), *was = NULL;

    vc__parent_ask(p);
    if (c == NULL) {
        c = vc__canceller_make();
        if (c == NULL)
            return NULL;
        if (!atomic_compare_exchange_strong(&p->children, &was, c)) {
            vc__canceller_put(c); /* another thread made one first */
            c = was;
        }
    }
    if (atomic_load(&p->cancelled))
        vc_cancel(c);
    return c;
}

bool
vc__parent_cancel(struct vc__parent *p)
{
    return !atomic_exchange(&p->cancelled, true);
}

void
vc__parent_cancel_children(struct vc__parent *p)
{
    struct vc_canceller *c = atomic_load(&p->children);

    if (c == NULL)
        return;
    vc__canceller_hold(c);
    vc_cancel(c);
    vc__canceller_put(c);
}

void
vc__parent_drop(struct vc__parent *p)
{
    vc__canceller_put(atomic_exchange(&p->children, NULL));
}
