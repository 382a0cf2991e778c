/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The server's side: services are added, addresses listened on, and handlers
 * run on the threads of the runtime. */
#ifndef VERBCALL_SERVER_H
#define VERBCALL_SERVER_H

#include <stddef.h>
#include <stdint.h>

#include <verbcall/export.h>
#include <verbcall/status.h>

VC_BEGIN_DECLS

struct vc_runtime;
struct vc_server;
struct vc_service;

/* Set by VC_SERVER_OPTS_INIT; 0 in a field means its default. */
struct vc_server_opts {
    size_t size;

    /* Largest packed request and reply in bytes, 4 KiB..1 GiB, rounded up to
     * a power of two; default 4 MiB. */
    size_t max_message;

    /* Connections at a time, 1..65536, default 1024. One more is rejected
     * with "busy". */
    unsigned max_links;

    /* Milliseconds, 1..600000, default 2000, that a new connection has for
     * its handshake and its first packet. */
    uint32_t handshake_timeout_ms;

    /* Names the server in its accepts, at most 63 bytes; default none. */
    const char *name;

    /* Milliseconds, 100..3600000, default 1000. A client whose adapter does
     * not answer in that time is disconnected. In turn clients ask whether
     * this server lives, by keepalive_ms of their channels; the threads of
     * vc_runtime_start() answer, however long handlers take.
     * VC_KEEPALIVE_OFF (see verbcall/channel.h): neither. */
    uint32_t keepalive_ms;
};

#define VC_SERVER_OPTS_INIT                                                    \
    {                                                                          \
        sizeof(struct vc_server_opts), 0, 0, 0, NULL, 0                        \
    }

/* vc_server_new - makes a server without services and addresses. opts may be
 * NULL. On VC_OK the caller owns *server and closes it by vc_server_close().
 * VC_INVALID_ARGUMENT   an option is out of its range
 * VC_RESOURCE_EXHAUSTED no memory */
VC_API enum vc_status vc_server_new(struct vc_runtime *runtime,
                                    const struct vc_server_opts *opts,
                                    struct vc_server **server);

/* vc_server_add - adds a service; generated code wraps it as
 * <package>_<service>_add(). methods is the generated structure of handlers,
 * of which methods_size bytes are copied; a NULL handler answers
 * VC_UNIMPLEMENTED. arg reaches every handler. Any thread, at any time.
 *
 * A handler runs on a thread that advances an engine. It may block: when it has
 * run for longer than 0.1 to 0.6 ms, another thread takes the engine over, if
 * the runtime's threads were started (see vc_runtime_start()). So handlers
 * of one server, also of one method and one client, run at the same time on
 * several threads, with one engine, too, and must lock what they share. Without
 * such threads all that this process does waits for the handler.
 *
 * VC_ALREADY_EXISTS     a service of this name is there
 * VC_RESOURCE_EXHAUSTED no memory */
VC_API enum vc_status vc_server_add(struct vc_server *server,
                                    const struct vc_service *service,
                                    const void *methods, size_t methods_size,
                                    void *arg);

/* vc_server_remove - takes a service away. Calls that run end as they will;
 * later ones end with VC_UNIMPLEMENTED. Any thread.
 * VC_NOT_FOUND  it is not there */
VC_API enum vc_status vc_server_remove(struct vc_server *server,
                                       const struct vc_service *service);

/* vc_server_listen - accepts connections at target, "rdma://ADDRESS:PORT"
 * with a numeric address of an RDMA device; [::] for all addresses of both
 * families, 0.0.0.0 for those of IPv4, port 0 for one that the system picks
 * (see vc_server_port()). May be called again for further addresses. Any
 * thread.
 * VC_INVALID_ARGUMENT   the target is malformed
 * VC_UNAVAILABLE        the address is not of an RDMA device of this machine,
 *                       or is in use; vc_error() says which
 * VC_PERMISSION_DENIED  this user may not open the RDMA devices
 * VC_RESOURCE_EXHAUSTED no memory or no file descriptors left */
VC_API enum vc_status vc_server_listen(struct vc_server *server,
                                       const char *target);

/* vc_server_port - the port of the last address listened on; 0 before. */
VC_API uint16_t vc_server_port(const struct vc_server *server);

/* vc_server_close - stops listening, takes all connections down and frees the
 * server. Its clients' calls end with VC_UNAVAILABLE; one whose handler ends
 * while it closes may still get its reply. Blocks for running handlers and the
 * handshakes of disconnection, the latter 2 s at most. NULL is fine. Any
 * thread but not from a handler. */
VC_API void vc_server_close(struct vc_server *server);

VC_END_DECLS

#endif
