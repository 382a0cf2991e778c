/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See rpc/client/publisher.h. The lock covers the group's state and all that is
 * sent by it, as several threads may publish. Static functions run on the
 * thread of the function that calls them, unless their comments say
 * otherwise. */
#include "rpc/client/publisher.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "cm/connect/target.h"
#include "cm/link/listener.h"
#include "rpc/client/result.h"
#include "rpc/codec/outgoing.h"
#include "rpc/interceptor.h"
#include "rpc/text.h"
#include "transport/wire/multicast.h"

#define SCHEME "rdma+mc:"
/* Between two attempts to join a group again: from the first to the most, each
 * twice as long as the one before. */
#define AGAIN_FIRST_MS 1000u
#define AGAIN_MOST_MS  4000u
/* How long a caller waits before it looks again whether the adapter takes a
 * datagram. */
#define ROOM_US 100u

struct vc__publisher {
    struct vc__listener listener; /* its ear is used under the lock */
    const struct vc__transport *transport;
    struct vc__progress *progress;
    struct sockaddr_storage addr;
    char text[VC__ADDR_TEXT];
    struct vc__ear_opts opts;

    pthread_mutex_t lock;
    bool up;               /* lock; while it is true, the ear may be used */
    struct vc__error why;  /* lock; while it is not */
    uint64_t sequence;     /* lock; of the last datagram */
    struct vc__tally sent; /* lock */
    uint8_t instance[VC__MULTICAST_PUBLISHER];

    struct vc__timer again; /* holder */
    uint32_t wait_ms;       /* holder */
    struct vc__task close;
    struct vc__waiter closed;
};

bool
vc__publisher_names(const char *target)
{
    return target != NULL && strncmp(target, SCHEME, strlen(SCHEME)) == 0;
}

/* --- the group ------------------------------------------------------------ */

/* Sets whether the group may be used, and if not why. Called on the holder when
 * it is lost, joined again, or not. */
static void
publisher_up_set(struct vc__publisher *p, const struct vc__error *why)
{
    pthread_mutex_lock(&p->lock);
    p->up = why == NULL;
    if (why != NULL)
        p->why = *why;
    pthread_mutex_unlock(&p->lock);
}

static void publisher_again(struct vc__timer *timer);

/* Starts the timer for the next attempt to join. Without memory for it there
 * are no more attempts, and calls report that. Called on the holder, by
 * publisher_on_lost(). */
static void
publisher_wait(struct vc__publisher *p, uint32_t ms)
{
    struct vc__error why;

    p->wait_ms = ms < AGAIN_MOST_MS ? ms : AGAIN_MOST_MS;
    if (vc__timer_start(&p->progress->engine.timers, &p->again,
                        vc__after_ms(vc__now(), p->wait_ms), publisher_again))
        return;
    vc__error_put(&why, VC_RESOURCE_EXHAUSTED,
                  "the multicast group %s is lost, and there is no memory for "
                  "a timer: close this channel, and open a new one",
                  p->text);
    publisher_up_set(p, &why);
}

/* The timer of publisher_wait(), on the holder: joins the group again. */
static void
publisher_again(struct vc__timer *timer)
{
    struct vc__publisher *p =
        caa_container_of(timer, struct vc__publisher, again);

    vc__listener_again(&p->listener, &p->progress->cm, p->transport,
                       (const struct sockaddr *)&p->addr, &p->opts);
}

/* The callback for vc__listener.back, on the holder. */
static void
publisher_on_back(struct vc__listener *l)
{
    struct vc__publisher *p =
        caa_container_of(l, struct vc__publisher, listener);

    publisher_up_set(p, NULL);
    vc__log(p->progress->engine.log, VC__LOG_LISTEN,
            "the multicast group %s is joined again", p->text);
}

/* The callback for vc__listener.lost, on the holder: the group is lost, or was
 * not joined again. */
static void
publisher_on_lost(struct vc__listener *l, const struct vc__error *why)
{
    struct vc__publisher *p =
        caa_container_of(l, struct vc__publisher, listener);

    bool tried = !p->up; /* only this thread changes it */

    publisher_up_set(p, why);
    publisher_wait(p, tried ? p->wait_ms * 2 : AGAIN_FIRST_MS);
}

/* The callback for vc__listener.datagram. A publisher is not attached to its
 * group, so that nothing comes. */
