/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The model of a request: files, services and methods with their names in C,
 * ready to be emitted. All of it lives in the arena.
 *
 * One thread, as all of the plugin.
 *
 * Called by: generate.c (build), check.c (method_streams), emit_header.c
 * (method_streams), emit_source.c (method_streams), model.c (method_streams),
 * symbols.c (method_streams, method_has_async), emit_inline.c
 * (method_has_async). */
#ifndef VC_IDL_MODEL_H
#define VC_IDL_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "idl/arena.h"
#include "idl/place.h"
#include "idl/plugin.pb-c.h"
#include "idl/types.h"
#include "idl/wire.h"

struct model_message {
    const char *full_name; /* "demo.HelloRequest" */
    const char *c_type;    /* "Demo__HelloRequest" */
    const char *c_lower;   /* "demo__hello_request" */
    const Idl__File *file; /* the file that defines it */
};

struct model_method {
    const char *name;    /* "SayHello" */
    const char *c_name;  /* "say_hello" */
    const char *c_enum;  /* "DEMO_GREETER_SAY_HELLO" */
    const char *comment; /* or NULL */
    const struct place *place;
    bool deprecated;
    bool client_streaming, server_streaming;
    bool one_way, blocking;
    Idl__MethodOptions__IdempotencyLevel idempotency;
    uint32_t timeout_ms, max_calls, max_reply; /* 0: not set */
    uint32_t hash;                             /* of name */
    struct model_message request, reply;
};

struct model_service {
    const char *full_name; /* "demo.Greeter" */
    const char *c_prefix;  /* "demo_greeter" */
    const char *comment;   /* or NULL */
    const struct place *place;
    bool deprecated;
    uint64_t id;          /* hash of full_name */
    uint32_t fingerprint; /* see idl/schema.h */
    size_t n_methods;
    struct model_method *methods;
    size_t n_accepted; /* fingerprints of older versions: see compat.h */
    uint32_t *accepted;
};

struct model_file {
    const char *name;  /* "a/b.proto" */
    const char *stem;  /* "a/b" */
    const char *guard; /* "VERBCALL_a_2fb_VC_H" */
    size_t n_includes;
    const char **includes; /* "a/b.pb-c.h", its own first */
    size_t n_services;
    struct model_service *services;
    struct bytes set; /* see file_set.h; empty without services */
};

struct model {
    size_t n_files;
    struct model_file *files; /* in protoc's order */
};

/* model_build - builds the model. Returns NULL, or the error of a method whose
 * types cannot be used. The request has passed request_parse() and types are
 * those of it. Called within generate(), when files and members were
 * checked. */
const char *model_build(struct model *model, struct arena *arena,
                        const Idl__Request *request, const struct types *types);

/* True when either side streams, or both. Asked when methods are checked and
 * emitted. */
bool model_method_streams(const struct model_method *method);

/* True when a call can be started without waiting for its single reply. Asked
 * for the names and the code of its asynchronous functions. */
bool model_method_has_async(const struct model_method *method);

#endif
