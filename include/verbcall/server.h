/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The server's side: a program adds services and listens at addresses; handlers
 * run on the threads of the runtime. */
#ifndef VERBCALL_SERVER_H
#define VERBCALL_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <verbcall/export.h>
#include <verbcall/status.h>

VC_BEGIN_DECLS

struct vc_rdma_opts;
struct vc_runtime;
struct sockaddr;
struct vc_server;
struct vc_service;

/* Most targets that a client may be redirected to. */
#define VC_REDIRECT_MAX 3

/* Options of a server. Initialize it with VC_SERVER_OPTS_INIT, or write
 * VC_SERVER_OPTS(.max_calls = 100) where it is used; 0 in a field means its
 * default. */
struct vc_server_opts {
    size_t size; /* see VC_SIZED in verbcall/export.h */

    /* Largest packed request and stream message that the server takes, in
     * bytes, 4 KiB..256 MiB, rounded up to a power of two; default 4 MiB. A
     * longer request ends with VC_RESOURCE_EXHAUSTED, and is not retried. The
     * client's limit (max_message in verbcall/channel.h) applies to replies. */
    size_t max_message;

    /* Connections at a time, 1..65536, default 1024. One more is rejected
     * with "busy". */
    unsigned max_links;

    /* Milliseconds, 1..600000, default 2000, that a new connection has for
     * its handshake and its first packet. */
    uint32_t handshake_timeout_ms;

    /* Name of the server, at most 63 bytes of UTF-8, copied; default none. It
     * stands before the address in errors of its clients, "orders-1
     * (10.9.0.1:7471) closed the connection", and in vc_channel_describe(). */
    const char *name;

    /* Milliseconds, 100..3600000, default 1000. A client whose adapter does not
     * answer in that time is disconnected. Clients in turn check whether this
     * server lives, by keepalive_ms of their channels; the threads of its
     * runtime answer, however long handlers take.
     * VC_KEEPALIVE_OFF (see verbcall/channel.h): neither. */
    uint32_t keepalive_ms;

    /* Connections at a time whose client has not yet sent a valid packet,
     * 1..65536, default 256. One more is rejected with "busy". */
    unsigned max_half_open;

    /* Connections accepted per second, in all and from one address, with bursts
     * of one second's worth; 0..1000000. Default 0: no limit, but 10 per second
     * while the server sheds calls. A connection over the limit is rejected
     * with "busy" and a time after which to retry, which clients respect.
     * Addresses are counted separately for the 256 seen last. */
    uint32_t connects_per_second;
    uint32_t connects_per_second_source;

    /* Sessions of one client, 1..1048576, default 16384; each takes about 200
     * bytes. If a client wants one more, its own library fails the call with
     * VC_RESOURCE_EXHAUSTED. */
    uint32_t max_sessions;

    /* Targets to which all clients that connect from now on are redirected;
     * default none. A target is "rdma://ADDRESS:PORT" or "tcp://ADDRESS:PORT"
     * with numeric addresses, "shm:NAME", or "inproc://NAME" for clients of
     * this process. They are copied. Clients choose among them at random, and
     * try the others if needed; they follow three redirects in a row. */
    const char *redirect[VC_REDIRECT_MAX];

    /* A callback that decides for each client; default none. It sets targets as
     * above and returns how many, 1..3; 0: as if there were no callback.
     * service is the id in the struct vc_service that the client asks for,
     * whether served here or not. source is the client's address, of AF_UNIX
     * and without a path for a client of this process. The callback runs on the
     * thread that listens, for one client at a time, and must not block. The
     * texts must stay valid until the next call. A target that is invalid is
     * left out. */
    unsigned (*redirect_decide)(uint64_t service, const struct sockaddr *source,
                                const char *targets[VC_REDIRECT_MAX],
                                void *arg);
    void *redirect_arg;

