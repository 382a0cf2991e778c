/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * file-client: puts files into a file-server's folder and gets them back. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libgen.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "transfer.h"

/* Timeout for one whole file. */
#define TIMEOUT_MS (3600u * 1000)

static const char help[] =
    "usage: file-client TARGET put FILE [NAME]\n"
    "       file-client TARGET get NAME [FILE]\n"
    "Puts a file on the file-server at TARGET, vc://HOST:PORT, or gets one\n"
    "from there. Without NAME it is that of the file, without FILE that of "
    "the\n"
    "file there. A file gets its name when all of it came and its checksum is\n"
    "right. Exit status: 0 all went well, 1 it failed, 2 wrong usage.\n";

/* --- what is shown -------------------------------------------------------- */

static double
now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Shows progress ten times a second, if standard error is a terminal. */
static void
progress(struct transfer *t)
{
    static double last;
    double time = now();

    if (time - last < 0.1 || !isatty(STDERR_FILENO))
        return;
    last = time;
    fprintf(stderr, "\r%" PRIu64 " of %" PRIu64 " KiB", t->sum.size >> 10,
            t->size >> 10);
}

static int
show(const struct transfer *t, const char *name, double start)
{
    fprintf(stderr, "%s%s: %" PRIu64 " bytes in %.3f s, xxh128 %s\n",
            isatty(STDERR_FILENO) ? "\r" : "", name, t->sum.size, now() - start,
            t->digits);
    return 0;
}

static int
fail(const char *what)
{
    fprintf(stderr, "file-client: %s\n", what);
    return 1;
}

/* cannot("read", path): prints this with the system's error text. */
static int
cannot(const char *what, const char *path)
{
    fprintf(stderr, "file-client: cannot %s %s: %s\n", what, path,
            strerror(errno));
    return 1;
}

/* --- put ------------------------------------------------------------------ */

/* The server compares this checksum with what it has written, and reports the
 * result in its reply. */
static int
send_file(struct transfer *t, struct file_files_put_client_stream *stream,
          int fd, const char *name)
{
    double start = now();
    File__Sum *reply = NULL;

    t->stream = (struct vc_stream *)stream;
    if (transfer_send(t, fd, name) != VC_OK)
        return fail(t->error);
    if (file_files_put_finish(stream, &reply) != VC_OK)
        return fail(vc_error());
    vc_message_free(reply);
    return show(t, name, start);
}

static int
put(struct vc_channel *channel, const struct vc_call_opts *opts,
    const char *path, const char *name)
{
    struct transfer t = {.progress = progress};
    struct file_files_put_client_stream *stream = NULL;
    int fd = open(path, O_RDONLY | O_CLOEXEC), result;

    if (fd < 0)
        return cannot("open", path);
    if (file_files_put(channel, opts, &stream) != VC_OK)
        result = fail(vc_error());
    else
        result = send_file(&t, stream, fd, name);
    file_files_put_close(stream);
    transfer_end(&t);
    close(fd);
    return result;
}

/* --- get ------------------------------------------------------------------ */

/* Writes to a file of another name until it is complete. */
static int
receive_file(struct transfer *t, struct file_files_get_client_stream *stream,
             const char *path, const char *part)
{
    int fd = open(part, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    enum vc_status status;

    if (fd < 0)
        return cannot("make", part);
    status = transfer_receive(t, fd);
    if (status == VC_OK && file_files_get_finish(stream) != VC_OK)
        status = transfer_fail(t, VC_DATA_LOSS, "%s", vc_error());
    if (close(fd) != 0 && status == VC_OK)
        status = transfer_fail(t, VC_INTERNAL, "cannot write %s: %s", part,
                               strerror(errno));
    if (status == VC_OK && rename(part, path) != 0)
        status = transfer_fail(t, VC_INTERNAL, "cannot rename %s to %s: %s",
                               part, path, strerror(errno));
    if (status == VC_OK)
        return 0;
    unlink(part);
    return fail(t->error);
}

static int
receive(struct transfer *t, struct file_files_get_client_stream *stream,
        const char *path)
{
    double start = now();
    char *name, part[PATH_MAX];
    int result, n;

    n = snprintf(part, sizeof part, "%s.%ld.part", path, (long)getpid());
    if (n < 0 || (size_t)n >= sizeof part)
        return fail("the path of the file is too long");
    t->stream = (struct vc_stream *)stream;
    if (transfer_head(t, &name) != VC_OK)
        result = fail(t->error);
    else
        result = receive_file(t, stream, path, part);
    if (result == 0)
        show(t, name, start);
    free(name);
    return result;
}

static int
get(struct vc_channel *channel, const struct vc_call_opts *opts,
    const char *name, const char *path)
{
    struct file_files_get_client_stream *stream = NULL;
    struct transfer t = {.progress = progress};
    File__GetRequest request = FILE__GET_REQUEST__INIT;
    int result;

    request.name = (char *)name;
    if (file_files_get(channel, &request, opts, &stream) != VC_OK)
        result = fail(vc_error());
    else
        result = receive(&t, stream, path);
    file_files_get_close(stream);
    transfer_end(&t);
    return result;
}

/* --- the program ---------------------------------------------------------- */

static int
run(const char *target, bool puts, char *from, char *to)
{
    const struct vc_call_opts *opts = VC_CALL_OPTS(.timeout_ms = TIMEOUT_MS);
    struct vc_runtime *runtime = NULL;
    struct vc_channel *channel = NULL;
    int result;

    if (to == NULL)
        to = basename(from);
    if (vc_runtime_new(NULL, &runtime) != VC_OK ||
        vc_channel_open(runtime, target, NULL, &channel) != VC_OK)
        result = fail(vc_error());
    else
        result =
            puts ? put(channel, opts, from, to) : get(channel, opts, from, to);
    vc_channel_close(channel);
    vc_runtime_free(runtime);
    return result;
}

int
main(int argc, char **argv)
{
    bool puts = argc > 2 && strcmp(argv[2], "put") == 0;

    if (argc == 2 && strcmp(argv[1], "--help") == 0)
        return fputs(help, stdout) < 0;
    if ((argc != 4 && argc != 5) || (!puts && strcmp(argv[2], "get") != 0)) {
        fputs(help, stderr);
        return 2;
    }
    return run(argv[1], puts, argv[3], argc == 5 ? argv[4] : NULL);
}
