/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The numbers of all engines together. */
#include <verbcall/counters.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "rpc/runtime.h"

static const char *const names[VC__COUNTS] = {
#define NAME(name, what) #name,
    VC_COUNTERS(NAME)
#undef NAME
};

static void
runtime_sum(struct vc_runtime *runtime, uint64_t sum[VC__COUNTS])
{
    memset(sum, 0, VC__COUNTS * sizeof sum[0]);
    for (unsigned i = 0; i < runtime->n; i++)
        vc__ledger_sum(&runtime->progress[i].engine.ledger, sum);
}

/* A program of another version may know fewer of them, or more. */
void
vc_runtime_counters(struct vc_runtime *runtime, struct vc_counters *out)
{
    const size_t head = offsetof(struct vc_counters, links_connecting);
    size_t room = out->size > head ? out->size - head : 0;
    uint64_t sum[VC__COUNTS];
    size_t known = room < sizeof sum ? room : sizeof sum;

    vc__must(runtime, VC__RUNTIME);
    _Static_assert(sizeof *out ==
                       offsetof(struct vc_counters, links_connecting) +
                           sizeof sum,
                   "the fields are an array");
    runtime_sum(runtime, sum);
    memcpy((char *)out + head, sum, known);
    memset((char *)out + head + known, 0, room - known);
}

size_t
vc_runtime_counters_text(struct vc_runtime *runtime, char *text, size_t size)
{
    uint64_t sum[VC__COUNTS];
    size_t len = 0;

    vc__must(runtime, VC__RUNTIME);
    runtime_sum(runtime, sum);
    for (unsigned i = 0; i < VC__COUNTS; i++) {
        bool fits = len < size;

        len += (size_t)snprintf(fits ? text + len : NULL, fits ? size - len : 0,
                                "%s %" PRIu64 "\n", names[i], sum[i]);
    }
    return len;
}
