/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See tests/unit/schedule_rig.h. */
#include "tests/unit/schedule_rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

void
rig_begin(struct rig *r)
{
    memset(r, 0, sizeof *r);
    vc__schedule_init(&r->schedule);
    for (unsigned i = 0; i < RIG_FLOWS; i++)
        vc__flow_init(&r->flows[i], 1);
}

struct vc__send *
rig_add(struct rig *r, unsigned flow, uint32_t len)
{
    struct vc__send *s = &r->sends[r->n_sends++];

    memset(s, 0, sizeof *s);
    s->flow = &r->flows[flow];
    s->frame.body_len = len;
    vc__schedule_add(&r->schedule, s);
    return s;
}

/* Does what the link does after it has written s->take bytes. */
static void
written(struct rig *r, struct vc__send *s)
{
    uint32_t body = s->take - VC__FRAME_HEADER;

    if (s->at == 0)
        body -= s->frame.metadata_len;
    if (vc__send_is_long(s) && s->at == 0) {
        body -= VC__TOTAL_SIZE;
        assert_in_range(body, 1, s->frame.body_len - 1);
    }
    s->at += body;
    r->bytes[s->flow - r->flows] += s->take;
    assert_true(s->at <= s->frame.body_len);
    if (s->at < s->frame.body_len)
        vc__schedule_add(&r->schedule, s);
    else
        r->over[r->n_over++] = s;
}

bool
rig_packet(struct rig *r, uint32_t room)
{
    struct vc__send *plan[RIG_SENDS], *s;
    unsigned n = 0;

    if (vc__schedule_is_empty(&r->schedule))
        return false;
    while ((s = vc__schedule_take(&r->schedule, room)) != NULL) {
        assert_in_range(s->take, VC__FRAME_HEADER, room);
        room -= s->take;
        plan[n++] = s;
    }
    for (unsigned i = 0; i < n; i++)
        written(r, plan[i]);
    return true;
}
