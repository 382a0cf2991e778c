/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * From names in .proto files to names in C. Messages are named by
 * protoc-gen-c, whose rules (c_helpers.cc of protobuf-c 1.4 and 1.5) are
 * repeated here to the letter:
 *
 *     demo.v1.GetReply  Demo__V1__GetReply, demo__v1__get_reply__descriptor
 *
 * Services are named by us, out of the same pieces:
 *
 *     demo.v1.Greeter   demo_v1_greeter
 *     SayHello          say_hello
 *
 * A method's name that is a word of C or C++, or that we use ourselves (add,
 * methods, service), gets a `_` behind it. What still meets another name is
 * found by symbols.c. */
#ifndef VC_IDL_NAMES_H
#define VC_IDL_NAMES_H

#include <stdbool.h>

#include "idl/arena.h"
#include "idl/plugin.pb-c.h"

/* The C type of a message or enum of file, as "Demo__HelloRequest". full_name
 * has no leading dot. */
char *names_type(struct arena *arena, const Idl__File *file,
                 const char *full_name);

/* What protoc-gen-c's functions and descriptors of it begin with, as
 * "demo__hello_request". */
char *names_type_lower(struct arena *arena, const Idl__File *file,
                       const char *full_name);

/* What its enumerators and macros begin with, as "DEMO__HELLO_REQUEST". */
char *names_type_upper(struct arena *arena, const Idl__File *file,
                       const char *full_name);

/* One piece of a name as in the two above: of a oneof, and of its fields. */
char *names_lower(struct arena *arena, const char *name);
char *names_upper(struct arena *arena, const char *name);

/* A field as a member of its message's structure: in lower case, with a `_`
 * behind a word of C or C++. */
char *names_field(struct arena *arena, const char *name);

/* Whether the name is such a word, and protoc-gen-c does not know it: names of
 * 1.4 and 1.5 are escaped before they reach it (adapt.c). */
bool names_field_unknown_word(struct arena *arena, const char *name);

/* Whether a type's C name is one that protobuf-c or <stdio.h> has. */
bool names_type_taken(const char *c_name);

/* What all our names of a service begin with, as "demo_greeter". */
char *names_service(struct arena *arena, const Idl__File *file,
                    const char *full_name);

char *names_method(struct arena *arena, const char *name);

/* The method in its service's enum, of both their names in C:
 * "DEMO_GREETER_SAY_HELLO". */
char *names_enumerator(struct arena *arena, const char *service,
                       const char *method);

/* "a/b.proto" without its ending, to which generated files add theirs. */
char *names_stem(struct arena *arena, const char *file_name);

/* An include guard that no other file name has. */
char *names_guard(struct arena *arena, const char *stem);

/* Whether name is an identifier, in .proto files as in C; whether it is some
 * of them with dots between. */
bool names_valid(const char *name);
bool names_valid_dotted(const char *name);

#endif
