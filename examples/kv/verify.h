/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Reads all lines of a file back from a server, by several threads over one
 * channel, compares, and measures. */
#ifndef KV_VERIFY_H
#define KV_VERIFY_H

#include <stdbool.h>
#include <stdint.h>

#include <verbcall/verbcall.h>

#include "histogram.h"
#include "lines.h"

#define VERIFY_MAX_THREADS 256
/* Stops after so many failed calls: the rest would probably fail, too. */
#define VERIFY_MAX_FAILURES 10

struct verify_result {
    uint64_t calls;      /* failed ones included */
    uint64_t mismatches; /* values that differ from the line */
    uint64_t failures;   /* calls that failed */
    uint64_t ns;         /* from the first call to the last */
    unsigned threads;
    struct histogram latency; /* of successful calls */
    char complaint[512];      /* text of the first mismatch or failure */
};

/* verify_run - *result must be zeroed. Returns 0, or an error number (errno.h)
 * when threads could not be created. */
int verify_run(struct vc_channel *channel, const struct lines *lines,
               const struct vc_call_opts *opts, unsigned threads,
               struct verify_result *result);

/* verify_print - writes the result to standard output, for people or as one
 * line of JSON. */
void verify_print(const struct verify_result *result, bool json);

#endif
