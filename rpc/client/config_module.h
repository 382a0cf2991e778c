/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Reads service configs by the module libverbcall-config, which is loaded when
 * the first is read, and stays. Any thread.
 *
 * Called by: channel_config.c (all), method_config.c (free). */
#ifndef VC_RPC_CONFIG_MODULE_H
#define VC_RPC_CONFIG_MODULE_H

#include <stddef.h>

#include <verbcall/status.h>

struct vc__service_config;

/* Reads a text of len bytes. On VC_OK *config is the caller's.
 * VC_INVALID_ARGUMENT   the text is malformed: vc_error() says where and how
 * VC_RESOURCE_EXHAUSTED memory is short
 * VC_UNIMPLEMENTED      the module is not installed, or of another version */
enum vc_status vc__config_module_parse(const char *text, size_t len,
                                       struct vc__service_config **config);
/* Frees what vc__config_module_parse() has read. NULL is allowed. */
void vc__config_module_free(struct vc__service_config *config);

#endif