static void
publisher_on_datagram(struct vc__listener *l, const uint8_t *data, uint32_t len)
{
    (void)l;
    (void)data;
    (void)len;
}

/* --- opening and closing -------------------------------------------------- */

/* Checks the options of the channel that make no sense for a group, as it has
 * no servers to choose from. Called by vc__publisher_open(). */
static enum vc_status
publisher_opts_check(const struct vc_channel_opts *opts)
{
    const struct {
        const char *name;
        bool set;
    } options[] = {
        {"transports", opts->transports != NULL},
        {"require", opts->require != NULL},
        {"rdma", opts->rdma != NULL},
        {"policy", opts->policy != NULL},
        {"hash_metadata", opts->hash_metadata != NULL},
        {"label", opts->label != NULL},
        {"outlier", opts->outlier != NULL},
        {"load", opts->load != NULL},
        {"health_service", opts->health_service != NULL},
        {"service_config", opts->service_config != NULL},
        {"connect_ahead", opts->connect_ahead != NULL},
    };

    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        if (options[i].set)
            return vc__fail(VC_INVALID_ARGUMENT,
                            "vc_channel_opts.%s: the channel of a multicast "
                            "group has no servers and no connections: leave "
                            "the option out",
                            options[i].name);
    }
    return VC_OK;
}

/* Finds the address of the group, and that to join from. Called by
 * vc__publisher_open(). */
static enum vc_status
publisher_target_take(struct vc__publisher *p, const char *text,
                      const struct vc_channel_opts *opts)
{
    struct vc__target target;
    struct vc__addrs addrs;
    enum vc_status status = vc__target_parse(&target, text);

    if (status != VC_OK)
        return status;
    if (!vc__target_numeric(&target, &addrs) || addrs.n == 0)
        return vc__fail(VC_INVALID_ARGUMENT,
                        "target \"%.100s\": a multicast group is a numeric "
                        "address, as 239.1.2.3 or [ff15::77]",
                        text);
    p->transport = target.transport;
    p->addr = addrs.addr[0];
    vc__addr_text((const struct sockaddr *)&p->addr, p->text);
    status = vc__target_reaches(p->transport, &p->addr, "publish to");
    if (status == VC_OK && opts->bind_address != NULL)
        status = vc__address_parse(&p->opts.source, opts->bind_address);
    return status;
}

/* Makes what a publisher has before it joins. Called by
 * vc__publisher_open(). */
static enum vc_status
publisher_init(struct vc__publisher *p, struct vc_channel *c)
{
    static const uint8_t which[] = {VC__COUNT_multicast_sent};

    if (getrandom(p->instance, sizeof p->instance, 0) !=
        (ssize_t)sizeof p->instance)
        return vc__fail(VC_UNAVAILABLE,
                        "no random numbers: getrandom() failed");
    p->instance[0] |= 1; /* not all zero */
    p->progress = c->progress;
    p->listener.lost = publisher_on_lost;
    p->listener.back = publisher_on_back;
    p->listener.datagram = publisher_on_datagram;
    p->opts.publishes = true;
    p->up = true;
    pthread_mutex_init(&p->lock, NULL);
    vc__tally_open(&p->sent, &p->progress->engine.ledger, which, 1);
    return VC_OK;
}

/* Frees a publisher that has left its group, or could not join it. Called by
 * vc__publisher_open() and vc__publisher_close(). */
static void
publisher_fini(struct vc__publisher *p)
{
    vc__tally_close(&p->sent, &p->progress->engine.ledger);
    pthread_mutex_destroy(&p->lock);
    free(p);
}

enum vc_status
vc__publisher_open(struct vc_channel *c, const char *target,
                   const struct vc_channel_opts *opts)
{
    struct vc__publisher *p = calloc(1, sizeof *p);
    enum vc_status status;

    if (p == NULL)
        return vc__fail(VC_RESOURCE_EXHAUSTED, "out of memory");
    status = publisher_opts_check(opts);
    if (status == VC_OK)
        status = publisher_target_take(p, target, opts);
    if (status == VC_OK)
        status = vc__interceptors_none(&c->interceptors);
    if (status == VC_OK)
        status = publisher_init(p, c);
    if (status != VC_OK) {
        free(p);
        return status;
    }
    p->opts.timeout_ms = opts->connect_timeout_ms;
    status = vc__listener_open(&p->listener, &p->progress->cm, p->transport,
                               (const struct sockaddr *)&p->addr, &p->opts);
    if (status != VC_OK) {
        publisher_fini(p);
        return status;
    }
    c->publisher = p;
    return VC_OK;
}

