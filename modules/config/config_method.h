/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Reads methodConfig of a service config: names, timeouts, limits, retries and
 * hedging. Called while a text is read, on the thread that reads it: any.
 *
 * Called by: config.c (config_methods_read). */
#ifndef VC_CONFIG_METHOD_H
#define VC_CONFIG_METHOD_H

#include "modules/config/config_reader.h"

/* Reads the whole array into r->config, whose entries and names it allocates.
 * False with a fault, true if there is no array. Called by
 * whole_config_read(). */
bool vc__config_methods_read(struct vc__config_reader *r,
                             const struct vc__config_at *at);

#endif
