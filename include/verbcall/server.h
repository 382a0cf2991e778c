/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The server's side: services are added, addresses listened on, and handlers
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

/* Targets that a client may be sent to. */
#define VC_REDIRECT_MAX 3

/* It begins as VC_SERVER_OPTS_INIT, or is written where it is used as
 * VC_SERVER_OPTS(.max_calls = 100); 0 in a field means its default. */
struct vc_server_opts {
    size_t size; /* see VC_SIZED in verbcall/export.h */

    /* Largest packed request and message of a stream that the server takes, in
     * bytes, 4 KiB..256 MiB, rounded up to a power of two; default 4 MiB. A
     * longer request ends VC_RESOURCE_EXHAUSTED, and is not tried again; replies
     * go by what the client takes (max_message in verbcall/channel.h). */
    size_t max_message;

    /* Connections at a time, 1..65536, default 1024. One more is rejected
     * with "busy". */
    unsigned max_links;

    /* Milliseconds, 1..600000, default 2000, that a new connection has for
     * its handshake and its first packet. */
    uint32_t handshake_timeout_ms;

    /* Names the server, at most 63 bytes of UTF-8, copied; default none. Its
     * clients have it before the address in their errors, "orders-1
     * (10.9.0.1:7471) closed the connection", and in vc_channel_describe(). */
    const char *name;

    /* Milliseconds, 100..3600000, default 1000. A client whose adapter does
     * not answer in that time is disconnected. In turn clients ask whether
     * this server lives, by keepalive_ms of their channels; the threads of its
     * runtime answer, however long handlers take.
     * VC_KEEPALIVE_OFF (see verbcall/channel.h): neither. */
    uint32_t keepalive_ms;

    /* Connections at a time that have not sent a good packet yet, 1..65536,
     * default 256. One more is rejected with "busy". */
    unsigned max_half_open;

    /* Connections accepted a second, in all and from one address, with bursts
     * of one second's worth; 0..1000000, default 0: no limit but 10 a second
     * while the server sheds calls. What is over it
     * is rejected with "busy" and a time after which to try again, which the
     * clients keep to. The addresses seen last, 256 of them, are told from
     * each other. */
    uint32_t connects_per_second;
    uint32_t connects_per_second_source;

    /* Sessions of one client, 1..1048576, default 16384; each takes about 200
     * bytes. A client that wants one more is told at its own end:
     * VC_RESOURCE_EXHAUSTED. */
    uint32_t max_sessions;

    /* Targets, "rdma://ADDRESS:PORT" or "tcp://ADDRESS:PORT" with numeric
     * addresses, "shm:NAME", or "inproc://NAME" for clients of this process, that every client who
     * connects from now on is sent to; default none. They are copied.
     * Clients choose among them at random, and try the others if need be; they
     * follow three redirects in a row. */
    const char *redirect[VC_REDIRECT_MAX];

    /* Decides for each client: sets targets as above and returns how many,
     * 1..3, or 0 to go on as if it was not there; default none. service is the
     * id in the struct vc_service that the client asks for, served here or
     * not, and source the client's address, of AF_UNIX and without a path
     * for a client of this process. It runs on the thread that
     * listens, one client at a time, and must not block; the texts must stay
     * until it is called again. A target that is no good is left out. */
    unsigned (*redirect_decide)(uint64_t service, const struct sockaddr *source,
                                const char *targets[VC_REDIRECT_MAX],
                                void *arg);
    void *redirect_arg;

    /* Calls that may run at a time, from their coming until they have ended,
     * be it later than their handlers (vc_call_later()): in all, and of one
     * session, which is what a client has for each service. Default 0: any
     * number; a session has 256 slots. One more is answered
     * VC_RESOURCE_EXHAUSTED, not executed, and may be tried again. They are
     * hard limits: what is more than the server can serve in time is shed
     * without them (doc/overload.md). */
    uint32_t max_calls;
    uint32_t max_calls_session;

    /* Milliseconds, 10..3600000, default 30000. A stream whose client has taken
     * no message for so long, while its handler waits in vc_stream_send() and
     * threads are short (see handler_threads in verbcall/runtime.h), is ended
     * VC_RESOURCE_EXHAUSTED. A request, or a message of a stream, that arrives in
     * parts and of which none has come for so long is not kept: its memory is
     * given back within 5 s more, and its call is answered
     * VC_RESOURCE_EXHAUSTED, not executed, when its last part comes. (Where
     * max_memory is short it is not kept for longer than 5 s.)
     * VC_STREAM_STALL_OFF: they wait for the client to the call's deadline. */
    uint32_t stream_stall_ms;

