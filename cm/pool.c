/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Connecting on demand, and what becomes of the requests when a link comes up
 * or is lost. */
#include "cm/pool.h"

#include <stdlib.h>
#include <string.h>

/* Bytes of long replies that may be arriving at a time. */
#define REPLY_BUDGET ((size_t)1 << 30)

struct vc__pool_link {
    struct vc__link link;
    struct vc__try try;
    struct vc__pool *pool;
};

/* --- requests of all sessions ------------------------------------------ */

static struct vc__session *
first_session(struct vc__pool *p)
{
    /* Acquire: pairs with the release in session_add(); without it a reader
     * could see a session before its fields. */
    return atomic_load_explicit(&p->sessions, memory_order_acquire);
}

static void
fail_list(struct cds_list_head *requests, struct vc__error *error,
          enum vc_outcome outcome)
{
    error->outcome = outcome;
    while (!cds_list_empty(requests)) {
        struct vc__request *r =
            cds_list_entry(requests->next, struct vc__request, node);

        cds_list_del(&r->node);
        r->failed(r, error);
    }
}

static void
wake_connecting(struct cds_list_head *waiters, const struct vc__error *error)
{
    while (!cds_list_empty(waiters)) {
        struct vc__pool_waiter *w =
            cds_list_entry(waiters->next, struct vc__pool_waiter, node);

        cds_list_del_init(&w->node);
        w->error = *error;
        vc__waiter_done(&w->waiter);
    }
}

static void
take_connecting(struct vc__pool *p, struct cds_list_head *out)
{
    cds_list_splice(&p->connecting, out);
    CDS_INIT_LIST_HEAD(&p->connecting);
}

/* There is no link: all that waits for one, or was under way on it, ends. */
static void
pool_fail(struct vc__pool *p, enum vc__pool_state next, struct vc__error error)
{
    CDS_LIST_HEAD(sent);
    CDS_LIST_HEAD(waiting);
    CDS_LIST_HEAD(connecting);

    pthread_mutex_lock(&p->lock);
    if (p->state != VC__POOL_CLOSED)
        p->state = next;
    p->link = NULL;
    for (struct vc__session *s = first_session(p); s != NULL; s = s->next)
        vc__session_take_all(s, &sent, &waiting);
    take_connecting(p, &connecting);
    pthread_mutex_unlock(&p->lock);
    fail_list(&sent, &error, VC_OUTCOME_UNKNOWN);
    fail_list(&waiting, &error, VC_OUTCOME_NOT_EXECUTED);
    wake_connecting(&connecting, &error);
}

/* --- callbacks of the link --------------------------------------------- */

static struct vc__pool_link *
pool_link_of(struct vc__link *link)
{
    return caa_container_of(link, struct vc__pool_link, link);
}

static void
on_up(struct vc__link *link)
{
    struct vc__pool_link *pl = pool_link_of(link);
    struct vc__pool *p = pl->pool;
    const struct vc__error ok = {.status = VC_OK};
    CDS_LIST_HEAD(connecting);

    vc__dialer_up(&p->dialer, &pl->try);
    p->current = pl;
    pthread_mutex_lock(&p->lock);
    if (p->state == VC__POOL_CLOSED) { /* pool_close() is on its way */
        pthread_mutex_unlock(&p->lock);
        return;
    }
    p->state = VC__POOL_UP;
    p->link = pl;
    atomic_store_explicit(&p->peer_message_max, 1u << link->accept.log2_message,
                          memory_order_relaxed);
    for (struct vc__session *s = first_session(p); s != NULL; s = s->next) {
        vc__session_reset(s);
        vc__session_launch(s);
    }
    take_connecting(p, &connecting);
    pthread_mutex_unlock(&p->lock);
    wake_connecting(&connecting, &ok);
}

static bool
on_frame(struct vc__link *link, const struct vc__frame *f)
{
    struct vc__pool *p = pool_link_of(link)->pool;
    struct vc__assembly done = {0};
    struct vc__reply_frame reply;
    struct vc__request *r = NULL;
    bool good = false;

    if (f->type != VC__FRAME_REPLY &&
        !(f->type == VC__FRAME_DATA && f->flags & VC__FRAME_OF_REPLY))
        return false;
    pthread_mutex_lock(&p->lock);
    if (f->session >= 1 && f->session <= p->n_sessions)
        good =
            vc__session_reply(p->by_id[f->session - 1], f, &r, &reply, &done);
    pthread_mutex_unlock(&p->lock);
    if (r != NULL)
        r->replied(r, &reply);
    if (done.total != 0) {
        pthread_mutex_lock(&p->lock);
        vc__assembly_end(&done, &p->budget);
        pthread_mutex_unlock(&p->lock);
    }
    return good;
}

