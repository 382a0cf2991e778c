/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See tests/unit/picker_rig.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/picker_rig.h"
#include "tests/unit/random.h"

struct picker_rig rig;

static const struct vc_service service = {.id = 1};

void
rig_health(unsigned i, enum vc__pool_health health)
{
    atomic_store(&rig.pools[i].health, health);
}

void
rig_health_all(enum vc__pool_health health)
{
    for (unsigned i = 0; i < rig.set->n; i++)
        rig_health(i, health);
}

void
rig_eject(unsigned i, bool ejected)
{
    vc__subchannel_bar(&rig.subs[i], VC__BAR_EJECTED,
                       ejected ? VC__BAR_EJECTED : 0);
}

void
rig_bar(unsigned i, unsigned bars)
{
    vc__subchannel_bar(&rig.subs[i], VC__BAR_HEALTH, bars);
}

void
rig_calls(unsigned i, uint64_t calls)
{
    atomic_store(&rig.pools[i].tally.value[VC__POOL_CALLS_STARTED], calls);
}

void
rig_promptable(unsigned i)
{
    rig.pools[i].asked = 0;
    atomic_store(&rig.pools[i].prompt_at, 0);
    rig.pools[i].closed = true; /* so that nothing is posted */
}

bool
picker_rig_was_prompted(unsigned i)
{
    return rig.pools[i].asked == service.id;
}

/* What is said of n servers, for picker_rig_begin(). */
static struct vc__endpoint *
about_new(unsigned n)
{
    struct vc__endpoint *about = calloc(n, sizeof *about);

    assert_non_null(about);
    for (unsigned i = 0; i < n; i++) {
        about[i].weight = 1;
        snprintf(about[i].target, sizeof about[i].target, "tcp://10.9.0.%u:1",
                 i);
    }
    return about;
}

void
picker_rig_begin(enum vc__policy policy, unsigned n)
{
    vc__server_set_free(rig.set);
    memset(&rig, 0, sizeof rig);
    rig.picker.policy = policy;
    rig.set = vc__server_set_new(n, about_new(n));
    assert_non_null(rig.set);
    for (unsigned i = 0; i < n; i++) {
        rig.subs[i].pool = &rig.pools[i];
        rig.set->sub[i] = &rig.subs[i];
        atomic_store(&rig.pools[i].prompt_at, UINT64_MAX);
        rig_health(i, VC__POOL_READY);
    }
}

void
picker_rig_arrange(void)
{
    assert_true(vc__server_set_arrange(rig.set, rig.picker.policy, NULL));
}

void
picker_rig_fresh(enum vc__policy policy)
{
    picker_rig_begin(policy, RIG_N);
    picker_rig_arrange();
}

/* Returns the number of the server that is chosen. */
static unsigned
pick_of(const struct vc__pool *before, uint64_t seed, struct vc__pick_key key)
{
    const struct vc__pick pick = {.service = &service,
                                  .before = before,
                                  .now = 1,
                                  .seed = seed,
                                  .key = &key};

    return (unsigned)(vc__picker_pick(&rig.picker, rig.set, &pick) - rig.subs);
}

unsigned
rig_pick_after(const struct vc__pool *before, uint64_t seed)
{
    return pick_of(before, seed, (struct vc__pick_key){.hashed = false});
}

int
rig_pick_quick(const struct vc__pool *before)
{
    const struct vc__subchannel *s =
        vc__picker_quick(&rig.picker, rig.set, before);

    return s == NULL ? -1 : (int)(s - rig.subs);
}

unsigned
rig_pick_hash(const struct vc__pool *before, uint64_t hash)
{
    return pick_of(before, 1,
                   (struct vc__pick_key){.hashed = true, .hash = hash});
}

uint64_t
rig_random(uint64_t *seed)
{
    uint64_t high = random_next(seed);

    return high << 32 | random_next(seed);
}

void
picker_rig_draw(unsigned n)
{
    uint64_t seed = 1;

    memset(rig.got, 0, sizeof rig.got);
    for (unsigned i = 0; i < n; i++)
        rig.got[rig_pick_after(NULL, rig_random(&seed))]++;
}
