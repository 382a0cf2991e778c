/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Reads values of a service config's JSON, as gRPC and protobuf write them:
 * numbers also as texts of digits, durations as "1.5s", null for what is not
 * there. All say what is wrong with the path of the value, as in
 * "methodConfig[2].timeout: ...". The first fault counts. Called while a text
 * is read, on any thread; a reader is used by one.
 *
 * Called by: config.c (config_fail, config_lacks_memory, config_get,
 * config_object, config_number, config_decimal), config_balance.c (config_fail,
 * config_note, config_get, config_entry, config_object, config_array,
 * config_text, config_boolean, config_number, config_decimal, config_duration),
 * config_method.c (all), config_reader.c (config_fail, config_entry,
 * config_array, config_text). */
#ifndef VC_CONFIG_READER_H
#define VC_CONFIG_READER_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "rpc/client/service_config.h"

struct vc__config_reader {
    struct vc__service_config *config;
    char *why;         /* VC__SERVICE_CONFIG_WHY bytes; "": nothing is wrong */
    bool lacks_memory; /* reading has ended for that */
};

/* Where a value is: in an object by its name, or in an array. */
struct vc__config_at {
    const struct vc__config_at *up; /* NULL: the whole */
    const char *name;               /* NULL: in an array, at: */
    size_t i;
    const json_t *value; /* NULL: it is not there */
};

/* Says what is wrong here, unless something was wrong before. Returns false. */
bool vc__config_fail(struct vc__config_reader *r,
                     const struct vc__config_at *at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Notes that memory is short. Returns false: nothing more is read. */
bool vc__config_lacks_memory(struct vc__config_reader *r);

/* Notes what the library does differently; one that finds no room among the
 * notes is cut or left out. */
void vc__config_note(struct vc__config_reader *r,
                     const struct vc__config_at *at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Returns the field of this name of an object; its value is NULL if it is not
 * there or null. */
struct vc__config_at vc__config_get(const struct vc__config_at *object,
                                    const char *name);
/* Returns entry i of an array. A null there is a value, of a wrong type. */
struct vc__config_at vc__config_entry(const struct vc__config_at *array,
                                      size_t i);

/* True if the value is there, and of this type; false with a fault if it is of
 * another, and without one if it is not there. */
bool vc__config_object(struct vc__config_reader *r,
                       const struct vc__config_at *at);
bool vc__config_array(struct vc__config_reader *r,
                      const struct vc__config_at *at);

/* The following leave *out as it is, and return true, if the value is not
 * there. They return false with a fault. */

/* A text, in *out until the JSON is freed. */
bool vc__config_text(struct vc__config_reader *r,
                     const struct vc__config_at *at, const char **out);
/* true or false. */
bool vc__config_boolean(struct vc__config_reader *r,
                        const struct vc__config_at *at, bool *out);
/* A whole number within a range. */
bool vc__config_number(struct vc__config_reader *r,
                       const struct vc__config_at *at, uint64_t least,
                       uint64_t most, uint64_t *out);
/* A number that a float can have: above 0 if `above`, else 0 or more. */
bool vc__config_decimal(struct vc__config_reader *r,
                        const struct vc__config_at *at, bool above,
                        double *out);
/* Nanoseconds, at least `least`, 0 or 1. Very long ones are shortened. */
bool vc__config_duration(struct vc__config_reader *r,
                         const struct vc__config_at *at, uint64_t least,
                         uint64_t *out);
/* Status codes, by name or number, added to *out as bits. OK is refused. */
bool vc__config_codes(struct vc__config_reader *r,
                      const struct vc__config_at *at, uint32_t *out);

#endif
