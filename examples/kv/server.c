/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * kv-server: serves the lines of a file, and values that clients put, until
 * SIGINT or SIGTERM. */
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "kv.vc.h"
#include "number.h"
#include "store.h"

#define MAX_THREADS 64
/* Most bytes of a message besides its value, rounded up generously. */
#define MESSAGE_ROOM 64
/* The library's default limit, which clients other than ours use. */
#define MESSAGE_DEFAULT ((size_t)4 << 20)

struct options {
    const char *listen;
    const char *load; /* NULL: the store is empty at first */
    unsigned threads;
};

static const char help[] =
    "usage: kv-server [--listen TARGET] [--threads N] [--load FILE]\n"
    "Serves values under numbers over RDMA until SIGINT or SIGTERM.\n"
    "\n"
    "  --listen TARGET  where to listen, vc://ADDRESS:PORT (default\n"
    "                   vc://[::]:7472: all addresses; port 0: any port)\n"
    "  --threads N      threads that serve, 1..64 (default 1)\n"
    "  --load FILE      serve each line of the file under its number; the\n"
    "                   first is 1\n"
    "\n"
    "Clients may put up to 1,000,000 keys with values of up to 1 MiB each and\n"
    "1 GiB together; lines may have any length and number. All is in memory.\n"
    "Once it serves it says \"serving N lines on port P\" on standard output.\n"
    "Exit status: 0 ended by a signal, 1 failed, 2 wrong usage.\n";

/* --- the service -------------------------------------------------------- */

static enum vc_status
get(struct vc_call *call, const Kv__GetRequest *request, Kv__GetReply *reply,
    void *store)
{
    return store_get(store, call, request->key, &reply->value);
}

static enum vc_status
put(struct vc_call *call, const Kv__PutRequest *request, Kv__PutReply *reply,
    void *store)
{
    bool existed = false;
    enum vc_status status =
        store_put(store, call, request->key, &request->value, &existed);

    reply->existed = existed;
    return status;
}

static enum vc_status
count(struct vc_call *call, const Kv__CountRequest *request,
      Kv__CountReply *reply, void *store)
{
    (void)call;
    (void)request;
    reply->keys = store_count(store);
    return VC_OK;
}

/* Starts serving; on an error vc_error() says more. */
static enum vc_status
serve(struct vc_server *server, struct store *store,
      const struct options *options)
{
    const struct kv_key_value_methods methods = {
        .get = get, .put = put, .count = count};
    enum vc_status status = kv_key_value_add(server, &methods, store);

    if (status == VC_OK)
        status = vc_server_listen(server, options->listen);
    return status;
}

/* --- the program -------------------------------------------------------- */

static enum vc_status
make_server(const struct options *options, const struct lines *lines,
            struct vc_runtime **runtime, struct vc_server **server)
{
    size_t longest = lines_longest(lines) + MESSAGE_ROOM;
    enum vc_status status;

    if (longest <= MESSAGE_DEFAULT)
        longest = 0; /* the default */
    status =
        vc_runtime_new(VC_RUNTIME_OPTS(.threads = options->threads), runtime);
    if (status == VC_OK)
        status = vc_server_new(*runtime, VC_SERVER_OPTS(.max_message = longest),
                               server);
    return status;
}

/* Serves until one of the signals arrives, which must be blocked. */
static int
run(const struct options *options, const struct lines *lines,
    const sigset_t *ends)
{
    struct store *store = store_new(lines);
    struct vc_runtime *runtime = NULL;
    struct vc_server *server = NULL;
    int result = 0, signal;

    if (store == NULL) {
        fprintf(stderr, "kv-server: no memory for the store\n");
        result = 1;
    } else if (make_server(options, lines, &runtime, &server) != VC_OK ||
               serve(server, store, options) != VC_OK) {
        fprintf(stderr, "kv-server: %s\n", vc_error());
        result = 1;
    } else {
        printf("serving %zu lines on port %d\n", lines->count,
               vc_server_port(server));
        fflush(stdout);
        sigwait(ends, &signal);
    }
    vc_server_free(server);
    vc_runtime_free(runtime);
    store_free(store);
    return result;
}

/* Handles one option of getopt; prints an error if it is wrong. */
static bool
take_option(int option, struct options *options)
{
    uint64_t threads;

    switch (option) {
    case 'l':
        options->listen = optarg;
        return true;
    case 'f':
        options->load = optarg;
        return true;
    case 't':
        if (!number_parse(optarg, 1, MAX_THREADS, &threads)) {
            fprintf(stderr, "kv-server: --threads takes a number, 1..%d\n",
                    MAX_THREADS);
            return false;
        }
        options->threads = (unsigned)threads;
        return true;
    default:
        fprintf(stderr, "kv-server --help shows what there is\n");
        return false;
    }
}

/* Returns -1 if the program shall go on, or its exit status. */
static int
parse(int argc, char **argv, struct options *options)
{
    static const struct option longs[] = {
        {"listen", required_argument, NULL, 'l'},
        {"threads", required_argument, NULL, 't'},
        {"load", required_argument, NULL, 'f'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    int option;

    while ((option = getopt_long(argc, argv, "", longs, NULL)) != -1) {
        if (option == 'h')
            return fputs(help, stdout) < 0;
        if (!take_option(option, options))
            return 2;
    }
    if (optind == argc)
        return -1;
    fprintf(stderr, "kv-server: '%s' is too much; see kv-server --help\n",
            argv[optind]);
    return 2;
}

static int
load(const char *path, struct lines *lines)
{
    int error = lines_init(path, lines);

    if (error != 0)
        fprintf(stderr, "kv-server: cannot read %s: %s\n", path,
                strerror(error));
    return error;
}

int
main(int argc, char **argv)
{
    struct options options = {.listen = "vc://[::]:7472", .threads = 1};
    struct lines lines = {0};
    sigset_t ends;
    int result = parse(argc, argv, &options);

    if (result >= 0)
        return result;
    if (options.load != NULL && load(options.load, &lines) != 0)
        return 1;
    sigemptyset(&ends);
    sigaddset(&ends, SIGINT);
    sigaddset(&ends, SIGTERM);
    sigprocmask(SIG_BLOCK, &ends, NULL); /* before threads are started */
    result = run(&options, &lines, &ends);
    lines_fini(&lines);
    return result;
}
