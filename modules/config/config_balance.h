/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Reads loadBalancingConfig and loadBalancingPolicy of a service config: the
 * policy that chooses servers, and its parameters. Called while a text is read,
 * on the thread that reads it: any.
 *
 * Called by: config.c (read). */
#ifndef VC_CONFIG_BALANCE_H
#define VC_CONFIG_BALANCE_H

#include "modules/config/config_reader.h"

/* Reads both fields of the whole; the former counts if it is there. False with
 * a fault, true if neither is there. Called by whole_config_read(). */
bool vc__config_balance_read(struct vc__config_reader *r,
                             const struct vc__config_at *whole);

#endif