static void
on_down(struct vc__link *link)
{
    struct vc__pool_link *pl = pool_link_of(link);
    struct vc__pool *p = pl->pool;

    if (vc__dialer_down(&p->dialer, &pl->try) || p->current != pl)
        return;
    p->current = NULL;
    pool_fail(p, VC__POOL_IDLE, link->error);
}

static void
close_check(struct vc__pool *p)
{
    if (p->closer != NULL && p->n_links == 0)
        vc__waiter_done(p->closer);
}

static void
on_gone(struct vc__link *link)
{
    struct vc__pool_link *pl = pool_link_of(link);
    struct vc__pool *p = pl->pool;

    vc__link_fini(link);
    free(pl);
    p->n_links--;
    close_check(p);
}

static const struct vc__link_ops pool_link_ops = {
    .up = on_up, .frame = on_frame, .down = on_down, .gone = on_gone};

/* --- connecting -------------------------------------------------------- */

static void
hello_fill(struct vc__pool *p, struct vc__hello *h)
{
    h->version_min = VC__VERSION_MIN;
    h->version_max = VC__VERSION_MAX;
    h->sessions = 1;
    memcpy(h->instance, p->instance, sizeof h->instance);
    pthread_mutex_lock(&p->lock);
    h->service = p->asked->id;
    h->fingerprint = p->asked->fingerprint;
    pthread_mutex_unlock(&p->lock);
}

static void
fail_memory(struct vc__pool *p)
{
    struct vc__error error;

    vc__error_put(&error, VC_RESOURCE_EXHAUSTED, "out of memory");
    pool_fail(p, VC__POOL_IDLE, error);
}

static struct vc__pool *
pool_of_dialer(struct vc__dialer *d)
{
    return caa_container_of(d, struct vc__pool, dialer);
}

static struct vc__try *
on_link_new(struct vc__dialer *d, uint32_t ms)
{
    struct vc__pool *p = pool_of_dialer(d);
    struct vc__pool_link *pl = calloc(1, sizeof *pl);

    if (pl == NULL)
        return NULL;
    pl->pool = p;
    pl->try.link = &pl->link;
    vc__link_init(&pl->link, p->cm, &pool_link_ops, ms);
    hello_fill(p, &pl->link.hello);
    p->n_links++;
    return &pl->try;
}

static void
on_dial_failed(struct vc__dialer *d, const struct vc__error *error)
{
    pool_fail(pool_of_dialer(d), VC__POOL_IDLE, *error);
}

static const struct vc__dialer_ops pool_dialer_ops = {.link_new = on_link_new,
                                                      .failed = on_dial_failed};

static uint64_t
pool_seed(const struct vc__pool *p)
{
    uint64_t seed;

    memcpy(&seed, p->instance, sizeof seed);
    return seed ^ vc__now();
}

static void
pool_dial(struct vc__pool *p, const struct vc__addrs *addrs)
{
    const struct vc__dial_opts opts = {
        .addrs = addrs,
        .due = p->due,
        .seed = pool_seed(p),
        .offer = {.credits = VC__WINDOW_MAX,
                  .log2_eager = VC__BUFFER_LOG2,
                  .log2_message = p->log2_message}};

    vc__dialer_start(&p->dialer, &opts);
}

static void
on_lookup_timer(struct vc__timer *timer)
{
    struct vc__pool *p = caa_container_of(timer, struct vc__pool, timer);
    struct vc__error error;

    vc__lookup_cancel(p->lookup);
    p->lookup = NULL;
    vc__error_put(&error, VC_UNAVAILABLE,
                  "no name server told the address of %s within the connect "
                  "timeout of %u ms",
                  p->target.host, p->connect_ms);
    pool_fail(p, VC__POOL_IDLE, error);
}