    /* Bytes, 16 MiB.. and at least four times max_message, default a quarter of
     * the machine's memory or 1 GiB, whichever is less (but four times
     * max_message): what requests take that arrive in parts, run (unpacked, and
     * what their handlers allocate by vc_call_alloc()), long replies until their
     * clients have them, and long messages of streams. A quarter is kept for
     * what has begun, and of the rest one client has no more than seven times
     * what is left. A request for which there is nothing left is answered
     * VC_RESOURCE_EXHAUSTED, not executed. It is not taken before it is used, and
     * given back within a second. Registered memory is another matter: see
     * memory_limit in verbcall/runtime.h. */
    size_t max_memory;

    /* Told when the server begins to shed calls, and when it has shed none for a
     * second: line says why, or how many there were in how long, in words for a
     * log, and is gone when it returns; default none. By each engine for
     * itself, on the thread that advances it: it must not block. */
    void (*on_overload)(bool sheds, const char *line, void *arg);
    void *overload_arg;

    /* Handlers of one method that may wait for others at a time, 3..65536;
     * default 0: as many as there are threads (handler_threads in
     * verbcall/runtime.h). It is the most: fewer may while they take longer the
     * more of them there are, so that those whom they wait for, as a database,
     * are not asked for more than they can do; 16 at first. One more is answered
     * VC_RESOURCE_EXHAUSTED, not executed, with a time after which to come
     * again. It holds for handlers that begin on threads of their own, not for
     * streams; and it learns nothing from those that ask for their deadline, or
     * whose calls are ended later. See doc/overload.md. */
    uint32_t adaptive_limit;

    /* Who may connect to "shm:///PATH" and "shm:NAME": the permissions of the
     * socket's file, 0001..0777, default 0600, as chmod(2) has them: to connect
     * needs the right to write. To a NAME, which has no file, the processes of
     * this user and of root may connect, or all if the mode has 0006. */
    uint32_t shm_mode;

    /* Group of that file, copied; default: the process' own. */
    const char *shm_group;

    /* Of vc:// targets: the transports to listen by, of shm,rdma,tcp, which is
     * the default; copied. Those that VERBCALL_TRANSPORTS in the environment
     * leaves out, a list as this one, are not listened by either. */
    const char *transports;

    /* 1: [::] and other addresses of IPv6 take no clients over IPv4, so that
     * 0.0.0.0 may be listened at with the same port; over TCP and RDMA. Default
     * 0: [::] is all addresses of both families, whatever the system's
     * bindv6only says. */
    uint32_t ipv6_only;

    /* 1: an rdma:// address may be bound though another id of this machine that
     * has the same option is bound to it (RDMA_OPTION_ID_REUSEADDR); default 0.
     * Linux still lets one listen only when it is alone there, and then
     * vc_server_listen() fails as it does without. Not needed to listen again
     * where a server has listened before. TCP has its own rules. */
    uint32_t reuse_address;

    /* How its RDMA connections are set: see verbcall/rdma.h. Copied; default:
     * as said there. */
    const struct vc_rdma_opts *rdma;
};

#define VC_STREAM_STALL_OFF (~0u)

#define VC_SERVER_OPTS_INIT VC_SIZED_INIT(vc_server_opts)
#define VC_SERVER_OPTS(...) VC_SIZED(vc_server_opts, __VA_ARGS__)

/* vc_server_new - makes a server without services and addresses. opts may be
 * NULL. On VC_OK the caller owns *server and frees it by vc_server_free().
 * VC_INVALID_ARGUMENT   an option is out of its range, or a redirect malformed;
 *                       opts, or their rdma, have no size
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
 * run for longer than 0.1 to 1 ms (8 where waking a thread is dear, as in an
 * emulator), another thread takes the engine over, and the next handlers of its
 * method begin on threads of their own, unless the runtime has no threads
 * (VC_THREADS_NONE in verbcall/runtime.h). (verbcall.method).blocking says so beforehand, for
 * methods whose first handler, too, is to delay nobody. So handlers of one
 * server, also of one method and one client, run at the same time on several
 * threads, with one engine, too, and must lock what they share. Without such
 * threads all that this process does waits for the handler.
 *
 * A method whose .proto file says max_calls runs no more calls at a time: one
 * more is answered as with struct vc_server_opts.
 *
 * VC_ALREADY_EXISTS     a service of this name is there
 * VC_RESOURCE_EXHAUSTED no memory */
