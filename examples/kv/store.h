/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A key-value store in memory; keys are numbers. It has the lines of a file
 * from the start, the first under 1. Values that are put are kept besides
 * them. */
#ifndef KV_STORE_H
#define KV_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <verbcall/verbcall.h>

#include "lines.h"

/* Limits for values that are put; lines do not count. */
#define STORE_MAX_KEYS  1000000
#define STORE_MAX_VALUE ((size_t)1 << 20)
#define STORE_MAX_BYTES ((size_t)1 << 30) /* of all values together */

/* Any number of threads at a time may call all functions except store_new() and
 * store_free(). Functions with a call return the status for its handler to
 * return, and keep its text (vc_call_fail()). */
struct store;

/* store_new - creates a store; lines must stay valid until store_free(). NULL
 * without memory. */
struct store *store_new(const struct lines *lines);
void store_free(struct store *store);

/* store_get - sets *value to the value of key, which lives as long as the
 * call. */
enum vc_status store_get(struct store *store, struct vc_call *call,
                         uint64_t key, ProtobufCBinaryData *value);

/* store_put - keeps a copy of value; *existed is true if it replaces a
 * value. */
enum vc_status store_put(struct store *store, struct vc_call *call,
                         uint64_t key, const ProtobufCBinaryData *value,
                         bool *existed);

uint64_t store_count(struct store *store);

#endif
