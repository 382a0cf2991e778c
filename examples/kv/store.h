/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Values under numbers, in memory. The lines of a file are there from the
 * beginning, the first under 1; what is put is kept beside them. */
#ifndef KV_STORE_H
#define KV_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <verbcall/verbcall.h>

#include "lines.h"

/* What may be put; lines count for nothing here. */
#define STORE_MAX_KEYS  1000000
#define STORE_MAX_VALUE ((size_t)1 << 20)
#define STORE_MAX_BYTES ((size_t)1 << 30) /* of all values together */

/* All functions but new and free may be called by any number of threads at a
 * time. Those with a call return what its handler is to return, with its text
 * kept (vc_call_fail()). */
struct store;

/* store_new - lines must stay until store_free(). NULL without memory. */
struct store *store_new(const struct lines *lines);
void store_free(struct store *store);

/* store_get - *value gets the value under key, which lives as long as the
 * call. */
enum vc_status store_get(struct store *store, struct vc_call *call,
                         uint64_t key, ProtobufCBinaryData *value);

/* store_put - keeps a copy of value; *existed says whether it replaces one. */
enum vc_status store_put(struct store *store, struct vc_call *call,
                         uint64_t key, const ProtobufCBinaryData *value,
                         bool *existed);

uint64_t store_count(struct store *store);

#endif
