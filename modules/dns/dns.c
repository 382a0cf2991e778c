/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See modules/dns/dns.h. A resolver either has a round under way, or waits for
 * the next one. The functions of vc_resolver_module, dns_fire() and dns_ready()
 * call all static functions, directly or not. All but dns_open(), dns_close()
 * and dns_free() run on the holder. */
#include "modules/dns/dns.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "modules/dns/dns_asker.h"
#include "modules/dns/dns_round.h"

struct vc__dns_setting vc__dns_setting = {1000, "/etc/resolv.conf", 0};

/* The resolver of a channel; of the holder. */
struct dns {
    struct vc_resolver *resolver;
    struct vc__dns_target target;
    struct vc__dns_asker asker;
    struct vc__dns_round *round; /* under way, or NULL */
    struct vc__dns_round *last;  /* the one before, or NULL */
    struct vc__dns_answer *answer;
    uint64_t began_ms; /* the last round; 0: none has begun */
    uint64_t next_ms;  /* the next round is due then */
    uint32_t backoff;  /* the next one, in seconds */
};

static void dns_fire(void *state);

/* Returns the milliseconds of so many seconds. For all that sets or checks
 * times here. */
static uint32_t
dns_ms(uint32_t seconds)
{
    return seconds * vc__dns_setting.second_ms;
}

/* Returns the milliseconds of the monotonic clock. For the same. */
static uint64_t
dns_now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/* For dns_sleep(): the milliseconds from `now` to `then`, not below 0. */
static uint32_t
dns_until(uint64_t then, uint64_t now)
{
    return then > now ? (uint32_t)(then - now) : 0;
}

/* Sets the timer: for c-ares and the end of the round, or the next round. For
 * dns_advance(), dns_begin() when it fails, and dns_again(). */
static void
dns_sleep(struct dns *d)
{
    uint64_t now = dns_now();
    uint32_t ms =
        d->round == NULL
            ? dns_until(d->next_ms, now)
            : vc__dns_asker_wait(
                  &d->asker,
                  dns_until(d->began_ms + dns_ms(VC__DNS_ROUND), now));

    vc_resolver_timer(d->resolver, ms, dns_fire);
}

/* --- the end of a round ------------------------------------------------- */

/* For dns_end(): returns what a status of c-ares means, in the case of this
 * round. */
static const char *
dns_reason(const struct dns *d, int status)
{
    if (d->asker.is_unwatched)
        return "a socket to a DNS server cannot be watched: there are too "
               "many servers, or descriptors";
    switch (status) {
    case ARES_ETIMEOUT:
    case ARES_ECANCELLED:
        return "no answer in time";
    case ARES_ECONNREFUSED:
        return "no DNS server can be reached, or each of them fails";
    case ARES_ENOTFOUND:
        return "there is no such name (NXDOMAIN)";
    case ARES_ENODATA:
        return "the name has no such records";
    case ARES_ESERVFAIL:
        return "the DNS server failed (SERVFAIL)";
    case ARES_EREFUSED:
        return "the DNS server refused to answer (REFUSED)";
    case ARES_EBADRESP:
    case ARES_EBADNAME:
        return "the answer is malformed";
    default:
        return ares_strerror(status);
    }
}

/* For dns_end() and dns_begin(): reports to the channel what was asked, and
 * what is wrong. */
static void
dns_report(const struct dns *d, const char *name, const char *type,
           const char *reason)
{
    char why[VC__DNS_WHY];

    snprintf(why, sizeof why, "DNS: %s of \"%s\", asked of %s: %s", type, name,
             d->asker.servers[0] == '\0' ? "no server" : d->asker.servers,
             reason);
    vc_resolver_fail(d->resolver, why);
}

/* For dns_end() and dns_begin(): sets when the next round is due after a
 * failure: later each time, but not later than the records that were found
 * allow, `most` seconds. */
static void
dns_back_off(struct dns *d, uint32_t most)
{
    d->next_ms = dns_now() + dns_ms(most < d->backoff ? most : d->backoff);
    d->backoff = d->backoff * 2 > VC__DNS_BACKOFF_MOST ? VC__DNS_BACKOFF_MOST
                                                       : d->backoff * 2;
}

/* For dns_end(): gives the servers to the channel. Returns why that failed, or
 * NULL. */
static const char *
dns_publish(const struct dns *d)
{
    switch (vc_resolver_set(d->resolver, d->answer->endpoint, d->answer->n)) {
    case VC_OK:
        return NULL;
    case VC_RESOURCE_EXHAUSTED:
        return "no memory for the servers";
    default:
        return "the channel does not take the servers";
    }
}

/* For dns_advance(): all is answered, and the round has ended. If something
 * failed, what was found is published all the same, unless nothing of it is
 * new. */
static void
dns_end(struct dns *d)
{
    struct vc__dns_found found;
    const char *name = d->target.name[0].host, *type = "servers",
               *reason = NULL;

    found = vc__dns_round_found(d->round, d->answer);
    vc__dns_round_free(d->last);
    d->last = d->round;
    d->round = NULL;
    if (found.is_fresh && d->answer->n > 0)
        reason = dns_publish(d);
    if (reason == NULL && found.status != ARES_SUCCESS) {
        name = found.name;
        type = found.type;
        reason = dns_reason(d, found.status);
    }
    if (reason != NULL) {
        dns_report(d, name, type, reason);
        dns_back_off(d, found.is_fresh ? found.ttl : VC__DNS_BACKOFF_MOST);
        return;
    }
    d->backoff = VC__DNS_BACKOFF;
    d->next_ms = dns_now() + dns_ms(found.ttl);
}