    /* Calls that may run at a time, in all, and of one session, which is what a
     * client has for each service. A call counts from its arrival until it has
     * ended, which may be later than its handler (vc_call_later()). Default 0:
     * any number; a session has 256 slots. One more is answered
     * VC_RESOURCE_EXHAUSTED, not executed, and may be retried. These are hard
     * limits: calls that the server cannot serve in time are shed without them
     * (doc/overload.md). Calls of grpc.health.v1.Health and of
     * verbcall.reflection.v1.Reflection do not count in max_calls. */
    uint32_t max_calls;
    uint32_t max_calls_session;

    /* Milliseconds, 10..3600000, default 30000. A stream is ended with
     * VC_RESOURCE_EXHAUSTED when its client has taken no message for so long,
     * while its handler waits in vc_stream_send() and threads are short (see
     * handler_threads in verbcall/runtime.h). A request or stream message that
     * arrives in parts is dropped when no part has arrived for so long. Its
     * memory is freed within 5 s more; when its last part arrives, its call is
     * answered VC_RESOURCE_EXHAUSTED, not executed. (Where max_memory is short
     * it is dropped after 5 s.)
     * VC_STREAM_STALL_OFF: they wait for the client until the call's
     * deadline. */
    uint32_t stream_stall_ms;

    /* Bytes, 16 MiB.. and at least four times max_message. Default: a quarter
     * of the machine's memory or 1 GiB, whichever is less (but four times
     * max_message). This limits the memory of requests that arrive in parts, of
     * running requests (unpacked, and what their handlers allocate by
     * vc_call_alloc()), of long replies until their clients have them, and of
     * long stream messages. A quarter is reserved for calls that have begun. Of
     * the rest one client gets at most seven times what is left. A request for
     * which no memory is left is answered VC_RESOURCE_EXHAUSTED, not executed.
     * Memory is not allocated before it is used, and freed within a second.
     * Registered memory has its own limit: see memory_limit in
     * verbcall/runtime.h. */
    size_t max_memory;

    /* A callback that runs when the server begins to shed calls, and when it
     * has shed none for a second; default none. line is a text for a log: why,
     * or how many were shed in how long; it is valid until the callback
     * returns. Each engine calls it for itself, on the thread that advances the
     * engine: it must not block. */
    void (*on_overload)(bool sheds, const char *line, void *arg);
    void *overload_arg;

    /* Handlers of one method that may wait for others at a time, 3..65536;
     * default 0: as many as there are threads (handler_threads in
     * verbcall/runtime.h). This is the maximum; the limit in force starts at
     * 16. It falls while handlers take longer the more of them run, so that the
     * resource that they wait for, as a database, is not overloaded. One more
     * is answered VC_RESOURCE_EXHAUSTED, not executed, with a time after which
     * to retry. The limit applies to handlers that begin on threads of their
     * own, not to streams. It learns nothing from handlers that read their
     * deadline, or whose calls are ended later. See doc/overload.md. */
    uint32_t adaptive_limit;

    /* Access to "shm:///PATH" and "shm:NAME": the permissions of the socket's
     * file, 0001..0777, default 0600, as in chmod(2). A client needs write
     * permission to connect. A NAME has no file: processes of this user and of
     * root may connect, or all processes if the mode has 0006. */
    uint32_t shm_mode;

    /* Group of that file, copied; default: the process' own. */
    const char *shm_group;

    /* For vc:// targets: the transports to listen by, of shm,rdma,tcp, which is
     * the default; copied. VERBCALL_TRANSPORTS in the environment is such a
     * list, too: a transport that is not in it is not listened by. */
    const char *transports;

    /* 1: [::] and other IPv6 addresses take no clients over IPv4, so that the
     * program may listen at 0.0.0.0 with the same port; over TCP and RDMA.
     * Default 0: [::] is all addresses of both families, whatever the system's
     * bindv6only says. */
    uint32_t ipv6_only;

    /* 1: an rdma:// address may be bound even if another id of this machine
     * that has the same option is bound to it (RDMA_OPTION_ID_REUSEADDR);
     * default 0. Linux still lets an id listen only when it is the only one
     * there; otherwise vc_server_listen() fails as without this option. The
     * option is not needed to listen again where a server has listened before.
     * TCP has its own rules. */
    uint32_t reuse_address;

