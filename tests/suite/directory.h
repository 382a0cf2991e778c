/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The directory service of lookup.proto, implemented once for each code
 * generator; both implementations give the same answers. */
#ifndef VC_TESTS_SUITE_DIRECTORY_H
#define VC_TESTS_SUITE_DIRECTORY_H

#include "tests/suite/lookup.pb-c.h"
#include "tests/suite/lookup.vc.h"

/* "ann" has one phone. "bob" has two phones, and a picture of the size asked
 * for. Other names are unknown: directory_plain() then ends the call without a
 * reply, directory_own with VC_NOT_FOUND. */
Lookup__Directory_Service directory_plain(void);
extern const struct lookup_directory_methods directory_own;

/* A request for an entry, with a picture of `size` bytes if size is not 0; text
 * may be NULL. */
Lookup__Name directory_name(const char *text, uint32_t size);
Lookup__Phone directory_phone(const char *number);

/* The result of a call, as its closure received it. Without an entry the status
 * is that of the library's last error, or VC_UNKNOWN if there is none. */
struct directory_answer {
    unsigned calls; /* calls of the closure */
    enum vc_status status;
    enum vc_outcome outcome;
    char text[VC_ERROR_SIZE]; /* of the error, or of directory_say() */
};

/* The closure of a call; its data is a struct directory_answer. */
void directory_told(const Lookup__Entry *entry, void *answer);

/* Writes an entry as text, such as "bob 555-0002 work, 555-0003, 4096
 * bytes". */
void directory_say(const Lookup__Entry *entry, char out[256]);

/* The text for "ann", and for "bob" with a picture of 5000 bytes. */
#define DIRECTORY_ANN "ann 555-0001"
#define DIRECTORY_BOB "bob 555-0002 work, 555-0003, 5000 bytes"

#endif
