/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * kv-client: gets and puts values of a kv-server, and compares its values with
 * a file. */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kv.vc.h"
#include "number.h"
#include "verify.h"

/* A line may be as long as the library's largest message. */
#define MAX_MESSAGE ((size_t)256 << 20)

enum {
    EXIT_GOOD,
    EXIT_BAD,
    EXIT_USAGE,
};

struct options {
    const char *target;
    struct vc_call_opts call;
    unsigned threads;
    bool json;
    char **args; /* the command and its arguments */
};

static const char help[] =
    "usage: kv-client [OPTION...] verify FILE\n"
    "       kv-client [OPTION...] get KEY\n"
    "       kv-client [OPTION...] put KEY VALUE\n"
    "       kv-client [OPTION...] count\n"
    "Asks a kv-server. verify reads all lines of the file that the server has\n"
    "loaded back and compares them; it tells how many calls it made, how many\n"
    "differ, and how long they took.\n"
    "\n"
    "  --target TARGET  the server, vc://HOST:PORT (default: $KV_TARGET)\n"
    "  --timeout MS     how long a call may take (default 10000)\n"
    "  --threads N      threads of verify, 1..256 (default 1)\n"
    "  --json           verify prints JSON\n"
    "\n"
    "Exit status: 0 all went well and nothing differs, 1 something failed or\n"
    "differs, 2 wrong usage.\n";

static int
fail(void)
{
    fprintf(stderr, "kv-client: %s\n", vc_error());
    return EXIT_BAD;
}

static int
usage(const char *what)
{
    fprintf(stderr, "kv-client: %s; kv-client --help shows more\n", what);
    return EXIT_USAGE;
}

/* --- one call ------------------------------------------------------------ */

static int
run_get(struct vc_channel *channel, const struct options *options)
{
    Kv__GetRequest request = KV__GET_REQUEST__INIT;
    Kv__GetReply *reply;

    if (!number_parse(options->args[1], 0, UINT64_MAX, &request.key))
        return usage("a key is a number, 0..2^64-1");
    if (kv_key_value_get(channel, &request, &options->call, &reply) != VC_OK)
        return fail();
    if (reply->value.len > 0)
        fwrite(reply->value.data, 1, reply->value.len, stdout);
    putchar('\n');
    vc_message_free(reply);
    return EXIT_GOOD;
}

static int
run_put(struct vc_channel *channel, const struct options *options)
{
    Kv__PutRequest request = KV__PUT_REQUEST__INIT;
    Kv__PutReply *reply;

    if (!number_parse(options->args[1], 0, UINT64_MAX, &request.key))
        return usage("a key is a number, 0..2^64-1");
    request.value.data = (uint8_t *)options->args[2];
    request.value.len = strlen(options->args[2]);
    if (kv_key_value_put(channel, &request, &options->call, &reply) != VC_OK)
        return fail();
    puts(reply->existed ? "replaced" : "added");
    vc_message_free(reply);
    return EXIT_GOOD;
}

static int
run_count(struct vc_channel *channel, const struct options *options)
{
    Kv__CountRequest request = KV__COUNT_REQUEST__INIT;
    Kv__CountReply *reply;

    if (kv_key_value_count(channel, &request, &options->call, &reply) != VC_OK)
        return fail();
    printf("%" PRIu64 "\n", reply->keys);
    vc_message_free(reply);
    return EXIT_GOOD;
}

/* --- verify -------------------------------------------------------------- */

static int
verify_lines(struct vc_channel *channel, const struct options *options,
             const struct lines *lines, struct verify_result *result)
{
    int error;

    /* Connect first, so that the first call does not measure the connecting. */
    if (vc_channel_connect(channel, &kv_key_value_service) != VC_OK)
        return fail();
    error =
        verify_run(channel, lines, &options->call, options->threads, result);
    if (error != 0) {
        fprintf(stderr, "kv-client: cannot have %u threads: %s\n",
                options->threads, strerror(error));
        return EXIT_BAD;
    }
    verify_print(result, options->json);
    if (result->complaint[0] == '\0')
        return EXIT_GOOD;
    fprintf(stderr, "kv-client: %s\n", result->complaint);
    return EXIT_BAD;
}

