/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A service config, as the module libverbcall-config has read it from gRPC's
 * JSON (doc/service-config.md): plain numbers and texts, all in range. And the
 * module's interface. The module has the same version as the library, and uses
 * no function of it. Any thread.
 *
 * Called by: config_module.c (the module's functions). */
#ifndef VC_RPC_SERVICE_CONFIG_H
#define VC_RPC_SERVICE_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <verbcall/load.h>
#include <verbcall/outlier.h>

#include "rpc/balance/policy.h"
#include "rpc/client/retry.h"
#include "transport/wire/metadata.h"

/* The most bytes of a config's text, of a reason why it is refused, and of the
 * notes on it, with their NUL. */
#define VC__SERVICE_CONFIG_MAX   (1024u * 1024u)
#define VC__SERVICE_CONFIG_WHY   480
#define VC__SERVICE_CONFIG_NOTES 320

/* The most bytes of a key of metadata, with its NUL. */
#define VC__SERVICE_CONFIG_KEY (VC__METADATA_KEY_MAX + 1)

/* An entry of methodConfig. 0 and false: it does not say. */
struct vc__method_config {
    uint32_t timeout_ms;
    bool waits;      /* waitForReady */
    bool has_policy; /* retryPolicy, or hedgingPolicy: */
    struct vc__retry_policy retry;
    uint32_t hedge_ms; /* 0: it is no hedgingPolicy */
    uint32_t request_max, reply_max;
};

/* A name of an entry. */
struct vc__config_name {
    char *service; /* "": of all services */
    char *method;  /* "": of all methods of the service */
    unsigned entry;
};

struct vc__service_config {
    unsigned n_entries, n_names;
    struct vc__method_config *entries;
    struct vc__config_name *names;

    /* retryThrottling in thousandths of a token; 0: not set. */
    uint32_t tokens, token_ratio;

    bool balances; /* the following are set */
    enum vc__policy policy;
    char hash_metadata[VC__SERVICE_CONFIG_KEY]; /* "": not set */
    bool has_outlier;
    struct vc_outlier_opts outlier;
    struct vc_load_opts load; /* of weighted_round_robin; 0: not set */

    /* What of it this library does differently, for people. */
    char notes[VC__SERVICE_CONFIG_NOTES];
};

/* What the module exports, as vc_config_module. Any thread. */
struct vc__config_module {
    size_t size;        /* of this struct, and of what it fills: */
    size_t config_size; /* both as the library has them */

    /* Reads a text of len bytes. NULL if it is malformed: then `why` says where
     * and what is wrong. NULL with an empty `why` if memory is short. */
    struct vc__service_config *(*parse)(const char *text, size_t len,
                                        char why[VC__SERVICE_CONFIG_WHY]);
    /* NULL is allowed. */
    void (*free)(struct vc__service_config *config);
};

#endif