    /* Options of its RDMA connections: see verbcall/rdma.h. Copied; default: as
     * said there. */
    const struct vc_rdma_opts *rdma;

    /* 1: the reply of each unary call has a load report in its trailing
     * metadata, for clients with the policy weighted_round_robin
     * (verbcall/channel.h): "endpoint-load-metrics-bin", 64 bytes at most, as
     * gRPC has it. It says how busy this process keeps the processors that it
     * may use, how many replies per second the server sends and how many of
     * them are failures, over the last one or two seconds, and what
     * vc_server_load_set() has set. It is made at most every 100 ms. A reply
     * that would get longer than one packet by it, or has no room for further
     * metadata, has none. Default 0: none. */
    uint32_t load_reports;

    /* What to do about a client whose schema of a service, as the fingerprint
     * in the generated code says, is neither this server's nor accepted
     * (vc_server_schema_accept()). Default 0: nothing is compared.
     * VC_SCHEMA_WARN: it is served. The log has a line once per client, and
     * each such session counts in schemas_differ (verbcall/counters.h).
     * VC_SCHEMA_REFUSE: its calls of that service end with
     * VC_FAILED_PRECONDITION, not executed. Clients of this version give a
     * fingerprint for every service. Older ones give it for the first service
     * of a connection only; their other sessions count as different. Health and
     * reflection are not compared, nor are calls of multicast groups. */
    uint32_t schema_check;

    /* What a client may offer to receive at most: bytes of a reply or stream
     * message, 4 KiB..256 MiB, rounded up to a power of two, and packets at a
     * time on each connection, 4..65535. They bound what one client may have
     * the server hold and send. A client that offers more is rejected with
     * these numbers as a counter-offer ("limit"), and connects with them at
     * once; its max_message in verbcall/channel.h is then this one. Its packets
     * are a power of two, so no more than 4 for 5, 6 or 7. Clients of this
     * library offer 8, and may allow up to 32 later, if they were not rejected;
     * so numbers from 8 on bound only what others offer. Each such reject
     * counts in rejects_limit. Default 0: whatever clients offer. */
    size_t client_max_message;
    uint32_t client_packets;

    /* Numeric address of this machine, of an RDMA device, from which the server
     * joins the groups of rdma+mc:// targets (verbcall/multicast.h), as
     * "10.9.0.1"; copied. Default: that to which the routing table leads for
     * the group; a machine without a default route needs this option, or a
     * route to the group. */
    const char *multicast_address;
};

#define VC_SCHEMA_WARN   1u
#define VC_SCHEMA_REFUSE 2u

#define VC_STREAM_STALL_OFF (~0u)

#define VC_SERVER_OPTS_INIT VC_SIZED_INIT(vc_server_opts)
#define VC_SERVER_OPTS(...) VC_SIZED(vc_server_opts, __VA_ARGS__)

/* vc_server_new - creates a server without services and addresses. opts may be
 * NULL. On VC_OK the caller owns *server and frees it by vc_server_free().
 * VC_INVALID_ARGUMENT    an option is out of range, or a redirect or
 *                        `transports` malformed; opts, or their rdma, have no
 *                        size
 * VC_FAILED_PRECONDITION `transports` and VERBCALL_TRANSPORTS have no transport
 *                        in common
 * VC_RESOURCE_EXHAUSTED  no memory */
VC_API enum vc_status vc_server_new(struct vc_runtime *runtime,
                                    const struct vc_server_opts *opts,
                                    struct vc_server **server);

