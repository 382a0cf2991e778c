/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Helpers for tests of metadata and results: what a call carries besides its
 * messages. */
#ifndef VC_TESTS_SIM_TOLD_H
#define VC_TESTS_SIM_TOLD_H

#include "tests/sim/scene.h"

/* Runs a scene with two seeds and this handler. */
void told_play(void (*act)(struct scene *), sim_handle *handle);

/* A handler that returns all received metadata twice, as initial and as
 * trailing metadata, and the payload. */
sim_handle told_mirror;

/* Echoes size bytes with these options. A wrong reply is VC_DATA_LOSS. */
enum vc_status told_echo(struct vc_channel *channel, size_t size,
                         const struct vc_call_opts *opts);

struct vc_metadata told_text(const char *key, const char *value);

/* One entry that takes `packed` bytes when packed. */
struct vc_metadata told_long(size_t packed);

/* The n received entries must equal m, each with a NUL after it. */
void told_assert_same(const struct vc_metadata *came,
                      const struct vc_metadata *m, size_t n);

/* The result has no metadata and no details. */
void told_assert_nothing(const struct vc_result *r);

#endif