static int
run_verify(struct vc_channel *channel, const struct options *options)
{
    struct verify_result *result = calloc(1, sizeof *result);
    struct lines lines = {0};
    int error = result == NULL ? ENOMEM : lines_init(options->args[1], &lines);
    int status = EXIT_BAD;

    if (error != 0)
        fprintf(stderr, "kv-client: cannot read %s: %s\n", options->args[1],
                strerror(error));
    else
        status = verify_lines(channel, options, &lines, result);
    lines_fini(&lines);
    free(result);
    return status;
}

/* --- the program --------------------------------------------------------- */

static const struct command {
    const char *name;
    int n_args; /* the name included */
    int (*run)(struct vc_channel *channel, const struct options *options);
} commands[] = {
    {"verify", 2, run_verify},
    {"get", 2, run_get},
    {"put", 3, run_put},
    {"count", 1, run_count},
};

/* Returns NULL when the n_args of args are no command. */
static const struct command *
find_command(char **args, int n_args)
{
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++)
        if (n_args == commands[i].n_args &&
            strcmp(args[0], commands[i].name) == 0)
            return &commands[i];
    return NULL;
}

static int
take_option(int option, struct options *options)
{
    uint64_t number = 0;

    switch (option) {
    case 'g':
        options->target = optarg;
        return EXIT_GOOD;
    case 'j':
        options->json = true;
        return EXIT_GOOD;
    case 'n':
        if (!number_parse(optarg, 1, VERIFY_MAX_THREADS, &number))
            return usage("--threads takes a number, 1..256");
        options->threads = (unsigned)number;
        return EXIT_GOOD;
    case 't':
        if (!number_parse(optarg, 1, INT32_MAX, &number))
            return usage("--timeout takes milliseconds, 1..2^31-1");
        options->call.timeout_ms = (uint32_t)number;
        return EXIT_GOOD;
    default: /* getopt has printed the error */
        return usage("an option is wrong");
    }
}

/* On EXIT_GOOD *command is the command to run, or NULL if there is none. */
static int
parse(int argc, char **argv, struct options *options,
      const struct command **command)
{
    static const struct option longs[] = {
        {"target", required_argument, NULL, 'g'},
        {"json", no_argument, NULL, 'j'},
        {"threads", required_argument, NULL, 'n'},
        {"timeout", required_argument, NULL, 't'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    int option;

    while ((option = getopt_long(argc, argv, "", longs, NULL)) != -1) {
        if (option == 'h')
            return fputs(help, stdout) < 0 ? EXIT_BAD : EXIT_GOOD;
        if (take_option(option, options) != EXIT_GOOD)
            return EXIT_USAGE;
    }
    options->args = argv + optind;
    *command = find_command(options->args, argc - optind);
    if (*command == NULL)
        return usage("it takes a command and what belongs to it");
    if (options->target == NULL)
        return usage("say where the server is: --target vc://HOST:PORT");
    return EXIT_GOOD;
}

static int
run(const struct command *command, const struct options *options)
{
    struct vc_runtime *runtime = NULL;
    struct vc_channel *channel = NULL;
    int status;

    if (vc_runtime_new(NULL, &runtime) != VC_OK ||
        vc_channel_open(runtime, options->target,
                        VC_CHANNEL_OPTS(.max_message = MAX_MESSAGE),
                        &channel) != VC_OK)
        status = fail();
    else
        status = command->run(channel, options);
    vc_channel_close(channel);
    vc_runtime_free(runtime);
    return status;
}

int
main(int argc, char **argv)
{
    struct options options = {
        .target = getenv("KV_TARGET"),
        .call = VC_CALL_OPTS_INIT,
        .threads = 1,
    };
    const struct command *command = NULL;
    int status = parse(argc, argv, &options, &command);

    if (command == NULL || status != EXIT_GOOD)
        return status;
    status = run(command, &options);
    if (fflush(stdout) == 0 && !ferror(stdout))
        return status;
    fprintf(stderr, "kv-client: cannot write: %s\n", strerror(errno));
    return EXIT_BAD;
}