/* vc_server_add - adds a service; generated code wraps it as
 * <package>_<service>_add(). methods is the generated structure of handlers, of
 * which methods_size bytes are copied; calls of a NULL handler end with
 * VC_UNIMPLEMENTED. arg is passed to every handler. Any thread, at any time.
 *
 * A handler runs on a thread that advances an engine. It may block. When it has
 * run for longer than 0.1 to 1 ms, another thread takes over the engine. The
 * time is up to 8 ms where waking a thread is expensive, as in an emulator. If
 * the handler waited at that moment, the next handlers of its method begin on
 * threads of their own (vc_runtime_start()). This does not happen if the
 * runtime has no threads (VC_THREADS_NONE in verbcall/runtime.h): then all that
 * this process does waits for the handler. (verbcall.method).blocking marks a
 * method beforehand, so that its first handler, too, delays nothing else. So
 * handlers of one server, also of one method and one client, run at the same
 * time on several threads, even with one engine, and must lock what they share.
 *
 * A method whose .proto file sets max_calls runs at most so many calls at a
 * time; one more is answered as with struct vc_server_opts.
 *
 * VC_ALREADY_EXISTS     the server has a service of this name
 * VC_RESOURCE_EXHAUSTED no memory */
VC_API enum vc_status vc_server_add(struct vc_server *server,
                                    const struct vc_service *service,
                                    const void *methods, size_t methods_size,
                                    void *arg);

/* vc_server_remove - removes a service. Running calls end as they will; later
 * ones end with VC_UNIMPLEMENTED, until a service of this name is added again.
 * Any thread.
 * VC_NOT_FOUND the server does not have the service */
VC_API enum vc_status vc_server_remove(struct vc_server *server,
                                       const struct vc_service *service);

/* vc_server_limit - sets max_calls as in struct vc_server_opts, for one
 * service; 0: any number. It applies to calls that arrive from now on, until
 * the service is removed. Any thread, at any time.
 * VC_NOT_FOUND the server does not have the service */
VC_API enum vc_status vc_server_limit(struct vc_server *server,
                                      const struct vc_service *service,
                                      uint32_t max_calls);

/* vc_server_schema_accept - adds n fingerprints, copied, to those of clients
 * that schema_check of struct vc_server_opts finds good for this service:
 * older schemas that the server's can be used with. 0 among them stands for
 * clients that give none. Code that protoc-gen-verbcall has generated with
 * compat= calls it in <package>_<service>_add(). May be called before or after
 * vc_server_add(), and holds for clients that connect, or open a session, from
 * then on. Any thread, at any time.
 * VC_RESOURCE_EXHAUSTED no memory */
VC_API enum vc_status vc_server_schema_accept(struct vc_server *server,
                                              const struct vc_service *service,
                                              const uint32_t *fingerprints,
                                              size_t n);

/* vc_server_load_set - sets the application_utilization of load reports: how
 * much of what limits the program is used, as of a pool of database
 * connections; 1.0 for all of it, and it may be more. Clients then go by this
 * number, and not by that of the processors. 0: by that again. Any thread, at
 * any time; replies have it within 100 ms.
 * VC_INVALID_ARGUMENT    it is negative, infinite or not a number
 * VC_FAILED_PRECONDITION load_reports of struct vc_server_opts is not set */
VC_API enum vc_status vc_server_load_set(struct vc_server *server,
                                         double utilization);

