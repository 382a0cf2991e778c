/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * What goes with calls beside their messages: what tests of metadata and
 * results share. */
#ifndef VC_TESTS_SIM_TOLD_H
#define VC_TESTS_SIM_TOLD_H

#include "tests/sim/scene.h"

/* A scene with some seeds and this handler. */
void told_play(void (*act)(struct scene *), sim_handle *handle);

/* A handler that gives all that came back twice, as initial and as trailing
 * metadata, and the payload. */
sim_handle told_mirror;

/* Echoes size bytes with these options; a wrong reply is VC_DATA_LOSS. */
enum vc_status told_echo(struct vc_channel *channel, size_t size,
                         const struct vc_call_opts *opts);

struct vc_metadata told_text(const char *key, const char *value);

/* One entry that takes so many bytes packed. */
struct vc_metadata told_long(size_t packed);

/* n entries that came are these, each with a NUL behind. */
void told_assert_same(const struct vc_metadata *came,
                      const struct vc_metadata *m, size_t n);

/* No metadata and no details. */
void told_assert_nothing(const struct vc_result *r);

#endif
