/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * protoc-gen-verbcall: protoc runs it, writes a CodeGeneratorRequest to its
 * standard input and reads a CodeGeneratorResponse from its standard output.
 * Errors that a user can fix go into the response, and protoc prints them.
 * Errors that only a broken protoc causes go to standard error.
 *
 * The plugin starts no threads: all of its code runs on the only one. What a
 * run allocates lies in one arena, which main() frees at the end. */
#define _POSIX_C_SOURCE 200809L
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "idl/arena.h"
#include "idl/generate.h"
#include "idl/plugin.pb-c.h"
#include "idl/request.h"

#define PROGRAM "protoc-gen-verbcall"

#define EXIT_USAGE 2

static const char help[] =
    "This is a plugin of protoc, which runs it by the name of its option:\n"
    "\n"
    "    protoc --verbcall_out=DIR FILE.proto...\n"
    "\n"
    "For each x.proto it writes into DIR\n"
    "    x.pb-c.h, x.pb-c.c  messages, made by protoc-gen-c\n"
    "    x.vc.h, x.vc.c      services: tables, handlers, client functions\n"
    "\n"
    "Parameters, before DIR and a colon or in --verbcall_opt:\n"
    "    services     only x.vc.h and x.vc.c; --c_out may make the others\n"
    "    compat=FILE  servers accept clients of this older version, too: a\n"
    "                 FileDescriptorSet, of protoc --include_imports -o\n"
    "\n"
    "If it is not in PATH: protoc --plugin=/path/to/" PROGRAM " ...\n"
    "\n"
    "    --help     prints this\n"
    "    --version  prints the version\n";

/* Writes the response to standard output, as the last step of main_run().
 * Returns NULL, or the text for standard error, which is a constant. */
static const char *
response_write(struct arena *arena, const Idl__Response *response)
{
    size_t size = idl__response__get_packed_size(response);
    uint8_t *data = arena_alloc(arena, size);

    idl__response__pack(response, data);
    if (fwrite(data, 1, size, stdout) != size || fflush(stdout) != 0)
        return "the answer could not be written to standard output";
    return NULL;
}

/* Called by main() when protoc runs us: reads the request, generates, and
 * writes the response. Returns NULL, also when the response has an error for
 * the user; or the text for standard error, which lies in the arena or is a
 * constant. */
static const char *
main_run(struct arena *arena)
{
    Idl__Response response;
    struct bytes bytes;
    const char *problem = request_read(stdin, arena, &bytes);

    if (problem == NULL)
        problem = generate(arena, bytes, &response);
    return problem != NULL ? problem : response_write(arena, &response);
}

/* Prints a text, for main_options(), and writes all of it. Returns the exit
 * status: 1 if that fails, as where the disk is full. */
static int
text_print(const char *text)
{
    if (fputs(text, stdout) != EOF && fflush(stdout) == 0)
        return EXIT_SUCCESS;
    fprintf(stderr, PROGRAM ": cannot write to standard output: %s\n",
            strerror(errno));
    return EXIT_FAILURE;
}

/* Called by main() first. Handles a command line that is not protoc's: prints
 * the version, help or what is wrong. Returns the exit status: 0, 1 if printing
 * fails, or EXIT_USAGE. Returns -1 if it is protoc's: no argument, and standard
 * input is no terminal. */
static int
main_options(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--version") == 0)
        return text_print(PROGRAM " " PACKAGE_VERSION "\n");
    if (argc == 2 && strcmp(argv[1], "--help") == 0)
        return text_print(help);
    if (argc == 1 && !isatty(STDIN_FILENO))
        return -1;
    if (argc > 1)
        fprintf(stderr,
                PROGRAM ": takes no arguments except --help and --version: run "
                        "protoc with --verbcall_out=DIR\n");
    else
        fputs(help, stderr);
    return EXIT_USAGE;
}

/* Returns EXIT_SUCCESS also if the response has an error for the user, as
 * protoc requires. EXIT_FAILURE: main_run() returned a text. Else it is the
 * status of main_options(). */
int
main(int argc, char **argv)
{
    struct arena arena = {NULL};
    const char *problem;
    int status = main_options(argc, argv);

    if (status >= 0)
        return status;
    /* If the child or protoc has exited, a write fails with EPIPE instead. */
    signal(SIGPIPE, SIG_IGN);
    problem = main_run(&arena);
    if (problem != NULL)
        fprintf(stderr, PROGRAM ": %s\n", problem);
    arena_fini(&arena);
    return problem == NULL ? EXIT_SUCCESS : EXIT_FAILURE;
}
