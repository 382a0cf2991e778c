/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The library's side of verbcall/resolver.h for tests of the module for dns:
 * targets: a resolver with a loop of poll(2), on the test's thread. It keeps
 * what the module says. */
#ifndef VC_TESTS_DNS_RIG_H
#define VC_TESTS_DNS_RIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <verbcall/resolver.h>

#include "modules/dns/dns.h"
#include "tests/unit/dns_fake.h"

#define RIG_WATCHES 16
#define RIG_TEXT    64

struct rig_watch {
    int fd; /* -1: free */
    bool writes;
    void (*ready)(void *state, int fd);
};

struct rig_server {
    char target[RIG_TEXT];
    uint32_t weight, priority;
};

struct vc_resolver {
    void *state; /* of the module */
    struct dns_fake *fake[2];
    struct rig_watch watch[RIG_WATCHES];
    bool refuses_watches;     /* vc_resolver_watch() fails */
    enum vc_status set_fails; /* what vc_resolver_set() returns */

    void (*fire)(void *state); /* NULL: no timer */
    uint64_t due_ms;
    uint32_t timer_ms; /* as it was last set */

    unsigned turns;       /* of the loop */
    unsigned sets, fails; /* how often the module has called */
    size_t n;             /* servers of the last vc_resolver_set() */
    struct rig_server server[VC_ENDPOINTS_MAX];
    char why[1024]; /* of the last vc_resolver_fail() */
};

/* Opens a target, whose DNS server answers in the same loop if it is a fake
 * one. The format may have one %u, its port. */
enum vc_status rig_try(struct vc_resolver *r, struct dns_fake *fake,
                       const char *format);
/* The same, which must succeed. */
void rig_open(struct vc_resolver *r, struct dns_fake *fake, const char *format);
/* Closes it, and checks that nothing is watched any more. */
void rig_close(struct vc_resolver *r);

/* One turn of the loop: waits for what comes next, then calls what is ready. */
void rig_turn(struct vc_resolver *r);

/* Goes on until the module has called once more; fails after 10 s. Returns the
 * servers as "TARGET TARGET", or the text. */
const char *rig_servers(struct vc_resolver *r);
const char *rig_failure(struct vc_resolver *r);
/* Goes on until the servers are these. */
void rig_expect(struct vc_resolver *r, const char *servers);
/* Goes on for a time. */
void rig_run(struct vc_resolver *r, uint32_t ms);

uint64_t rig_now(void);

#endif