static void
on_lookup(struct vc__lookup *lookup)
{
    struct vc__pool *p = lookup->owner;
    struct vc__addrs addrs;
    struct vc__error error;

    vc__timer_stop(&p->cm->engine->timers, &p->timer);
    p->lookup = NULL;
    addrs = lookup->addrs;
    vc__error_put(&error, VC_UNAVAILABLE,
                  "no address of %s (%s): see that the name is right and that "
                  "`getent hosts` knows it",
                  p->target.host, lookup->text);
    vc__lookup_free(lookup);
    if (addrs.n == 0)
        pool_fail(p, VC__POOL_IDLE, error);
    else
        pool_dial(p, &addrs);
}

static void
lookup_begin(struct vc__pool *p)
{
    p->lookup = vc__lookup_start(p->cm->engine, &p->target, on_lookup, p);
    if (p->lookup != NULL && vc__timer_start(&p->cm->engine->timers, &p->timer,
                                             p->due, on_lookup_timer))
        return;
    if (p->lookup != NULL)
        vc__lookup_cancel(p->lookup);
    p->lookup = NULL;
    fail_memory(p);
}

static void
pool_connect(struct vc__task *task)
{
    struct vc__pool *p = caa_container_of(task, struct vc__pool, connect);
    struct vc__addrs addrs;

    if (p->closer != NULL)
        return;
    if (vc__cm_open(p->cm) != VC_OK) {
        pool_fail(p, VC__POOL_IDLE, *vc__error_last());
        return;
    }
    /* From here, for librdmacm's first use takes its time. */
    p->due = vc__after_ms(vc__now(), p->connect_ms);
    if (vc__target_numeric(&p->target, &addrs))
        pool_dial(p, &addrs);
    else
        lookup_begin(p);
}

/* Under the lock. */
static void
connect_begin(struct vc__pool *p, const struct vc_service *service)
{
    if (p->state != VC__POOL_IDLE)
        return;
    p->state = VC__POOL_CONNECTING;
    p->asked = service;
    vc__engine_post(p->cm->engine, &p->connect);
}

bool
vc__pool_has_room(const struct vc__pool *p, uint32_t sessions)
{
    return sessions <= p->link->link.accept.max_sessions;
}

static bool
pool_is_open(const struct vc__pool *p, struct vc__error *error)
{
    if (p->state != VC__POOL_CLOSED)
        return true;
    vc__error_put(error, VC_CANCELLED, "the channel is closed");
    return false;
}

bool
vc__pool_want(struct vc__pool *p, const struct vc__session *s,
              struct vc__error *error)
{
    if (!pool_is_open(p, error))
        return false;
    if (p->state == VC__POOL_UP && !vc__pool_has_room(p, s->id)) {
        vc__error_put(error, VC_RESOURCE_EXHAUSTED,
                      "%s lets a client have %u services on a connection",
                      p->link->link.peer, p->link->link.accept.max_sessions);
        return false;
    }
    connect_begin(p, s->service);
    return true;
}

static bool
connect_join(struct vc__pool *p, const struct vc_service *service,
             struct vc__pool_waiter *w)
{
    bool wait = false;

    pthread_mutex_lock(&p->lock);
    if (pool_is_open(p, &w->error) && p->state != VC__POOL_UP) {
        cds_list_add_tail(&w->node, &p->connecting);
        connect_begin(p, service);
        wait = true;
    }
    pthread_mutex_unlock(&p->lock);
    return wait;
}

enum vc_status
vc__pool_connect(struct vc__pool *p, const struct vc_service *service)
{
    struct vc__pool_waiter w = {.error = {.status = VC_OK}};

    vc__pool_enter(p);
    vc__engine_catch_up(p->cm->engine, vc__now());
    vc__waiter_init(&w.waiter);
    /* Every way that connecting ends is on a timer of its own. */
    if (connect_join(p, service, &w))
        vc__engine_wait(p->cm->engine, &w.waiter, VC__FOREVER);
    vc__pool_leave(p);
    return w.error.status == VC_OK ? VC_OK : vc__error_raise(&w.error);
}

/* --- for the sessions -------------------------------------------------- */

uint16_t
vc__pool_slots(const struct vc__pool *p)
{
    uint16_t slots = p->link->link.accept.max_slots;

    return slots == UINT16_MAX ? UINT16_MAX - 1 : slots;
}