VC_API enum vc_status vc_server_add(struct vc_server *server,
                                    const struct vc_service *service,
                                    const void *methods, size_t methods_size,
                                    void *arg);

/* vc_server_remove - takes a service away. Calls that run end as they will;
 * later ones end with VC_UNIMPLEMENTED, until one of this name is added again.
 * Any thread.
 * VC_NOT_FOUND  it is not there */
VC_API enum vc_status vc_server_remove(struct vc_server *server,
                                       const struct vc_service *service);

/* vc_server_limit - max_calls as in struct vc_server_opts, for one service;
 * 0: any number. It holds for calls that come from now on, until the service is
 * removed. Any thread, at any time.
 * VC_NOT_FOUND  it is not there */
VC_API enum vc_status vc_server_limit(struct vc_server *server,
                                      const struct vc_service *service,
                                      uint32_t max_calls);

/* vc_server_listen - accepts connections at target: "vc://ADDRESS:PORT", by all
 * transports that this machine has, for clients of vc://, and of rdma:// and
 * tcp:// at the same port. For those of this host it listens at a socket whose
 * name is drawn, and told to them when they connect by TCP or RDMA. It fails
 * where TCP cannot listen; where RDMA cannot, vc_server_describe() says why. For
 * want of memory or descriptors it is tried again, after a second at first, and
 * each minute later. Or at "rdma://ADDRESS:PORT"
 * with a numeric address of an RDMA device; [::] for all addresses of both
 * families, 0.0.0.0 for those of IPv4, port 0 for one that the system picks
 * (see vc_server_port()). Or at "tcp://ADDRESS:PORT", the same over TCP: a
 * connection without the hello of a client within 2 s is closed, and so is, of
 * more than 256 that wait for theirs, the one that has waited longest; they are
 * counted in hellos_missed. Or at "shm:NAME" or
 * "shm:///PATH", for processes of this host, who may connect by shm_mode and
 * shm_group above: a NAME as below, of this network namespace; a PATH of at most
 * 97 bytes, whose file is made, and replaced if the process that made it is
 * gone. Or at "inproc://NAME", with a NAME of 1 to 63
 * letters, digits or .-_, for channels of this process: it needs no device, so
 * a program's own unit tests run on it. May be called again for further
 * addresses. Any thread.
 *
 * Loopback addresses are for clients of this host. "tcp://127.0.0.1:PORT" and
 * "tcp://[::1]:PORT" are reached from here only. "vc://127.0.0.1:PORT" listens
 * by TCP there and by shared memory, not by RDMA, and vc_server_describe() says
 * so. RDMA devices have no loopback addresses: "rdma://127.0.0.1:PORT" is
 * refused. "localhost" is 127.0.0.1 and, where the machine has IPv6, [::1] at
 * the same port, both or neither; no name server is asked. Other names are
 * refused, and so is "*": write [::] or 0.0.0.0.
 *
 * When the RDMA device of its address is removed, the server tries to listen
 * there again, at the same port, until it is closed: within 4 s of the device's
 * return. Links over other devices stay. The log says both, and
 * vc_server_describe() what holds now.
 *
 * From the first call on, the library's threads serve (option threads in
 * verbcall/runtime.h); nothing else is to be called. They are started before
 * it listens, and stay when it then fails. With VC_THREADS_NONE the program
 * serves, by vc_runtime_poll(): clients wait until it does.
 * VC_INVALID_ARGUMENT   the target is malformed, or a loopback address at
 *                       rdma://
 * VC_UNAVAILABLE        the address is not of an RDMA device of this machine,
 *                       or for tcp:// not of this machine, or is in use, or another server has the name;
 *                       vc_error() says which
 * VC_PERMISSION_DENIED  this user may not open the RDMA devices
 * VC_RESOURCE_EXHAUSTED no memory, no file descriptors or no threads left; or
 *                       over RDMA the process may not pin the memory that one
 *                       connection takes (ulimit -l)
 * VC_FAILED_PRECONDITION the server has been closed; or vc_runtime_stop() is ending
 *                        the runtime's threads */
VC_API enum vc_status vc_server_listen(struct vc_server *server,
                                       const char *target);

/* vc_server_port - the port of the last address listened on; 0 before, and for
 * a name. */
