/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Reads the targets of "list:TARGET,TARGET,...". Pure; on the thread of
 * vc_channel_open().
 *
 * Called by: list_resolver.c (all), servers.c (all). */
#ifndef VC_RPC_TARGET_LIST_H
#define VC_RPC_TARGET_LIST_H

#include <verbcall/status.h>

/* The most targets of a list, and the most bytes of one. */
#define VC__TARGET_LIST_MAX  1024u
#define VC__TARGET_LIST_TEXT 320u

/* Gives the number of targets in *n: 1 for what is no list.
 * VC_INVALID_ARGUMENT if there are too many. text may be NULL. */
enum vc_status vc__target_list_count(const char *text, unsigned *n);

/* Copies target i, which is less than *n of vc__target_list_count(). A list's
 * one has no "list:". VC_INVALID_ARGUMENT if it is too long, or an empty one of
 * a list. */
enum vc_status vc__target_list_get(const char *text, unsigned i,
                                   char out[VC__TARGET_LIST_TEXT]);

#endif
