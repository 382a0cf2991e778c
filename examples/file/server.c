/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * file-server FOLDER TARGET: keeps files in a folder, until SIGINT or
 * SIGTERM. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "folder.h"

/* --- the service ---------------------------------------------------------- */

static enum vc_status
receive_file(struct folder *f, struct transfer *t, const char *name)
{
    struct incoming in;
    enum vc_status status = folder_put(f, t, name, &in);

    if (status != VC_OK)
        return status;
    status = transfer_receive(t, in.fd);
    if (status == VC_OK)
        status = folder_keep(f, t, &in);
    if (status != VC_OK)
        folder_drop(f, &in);
    return status;
}

static enum vc_status
put(struct vc_call *call, struct file_files_put_server_stream *stream,
    File__Sum *reply, void *folder)
{
    struct transfer t = {.stream = (struct vc_stream *)stream};
    enum vc_status status;
    char *name;

    status = transfer_head(&t, &name);
    if (status == VC_OK)
        status = receive_file(folder, &t, name);
    if (status == VC_OK) {
        reply->size = t.size;
        reply->xxh128 = vc_call_strdup(call, t.digits);
    } else {
        status = vc_call_fail(call, status, "%s", t.error);
    }
    free(name);
    transfer_end(&t);
    return status;
}

static enum vc_status
get(struct vc_call *call, const File__GetRequest *request,
    struct file_files_get_server_stream *stream, void *folder)
{
    struct transfer t = {.stream = (struct vc_stream *)stream};
    enum vc_status status;
    int fd;

    status = folder_get(folder, &t, request->name, &fd);
    if (status == VC_OK) {
        status = transfer_send(&t, fd, request->name);
        close(fd);
    }
    transfer_end(&t);
    return status == VC_OK ? VC_OK : vc_call_fail(call, status, "%s", t.error);
}

/* --- the program ---------------------------------------------------------- */

static int
serve(struct folder *folder, const char *target, const sigset_t *ends)
{
    const struct file_files_methods methods = {.put = put, .get = get};
    struct vc_runtime *runtime = NULL;
    struct vc_server *server = NULL;
    int result = 0, signal;

    if (vc_runtime_new(NULL, &runtime) != VC_OK ||
        vc_server_new(runtime, NULL, &server) != VC_OK ||
        file_files_add(server, &methods, folder) != VC_OK ||
        vc_server_listen(server, target) != VC_OK) {
        fprintf(stderr, "file-server: %s\n", vc_error());
        result = 1;
    } else {
        printf("listening on port %d\n", vc_server_port(server));
        fflush(stdout);
        sigwait(ends, &signal);
    }
    vc_server_free(server);
    vc_runtime_free(runtime);
    return result;
}

int
main(int argc, char **argv)
{
    struct folder folder;
    sigset_t ends;
    int result;

    if (argc < 2 || argc > 3) {
        fprintf(stderr, "usage: file-server FOLDER [vc://ADDRESS:PORT]\n");
        return 2;
    }
    result = folder_open(&folder, argv[1]);
    if (result != 0) {
        fprintf(stderr, "file-server: cannot open the folder %s: %s\n", argv[1],
                strerror(result));
        return 1;
    }
    sigemptyset(&ends);
    sigaddset(&ends, SIGINT);
    sigaddset(&ends, SIGTERM);
    sigprocmask(SIG_BLOCK, &ends, NULL); /* before threads are started */
    result = serve(&folder, argc > 2 ? argv[2] : "vc://[::]:7474", &ends);
    folder_close(&folder);
    return result;
}
