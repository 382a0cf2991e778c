/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See tests/unit/dns_rig.h. */
#include "tests/unit/dns_rig.h"

#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#define LIMIT_MS 10000u

/* Of rig_servers(). */
static char servers_text[VC_ENDPOINTS_MAX * RIG_TEXT];

uint64_t
rig_now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/* --- the library's functions ------------------------------------------- */

enum vc_status
vc_resolver_set(struct vc_resolver *r, const struct vc_endpoint *endpoints,
                size_t n)
{
    assert_in_range(n, 1, VC_ENDPOINTS_MAX);
    r->sets++;
    if (r->set_fails != VC_OK)
        return r->set_fails;
    r->n = n;
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(endpoints[i].size, sizeof endpoints[i]);
        assert_in_range(endpoints[i].weight, 1, VC_ENDPOINT_WEIGHT_MAX);
        assert_in_range(endpoints[i].priority, 0, VC_ENDPOINT_PRIORITY_MAX);
        snprintf(r->server[i].target, RIG_TEXT, "%s", endpoints[i].target);
        r->server[i].weight = endpoints[i].weight;
        r->server[i].priority = endpoints[i].priority;
    }
    return VC_OK;
}

void
vc_resolver_fail(struct vc_resolver *r, const char *why)
{
    r->fails++;
    snprintf(r->why, sizeof r->why, "%s", why);
}

/* The watch of this fd; of -1: a free one. */
static struct rig_watch *
watch_find(struct vc_resolver *r, int fd)
{
    for (int i = 0; i < RIG_WATCHES; i++)
        if (r->watch[i].fd == fd)
            return &r->watch[i];
    return NULL;
}

enum vc_status
vc_resolver_watch(struct vc_resolver *r, int fd, bool writes,
                  void (*ready)(void *state, int fd))
{
    struct rig_watch *w = watch_find(r, fd);

    if (w == NULL)
        w = watch_find(r, -1);
    if (w == NULL || r->refuses_watches)
        return VC_RESOURCE_EXHAUSTED;
    *w = (struct rig_watch){fd, writes, ready};
    return VC_OK;
}

void
vc_resolver_forget(struct vc_resolver *r, int fd)
{
    struct rig_watch *w = watch_find(r, fd);

    if (w != NULL)
        w->fd = -1;
    else
        assert_true(r->refuses_watches);
}

void
vc_resolver_timer(struct vc_resolver *r, uint32_t ms, void (*fire)(void *state))
{
    assert_in_range(ms, 0, INT32_MAX);
    r->fire = fire;
    r->timer_ms = ms;
    r->due_ms = rig_now() + ms;
}

/* --- the loop ----------------------------------------------------------- */

static size_t
polls_make(struct vc_resolver *r, struct pollfd *out)
{
    size_t n = 0;

    for (int i = 0; i < RIG_WATCHES; i++)
        out[n++] = (struct pollfd){
            .fd = r->watch[i].fd,
            .events = r->watch[i].writes ? POLLIN | POLLOUT : POLLIN,
        };
    for (int i = 0; i < 2; i++)
        if (r->fake[i] != NULL)
            n += dns_fake_polls(r->fake[i], out + n);
    return n;
}

void
rig_turn(struct vc_resolver *r)
{
    struct pollfd polls[RIG_WATCHES + 2 * FAKE_POLLS];
    size_t n = polls_make(r, polls);
    uint64_t now = rig_now();
    uint32_t wait = r->fire == NULL || r->due_ms > now + 100 ? 100
                    : r->due_ms > now ? (uint32_t)(r->due_ms - now)
                                      : 0;
    void (*fire)(void *state);

    r->turns++;
    poll(polls, n, (int)wait);
    for (int i = 0; i < 2; i++)
        if (r->fake[i] != NULL)
            dns_fake_serve(r->fake[i]);
    for (int i = 0; i < RIG_WATCHES; i++)
        if (polls[i].revents != 0 && r->watch[i].fd == polls[i].fd)
            r->watch[i].ready(r->state, polls[i].fd);
    if (r->fire != NULL && rig_now() >= r->due_ms) {
        fire = r->fire;
        r->fire = NULL;
        fire(r->state);
    }
}

static const char *
rig_servers_text(const struct vc_resolver *r)
{
    size_t len = 0;

    servers_text[0] = '\0';
    for (size_t i = 0; i < r->n; i++)
        len += (size_t)snprintf(servers_text + len, sizeof servers_text - len,
                                "%s%s", i == 0 ? "" : " ", r->server[i].target);
    return servers_text;
}

const char *
rig_servers(struct vc_resolver *r)
{
    uint64_t end = rig_now() + LIMIT_MS;
    unsigned was = r->sets;

    while (r->sets == was) {
        if (rig_now() > end)
            fail_msg("no servers; %u failures, the last: %s", r->fails, r->why);
        rig_turn(r);
    }
    return rig_servers_text(r);
}

const char *
rig_failure(struct vc_resolver *r)
{
    uint64_t end = rig_now() + LIMIT_MS;
    unsigned was = r->fails;

    while (r->fails == was) {
        if (rig_now() > end)
            fail_msg("no failure; %u answers", r->sets);
        rig_turn(r);
    }
    return r->why;
}

void
rig_expect(struct vc_resolver *r, const char *servers)
{
    uint64_t end = rig_now() + LIMIT_MS;

    while (strcmp(rig_servers_text(r), servers) != 0) {
        if (rig_now() > end)
            fail_msg("the servers are %s; %s", servers_text, r->why);
        rig_turn(r);
    }
}

void
rig_run(struct vc_resolver *r, uint32_t ms)
{
    uint64_t end = rig_now() + ms;

    while (rig_now() < end)
        rig_turn(r);
}

/* --- open and close ----------------------------------------------------- */

enum vc_status
rig_try(struct vc_resolver *r, struct dns_fake *fake, const char *format)
{
    const char *port = strstr(format, "%u");
    char target[512];

    *r = (struct vc_resolver){.fake = {fake}};
    for (int i = 0; i < RIG_WATCHES; i++)
        r->watch[i].fd = -1;
    if (port != NULL)
        snprintf(target, sizeof target, "%.*s%u%s", (int)(port - format),
                 format, fake->port, port + 2);
    else
        snprintf(target, sizeof target, "%s", format);
    return vc_resolver_module.open(r, target, &r->state);
}

void
rig_open(struct vc_resolver *r, struct dns_fake *fake, const char *format)
{
    if (rig_try(r, fake, format) != VC_OK)
        fail_msg("%s: %s", format, r->why);
}

void
rig_close(struct vc_resolver *r)
{
    vc_resolver_module.close(r->state);
    for (int i = 0; i < RIG_WATCHES; i++)
        assert_int_equal(r->watch[i].fd, -1);
}
