/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Three servers that the resolver of the scheme app: names, for the suites
 * about policies: with weights, priorities and labels as the test wants. */
#ifndef VC_TESTS_SUITE_APP_FLEET_H
#define VC_TESTS_SUITE_APP_FLEET_H

#include <verbcall/resolver.h>

#include "tests/suite/fixture.h"

#define SERVERS  3u
#define AWAIT_MS 20000

/* What a server does with calls of Absent, which only these suites have. */
enum manner {
    WELL,
    HALF_FAIL,
    HANGS,
    SLOW
};

struct app_fleet {
    struct fixture servers[SERVERS]; /* without clients */
    struct vc_runtime *runtime;
    struct vc_channel *channel;
    /* The last lines that say so, and their times since `begun`; 0: there was
     * none yet. Only then is the line to be read. */
    char ejected[512], back[512];
    atomic_uint ejected_ms, back_ms;
    uint64_t begun;
};

/* What the resolver says of the servers when a channel is opened. */
extern struct vc_endpoint app_endpoints[SERVERS];

/* What each server does with calls of Absent, and how many it has got. */
extern struct app_server {
    atomic_uint manner, calls;
} app_servers[SERVERS];

/* The options of servers that are started from now on, and what adds more to
 * server i; or NULL. */
extern const struct vc_server_opts *app_server_opts;
extern void (*app_add)(struct vc_server *server, unsigned i);

/* Registers the resolver. False, with a line on stderr, if that fails. */
bool app_register(void);

/* Servers that do well, without weights and the like, and no channel yet. */
void app_fleet_begin(struct app_fleet *f);
void app_fleet_open(struct app_fleet *f, const struct vc_channel_opts *opts);
void app_fleet_end(struct app_fleet *f);

/* The resolver names only this server from now on. */
void app_only(unsigned i);

/* Starts a server again at its port; stops it. */
void app_server_start(struct app_fleet *f, unsigned i);
void app_server_stop(struct app_fleet *f, unsigned i);
/* Stops it, and calls until the channel knows it. A call may be lost with the
 * server. */
void app_server_lose(struct app_fleet *f, unsigned i);

/* Handlers that a server has begun since its start; 0 of one that is
 * stopped. */
uint64_t app_served_by(const struct app_fleet *f, unsigned i);
/* Calls until this server has got one more. */
void app_served_await(struct app_fleet *f, unsigned i);
/* Calls until n servers are connected. */
void app_ready_await(struct app_fleet *f, unsigned n);

/* The text of vc_channel_describe(); valid until the next of these calls. */
const char *app_described(const struct app_fleet *f);

/* Makes n calls of Echo, which must be good. */
void app_echo(struct app_fleet *f, unsigned n);
/* Makes one call of Absent, with this timeout. */
enum vc_status app_nothing(struct app_fleet *f, uint32_t ms);

#endif
