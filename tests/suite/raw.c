/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See tests/suite/raw.h: connections, over any transport. */
#include <poll.h>
#include <string.h>

#include "tests/suite/fixture.h"
#include "tests/suite/raw_ops.h"

/* --- waiting ----------------------------------------------------------- */

int
raw_left(uint64_t until)
{
    uint64_t now = fixture_ms();

    return until > now ? (int)(until - now) : 0;
}

bool
raw_readable(int fd, uint64_t until)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};

    return poll(&p, 1, raw_left(until)) == 1;
}

int
raw_wait(struct raw *r, int ms)
{
    r->event = r->ops->wait(r, ms);
    return r->event;
}

void
raw_said(struct raw *r, const void *data, size_t len)
{
    r->said_len = len < sizeof r->said ? len : sizeof r->said;
    if (r->said_len > 0)
        memcpy(r->said, data, r->said_len);
}

/* --- the active end ---------------------------------------------------- */

static const struct raw_ops *
ops_of(const struct vc__target *target)
{
    return strcmp(target->transport->scheme, "rdma") == 0 ? &raw_rdma_ops
                                                          : &raw_wire_ops;
}

struct vc__hello
raw_hello(const struct vc_service *service)
{
    return (struct vc__hello){
        .version_min = VC__VERSION_MIN,
        .version_max = VC__VERSION_MAX,
        .credits = RAW_BUFFERS,
        .log2_eager = 13,
        .log2_message = 22,
        .service = service->id,
        .fingerprint = service->fingerprint,
        .instance = "a raw end",
    };
}

int
raw_connect(struct raw *r, const char *target, const void *data, size_t len)
{
    struct vc__target parsed;

    if (vc__target_parse(&parsed, target) != VC_OK)
        return RAW_NOTHING;
    STAILQ_INIT(&r->kept);
    if (r->ops == NULL)
        r->ops = ops_of(&parsed);
    if (!r->ops->connect(r, &parsed, data, len))
        return RAW_NOTHING;
    return raw_wait(r, RAW_MS);
}

bool
raw_open(struct raw *r, const char *target, const struct vc__hello *hello)
{
    uint8_t bytes[VC__HELLO_SIZE];
    struct vc__accept accept;

    vc__hello_put(bytes, hello);
    if (raw_connect(r, target, bytes, sizeof bytes) != RAW_ESTABLISHED ||
        vc__accept_get(&accept, r->said, r->said_len) != VC__SAID_OK)
        return false;
    r->have = accept.credits;
    r->window = hello->credits;
    return true;
}

void
raw_close(struct raw *r)
{
    if (r->end != NULL)
        r->ops->close(r);
    if (r->ops != NULL)
        raw_forget(r);
    memset(r, 0, sizeof *r);
}

/* --- the passive end --------------------------------------------------- */

bool
raw_listen(struct raw_listener *l)
{
    char text[80];
    struct vc__target target;

    memset(l, 0, sizeof *l);
    l->port = fixture_free_number();
    if (vc__target_parse(&target, fixture_target(l->port, text)) != VC_OK)
        return false;
    l->ops = ops_of(&target);
    return l->ops->listen(l, &target);
}

void
raw_unlisten(struct raw_listener *l)
{
    if (l->ear != NULL)
        l->ops->unlisten(l);
    memset(l, 0, sizeof *l);
}

bool
raw_take(struct raw_listener *l, struct raw *r, int ms)
{
    STAILQ_INIT(&r->kept);
    r->ops = l->ops;
    r->event = l->ops->take(l, r, ms) ? RAW_REQUEST : RAW_NOTHING;
    return r->event == RAW_REQUEST;
}

bool
raw_accept_only(struct raw *r, const void *data, size_t len)
{
    struct vc__hello hello;
    struct vc__accept accept;

    r->window = RAW_BUFFERS;
    if (vc__accept_get(&accept, data, len) == VC__SAID_OK)
        r->window = accept.credits;
    if (vc__hello_get(&hello, r->said, r->said_len) == VC__SAID_OK)
        r->have = hello.credits;
    return r->ops->accept(r, data, len);
}

bool
raw_accept(struct raw *r, const void *data, size_t len)
{
    return raw_accept_only(r, data, len) &&
           raw_wait(r, RAW_MS) == RAW_ESTABLISHED;
}

bool
raw_reject(struct raw *r, const void *data, size_t len)
{
    return r->ops->reject(r, data, len);
}