/* A task of vc__publisher_close(), on the holder: leaves the group. */
static void
publisher_leave(struct vc__task *task)
{
    struct vc__publisher *p =
        caa_container_of(task, struct vc__publisher, close);

    vc__timer_stop(&p->progress->engine.timers, &p->again);
    vc__listener_close(&p->listener);
    vc__waiter_done(&p->closed);
}

void
vc__publisher_close(struct vc__publisher *p)
{
    vc__waiter_init(&p->closed);
    p->close.run = publisher_leave;
    vc__engine_post(&p->progress->engine, &p->close);
    vc__engine_wait(&p->progress->engine, &p->closed, VC__FOREVER);
    publisher_fini(p);
}

/* --- publishing ----------------------------------------------------------- */

/* Returns VC_OK if the group may be used, else raises the reason. Under the
 * lock; called by vc__publisher_up() and publisher_send(). */
static enum vc_status
publisher_state(const struct vc__publisher *p)
{
    return p->up ? VC_OK : vc__error_raise(&p->why);
}

enum vc_status
vc__publisher_up(struct vc__publisher *p)
{
    enum vc_status status;

    vc__engine_catch_up(&p->progress->engine, vc__now());
    pthread_mutex_lock(&p->lock);
    status = publisher_state(p);
    pthread_mutex_unlock(&p->lock);
    return status;
}

size_t
vc__publisher_describe(struct vc__publisher *p, char *text, size_t size)
{
    int n;

    pthread_mutex_lock(&p->lock);
    n = p->up ? snprintf(text, size, "%s: publishes to %s\n",
                         p->transport->scheme, p->text)
              : snprintf(text, size, "not %s: %s\n", p->transport->scheme,
                         p->why.text);
    pthread_mutex_unlock(&p->lock);
    return n < 0 ? 0 : (size_t)n;
}

/* A call under way. */
struct notice {
    const struct vc_service *service;
    const struct vc_method *method;
    const void *request;
    struct vc__packing packing;
};

enum vc_status
vc__publisher_refuse(const struct vc_service *service, unsigned method,
                     const char *what)
{
    const char *name = service != NULL && method < service->n_methods
                           ? service->methods[method].name
                           : "?";

    return vc__fail(VC_UNIMPLEMENTED,
                    "%s.%s: %s cannot be sent to a multicast group: make "
                    "blocking calls of one-way methods there, which end when "
                    "the datagram was sent",
                    service == NULL ? "?" : service->name, name, what);
}

/* Checks the method and the options of a call. Called by vc__publish(). */
static enum vc_status
notice_check(const struct notice *n, const struct vc_call_opts *opts)
{
    const char *option = opts->n_metadata > 0                    ? "metadata"
                         : opts->hedge_ms != 0                   ? "hedge_ms"
                         : opts->priority != VC_PRIORITY_DEFAULT ? "priority"
                                                                 : NULL;

    if (!(n->method->flags & VC_METHOD_ONE_WAY))
        return vc__fail(VC_UNIMPLEMENTED,
                        "the method has a reply, which no member of a "
                        "multicast group could send: only methods with the "
                        "option (verbcall.method).one_way can be called there");
    if (option != NULL)
        return vc__fail(VC_INVALID_ARGUMENT,
                        "vc_call_opts.%s: a call to a multicast group is one "
                        "datagram without it: leave the option out",
                        option);
    return VC_OK;
}

/* Measures the message, which must fit a datagram. Called by
 * publisher_send(). */
static enum vc_status
notice_measure(struct notice *n, uint32_t datagram_max)
{
    const size_t max = datagram_max - VC__MULTICAST_HEADER;
    const struct vc__outgoing o = {
        .what = "request",
        .service = n->service->name,
        .method = n->method->name,
        .peer = "group",
        .peer_max = SIZE_MAX,
    };
    enum vc_status status =
        vc__outgoing_measure(&o, &n->method->request, n->request, &n->packing);

    if (status != VC_OK || n->packing.size <= max)
        return status;
    return vc__fail(VC_RESOURCE_EXHAUSTED,
                    "the request has %zu bytes, a datagram of this multicast "
                    "group takes %zu at most: send less, or use a larger MTU",
                    n->packing.size, max);
}

