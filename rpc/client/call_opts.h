/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The options of a call as the library has them: whole, with defaults, and
 * checked. Any thread. */
#ifndef VC_RPC_CALL_OPTS_H
#define VC_RPC_CALL_OPTS_H

#include <stdbool.h>
#include <stdint.h>

#include <verbcall/call.h>
#include <verbcall/channel.h>

/* May a program give these milliseconds to a call? 0 stands for a default. */
static inline bool
vc__timeout_is_good(uint32_t ms)
{
    return ms <= INT32_MAX || ms == VC_NO_DEADLINE;
}

/* A program's options, which may be NULL, or older and shorter than ours.
 * default_ms stands for a timeout_ms that is not set.
 * VC_INVALID_ARGUMENT  an option may not be; nothing of them can be used */
enum vc_status vc__call_opts_take(struct vc_call_opts *out,
                                  const struct vc_call_opts *opts,
                                  uint32_t default_ms);

#endif
