/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The options structs of the public interface: how the library takes a copy of
 * one, and checks its numbers by a table. Any thread. */
#ifndef VC_RPC_OPTIONS_H
#define VC_RPC_OPTIONS_H

#include <stddef.h>
#include <stdint.h>

#include <verbcall/status.h>

/* How errors write a number. */
enum vc__option_unit {
    VC__OPTION_NUMBER,
    VC__OPTION_BYTES,
    VC__OPTION_MODE,  /* octal */
    VC__OPTION_FLAGS, /* any of the bits of max */
};

/* A field with a number of 32 or 64 bits. 0 stands for its default. */
struct vc__option {
    const char *name;
    size_t offset, size;
    uint64_t otherwise; /* the default; 0: the caller knows it, or it is none */
    uint64_t min, max;
    uint64_t special;  /* a value outside of the range that is allowed, or 0 */
    const char *names; /* the constants for it, for flags, or of the range */
    enum vc__option_unit unit;
};

/* A struct whose first field is `size_t size`. */
struct vc__options {
    const char *name;   /* of the struct, without "struct" */
    const char *macros; /* that set its size */
    size_t size;        /* of ours */
    size_t least; /* a smaller one is refused; 0: the size alone will do */
    const struct vc__option *options;
    size_t n;
};

#define VC__OPTION(type, field, otherwise, min, max, special, names, unit)     \
    {                                                                          \
#field, offsetof(struct type, field),                                  \
            sizeof(((struct type *)0)->field), otherwise, min, max, special,   \
            names, unit                                                        \
    }

/* A number, one of bytes, and one that may also be a constant. */
#define VC__OPTION_IN(type, field, otherwise, min, max)                        \
    VC__OPTION(type, field, otherwise, min, max, 0, NULL, VC__OPTION_NUMBER)
#define VC__OPTION_SIZE(type, field, otherwise, min, max)                      \
    VC__OPTION(type, field, otherwise, min, max, 0, NULL, VC__OPTION_BYTES)
#define VC__OPTION_OR(type, field, otherwise, min, max, constant)              \
    VC__OPTION(type, field, otherwise, min, max, constant, #constant,          \
               VC__OPTION_NUMBER)

/* kind, macros: of struct `type`, whose table is an array. */
#define VC__OPTIONS(type, macros, table)                                       \
    {                                                                          \
#type, macros, sizeof(struct type), 0, table,                          \
            sizeof(table) / sizeof((table)[0])                                 \
    }

/* Can a program's struct have the size that it has?
 * VC_INVALID_ARGUMENT  it was not initialised, which is what 0 comes of; from is
 *                      NULL */
enum vc_status vc__options_size_check(const struct vc__options *kind,
                                      const void *from);

/* Copies a program's struct to *out, which is of kind->size: what one of an
 * older version lacks is 0, and so must be what a newer one has more. from may
 * be NULL: all is 0. out->size is ours.
 * VC_INVALID_ARGUMENT  the size as above, or options that are not known here */
enum vc_status vc__options_copy(void *out, const struct vc__options *kind,
                                const void *from);

/* Checks the numbers of a copy and puts defaults in place of 0.
 * VC_INVALID_ARGUMENT  one is out of its range */
enum vc_status vc__options_check(void *out, const struct vc__options *kind);

/* Both. */
enum vc_status vc__options_take(void *out, const struct vc__options *kind,
                                const void *from);

#endif
