/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See modules/dns/dns_round.h. c-ares may call a callback at once, while it
 * takes the question, or later: so callbacks only note what they get, and
 * vc__dns_round_advance() goes on. Callbacks run on the holder, or within
 * dns_close(), where they get no answer. */
#include "modules/dns/dns_round.h"

#include <arpa/inet.h>
#include <arpa/nameser.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "modules/dns/dns.h"

/* So many questions are under way at a time: an answer with a thousand hosts
 * must not flood the server. */
#define ASKED_MOST 32u

struct vc__dns_round *
vc__dns_round_new(const struct vc__dns_target *target,
                  struct vc__dns_round *before)
{
    struct vc__dns_round *r = calloc(1, sizeof *r);

    if (r == NULL)
        return NULL;
    r->target = target;
    r->before = before;
    for (unsigned i = 0; i < target->n; i++) {
        r->question[i].round = r;
        r->question[i].name = &target->name[i];
        if (target->name[i].is_srv)
            r->question[i].status = ARES_ECANCELLED; /* not asked yet */
    }
    return r;
}

void
vc__dns_round_free(struct vc__dns_round *r)
{
    if (r == NULL)
        return;
    for (unsigned i = 0; i < r->target->n; i++)
        vc__dns_srv_free(&r->question[i].srvs);
    for (size_t i = 0; i < r->n; i++)
        free(r->host[i].addrs);
    free(r->host);
    free(r);
}

/* --- SRV records: vc__dns_round_advance() calls these, directly or not -- */

/* The callback of round_ask_srvs(), which c-ares calls: notes the answer for
 * SRV records, or why there is none. */
static void
srv_done(void *arg, int status, int timeouts, unsigned char *msg, int len)
{
    struct vc__dns_question *q = arg;

    (void)timeouts;
    q->round->asked--;
    q->status = status != ARES_SUCCESS
                    ? status
                    : vc__dns_srv_parse(msg, (size_t)len, &q->srvs);
}

/* For round_keep_srvs(): true if this failure says for sure that there are no
 * such records now. */
static bool
srv_is_gone(int status)
{
    return status == ARES_ENOTFOUND || status == ARES_ENODATA;
}

/* For vc__dns_round_advance(): asks the SRV records of all names that have
 * some, unless they were asked or the round is cancelled. */
static void
round_ask_srvs(struct vc__dns_round *r, ares_channel channel)
{
    for (; r->next_srv < r->target->n && !r->is_cancelled; r->next_srv++) {
        struct vc__dns_question *q = &r->question[r->next_srv];

        if (!q->name->is_srv)
            continue;
        r->asked++;
        ares_search(channel, q->name->host, ns_c_in, ns_t_srv, srv_done, q);
    }
}

/* For vc__dns_round_advance(), when all are answered: records that could not be
 * got are those of the round before. */
static void
round_keep_srvs(struct vc__dns_round *r)
{
    for (unsigned i = 0; i < r->target->n && r->before != NULL; i++) {
        struct vc__dns_question *q = &r->question[i];
        struct vc__dns_srvs *was = &r->before->question[i].srvs;

        if (q->status == ARES_SUCCESS || srv_is_gone(q->status))
            continue;
        q->srvs = *was;
        q->is_kept = true;
        *was = (struct vc__dns_srvs){.n = 0};
    }
}

/* --- which hosts: round_hosts_make() calls these, directly or not ------- */

/* For round_plain_hosts() and round_srv_hosts(): appends a host to be asked;
 * there is room for it. Returns its index. */
static size_t
round_host_add(struct vc__dns_round *r, const char *name, bool is_absolute)
{
    struct vc__dns_host *h = &r->host[r->n];

    h->round = r;
    h->is_absolute = is_absolute;
    h->status = ARES_ECANCELLED; /* not asked yet */
    strcpy(h->name, name);
    return r->n++;
}

/* For round_hosts_make(): adds the hosts of names without SRV records. One with
 * two ports is asked once. */
static void
round_plain_hosts(struct vc__dns_round *r)
{
    for (unsigned i = 0; i < r->target->n; i++) {
        struct vc__dns_question *q = &r->question[i];

        if (q->name->is_srv)
            continue;
        for (q->host = 0; q->host < r->n; q->host++)
            if (strcasecmp(r->host[q->host].name, q->name->host) == 0)
                break;
        if (q->host == r->n)
            round_host_add(r, q->name->host, false);
    }
}

/* For qsort() in round_srv_hosts(): by the names of the hosts, as strcmp() but
 * for upper and lower case. */
static int
srv_name_compare(const void *left, const void *right)
{
    const struct vc__dns_srv *const *a = left, *const *b = right;

    return strcasecmp((*a)->name, (*b)->name);
}

