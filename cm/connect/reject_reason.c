/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See cm/connect/reject_reason.h. */
#include "cm/connect/reject_reason.h"

#include "transport/core/counts.h"

static const struct vc__reject_rule rules[] = {
    [0] = {"a reason that this version does not know", VC_UNAVAILABLE,
           VC__REACTION_GIVE_UP, -1},
#define RULE(name, number, status, reaction, counter, text)                    \
    [number] = {text, VC_##status, VC__REACTION_##reaction,                    \
                VC__COUNT_##counter},
    VC__REJECT_REASONS(RULE)
#undef RULE
};

#define ONE_MORE(name, number, status, reaction, counter, text) +1
_Static_assert(sizeof rules / sizeof rules[0] == 1 VC__REJECT_REASONS(ONE_MORE),
               "no number is left out");

const struct vc__reject_rule *
vc__reject_rule(unsigned reason)
{
    return &rules[reason < sizeof rules / sizeof rules[0] ? reason : 0];
}
