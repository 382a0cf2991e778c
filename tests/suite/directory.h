/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The directory of lookup.proto, once for each generator: what both answer is
 * the same. */
#ifndef VC_TESTS_SUITE_DIRECTORY_H
#define VC_TESTS_SUITE_DIRECTORY_H

#include "tests/suite/lookup.pb-c.h"
#include "tests/suite/lookup.vc.h"

/* "ann" has a phone, "bob" two and the picture that is asked for, and there is
 * nobody else: the one ends without a reply, the other with VC_NOT_FOUND. */
Lookup__Directory_Service directory_plain(void);
extern const struct lookup_directory_methods directory_own;

/* What is asked for: an entry with a picture of `size` bytes, or without one;
 * text may be NULL. */
Lookup__Name directory_name(const char *text, uint32_t size);
Lookup__Phone directory_phone(const char *number);

/* What came of a call, as its closure saw it. Without an entry that is the
 * library's error; VC_UNKNOWN if there was none yet. */
struct directory_answer {
    unsigned calls; /* of the closure */
    enum vc_status status;
    enum vc_outcome outcome;
    char text[VC_ERROR_SIZE]; /* of the error, or what the entry says */
};

/* A closure whose data is a struct directory_answer. */
void directory_told(const Lookup__Entry *entry, void *answer);

/* The text of an entry, as "bob 555-0002 work, 555-0003, 4096 bytes". */
void directory_say(const Lookup__Entry *entry, char out[256]);

/* What is said of "ann", and of "bob" with a picture of 5000 bytes. */
#define DIRECTORY_ANN "ann 555-0001"
#define DIRECTORY_BOB "bob 555-0002 work, 555-0003, 5000 bytes"

#endif