/* vc_server_listen - accepts connections at target. May be called again for
 * further addresses. Any thread. The target is one of:
 * - "vc://ADDRESS:PORT": listens by all transports that this machine has, for
 *   clients of vc://, and of rdma:// and tcp:// at the same port. For clients
 *   of this host it listens at a socket with a random name, which they receive
 *   when they connect by TCP or RDMA. It fails where TCP cannot listen; where
 *   RDMA cannot, vc_server_describe() says why. If memory or descriptors are
 *   short, RDMA is tried again, after a second at first, and each minute later.
 * - "rdma://ADDRESS:PORT": a numeric address of an RDMA device; [::] for all
 *   addresses of both families, 0.0.0.0 for those of IPv4, port 0 for one that
 *   the system picks (see vc_server_port()).
 * - "rdma+ib://ADDRESS:PORT": the same in the port space RDMA_PS_IB of
 *   rdma_create_id(3), whose ports are others than those of rdma://. For hosts
 *   where the ports of RDMA_PS_TCP are used up or not to be used. An address is
 *   an IP address there, too.
 * - "rdma+ud://ADDRESS:PORT": the same by datagrams (port space RDMA_PS_UDP),
 *   which are made reliable. One queue pair of each thread serves all clients,
 *   so it is for very many of them. The port's MTU must be 1024 bytes at least.
 *   A client that is silent for 120 s may be taken for dead.
 * - "rdma+mc://GROUP:PORT": joins a multicast group over RDMA, and runs the
 *   one-way calls that are published there: see verbcall/multicast.h. PORT is
 *   not 0. It waits up to 2 s for that.
 * - "tcp://ADDRESS:PORT": the same over TCP. A connection without the hello of
 *   a client within 2 s is closed. When more than 256 wait for theirs, the one
 *   that has waited longest is closed. Both are counted in hellos_missed.
 * - "shm:NAME" or "shm:///PATH": for processes of this host, which may connect
 *   as shm_mode and shm_group above allow. A NAME is as below, of this network
 *   namespace. A PATH has at most 97 bytes; its file is created, and replaced
 *   if the process that created it has exited.
 * - "inproc://NAME": a NAME of 1 to 63 letters, digits or .-_, for channels of
 *   this process. It needs no device, so a program's own unit tests can use it.
 *
 * Loopback addresses are for clients of this host. "tcp://127.0.0.1:PORT" and
 * "tcp://[::1]:PORT" are reached from this host only. "vc://127.0.0.1:PORT"
 * listens by TCP there and by shared memory, not by RDMA, and
 * vc_server_describe() says so. RDMA devices have no loopback addresses:
 * "rdma://127.0.0.1:PORT" is refused. "localhost" is 127.0.0.1 and, where the
 * machine has IPv6, [::1] at the same port, both or neither; no name server is
 * asked. Other names are refused, and so is "*": write [::] or 0.0.0.0.
 *
 * When the RDMA device of its address is removed, the server tries to listen
 * there again, at the same port, until it is closed: within 4 s of the device's
 * return. Links over other devices stay. The log says both, and
 * vc_server_describe() the present state.
 *
 * From the first call on, the library's threads serve (option threads in
 * verbcall/runtime.h); no other call is needed. The threads are started before
 * the server listens, and stay when it then fails. With VC_THREADS_NONE the
 * program serves, by vc_runtime_poll(): clients wait until it does.
 * VC_INVALID_ARGUMENT    the target is malformed, or a loopback address at
 *                        rdma://; or it is vc:// and `transports` has shm alone
 * VC_UNAVAILABLE         the address is not of an RDMA device of this machine,
 *                        or for tcp:// not of this machine, or is in use, or
 *                        another server has the name; vc_error() says which
 * VC_PERMISSION_DENIED   this user may not open the RDMA devices
 * VC_RESOURCE_EXHAUSTED  no memory, no file descriptors or no threads left; or
 *                        over RDMA the process may not pin the memory that one
 *                        connection takes (ulimit -l)
 * VC_FAILED_PRECONDITION the server has been closed; or vc_runtime_stop() is
 *                        ending the runtime's threads */
VC_API enum vc_status vc_server_listen(struct vc_server *server,
                                       const char *target);

/* vc_server_port - returns the port of the last address listened on; 0 before,
 * and for a name. */
VC_API uint16_t vc_server_port(const struct vc_server *server);

/* vc_server_describe - writes to text, of size bytes, by which transports and
 * at which addresses the server listens, one a line. For vc:// it adds why a
 * transport is missing, "not rdma: " and the reason. The text is for people:
 * programs must not parse it. Returns the length of the whole text, as
 * snprintf(3) does. Any thread, before vc_server_free(). */
VC_API size_t vc_server_describe(const struct vc_server *server, char *text,
                                 size_t size);

/* The callback of a drain or close that was started: runs once, when that has
 * ended, on a thread that advances the runtime. It never runs inside the
 * function that started the drain or close; vc_error() says more. It may block,
 * as handlers may. It must not call what a handler must not call, except for
 * vc_server_free() of a server that is closed. */