/* For round_hosts_make(): adds the hosts of these SRV records, each once. */
static void
round_srv_hosts(struct vc__dns_round *r, struct vc__dns_srv **by_name, size_t n)
{
    qsort(by_name, n, sizeof by_name[0], srv_name_compare);
    for (size_t i = 0; i < n; i++)
        by_name[i]->host =
            i > 0 && strcasecmp(by_name[i]->name, by_name[i - 1]->name) == 0
                ? by_name[i - 1]->host
                : round_host_add(r, by_name[i]->name, true);
}

/* For vc__dns_round_advance(): finds out which hosts must be asked. Returns
 * ARES_SUCCESS, or ARES_ENOMEM. */
static int
round_hosts_make(struct vc__dns_round *r)
{
    struct vc__dns_srv **by_name;
    size_t n = 0;

    for (unsigned i = 0; i < r->target->n; i++)
        n += r->question[i].srvs.n;
    by_name = calloc(n + 1, sizeof by_name[0]);
    r->host = calloc(n + r->target->n, sizeof r->host[0]);
    if (by_name == NULL || r->host == NULL) {
        free(by_name);
        return ARES_ENOMEM;
    }
    n = 0;
    for (unsigned i = 0; i < r->target->n; i++)
        for (size_t j = 0; j < r->question[i].srvs.n; j++)
            by_name[n++] = &r->question[i].srvs.record[j];
    round_plain_hosts(r);
    round_srv_hosts(r, by_name, n);
    free(by_name);
    return ARES_SUCCESS;
}

/* --- addresses: vc__dns_round_advance() calls these, directly or not ---- */

/* For host_fill(): copies an address. False if it is of another family. */
static bool
addr_copy_of(const struct sockaddr *from, struct vc__dns_addr *to)
{
    *to = (struct vc__dns_addr){.is_v6 = from->sa_family == AF_INET6};
    if (to->is_v6)
        memcpy(to->ip, &((const struct sockaddr_in6 *)from)->sin6_addr, 16);
    else if (from->sa_family == AF_INET)
        memcpy(to->ip, &((const struct sockaddr_in *)from)->sin_addr, 4);
    return to->is_v6 || from->sa_family == AF_INET;
}

/* For host_done(): copies the addresses of a host, which c-ares has sorted, and
 * their TTL. ARES_SUCCESS; ARES_ENODATA if there are none, ARES_ENOMEM without
 * memory. */
static int
host_fill(struct vc__dns_host *h, const struct ares_addrinfo *all)
{
    const struct ares_addrinfo_cname *c;
    const struct ares_addrinfo_node *a;
    size_t n = 0;

    for (a = all->nodes; a != NULL; a = a->ai_next)
        n++;
    h->addrs = calloc(n + 1, sizeof h->addrs[0]);
    if (h->addrs == NULL)
        return ARES_ENOMEM;
    h->ttl = VC__DNS_TTL_MOST;
    for (a = all->nodes; a != NULL; a = a->ai_next) {
        h->n += addr_copy_of(a->ai_addr, &h->addrs[h->n]);
        h->ttl = vc__dns_ttl_least(h->ttl, (uint32_t)a->ai_ttl);
    }
    for (c = all->cnames; c != NULL; c = c->next)
        h->ttl = vc__dns_ttl_least(h->ttl, (uint32_t)c->ttl);
    if (h->round->is_starting) /* no server has been asked */
        h->ttl = VC__DNS_TTL_LOCAL;
    return h->n == 0 ? ARES_ENODATA : ARES_SUCCESS;
}

/* The callback of host_ask(), which c-ares calls: notes the addresses of a
 * host, or why there are none. */
static void
host_done(void *arg, int status, int timeouts, struct ares_addrinfo *all)
{
    struct vc__dns_host *h = arg;

    (void)timeouts;
    h->round->asked--;
    h->status = status == ARES_SUCCESS ? host_fill(h, all) : status;
    if (all != NULL)
        ares_freeaddrinfo(all);
}

/* For host_ask(): takes a host that is an address, which never changes; false
 * if it is none. h->status is ARES_ENOMEM without memory. c-ares 1.18 would ask
 * for an IPv4 address, too. */
static bool
host_take_address(struct vc__dns_host *h)
{
    struct vc__dns_addr addr = {.is_v6 = strchr(h->name, ':') != NULL};

    if (inet_pton(addr.is_v6 ? AF_INET6 : AF_INET, h->name, addr.ip) != 1)
        return false;
    h->addrs = malloc(sizeof addr);
    h->status = h->addrs == NULL ? ARES_ENOMEM : ARES_SUCCESS;
    if (h->addrs == NULL)
        return true;
    h->addrs[0] = addr;
    h->n = 1;
    h->ttl = VC__DNS_TTL_MOST;
    return true;
}

/* For vc__dns_round_advance(): asks for the addresses of a host; if it is an
 * address itself, that is the answer. */
