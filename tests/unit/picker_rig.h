/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A picker over servers whose pools exist only as what they publish. There is
 * one, which picker_rig_begin() makes anew. Servers have the numbers by which they
 * were made, whatever their places in the set. */
#ifndef VC_TESTS_UNIT_PICKER_RIG_H
#define VC_TESTS_UNIT_PICKER_RIG_H

#include "rpc/balance/picker.h"

#define RIG_N     5u /* servers of picker_rig_fresh() */
#define RIG_MAX   16u
#define RIG_DRAWS 100000u

struct picker_rig {
    struct vc__pool pools[RIG_MAX];
    struct vc__subchannel subs[RIG_MAX];
    struct vc__server_set *set;
    struct vc__picker picker;
    unsigned got[RIG_MAX]; /* choices of picker_rig_draw() by server */
};
extern struct picker_rig rig;

/* n servers, "tcp://10.9.0.NUMBER:1" of weight 1, that are connected, and none
 * is to be connected. picker_rig_arrange() must follow. */
void picker_rig_begin(enum vc__policy policy, unsigned n);
/* Arranges the set, when rig.set->about is as the test wants it. */
void picker_rig_arrange(void);
/* Both, of RIG_N servers. */
void picker_rig_fresh(enum vc__policy policy);

void rig_health(unsigned i, enum vc__pool_health health);
/* Of all servers. */
void rig_health_all(enum vc__pool_health health);
void rig_eject(unsigned i, bool ejected);
/* What is known of its health: of enum vc__bar. */
void rig_bar(unsigned i, unsigned bars);
void rig_calls(unsigned i, uint64_t calls);

/* From now on the server may be connected by the policy: picker_rig_was_prompted() is
 * true once that was tried. */
void rig_promptable(unsigned i);
bool picker_rig_was_prompted(unsigned i);

/* The choice of an attempt; before: where the one before went, or NULL. */
unsigned rig_pick_after(const struct vc__pool *before, uint64_t seed);
/* vc__picker_quick(); -1: it leaves the choice to vc__picker_pick(). */
int rig_pick_quick(const struct vc__pool *before);
/* The choice of a call with this hash. */
unsigned rig_pick_hash(const struct vc__pool *before, uint64_t hash);
/* Makes n choices of first attempts, with random seeds and hashes. */
void picker_rig_draw(unsigned n);

/* 64 random bits. */
uint64_t rig_random(uint64_t *seed);

#endif
