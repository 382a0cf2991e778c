/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The directory of lookup.proto, implemented for each generator; both give the
 * same answers. */
#ifndef VC_TESTS_SUITE_DIRECTORY_H
#define VC_TESTS_SUITE_DIRECTORY_H

#include "tests/suite/lookup.pb-c.h"
#include "tests/suite/lookup.vc.h"

/* "ann" has a phone, "bob" has two and the picture that the request asks for.
 * Other names end without a reply from directory_plain() and with VC_NOT_FOUND
 * from directory_own. */
Lookup__Directory_Service directory_plain(void);
extern const struct lookup_directory_methods directory_own;

/* Requests: an entry with a picture of `size` bytes, or without one; text may
 * be NULL. */
Lookup__Name directory_name(const char *text, uint32_t size);
Lookup__Phone directory_phone(const char *number);

/* The result of a call, as its closure got it. Without an entry it is the
 * library's error, or VC_UNKNOWN if there was none yet. */
struct directory_answer {
    unsigned calls; /* of the closure */
    enum vc_status status;
    enum vc_outcome outcome;
    char text[VC_ERROR_SIZE]; /* of the error or of the entry */
};

/* A closure whose data is a struct directory_answer. */
void directory_told(const Lookup__Entry *entry, void *answer);

/* The text of an entry, as "bob 555-0002 work, 555-0003, 4096 bytes". */
void directory_say(const Lookup__Entry *entry, char out[256]);

/* The texts for "ann", and for "bob" with a picture of 5000 bytes. */
#define DIRECTORY_ANN "ann 555-0001"
#define DIRECTORY_BOB "bob 555-0002 work, 555-0003, 5000 bytes"

#endif