bool
vc__pool_send(struct vc__pool *p, struct vc__send *const *sends, unsigned n)
{
    return p->link != NULL && vc__link_send(&p->link->link, sends, n);
}

bool
vc__pool_unsend(struct vc__pool *p, struct vc__send *s)
{
    return p->link != NULL && vc__link_unsend(&p->link->link, s);
}

static struct vc__session *
session_find(struct vc__pool *p, const struct vc_service *service)
{
    struct vc__session *s = first_session(p);

    while (s != NULL && s->service != service)
        s = s->next;
    return s;
}

/* Under the lock. */
static struct vc__session *
session_add(struct vc__pool *p, const struct vc_service *service)
{
    struct vc__session **by_id =
        realloc(p->by_id, (p->n_sessions + 1) * sizeof(*by_id));
    struct vc__session *s;

    if (by_id == NULL)
        return NULL;
    p->by_id = by_id;
    s = vc__session_new(p, service, p->n_sessions + 1);
    if (s == NULL)
        return NULL;
    p->by_id[p->n_sessions++] = s;
    s->next = atomic_load_explicit(&p->sessions, memory_order_relaxed);
    /* Release: see first_session(). */
    atomic_store_explicit(&p->sessions, s, memory_order_release);
    return s;
}

struct vc__session *
vc__pool_session(struct vc__pool *p, const struct vc_service *service)
{
    struct vc__session *s = session_find(p, service);

    if (s != NULL)
        return s;
    pthread_mutex_lock(&p->lock);
    s = session_find(p, service);
    if (s == NULL)
        s = session_add(p, service);
    pthread_mutex_unlock(&p->lock);
    return s;
}

/* --- birth and death --------------------------------------------------- */

static void
pool_close(struct vc__task *task)
{
    struct vc__pool *p = caa_container_of(task, struct vc__pool, close);
    struct vc__pool_link *pl = p->current;
    struct vc__error error;

    p->closer = p->closing;
    p->current = NULL;
    if (p->lookup != NULL)
        vc__lookup_cancel(p->lookup);
    p->lookup = NULL;
    vc__timer_stop(&p->cm->engine->timers, &p->timer);
    vc__dialer_stop(&p->dialer);
    /* The link first: it still has requests in its queue. */
    if (pl != NULL)
        vc__link_close(&pl->link, VC_CANCELLED, "closed");
    vc__error_put(&error, VC_CANCELLED, "the channel was closed");
    pool_fail(p, VC__POOL_CLOSED, error);
    close_check(p);
}

void
vc__pool_init(struct vc__pool *p, struct vc__cm *cm,
              const struct vc__target *target, uint32_t connect_ms,
              uint8_t log2_message, const uint8_t instance[VC__ID_SIZE])
{
    memset(p, 0, sizeof *p);
    p->cm = cm;
    p->target = *target;
    p->connect_ms = connect_ms;
    p->log2_message = log2_message;
    memcpy(p->instance, instance, sizeof p->instance);
    p->budget = REPLY_BUDGET;
    atomic_init(&p->users, 1);
    vc__waiter_init(&p->unused);
    vc__dialer_init(&p->dialer, cm, &pool_dialer_ops, NULL);
    p->connect.run = pool_connect;
    p->close.run = pool_close;
    pthread_mutex_init(&p->lock, NULL);
    CDS_INIT_LIST_HEAD(&p->connecting);
}

void
vc__pool_fini(struct vc__pool *p)
{
    struct vc__waiter waiter;
    struct vc__session *s, *next;

    vc__waiter_init(&waiter);
    pthread_mutex_lock(&p->lock);
    p->state = VC__POOL_CLOSED;
    pthread_mutex_unlock(&p->lock);
    p->closing = &waiter;
    vc__engine_post(p->cm->engine, &p->close);
    /* Ends with the handshake of disconnecting, which has a timer. */
    vc__engine_wait(p->cm->engine, &waiter, VC__FOREVER);
    /* What they waited for has ended by now, so they leave at once. As the
     * holder we might sleep and not hear of it. */
    vc__pool_leave(p);
    vc__waiter_wait(&p->unused);
    for (s = first_session(p); s != NULL; s = next) {
        next = s->next;
        vc__session_free(s);
    }
    free(p->by_id);
    pthread_mutex_destroy(&p->lock);
}