/* --- a round ------------------------------------------------------------ */

/* Asked by dns_advance(): true if the round has taken all its time. */
static bool
dns_is_late(const struct dns *d)
{
    return dns_now() >= d->began_ms + dns_ms(VC__DNS_ROUND);
}

/* For dns_begin(), and for dns_fire() and dns_ready() when c-ares has run: goes
 * on with the round. Cancels it if it is late or a socket cannot be watched,
 * ends it if all is answered, and sets the timer. */
static void
dns_advance(struct dns *d)
{
    bool is_done = vc__dns_round_advance(d->round, d->asker.channel);

    if (!is_done && (d->asker.is_unwatched || dns_is_late(d))) {
        vc__dns_round_cancel(d->round, d->asker.channel);
        is_done = vc__dns_round_advance(d->round, d->asker.channel);
    }
    if (is_done)
        dns_end(d);
    dns_sleep(d);
}

/* Begins a round, when one is due (dns_fire()) or wanted (dns_again()); if that
 * fails, reports why. */
static void
dns_begin(struct dns *d)
{
    int rc = vc__dns_asker_renew(&d->asker);

    d->began_ms = dns_now();
    if (rc == ARES_SUCCESS) {
        d->round = vc__dns_round_new(&d->target, d->last);
        rc = d->round == NULL ? ARES_ENOMEM : ARES_SUCCESS;
    }
    if (rc == ARES_SUCCESS) {
        dns_advance(d);
        return;
    }
    dns_report(d, d->target.name[0].host, "servers", ares_strerror(rc));
    dns_back_off(d, VC__DNS_BACKOFF_MOST);
    dns_sleep(d);
}

/* fire() of the timer, on the holder: c-ares must see the time, the time of the
 * round is over, or a new one is due. */
static void
dns_fire(void *state)
{
    struct dns *d = state;

    if (d->round == NULL) {
        dns_begin(d);
        return;
    }
    vc__dns_asker_process(&d->asker, ARES_SOCKET_BAD);
    dns_advance(d);
}

/* ready() of vc_resolver_watch(), on the holder: a socket of c-ares can be read
 * or written. */
static void
dns_ready(void *state, int fd)
{
    struct dns *d = state;

    vc__dns_asker_process(&d->asker, fd);
    if (d->round != NULL)
        dns_advance(d);
}

/* --- the functions of the resolver -------------------------------------- */

/* Frees a resolver whose asker is closed or was not opened: for dns_close(),
 * and dns_open() when it fails, on their threads. */
static void
dns_free(struct dns *d)
{
    vc__dns_round_free(d->round);
    vc__dns_round_free(d->last);
    free(d->answer);
    free(d);
}

/* close() of the type, on the thread of vc_channel_close(), or of a
 * vc_channel_open() that fails later: ends the questions that are under way,
 * and frees the resolver. */
static void
dns_close(void *state)
{
    struct dns *d = state;

    vc__dns_asker_close(&d->asker);
    dns_free(d);
}

/* again() of the type, on the holder: a server cannot be reached, or was lost.
 * Begins a round, unless one is under way; or has it begin a second after the
 * last one began, if that is earlier than it is due. */
static void
dns_again(void *state)
{
    struct dns *d = state;
    uint64_t soonest = d->began_ms + dns_ms(VC__DNS_PAUSE);

    if (d->round != NULL)
        return;
    if (d->began_ms == 0 || dns_now() >= soonest) {
        dns_begin(d);
        return;
    }
    if (soonest < d->next_ms)
        d->next_ms = soonest;
    dns_sleep(d);
}

/* open() of the type, on the thread of vc_channel_open(): has the first round
 * begin, on the holder. VC_OK with *state; VC_INVALID_ARGUMENT if the target is
 * malformed, VC_RESOURCE_EXHAUSTED without memory. */
static enum vc_status
dns_open(struct vc_resolver *r, const char *target, void **state)
{
    struct dns *d = calloc(1, sizeof *d);
    char why[VC__DNS_WHY];

    if (d != NULL && !vc__dns_target_parse(&d->target, target, why)) {
        vc_resolver_fail(r, why);
        dns_free(d);
        return VC_INVALID_ARGUMENT;
    }
    if (d != NULL)
        d->answer = malloc(sizeof *d->answer);
    if (d == NULL || d->answer == NULL ||
        vc__dns_asker_open(&d->asker, r, d->target.server, dns_ready) !=
            ARES_SUCCESS) {
        vc_resolver_fail(r, "DNS: no memory for the resolver");
        if (d != NULL)
            dns_free(d);
        return VC_RESOURCE_EXHAUSTED;
    }
    d->resolver = r;
    d->backoff = VC__DNS_BACKOFF;
    *state = d;
    vc_resolver_timer(r, 0, dns_fire);
    return VC_OK;
}

const struct vc_resolver_type vc_resolver_module = {
    .size = sizeof(struct vc_resolver_type),
    .scheme = "dns",
    .open = dns_open,
    .again = dns_again,
    .close = dns_close,
};
