/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Services of protobuf-c: for code that was written for protobuf-c-rpc, or for
 * other code that takes or gives a ProtobufCService, with the files that plain
 * `protoc --c_out` generates. Either end may as well use code of
 * protoc-gen-verbcall: on the wire both are the same. If both generators were
 * run on one .proto file, both write the messages; then use the x.pb-c.c and
 * x.pb-c.h of --c_out.
 *
 *     ProtobufCService *service;
 *
 *     vc_closures_new(runtime, &closures);
 *     vc_channel_service(channel, &foo__dir_lookup__descriptor, NULL, closures,
 *                        &service);
 *     foo__dir_lookup__by_name(service, &name, on_reply, &done);
 *     while (!done)
 *         vc_closures_run(closures, VC_NO_DEADLINE);
 *     protobuf_c_service_destroy(service);
 *     vc_closures_free(closures);
 *
 *     static Foo__DirLookup_Service lookup = FOO__DIR_LOOKUP__INIT(my__);
 *
 *     vc_server_add_protobuf_c(server, &lookup.base, 0);
 *
 * protoc-gen-c drops what the .proto file says of streams, idempotency and
 * verbcall.method. So all methods count as unary, and a call whose outcome is
 * unknown is not retried. If the other end knows that a method streams, its
 * calls end with VC_UNIMPLEMENTED. */
#ifndef VERBCALL_PROTOBUF_C_H
#define VERBCALL_PROTOBUF_C_H

#include <stdint.h>

#include <protobuf-c/protobuf-c.h>

#include <verbcall/export.h>
#include <verbcall/status.h>

VC_BEGIN_DECLS

struct vc_call_opts;
struct vc_channel;
struct vc_closures;
struct vc_runtime;
struct vc_server;
struct vc_service;

/* --- clients ----------------------------------------------------------- */

/* vc_channel_service - creates a service whose methods are calls on the
 * channel. opts are the options of each call, or NULL; what they point to must
 * live as long as the service, and result must be NULL. On VC_OK the caller
 * owns *service and frees it by protobuf_c_service_destroy() while the runtime
 * lives. Any thread may invoke its methods while the channel is open. The
 * descriptor must live as long as the runtime, as generated ones do.
 *
 * A method never waits: when it returns, the request has been packed. Its
 * closure is called once, with the reply, which is freed when the closure
 * returns, or with NULL for a call that failed. Then vc_error(),
 * vc_error_status() and vc_error_outcome() say how, with the codes of
 * vc_channel_call(). If the call could not be started, the closure runs inside
 * the method. Otherwise it runs inside vc_closures_run(), on the thread that
 * called that. Without `closures` it runs on a thread that advances the
 * runtime; closures of several calls may then run on several threads at a time,
 * and may block, as handlers of servers may. Closures may invoke methods, and
 * destroy the service, but must not close the channel.
 *
 * Destroying the service ends the calls that are under way. Their closures are
 * called with NULL (VC_CANCELLED) inside, and closures that run on other
 * threads are waited for. After it has returned no closure is called any more.
 *
 * VC_INVALID_ARGUMENT   descriptor is not one of a service, or cannot be used,
 *                       see vc_runtime_service(); opts.result or opts.hedge_ms
 *                       is set
 * VC_RESOURCE_EXHAUSTED no memory */
VC_API enum vc_status
vc_channel_service(struct vc_channel *channel,
                   const ProtobufCServiceDescriptor *descriptor,
                   const struct vc_call_opts *opts,
                   struct vc_closures *closures, ProtobufCService **service);

/* vc_closures_new - creates a queue in which closures wait until a thread runs
 * them, for services of channels of this runtime. On VC_OK the caller owns
 * *closures.
 * VC_RESOURCE_EXHAUSTED no memory */
VC_API enum vc_status vc_closures_new(struct vc_runtime *runtime,
                                      struct vc_closures **closures);

/* vc_closures_run - calls the closure of the call that ended first. If no call
 * has ended, it waits for one and advances the runtime meanwhile, as
 * protobuf_c_rpc_dispatch_run() does. Any thread, also in a closure; several
 * threads call different closures. timeout_ms 0: does not wait; VC_NO_DEADLINE:
 * no timeout.
 * VC_DEADLINE_EXCEEDED no call has ended in time */
VC_API enum vc_status vc_closures_run(struct vc_closures *closures,
                                      uint32_t timeout_ms);

/* vc_closures_fd - returns a descriptor for poll(), readable while there may be
 * a closure to run; as vc_completions_fd(). */
VC_API int vc_closures_fd(struct vc_closures *closures);

/* vc_closures_free - frees the queue. The services that use it must have been
 * destroyed, and the runtime must still exist. NULL is allowed. */
VC_API void vc_closures_free(struct vc_closures *closures);

/* --- servers ----------------------------------------------------------- */

/* The methods of the service may run at the same time on several threads. */
#define VC_SERVICE_PARALLEL 0x1u

/* vc_server_add_protobuf_c - adds a service. Its methods run where handlers do
 * (see vc_server_add()), but one at a time, in the order in which their calls
 * arrived, as code for protobuf-c-rpc expects. flags: VC_SERVICE_PARALLEL for a
 * service that locks what its methods share. A call that waits for its turn
 * holds no thread, and is skipped when its caller does not wait any more. So a
 * method that calls its own server's service and waits for the reply waits in
 * vain.
 *
 * A method calls its closure once, before it returns or later, on any thread;
 * that neither blocks nor waits for others. The message is copied before the
 * closure returns, and may be freed then; NULL ends the call with VC_INTERNAL.
 * The request lives until both the method has returned and the closure was
 * called. Only then the reply is sent, and vc_server_free() waits until every
 * call has come so far. If a method is NULL in the generated structure, its
 * calls end with VC_UNIMPLEMENTED.
 *
 * The service remains the caller's and must live until the server is closed,
 * its descriptor as long as the runtime. vc_server_remove() and
 * vc_server_limit() take what vc_runtime_service() returns for its descriptor.
 * Any thread, at any time.
 * VC_INVALID_ARGUMENT   flags has an unknown bit; the descriptor is not one of
 *                       a service, or cannot be used, see vc_runtime_service()
 * VC_ALREADY_EXISTS     the server has a service of this name
 * VC_RESOURCE_EXHAUSTED no memory */
VC_API enum vc_status vc_server_add_protobuf_c(struct vc_server *server,
                                               ProtobufCService *service,
                                               uint32_t flags);

/* --- both -------------------------------------------------------------- */

/* vc_runtime_service - returns the table of a service, as protoc-gen-verbcall
 * would have generated it, for the functions that take one: vc_server_remove(),
 * vc_channel_connect(), vc_channel_call(), ... The runtime owns *service, which
 * is the same each time. The descriptor must live as long. Any thread.
 * VC_INVALID_ARGUMENT   descriptor is not one of a service; it has no names, or
 *                       a message of its methods has none (the .proto file of
 *                       either has optimize_for = CODE_SIZE); there are more
 *                       than 1024 methods; two methods would be the same on the
 *                       wire
 * VC_RESOURCE_EXHAUSTED no memory */
VC_API enum vc_status
vc_runtime_service(struct vc_runtime *runtime,
                   const ProtobufCServiceDescriptor *descriptor,
                   const struct vc_service **service);

VC_END_DECLS

#endif
