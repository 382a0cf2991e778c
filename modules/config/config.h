/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The module for service configs, on jansson: what it exports. See
 * rpc/client/service_config.h. It uses nothing of the library, so it may also
 * be linked into a program: the library then loads no module. Called by
 * rpc/client/config_module.c, on any thread that changes the config of a
 * channel: the one that opens or closes the channel, that of
 * vc_resolver_config(), or the holder when the config's file has changed. */
#ifndef VC_CONFIG_H
#define VC_CONFIG_H

#include <verbcall/export.h>

#include "rpc/client/service_config.h"

VC_API extern const struct vc__config_module vc_config_module;

#endif
