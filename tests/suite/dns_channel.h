/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * For tests of channels with dns: targets: servers of suite.Probe in processes
 * of their own, on addresses of 127.0.0.0/8 with one port, a channel to them,
 * and threads that call. These programs are linked with the shared library, as
 * users' are, so they cannot use suite/fixture.h; this defines the two
 * functions of it that they need. */
#ifndef VC_TESTS_SUITE_DNS_CHANNEL_H
#define VC_TESTS_SUITE_DNS_CHANNEL_H

#include <pthread.h>

#include "tests/suite/fixture.h"

#define SITE_SERVERS 3u
#define SITE_MS      30000u /* the longest wait for a state; keepalive */
#define SITE_CALLERS 4u

/* Threads that call all the time. */
struct site_load {
    pthread_t threads[SITE_CALLERS];
    bool runs;
    atomic_bool enough;
    atomic_uint ended, failed;
    pthread_mutex_t lock;
    char text[VC_ERROR_SIZE]; /* lock; of the first call that has failed */
};

/* Server i is at 127.0.0.(i + 1). */
struct site {
    unsigned port;     /* of the servers */
    unsigned dns_port; /* of the DNS server, at 127.0.0.1 */
    pid_t server[SITE_SERVERS];
    struct vc_runtime *runtime; /* has a thread */
    struct vc_channel *channel, *second;
    struct site_load load; /* on `channel` */
};

/* Starts three servers, or one at all addresses of 127.0.0.0/8, and a runtime,
 * and finds a port for the DNS server. site_stop() ends all, and closes the
 * channels, also after a test that has failed. */
void site_start(struct site *s);
void site_start_at_all(struct site *s);
void site_stop(struct site *s);
void site_server_kill(struct site *s, unsigned i);

/* Calls of Echo that server i has got in this test. */
unsigned site_served(unsigned i);

/* Opens a channel to "dns://SERVER/NAME:PORT"; or "dns://SERVER/NAME" for a
 * name that begins with '_'. */
enum vc_status site_try(struct site *s, const char *name, const char *policy,
                        struct vc_channel **channel);
/* The same, s->channel, which must succeed. */
void site_open(struct site *s, const char *name, const char *policy);

/* Makes a call. opts may be NULL. */
enum vc_status site_call(struct vc_channel *channel,
                         const struct vc_call_opts *opts);
/* Makes n calls, which must succeed. */
void site_calls(struct site *s, unsigned n);

/* True if the channel's description has the text. */
bool site_describes(struct vc_channel *channel, const char *text);
/* Servers of the description that are ready. */
unsigned site_ready(struct vc_channel *channel);

/* Makes calls, which must succeed, until the condition holds. */
#define site_await(s, condition)                                               \
    for (uint64_t due = fixture_ms() + SITE_MS; !(condition);) {               \
        assert_true(fixture_ms() < due);                                       \
        site_calls(s, 1);                                                      \
    }

/* Attempts of calls that have begun. */
uint64_t site_attempts(const struct site *s);

/* Starts and stops the threads. Stopping fails the test if a call of theirs has
 * failed. */
void site_load_start(struct site *s);
void site_load_stop(struct site *s);

#endif
