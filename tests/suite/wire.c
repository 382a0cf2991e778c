/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See tests/suite/wire.h. */
#include "tests/suite/wire.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

const char *wire_folder;

static void
path_in_folder(const char *name, char path[300])
{
    snprintf(path, 300, "%s/%s", wire_folder, name);
}

void
wire_file_make(const char *name, const char *text)
{
    char made[300], path[300];
    FILE *f;

    path_in_folder("new", made);
    path_in_folder(name, path);
    f = fopen(made, "w");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(0, fclose(f));
    assert_int_equal(0, rename(made, path));
}

void
wire_file_await(const char *name, bool there)
{
    uint64_t due = fixture_ms() + WIRE_BOOT_MS;
    char path[300];

    path_in_folder(name, path);
    while ((access(path, F_OK) == 0) != there) {
        if (fixture_ms() > due)
            fail_msg("%s is %s after %d ms", path,
                     there ? "not there" : "there", WIRE_BOOT_MS);
        usleep(20000);
    }
}

void
wire_runtime(struct vc_runtime **runtime)
{
    struct vc_runtime_opts opts = VC_RUNTIME_OPTS_INIT;

    opts.spin_us = VC_SPIN_NEVER;
    assert_status(VC_OK, vc_runtime_new(&opts, runtime));
}

/* --- the server -------------------------------------------------------- */

static atomic_uchar ran[WIRE_TAGS];

static enum vc_status
report(struct vc_call *call, size_t n, Suite__EchoReply *reply)
{
    if (n > WIRE_TAGS)
        return vc_call_fail(call, VC_INVALID_ARGUMENT, "there are %d",
                            WIRE_TAGS);
    reply->payload.data = vc_call_alloc(call, n);
    if (reply->payload.data == NULL)
        return vc_call_fail(call, VC_RESOURCE_EXHAUSTED, "no memory");
    for (size_t i = 0; i < n; i++)
        reply->payload.data[i] = atomic_load(&ran[i]);
    reply->payload.len = n;
    return VC_OK;
}

static enum vc_status
command(struct vc_call *call, const char *text)
{
    int status = system(text);

    return status == 0
               ? VC_OK
               : vc_call_fail(call, VC_INTERNAL, "%s: %d", text, status);
}

static enum vc_status
echo(struct vc_call *call, const Suite__EchoRequest *request,
     Suite__EchoReply *reply, void *arg)
{
    (void)arg;
    reply->tag = request->tag;
    switch (request->tag) {
    case WIRE_REPORT:
        return report(call, request->reply_size, reply);
    case WIRE_SPOIL:
        return command(call, WIRE_TC_SPOIL);
    case WIRE_RESTORE:
        return command(call, WIRE_TC_RESTORE);
    case WIRE_END:
        fixture_tell(&fixture_board->stop);
        return VC_OK;
    default:
        atomic_fetch_add(&ran[request->tag % WIRE_TAGS], 1);
        reply->payload = request->payload;
        return VC_OK;
    }
}

void
wire_serve(void)
{
    const struct suite_probe_methods methods = {.echo = echo};
    struct vc_runtime *runtime;
    struct vc_server *server;
    char target[80];

    wire_runtime(&runtime);
    assert_status(VC_OK, vc_server_new(runtime, NULL, &server));
    assert_status(VC_OK, suite_probe_add(server, &methods, NULL));
    assert_status(VC_OK,
                  vc_server_listen(server, fixture_target(WIRE_PORT, target)));
    assert_status(VC_OK, vc_runtime_start(runtime, 1));
    wire_file_make("serving", "");
    /* tests/wire.sh ends us when the client cannot. */
    while (atomic_load(&fixture_board->stop) == 0)
        usleep(20000);
    vc_server_close(server);
    vc_runtime_free(runtime);
}
