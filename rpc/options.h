/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The options structs of the public interface: the library copies them and
 * checks their numbers by a table. Any thread. All return VC_OK or
 * VC_INVALID_ARGUMENT, which is then this thread's last error. Called inside
 * the public functions that take such a struct.
 *
 * Called by: rpc/balance/resolver.c (copy), rpc/client/call_opts.c (copy,
 * check), interceptor.c (copy), options.c (copy, check),
 * rpc/stream/stream_events.c (copy), many files (size_check, take). */
#ifndef VC_RPC_OPTIONS_H
#define VC_RPC_OPTIONS_H

#include <stddef.h>
#include <stdint.h>

#include <verbcall/status.h>

/* How error texts show a number. */
enum vc__option_unit {
    VC__OPTION_NUMBER,
    VC__OPTION_BYTES,
    VC__OPTION_MODE,  /* octal */
    VC__OPTION_FLAGS, /* any of the bits of max */
};

/* A field that is a number of 32 or 64 bits; 0 stands for its default. */
struct vc__option {
    const char *name;
    size_t offset, size;
    uint64_t otherwise; /* the default; 0: the caller sets it, or it has none */
    uint64_t min, max;
    uint64_t special;  /* an allowed value outside the range, or 0 */
    const char *names; /* names of the constant or the flags, for errors */
    enum vc__option_unit unit;
};

/* A struct whose first field is `size_t size`. */
struct vc__options {
    const char *name;   /* name of the struct, without "struct" */
    const char *macros; /* the initialisers that set its size */
    size_t size;        /* sizeof the struct in this library */
    /* Smallest size accepted; 0: that of the field `size` alone. */
    size_t least;
    const struct vc__option *options;
    size_t n;
};

#define VC__OPTION(type, field, otherwise, min, max, special, names, unit)     \
    {                                                                          \
#field, offsetof(struct type, field),                                  \
            sizeof(((struct type *)0)->field), otherwise, min, max, special,   \
            names, unit                                                        \
    }

/* A plain number, a number of bytes, and one that may also be a constant. */
#define VC__OPTION_IN(type, field, otherwise, min, max)                        \
    VC__OPTION(type, field, otherwise, min, max, 0, NULL, VC__OPTION_NUMBER)
#define VC__OPTION_SIZE(type, field, otherwise, min, max)                      \
    VC__OPTION(type, field, otherwise, min, max, 0, NULL, VC__OPTION_BYTES)
#define VC__OPTION_OR(type, field, otherwise, min, max, constant)              \
    VC__OPTION(type, field, otherwise, min, max, constant, #constant,          \
               VC__OPTION_NUMBER)

/* A struct vc__options for struct `type`; table is an array. */
#define VC__OPTIONS(type, macros, table)                                       \
    {                                                                          \
#type, macros, sizeof(struct type), 0, table,                          \
            sizeof(table) / sizeof((table)[0])                                 \
    }

/* Checks the size field of a program's struct.
 * VC_INVALID_ARGUMENT  the size is not possible (0: the struct was not
 *                      initialised), or from is NULL */
enum vc_status vc__options_size_check(const struct vc__options *kind,
                                      const void *from);

/* Copies a program's struct to *out, which has kind->size bytes. Fields that an
 * older version's struct lacks become 0; fields that only a newer version has
 * must be 0. If from is NULL all fields become 0. out->size is set to
 * kind->size.
 * VC_INVALID_ARGUMENT  the size is not possible, as 0; or from sets options
 *                      that are not known here */
enum vc_status vc__options_copy(void *out, const struct vc__options *kind,
                                const void *from);

/* Checks the numbers of a copy and replaces 0 by the defaults.
 * VC_INVALID_ARGUMENT  a number is out of its range */
enum vc_status vc__options_check(void *out, const struct vc__options *kind);

/* vc__options_copy(), then vc__options_check(). */
enum vc_status vc__options_take(void *out, const struct vc__options *kind,
                                const void *from);

#endif
