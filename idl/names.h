/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Makes names in C of names in .proto files. Messages are named by
 * protoc-gen-c, whose rules (c_helpers.cc of protobuf-c 1.4 and 1.5) are
 * repeated here exactly:
 *
 *     demo.v1.GetReply  Demo__V1__GetReply, demo__v1__get_reply__descriptor
 *
 * Services are named by us, of the same pieces:
 *
 *     demo.v1.Greeter   demo_v1_greeter
 *     SayHello          say_hello
 *
 * A method's name that is a word of C or C++, or that we use ourselves (add,
 * methods, service), gets a `_` at its end. symbols.c finds names that still
 * clash. All functions that return a name make a new text in the arena, never
 * NULL. Names are made when the model is built (model.c), and when clashes are
 * looked for (members.c, symbols.c).
 *
 * One thread, as all of the plugin.
 *
 * Called by: model.c (type, type_lower, service, method, enumerator, stem,
 * guard), symbols.c (type, type_lower, type_upper, upper, field_unknown_word,
 * taken, rdma, valid), members.c (lower, field), adapt.c (field_unknown_word),
 * request.c (valid, valid_dotted), names.c (valid_dotted). */
#ifndef VC_IDL_NAMES_H
#define VC_IDL_NAMES_H

#include <stdbool.h>

#include "idl/arena.h"
#include "idl/plugin.pb-c.h"

/* The C type of a message or enum of file, as "Demo__HelloRequest". full_name
 * has no leading dot. */
char *names_type(struct arena *arena, const Idl__File *file,
                 const char *full_name);

/* The prefix of protoc-gen-c's functions and descriptors of the type, as
 * "demo__hello_request". */
char *names_type_lower(struct arena *arena, const Idl__File *file,
                       const char *full_name);

/* The prefix of its enumerators and macros, as "DEMO__HELLO_REQUEST". */
char *names_type_upper(struct arena *arena, const Idl__File *file,
                       const char *full_name);

/* One piece of a name as in the two prefixes above: of a oneof, and of its
 * fields. */
char *names_lower(struct arena *arena, const char *name);
char *names_upper(struct arena *arena, const char *name);

/* A field as a member of its message's structure: in lower case, with a `_`
 * after a word of C or C++. */
char *names_field(struct arena *arena, const char *name);

/* True when the name, in lower case, is such a word, a macro of a compiler or a
 * type of the generated structures, and protoc-gen-c 1.4 and 1.5 do not escape
 * it: adapt.c escapes it before they get it, and symbols.c expects that. */
bool names_field_unknown_word(struct arena *arena, const char *name);

/* True when the C name of a symbol is used by protobuf-c, or by headers of C
 * and POSIX: by those that the generated files include, macros of two words,
 * too. The names of other headers' functions are not looked for. Asked by
 * symbols_invalid(). */
bool names_taken(struct arena *arena, const char *c_name);

/* True when librdmacm or libibverbs may have a function of this name: a
 * program's own would take its place in the library. Names of messages, which
 * have two `_`, are never theirs. Asked by symbols_invalid(). */
bool names_rdma(const char *c_name);

/* The prefix of all our names of a service, as "demo_greeter". */
char *names_service(struct arena *arena, const Idl__File *file,
                    const char *full_name);

/* A method in C, as "say_hello": the end of the names of its functions. */
char *names_method(struct arena *arena, const char *name);

/* The enumerator of a method in its service's enum, made of both names in C:
 * "DEMO_GREETER_SAY_HELLO". */
char *names_enumerator(struct arena *arena, const char *service,
                       const char *method);

/* "a/b.proto" without its extension; generated files add their own. */
char *names_stem(struct arena *arena, const char *file_name);

/* An include guard that is unique to the file name. */
char *names_guard(struct arena *arena, const char *stem);

/* For request_parse() and symbols_check(): true when name is an identifier, in
 * .proto files as in C. names_valid_dotted(), for packages, also takes several
 * of them with dots between. */
bool names_valid(const char *name);
bool names_valid_dotted(const char *name);

#endif
