/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See verbcall/counters.h. The counters of a runtime: sums over all its
 * engines. Any thread. */
#include <verbcall/counters.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "rpc/options.h"
#include "rpc/runtime.h"

static const char *const names[VC__COUNTS] = {
#define NAME(name, kind, unit, what) #name,
    VC_COUNTERS(NAME)
#undef NAME
};

/* For vc_runtime_counters() and vc_runtime_counters_text(): sets sum to the
 * sums of all counters over the engines of the runtime. */
static void
runtime_sum(struct vc_runtime *runtime, uint64_t sum[VC__COUNTS])
{
    memset(sum, 0, VC__COUNTS * sizeof sum[0]);
    for (unsigned i = 0; i < runtime->n; i++)
        vc__ledger_sum(&runtime->progress[i].engine.ledger, sum);
}

/* A program built for another version may know fewer counters, or more. */
enum vc_status
vc_runtime_counters(struct vc_runtime *runtime, struct vc_counters *out)
{
    static const struct vc__options kind = {
        .name = "vc_counters",
        .macros = "VC_COUNTERS_INIT",
        .size = sizeof *out,
        .least = offsetof(struct vc_counters, links_connecting),
    };
    const size_t head = kind.least;
    uint64_t sum[VC__COUNTS];
    size_t room, known;

    vc__must(runtime, VC__RUNTIME);
    _Static_assert(sizeof *out ==
                       offsetof(struct vc_counters, links_connecting) +
                           sizeof sum,
                   "the fields are an array");
    if (vc__options_size_check(&kind, out) != VC_OK)
        return VC_INVALID_ARGUMENT;
    room = out->size - head;
    known = room < sizeof sum ? room : sizeof sum;
    runtime_sum(runtime, sum);
    memcpy((char *)out + head, sum, known);
    memset((char *)out + head + known, 0, room - known);
    return VC_OK;
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
