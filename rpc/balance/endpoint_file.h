/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Reads the text of a file of servers: a target a line, then weight=,
 * priority=, label= and hash_key=. Comments begin with '#'. The format is in
 * doc/balancing.md, "file:". A text with any fault is refused as a whole. Pure;
 * on the thread that reads the file: that of vc_channel_open(), later the
 * holder.
 *
 * Called by: file_resolver.c (parse). */
#ifndef VC_RPC_ENDPOINT_FILE_H
#define VC_RPC_ENDPOINT_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rpc/balance/endpoint.h"

/* The most bytes of a text. */
#define VC__ENDPOINT_FILE_MAX (1024u * 1024u)

/* Bytes of `why`, with its NUL. */
#define VC__ENDPOINT_FILE_WHY 512

/* A power of two, so large that at most half of the slots are used. */
#define VC__ENDPOINT_FILE_SLOTS 2048u

/* What was read: 480 KiB, so best on the heap. It needs no initialization. */
struct vc__endpoint_file {
    unsigned n; /* 1..VC_ENDPOINTS_MAX; each target is there once */
    struct vc__endpoint endpoints[VC_ENDPOINTS_MAX];
    uint32_t lines[VC_ENDPOINTS_MAX]; /* where each stands, from 1 */
    /* By the hash of its target, the number of each endpoint, from 1. 0: the
     * slot is free. */
    uint16_t slots[VC__ENDPOINT_FILE_SLOTS];
    char why[VC__ENDPOINT_FILE_WHY]; /* "" if the text is good */
};

/* Reads a text. Returns false if it is malformed: then f->why says in which
 * line, what is wrong and what is right, in one line of UTF-8 without control
 * characters, and the rest of *f is undefined. Of targets only the outer form
 * is checked: each has a scheme, and is no list. */
bool vc__endpoint_file_parse(struct vc__endpoint_file *f, const char *text,
                             size_t len);

#endif
