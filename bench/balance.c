/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Blocking calls of 64 bytes through a channel with one or many servers, for
 * bench/balance.sh, which counts instructions: run `balance KIND POLICY COUNT`.
 *
 * | KIND    | the channel leads to                                    |
 * |---------|---------------------------------------------------------|
 * | one     | one server                                              |
 * | list    | 100, by a list: target                                  |
 * | outlier | the same, and looks for outliers                        |
 * | app     | 100 that a resolver of this program names               |
 * | single  | one that a resolver of this program names               |
 *
 * Both ends run on one thread, and the library starts none: otherwise the
 * number of instructions depends on which thread is first. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <verbcall/outlier.h>
#include <verbcall/resolver.h>

#include "bench.vc.h"
#include "examples/kv/number.h"

#define SERVERS   100u
#define MAX_COUNT 10000000
#define NAME      24 /* bytes of a target */

static struct vc_runtime *runtime;
static struct vc_server *servers[SERVERS];
static char targets[SERVERS][NAME];

static int
fail(void)
{
    fprintf(stderr, "balance: %s\n", vc_error());
    return 1;
}

static enum vc_status
echo(struct vc_call *call, const Bench__Payload *request, Bench__Payload *reply,
     void *arg)
{
    (void)call;
    (void)arg;
    reply->data = request->data; /* both live until the reply is packed */
    return VC_OK;
}

static enum vc_status
servers_open(unsigned n)
{
    static const struct bench_echo_methods methods = {.call = echo};
    enum vc_status status = VC_OK;

    for (unsigned i = 0; i < n && status == VC_OK; i++) {
        snprintf(targets[i], sizeof targets[i], "inproc://balance-%u", i);
        status = vc_server_new(runtime,
                               VC_SERVER_OPTS(.keepalive_ms = VC_KEEPALIVE_OFF),
                               &servers[i]);
        if (status == VC_OK)
            status = bench_echo_add(servers[i], &methods, NULL);
        if (status == VC_OK)
            status = vc_server_listen(servers[i], targets[i]);
    }
    return status;
}

/* --- the channel --------------------------------------------------------- */

/* open() of the resolver: names all servers, or, for "app:single", the first. */
static enum vc_status
app_open(struct vc_resolver *r, const char *target, void **state)
{
    struct vc_endpoint endpoints[SERVERS];

    *state = r;
    for (unsigned i = 0; i < SERVERS; i++) {
        endpoints[i] = (struct vc_endpoint)VC_ENDPOINT_INIT;
        endpoints[i].target = targets[i];
    }
    return vc_resolver_set(r, endpoints,
                           strcmp(target, "app:single") == 0 ? 1 : SERVERS);
}

static void
app_close(void *state)
{
    (void)state;
}

static const struct vc_resolver_type app_type = {
    .size = sizeof app_type,
    .scheme = "app",
    .open = app_open,
    .close = app_close,
};

/* The target of a channel of this kind, or NULL. */
static const char *
target_of(const char *kind)
{
    static char list[5 + SERVERS * NAME];

    strcpy(list, "list:");
    for (unsigned i = 0; i < SERVERS; i++) {
        strcat(list, i > 0 ? "," : "");
        strcat(list, targets[i]);
    }
    if (strcmp(kind, "one") == 0)
        return targets[0];
    if (strcmp(kind, "app") == 0)
        return "app:";
    if (strcmp(kind, "single") == 0)
        return "app:single";
    return strcmp(kind, "list") == 0 || strcmp(kind, "outlier") == 0 ? list
                                                                     : NULL;
}

static enum vc_status
channel_open(const char *kind, const char *policy, struct vc_channel **channel)
{
    struct vc_outlier_opts outlier = VC_OUTLIER_OPTS_INIT;
    struct vc_channel_opts opts = VC_CHANNEL_OPTS_INIT;
    enum vc_status status = vc_resolver_register(&app_type);

    if (status != VC_OK)
        return status;
    outlier.interval_ms = 3600000;
    opts.policy = policy;
    opts.keepalive_ms = VC_KEEPALIVE_OFF;
    opts.idle_timeout_ms = 3600000;
    if (strcmp(kind, "outlier") == 0)
        opts.outlier = &outlier;
    return vc_channel_open(runtime, target_of(kind), &opts, channel);
}

static enum vc_status
calls_make(struct vc_channel *channel, uint64_t count)
{
    Bench__Payload request = BENCH__PAYLOAD__INIT;
    uint8_t data[64] = {0};

    request.data.data = data;
    request.data.len = sizeof data;
    for (uint64_t i = 0; i < count; i++) {
        Bench__Payload *reply;
        enum vc_status status =
            bench_echo_call(channel, &request, NULL, &reply);

        if (status != VC_OK)
            return status;
        vc_message_free(reply);
    }
    return VC_OK;
}

/* Calls until all servers are connected. False after many calls. */
static bool
all_ready(struct vc_channel *channel)
{
    static char text[SERVERS * 200];

    for (unsigned i = 0; i < 100 * SERVERS; i++) {
        if (calls_make(channel, 1) != VC_OK)
            return false;
        vc_channel_describe(channel, text, sizeof text);
        if (strstr(text, ": idle,") == NULL &&
            strstr(text, ": connecting,") == NULL)
            return true;
    }
    return false;
}

int
main(int argc, char **argv)
{
    struct vc_channel *channel;
    uint64_t count;
    int result = 0;

    if (argc != 4 || target_of(argv[1]) == NULL ||
        !number_parse(argv[3], 1, MAX_COUNT, &count)) {
        fprintf(stderr,
                "usage: balance one|list|outlier|app|single POLICY COUNT\n");
        return 2;
    }
    if (vc_runtime_new(VC_RUNTIME_OPTS(.threads = VC_THREADS_NONE), &runtime) !=
            VC_OK ||
        servers_open(SERVERS) != VC_OK ||
        channel_open(argv[1], argv[2], &channel) != VC_OK)
        return fail();
    if ((strcmp(argv[2], "pick_first") != 0 && !all_ready(channel)) ||
        calls_make(channel, 10 * SERVERS) != VC_OK ||
        calls_make(channel, count) != VC_OK)
        result = fail();
    vc_channel_close(channel);
    for (unsigned i = 0; i < SERVERS; i++)
        vc_server_free(servers[i]);
    vc_runtime_free(runtime);
    return result;
}
