/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The resolver for targets of the scheme dns:, a module that asks by c-ares.
 * The library loads it and finds its one symbol (verbcall/resolver.h has the
 * interface). All functions run on the holder of the channel's engine, but
 * open() and close() of vc_resolver_module, and what they call. open() runs on
 * the thread of vc_channel_open(); close() on that of vc_channel_close(), or of
 * a vc_channel_open() that fails later. See doc/balancing.md. */
#ifndef VC_DNS_H
#define VC_DNS_H

#include <verbcall/export.h>
#include <verbcall/resolver.h>

extern VC_API const struct vc_resolver_type vc_resolver_module;

/* Times, and where the system says which servers it has. Constant, but tests
 * change it before the first resolver is opened. */
struct vc__dns_setting {
    unsigned second_ms; /* how long a second is: 1000; shorter in tests */
    const char *resolv_conf;
    uint16_t port; /* of the servers in resolv_conf; 0: 53 */
};
extern struct vc__dns_setting vc__dns_setting;

/* In seconds. A round of questions takes VC__DNS_ROUND at most. The server of a
 * target, or the only one, is asked twice, and the second answer is awaited
 * twice as long: so c-ares ends before the round. */
#define VC__DNS_ROUND        5u
#define VC__DNS_TRIES        2
#define VC__DNS_TRIES_MS(ms) ((ms)*3 / 2)
/* An answer that no server gave, as from /etc/hosts, has no TTL. */
#define VC__DNS_TTL_LOCAL 10u
/* Between two rounds: at least, and after failures at first and at most. */
#define VC__DNS_PAUSE        1u
#define VC__DNS_BACKOFF      1u
#define VC__DNS_BACKOFF_MOST 60u

#endif