static void
host_ask(struct vc__dns_host *h, ares_channel channel)
{
    const struct ares_addrinfo_hints hints = {
        .ai_family = AF_UNSPEC,
        .ai_socktype = SOCK_STREAM,
    };
    char name[VC__DNS_HOST + 1];

    if (!h->is_absolute && host_take_address(h))
        return;
    snprintf(name, sizeof name, "%s%s", h->name, h->is_absolute ? "." : "");
    h->round->asked++;
    h->round->is_starting = true;
    ares_getaddrinfo(channel, name, NULL, &hints, host_done, h);
    h->round->is_starting = false;
}

/* For round_keep_hosts(): addresses that could not be got are those of the
 * round before. That a host exists and has none is not believed: c-ares says
 * so, too, if only one of its two questions, A and AAAA, has failed. */
static void
host_keep(struct vc__dns_host *h, struct vc__dns_round *before)
{
    if (h->status == ARES_SUCCESS || h->status == ARES_ENOTFOUND)
        return;
    for (size_t i = 0; i < before->n; i++) {
        struct vc__dns_host *was = &before->host[i];

        if (was->is_absolute != h->is_absolute ||
            strcasecmp(was->name, h->name) != 0)
            continue;
        free(h->addrs);
        h->addrs = was->addrs;
        h->n = was->n;
        h->is_kept = true;
        was->addrs = NULL;
        was->n = 0;
        return;
    }
}

/* For vc__dns_round_advance(): the round ends, as nothing is under way any
 * more. Hosts that failed have the addresses of the round before, unless their
 * names do not exist. */
static void
round_keep_hosts(struct vc__dns_round *r)
{
    for (size_t i = 0; i < r->n && r->before != NULL; i++)
        host_keep(&r->host[i], r->before);
    r->before = NULL;
}

bool
vc__dns_round_advance(struct vc__dns_round *r, ares_channel channel)
{
    round_ask_srvs(r, channel);
    if (!r->has_hosts) {
        if (r->asked > 0)
            return false;
        r->has_hosts = true;
        round_keep_srvs(r);
        r->status = round_hosts_make(r);
    }
    while (r->next < r->n && r->asked < ASKED_MOST && !r->is_cancelled)
        host_ask(&r->host[r->next++], channel);
    if (r->asked > 0)
        return false;
    round_keep_hosts(r);
    return true;
}

void
vc__dns_round_cancel(struct vc__dns_round *r, ares_channel channel)
{
    r->is_cancelled = true;
    ares_cancel(channel);
}

/* --- what was found: vc__dns_round_found() calls these ------------------ */

/* For vc__dns_round_found(): adds the status of one question: its TTL if it was
 * answered, else its name and type if it is the first that failed. */
static void
found_add(struct vc__dns_found *f, int status, uint32_t ttl, const char *name,
          const char *type)
{
    if (status == ARES_SUCCESS) {
        f->is_fresh = true;
        f->ttl = vc__dns_ttl_least(f->ttl, ttl);
    } else if (f->status == ARES_SUCCESS) {
        f->status = status;
        f->name = name;
        f->type = type;
    }
}

/* For vc__dns_round_found(): adds the servers of one name of the target to the
 * answer. */
static void
answer_question(const struct vc__dns_round *r, const struct vc__dns_question *q,
                struct vc__dns_answer *answer)
{
    struct vc__dns_place place = {r->target->transport, q->name->port, 1, 0};

    if (!q->name->is_srv)
        vc__dns_answer_add(answer, &place, r->host[q->host].addrs,
                           r->host[q->host].n);
    for (size_t i = 0; i < q->srvs.n; i++) {
        const struct vc__dns_srv *s = &q->srvs.record[i];

        place.port = s->port;
        place.weight = vc__dns_weight(s->weight);
        place.priority = s->rank;
        vc__dns_answer_add(answer, &place, r->host[s->host].addrs,
                           r->host[s->host].n);
    }
}

struct vc__dns_found
vc__dns_round_found(const struct vc__dns_round *r,
                    struct vc__dns_answer *answer)
{
    struct vc__dns_found f = {.ttl = VC__DNS_TTL_MOST};

    answer->n = 0;
    if (r->status != ARES_SUCCESS)
        found_add(&f, r->status, 0, r->target->name[0].host, "A, AAAA");
    for (unsigned i = 0; i < r->target->n; i++) {
        const struct vc__dns_question *q = &r->question[i];

        if (q->name->is_srv)
            found_add(&f, q->status, q->srvs.ttl, q->name->host, "SRV");
        if (r->status == ARES_SUCCESS)
            answer_question(r, q, answer);
    }
    for (size_t i = 0; i < r->n; i++)
        found_add(&f, r->host[i].status, r->host[i].ttl, r->host[i].name,
                  "A, AAAA");
    f.ttl = vc__dns_ttl(f.ttl);
    return f;
}
