/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Connection plans (struct vc__dial) for tests: addresses from 10.0.0.1, and
 * their answers. Times are microseconds; a plan begins at T0. */
#ifndef VC_TESTS_UNIT_DIAL_MAKER_H
#define VC_TESTS_UNIT_DIAL_MAKER_H

#include <arpa/inet.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "cm/connect/dial.h"
#include "cm/connect/features.h"

#define T0   UINT64_C(1000000)
#define DUE  (T0 + 2000000)
#define HEAD (VC__DIAL_HEAD_START_MS * MS)
#define MS   UINT64_C(1000)

#define SAID VC__FEATURES_SAID

static const struct vc__dial_offer most = {
    .features = SAID | 5, .credits = 32, .log2_eager = 14, .log2_message = 22};

struct places {
    unsigned n;
    struct vc__place to[VC__TARGET_ADDRS];
};

/* Returns n addresses from 10.0.0.1, port 7; the transport does not matter. */
static inline struct places
places_make(unsigned n)
{
    struct places a = {.n = n};

    for (unsigned i = 0; i < n; i++) {
        struct sockaddr_in *in = (struct sockaddr_in *)&a.to[i].addr;

        in->sin_family = AF_INET;
        in->sin_port = htons(7);
        in->sin_addr.s_addr = htonl(0x0a000001 + i);
    }
    return a;
}

static inline void
begin_until(struct vc__dial *d, unsigned n, uint64_t seed, uint64_t due)
{
    struct places places = places_make(n);
    struct vc__dial_opts opts = {.places = places.to,
                                 .n_places = n,
                                 .due = due,
                                 .head_start_ms = VC__DIAL_HEAD_START_MS,
                                 .seed = seed,
                                 .offer = most};

    vc__dial_begin(d, &opts);
}

static inline void
begin(struct vc__dial *d, unsigned n, uint64_t seed)
{
    begin_until(d, n, seed, DUE);
}

/* Returns the last byte of the address that is tried. */
static inline unsigned
host_of(const struct vc__dial_way *w)
{
    const struct sockaddr_in *in = (const struct sockaddr_in *)&w->to.addr;

    return ntohl(in->sin_addr.s_addr) & 0xff;
}

static inline unsigned
expect_try(struct vc__dial *d, uint64_t now, unsigned host)
{
    struct vc__dial_step step;

    assert_int_equal(VC__DIAL_TRY, vc__dial_next(d, now, &step));
    assert_int_equal(host, host_of(step.way));
    return step.which;
}

static inline void
expect_wait(struct vc__dial *d, uint64_t now, uint64_t at)
{
    struct vc__dial_step step;

    assert_int_equal(VC__DIAL_WAIT, vc__dial_next(d, now, &step));
    assert_int_equal(at, step.at);
}

static inline void
expect_nothing(struct vc__dial *d, uint64_t now)
{
    struct vc__dial_step step;

    assert_int_equal(VC__DIAL_NOTHING, vc__dial_next(d, now, &step));
}

static inline void
expect_fail(struct vc__dial *d, uint64_t now, const char *text)
{
    struct vc__dial_step step;

    assert_int_equal(VC__DIAL_FAIL, vc__dial_next(d, now, &step));
    if (strstr(d->error.text, text) == NULL)
        fail_msg("\"%s\" is not in \"%s\"", text, d->error.text);
}

static inline void
fail_as(struct vc__dial *d, unsigned which, uint64_t now, enum vc_status status,
        const char *text, struct vc__dial_failure f)
{
    struct vc__error error;

    vc__error_put(&error, status, "%s", text);
    f.error = &error;
    vc__dial_failed(d, which, now, &f);
}

static inline void
fail_silent(struct vc__dial *d, unsigned which, uint64_t now, const char *text)
{
    fail_as(d, which, now, VC_UNAVAILABLE, text, (struct vc__dial_failure){0});
}

static inline void
fail_stale(struct vc__dial *d, unsigned which, uint64_t now)
{
    fail_as(d, which, now, VC_UNAVAILABLE, "stale",
            (struct vc__dial_failure){.stale = true, .heard = true});
}

static inline void
reject(struct vc__dial *d, unsigned which, uint64_t now, enum vc_status status,
       const char *text, const struct vc__reject *r)
{
    fail_as(d, which, now, status, text,
            (struct vc__dial_failure){.reject = r, .heard = true});
}

static inline void
reject_busy(struct vc__dial *d, unsigned which, uint64_t now, uint32_t ms)
{
    const struct vc__reject r = {.reason = VC__REJECT_BUSY, .retry_ms = ms};

    reject(d, which, now, VC_UNAVAILABLE, "busy", &r);
}

/* Returns a redirect to the hosts 10.0.0.<host>, with these weights. */
static inline struct vc__reject
moved_to(unsigned n, const uint8_t *hosts, const uint8_t *weights)
{
    struct vc__reject r = {.reason = VC__REJECT_MOVED, .n_addrs = (uint8_t)n};

    for (unsigned i = 0; i < n; i++)
        r.addrs[i] = (struct vc__reject_addr){.family = 4,
                                              .weight = weights[i],
                                              .port = 7,
                                              .addr = {10, 0, 0, hosts[i]}};
    return r;
}

static inline void
reject_moved(struct vc__dial *d, unsigned which, uint64_t now, uint8_t host)
{
    const struct vc__reject r = moved_to(1, &host, &(uint8_t){1});

    reject(d, which, now, VC_UNAVAILABLE, "moved", &r);
}

#endif
