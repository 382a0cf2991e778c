/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The options of a call as the library has them: whole, with defaults, and
 * checked. Any thread. */
#ifndef VC_RPC_CALL_OPTS_H
#define VC_RPC_CALL_OPTS_H

#include <verbcall/call.h>

/* A program's options, which may be NULL, or older and shorter than ours.
 * default_ms stands for a timeout_ms that is not set.
 * VC_INVALID_ARGUMENT  an option may not be; nothing of them can be used */
enum vc_status vc__call_opts_take(struct vc_call_opts *out,
                                  const struct vc_call_opts *opts,
                                  uint32_t default_ms);

#endif