/* Writes the datagram at `out` and hands it to the adapter. 0, or an errno.
 * Called by publisher_send(), under the lock. */
static int
notice_commit(struct vc__publisher *p, const struct notice *n, uint8_t *out)
{
    struct vc__ear *ear = p->listener.ear;
    struct vc__multicast m = {
        .port = vc__addr_port(&p->addr),
        .sequence = p->sequence + 1,
        .service = n->service->id,
        .method = n->method->hash,
        .body_len = (uint32_t)n->packing.size,
    };
    int err;

    memcpy(m.publisher, p->instance, sizeof m.publisher);
    vc__multicast_put(out, &m);
    vc__codec_pack(&n->method->request, &n->packing, n->request,
                   out + VC__MULTICAST_HEADER);
    err = p->transport->datagram_commit(ear, VC__MULTICAST_HEADER + m.body_len);
    if (err == 0) {
        p->sequence++;
        vc__tally_add(&p->sent, 0, 1);
    }
    return err;
}

/* Sends the datagram, unless the adapter has as many as it takes: then *full is
 * true. Called by vc__publish(), under the lock. */
static enum vc_status
publisher_send(struct vc__publisher *p, struct notice *n, bool *full)
{
    enum vc_status status = publisher_state(p);
    uint8_t *out;
    int err;

    *full = false;
    if (status == VC_OK)
        status = notice_measure(n, p->transport->datagram_max(p->listener.ear));
    if (status != VC_OK)
        return status;
    out = p->transport->datagram_reserve(p->listener.ear);
    *full = out == NULL;
    if (out == NULL)
        return VC_OK;
    err = notice_commit(p, n, out);
    return err == 0
               ? VC_OK
               : vc__fail_errno(err, "cannot send a datagram to %s", p->text);
}

/* Waits until the adapter may take a datagram again, and advances the engine
 * meanwhile. VC_DEADLINE_EXCEEDED: not before the deadline. Called by
 * vc__publish(). */
static enum vc_status
publisher_room_await(struct vc__publisher *p, uint64_t due)
{
    uint64_t until = vc__now() + ROOM_US;
    struct vc__waiter never;

    if (until >= due)
        return vc__fail(VC_DEADLINE_EXCEEDED,
                        "the adapter has not taken the datagram in time: "
                        "publish less often, or raise the timeout");
    vc__waiter_init(&never);
    vc__engine_wait(&p->progress->engine, &never, until);
    return VC_OK;
}

/* Sends a call whose method and options are good, by the deadline. Called by
 * vc__publish(). */
static enum vc_status
notice_send(struct vc__publisher *p, struct notice *n, uint64_t due)
{
    enum vc_status status;
    bool full;

    do {
        pthread_mutex_lock(&p->lock);
        status = publisher_send(p, n, &full);
        pthread_mutex_unlock(&p->lock);
        if (full)
            status = publisher_room_await(p, due);
    } while (full && status == VC_OK);
    return status;
}

enum vc_status
vc__publish(struct vc_channel *c, const struct vc_service *service,
            unsigned method, const void *request,
            const struct vc_call_opts *opts)
{
    static const struct vc__error none = {.status = VC_OK};
    struct notice n = {
        .service = service,
        .method = &service->methods[method],
        .request = request,
    };
    uint64_t now = vc__now();
    enum vc_status status;

    /* From the first call on there can be no further interceptors. Relaxed
     * would do, but this is not the place to save an instruction. */
    atomic_store(&c->servers.used, true);
    /* Without a thread that advances the engine, a group that is lost would not
     * be noticed, nor joined again. */
    vc__engine_catch_up(&c->progress->engine, now);
    /* Only now, as that may change the thread's last error. */
    status = notice_check(&n, opts);
    if (status == VC_OK)
        status = notice_send(c->publisher, &n, vc__due(now, opts->timeout_ms));
    if (status != VC_OK)
        vc__text_name_last(service->name, n.method->name);
    vc__result_fill(opts->result, status == VC_OK ? &none : vc__error_last(),
                    status == VC_OK, NULL);
    return status;
}
