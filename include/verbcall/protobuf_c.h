/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Services of protobuf-c: for code that was written for protobuf-c-rpc, or for
 * anything else that takes and gives a ProtobufCService, with the files that
 * plain `protoc --c_out` generates. Either end may as well be one that
 * protoc-gen-verbcall generated: on the wire they are the same. Where both
 * generators have been run on one .proto file, both write the messages, and
 * the x.pb-c.c and x.pb-c.h of --c_out are the ones to take.
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
 * verbcall.method: all methods are taken for unary ones of which an outcome
 * that is not known is not tried again. If the other end knows better of a
 * method that it streams, its calls end with VC_UNIMPLEMENTED. */
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

/* vc_channel_service - a service whose methods are calls on the channel. opts
 * are those of each of them, or NULL; what they point to lives as long as the
 * service, and result is NULL. On VC_OK the caller owns *service and gives it
 * to protobuf_c_service_destroy() while the runtime lives. Any thread may
 * invoke its methods while the channel is open. The descriptor lives as long as
 * the runtime, as generated ones do.
 *
 * A method never waits: the request has been packed when it returns. Its
 * closure is called once, with the reply, which is freed when it returns, or
 * with NULL for a call that failed; vc_error(), vc_error_status() and
 * vc_error_outcome() say how, with the codes of vc_channel_call(). If the call
 * could not even be started that is inside of the method. Otherwise it is in
 * vc_closures_run(), on the thread that is there; or without `closures` on a
 * thread that advances the runtime, and those of several calls at a time on
 * several threads. There it may block, as handlers of servers may. Closures may
 * invoke methods, and destroy the service, but not close the channel.
 *
 * Destroying it ends the calls that are under way: their closures are called
 * with NULL (VC_CANCELLED) inside, and those that run on other threads are
 * waited for. When it returns none of them will be called any more.
 *
 * VC_INVALID_ARGUMENT   the descriptor is none, or cannot be used, see
 *                       vc_runtime_service(); opts.result or opts.hedge_ms is
 *                       set
 * VC_RESOURCE_EXHAUSTED no memory */
VC_API enum vc_status
vc_channel_service(struct vc_channel *channel,
                   const ProtobufCServiceDescriptor *descriptor,
                   const struct vc_call_opts *opts,
                   struct vc_closures *closures, ProtobufCService **service);

/* vc_closures_new - makes a place where closures wait until a thread runs them,
 * for services of channels of this runtime. On VC_OK the caller owns *closures.
 * VC_RESOURCE_EXHAUSTED no memory */
VC_API enum vc_status vc_closures_new(struct vc_runtime *runtime,
                                      struct vc_closures **closures);

/* vc_closures_run - calls the closure of the call that ended first, or waits
 * for one to end and advances the runtime meanwhile, as
 * protobuf_c_rpc_dispatch_run() does. Any thread, also in a closure; of several
 * each calls others. timeout_ms 0: only looks; VC_NO_DEADLINE: waits for ever.
 * VC_DEADLINE_EXCEEDED no call has ended in time */
VC_API enum vc_status vc_closures_run(struct vc_closures *closures,
                                      uint32_t timeout_ms);

/* vc_closures_fd - a descriptor for poll(), readable while there may be
 * something to run; as vc_completions_fd(). */
VC_API int vc_closures_fd(struct vc_closures *closures);

/* vc_closures_free - The services that use it must have been destroyed, and the
 * runtime be there. NULL is fine. */
VC_API void vc_closures_free(struct vc_closures *closures);

/* --- servers ----------------------------------------------------------- */

/* Its methods may run at the same time on several threads. */
#define VC_SERVICE_PARALLEL 0x1u

/* vc_server_add_protobuf_c - adds a service. Its methods run where handlers do
 * (see vc_server_add()), but one at a time, in the order in which their calls
 * came, as code for protobuf-c-rpc expects it; flags: VC_SERVICE_PARALLEL for
 * one that locks what its methods share. A call that waits for its turn holds
 * no thread, and is passed over when nobody waits for its reply any more. So a
 * method that calls its own server's service and waits for the reply waits in
 * vain.
 *
 * A method calls its closure once, before it returns or later, on any thread;
 * that neither blocks nor waits for others. The message is copied before that
 * returns, and may be freed then; NULL ends the call with VC_INTERNAL. The
 * request lives until both the method has returned and the closure was called:
 * the reply goes then, and vc_server_free() waits until every call has come so
 * far. A method that a generated structure has none for answers
 * VC_UNIMPLEMENTED.
 *
 * The service stays the caller's and must live until the server is closed, its
 * descriptor as long as the runtime. vc_server_remove() and vc_server_limit()
 * take what vc_runtime_service() gives for its descriptor. Any thread, at any
 * time.
 * VC_INVALID_ARGUMENT   flags has an unknown bit; the descriptor is none, or
 *                       cannot be used, see vc_runtime_service()
 * VC_ALREADY_EXISTS     a service of this name is there
 * VC_RESOURCE_EXHAUSTED no memory */
VC_API enum vc_status vc_server_add_protobuf_c(struct vc_server *server,
                                               ProtobufCService *service,
                                               uint32_t flags);

/* --- both -------------------------------------------------------------- */

/* vc_runtime_service - the table of a service, as protoc-gen-verbcall would
 * have generated it, for the functions that take one: vc_server_remove(),
 * vc_channel_connect(), vc_channel_call(), ... *service is the runtime's, and
 * the same one each time. The descriptor lives as long. Any thread.
 * VC_INVALID_ARGUMENT   descriptor is none of a service; it has no names, or a
 *                       message of its methods has none (the .proto file of
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