VC_API uint16_t vc_server_port(const struct vc_server *server);

/* vc_server_describe - writes to text, of size bytes, what the server listens
 * by and at which address, one a line, and of vc:// why not by more, "not rdma: "
 * and the reason. For people: programs do not read it. Returns the length of all of it, as
 * snprintf(3) does. Any thread, before vc_server_free(). */
VC_API size_t vc_server_describe(const struct vc_server *server, char *text,
                                 size_t size);

/* Called once when a drain or a close has ended that was started, on a thread
 * that advances the runtime, never inside of the function that has started it;
 * vc_error() says more. It may block, as handlers may; what may not be called
 * in a handler may not be called in it either, but vc_server_free() of a server
 * that is closed. */
typedef void vc_server_done(enum vc_status status, void *arg);

/* vc_server_drain - takes the server out of service without losing a call:
 * tells all clients to go elsewhere, once each, and waits until they have ended
 * their running calls and left, timeout_ms milliseconds at most (VC_NO_DEADLINE:
 * as long as it takes); then connections without running calls are closed. Who
 * connects from now on is refused as draining, or sent to alternative
 * ("vc://ADDRESS:PORT", "rdma://ADDRESS:PORT" or "tcp://ADDRESS:PORT" with a
 * numeric address, "shm:NAME", or "inproc://NAME"), if that is not NULL and is of
 * the same kind as where the client has connected. Afterwards vc_server_close()
 * or vc_server_free(). Any thread.
 *
 * Any number of drains may be under way: each ends when all clients have left,
 * or at its own time. The last alternative that was not NULL counts for all who
 * connect afterwards. A close ends them: VC_CANCELLED.
 *
 * VC_INVALID_ARGUMENT    alternative is malformed
 * VC_FAILED_PRECONDITION within a handler or done(), which it would wait for
 * VC_DEADLINE_EXCEEDED   some calls still run; it may be called again
 * VC_CANCELLED           the server was closed meanwhile
 * VC_RESOURCE_EXHAUSTED  no memory to tell them */
VC_API enum vc_status vc_server_drain(struct vc_server *server,
                                      const char *alternative,
                                      uint32_t timeout_ms);

/* vc_server_drain_start - the same without waiting, for programs with a loop of
 * their own. On VC_OK done(status, arg) follows with one of these codes;
 * otherwise nothing does. Any thread, also in a handler.
 * VC_INVALID_ARGUMENT    alternative is malformed
 * VC_RESOURCE_EXHAUSTED  no memory */
VC_API enum vc_status vc_server_drain_start(struct vc_server *server,
                                            const char *alternative,
                                            uint32_t timeout_ms,
                                            vc_server_done *done, void *arg);

/* vc_server_close - stops listening and takes all connections down. Its
 * clients' calls end with VC_UNAVAILABLE; one whose handler ends while it closes
 * may still get its reply. It waits timeout_ms milliseconds (VC_NO_DEADLINE: as
 * long as it takes) for running handlers, whose calls are cancelled
 * (vc_call_is_cancelled()), for calls that are to be ended later, and for the
 * handshakes of disconnection, the latter 2 s at most. The server stays valid,
 * whatever it returns: it may be closed again, and is to be freed. Any thread,
 * several at a time.
 * VC_DEADLINE_EXCEEDED   something still runs: vc_error() names the method of
 *                        the oldest call, and for how long it has run
 * VC_FAILED_PRECONDITION within a handler or done(), which it would wait for
 * VC_RESOURCE_EXHAUSTED  no memory */
VC_API enum vc_status vc_server_close(struct vc_server *server,
                                      uint32_t timeout_ms);

/* vc_server_close_start - the same without waiting, for programs with a loop of
 * their own. On VC_OK done(status, arg) follows, with VC_OK or
 * VC_DEADLINE_EXCEEDED. Any thread, also in a handler.
 * VC_RESOURCE_EXHAUSTED  no memory */
VC_API enum vc_status vc_server_close_start(struct vc_server *server,
                                            uint32_t timeout_ms,
                                            vc_server_done *done, void *arg);

/* vc_server_free - closes the server, if vc_server_close() has not done so with
 * success, however long that takes, waits for done() of what was started, and
 * frees the server. NULL is fine. Any thread; in a handler or done() only of a
 * server that is closed, and of which no other drain or close is under way:
 * otherwise it ends the program with a text. */
VC_API void vc_server_free(struct vc_server *server);

VC_END_DECLS

#endif