typedef void vc_server_done(enum vc_status status, void *arg);

/* vc_server_drain - takes the server out of service without losing a call. It
 * asks all clients, once each, to connect elsewhere, and waits until they have
 * ended their running calls and disconnected, timeout_ms milliseconds at most
 * (VC_NO_DEADLINE: no timeout). Then connections without running calls are
 * closed. A client that connects from now on is refused as draining. If
 * alternative is not NULL, and is of the same kind as where the client has
 * connected, the client is redirected to it. alternative is
 * "vc://ADDRESS:PORT", "rdma://ADDRESS:PORT" or "tcp://ADDRESS:PORT" with a
 * numeric address, "shm:NAME", or "inproc://NAME". Call vc_server_close() or
 * vc_server_free() afterwards. Any thread.
 *
 * Any number of drains may be under way: each ends when all clients have left,
 * or at its own timeout. The last alternative that was not NULL counts for all
 * clients that connect afterwards. A close ends all drains: VC_CANCELLED.
 *
 * VC_INVALID_ARGUMENT    alternative is malformed
 * VC_FAILED_PRECONDITION inside a handler or done(), which it would wait for
 * VC_DEADLINE_EXCEEDED   some calls still run; it may be called again
 * VC_CANCELLED           the server was closed meanwhile
 * VC_RESOURCE_EXHAUSTED  no memory to notify the clients */
VC_API enum vc_status vc_server_drain(struct vc_server *server,
                                      const char *alternative,
                                      uint32_t timeout_ms);

/* vc_server_drain_start - the same without waiting, for programs with a loop of
 * their own. On VC_OK done(status, arg) follows with one of these codes;
 * otherwise done() does not run. Any thread, also in a handler.
 * VC_INVALID_ARGUMENT   alternative is malformed
 * VC_RESOURCE_EXHAUSTED no memory */
VC_API enum vc_status vc_server_drain_start(struct vc_server *server,
                                            const char *alternative,
                                            uint32_t timeout_ms,
                                            vc_server_done *done, void *arg);

/* vc_server_close - stops listening and closes all connections. Calls of its
 * clients end with VC_UNAVAILABLE; a call whose handler ends during the close
 * may still get its reply. The function waits timeout_ms milliseconds
 * (VC_NO_DEADLINE: no timeout) for running handlers, whose calls are cancelled
 * (vc_call_is_cancelled()), for calls that are to be ended later, and for the
 * disconnect handshakes, the latter 2 s at most. The server remains valid,
 * whatever the function returns: it may be closed again, and must be freed. Any
 * thread, several at a time.
 * VC_DEADLINE_EXCEEDED   a handler or call still runs: vc_error() names the
 *                        method of the oldest call, and for how long it has run
 * VC_FAILED_PRECONDITION inside a handler or done(), which it would wait for
 * VC_RESOURCE_EXHAUSTED  no memory */
VC_API enum vc_status vc_server_close(struct vc_server *server,
                                      uint32_t timeout_ms);

/* vc_server_close_start - the same without waiting, for programs with a loop of
 * their own. On VC_OK done(status, arg) follows, with VC_OK,
 * VC_DEADLINE_EXCEEDED or VC_RESOURCE_EXHAUSTED. Any thread, also in a handler.
 * VC_RESOURCE_EXHAUSTED no memory */
VC_API enum vc_status vc_server_close_start(struct vc_server *server,
                                            uint32_t timeout_ms,
                                            vc_server_done *done, void *arg);

/* vc_server_free - frees the server. It first closes the server without a
 * timeout, unless a close has done so with success, and waits for the
 * done() of every drain and close that was started. NULL is allowed. Any
 * thread. In a handler or done() it may be called only for a server that is
 * closed, and of which no other drain or close is under way; otherwise it
 * prints a text and ends the program. */
VC_API void vc_server_free(struct vc_server *server);

VC_END_DECLS

#endif
