/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Counters and gauges of a runtime. They are always kept: the library pays a
 * plain store for each. */
#ifndef VERBCALL_COUNTERS_H
#define VERBCALL_COUNTERS_H

#include <stddef.h>
#include <stdint.h>

#include <verbcall/export.h>
#include <verbcall/status.h>

VC_BEGIN_DECLS

struct vc_runtime;

/* X(name, what it counts). Those "now" are gauges, which go up and down; the
 * others only grow while the runtime lives. New ones are added at the end.
 * While nothing changes these equations hold:
 *
 *   links_connecting + links_up + links_leaving = links_client + links_server
 *   links_started = links_connecting + links_made + links_refused +
 *     links_failed
 *   links_made = links_up + links_closed + links_left + links_lost
 *   qps_made = qps_in_use + qps_warm + qps_destroyed
 *   qps_recycled = qps_warm + qps_reused + qps_evicted + those that were
 *     destroyed with their device
 *   calls_started = calls_ended + those that wait or are under way
 *
 * Each attempt counts as a call of its own, and so does a hedge. A stream
 * counts as a call, too, from its opening until its end has been received. */
#define VC_COUNTERS(X)                                                         \
    X(links_connecting, "links being connected now")                           \
    X(links_up, "links that are up now")                                       \
    X(links_leaving, "links now that wait for the peer to disconnect")         \
    X(links_client, "links now that this process started")                     \
    X(links_server, "links now that peers started")                            \
    X(links_started, "links started or accepted")                              \
    X(links_made, "links that came up")                                        \
    X(links_closed, "links that were up and that this process closed")         \
    X(links_left, "links that were up and that the peer closed, or its end")   \
    X(links_lost,                                                              \
      "links that were up and broke, or whose peer did not answer")            \
    X(links_refused, "links that the peer refused")                            \
    X(links_failed, "links that did not come up for another reason")           \
    X(qps_in_use, "QPs that links use now")                                    \
    X(qps_warm, "idle QPs kept for reuse now")                                 \
    X(qps_made, "QPs created")                                                 \
    X(qps_reused, "idle QPs taken for a new link")                             \
    X(qps_recycled, "QPs kept for reuse after their link")                     \
    X(qps_evicted, "idle QPs destroyed to make room")                          \
    X(qps_destroyed, "QPs destroyed")                                          \
    X(sessions_client, "sessions of this process at servers now")              \
    X(sessions_client_opened, "sessions that this process opened")             \
    X(sessions_client_moved,                                                   \
      "times that such a session moved to another link")                       \
    X(sessions_server, "sessions of clients now")                              \
    X(sessions_server_opened, "sessions that clients opened")                  \
    X(sessions_server_moved,                                                   \
      "times that such a session moved to another link")                       \
    X(calls_started, "calls that this process started")                        \
    X(calls_ended, "calls of this process that ended, with any status")        \
    X(calls_given_up,                                                          \
      "calls of this process cancelled, or past their deadline")               \
    X(calls_waiting, "calls of this process that wait for a slot or link now") \
    X(calls_sent_again, "requests sent again after their link was lost")       \
    X(calls_received, "calls received from clients, to be run or refused")     \
    X(calls_joined, "calls received again while they ran")                     \
    X(calls_answered_again, "calls answered with a kept reply")                \
    X(replies_kept, "replies kept now, for clients that lost their link")      \
    X(handlers_started, "handlers started")                                    \
    X(handlers_running, "calls now whose handler has started and not ended")   \
    X(packets_sent, "packets sent")                                            \
    X(packets_received, "packets received")                                    \
    X(packets_of_credits, "packets sent only to grant credits")                \
    X(bytes_sent, "bytes of packets sent")                                     \
    X(bytes_received, "bytes of packets received")                             \
    X(stalls_credits, "times that sending had to wait for a credit")           \
    X(stalls_buffers, "times that sending had to wait for a send buffer")      \
    X(receives_posted, "receives in the shared receive queues now")            \
    X(receives_promised, "of receives_posted: granted to peers as credits")    \
    X(receives_low, "times that a shared receive queue ran low")               \
    X(cm_events, "events of the RDMA connection manager")                      \
    X(cm_requests, "of cm_events: CONNECT_REQUEST")                            \
    X(cm_established, "of cm_events: ESTABLISHED and CONNECT_RESPONSE")        \
    X(cm_rejected, "of cm_events: REJECTED")                                   \
    X(cm_disconnected, "of cm_events: DISCONNECTED")                           \
    X(cm_unreachable, "of cm_events: UNREACHABLE")                             \
    X(cm_removals, "of cm_events: DEVICE_REMOVAL")                             \
    X(rejects_version, "clients rejected: no version in common")               \
    X(rejects_service, "clients rejected: service not served")                 \
    X(rejects_schema, "clients rejected: schemas differ")                      \
    X(rejects_busy, "clients rejected: too busy")                              \
    X(rejects_limit, "clients rejected: sizes or credits not acceptable")      \
    X(rejects_draining, "clients rejected: draining")                          \
    X(rejects_moved, "clients redirected to another server")                   \
    X(rejects_security, "clients rejected: security modes do not match")       \
    X(rejects_malformed, "clients rejected: malformed hello")                  \
    X(rejects_pool, "clients rejected: their pool is unknown")                 \
    X(rejects_got, "rejects received from servers, with a reason")             \
    X(keepalive_pings, "PINGs sent to peers")                                  \
    X(keepalive_probes, "times that the adapter or host of a peer was probed") \
    X(keepalive_dead, "peers that did not answer keepalive in time")           \
    X(memory_receive, "bytes pinned for receiving now")                        \
    X(memory_receive_limit, "the limit of that, on the devices in use")        \
    X(memory_send, "bytes pinned for sending now")                             \
    X(memory_send_limit, "the limit of that, on the devices in use")           \
    X(requests_arriving, "bytes of long requests that are arriving now")       \
    X(replies_arriving, "bytes of long replies that are arriving now")         \
    X(calls_cancelled, "calls of clients that were cancelled while they ran")  \
    X(calls_limited,                                                           \
      "calls of clients refused by a limit of concurrent calls")               \
    X(calls_retried, "attempts of calls after the first")                      \
    X(calls_not_retried, "retries that the retry budget of a channel forbade") \
    X(hedges_started, "hedges sent while the first attempt was in progress")   \
    X(hedges_won, "of hedges_started: those whose reply was used")             \
    X(streams_client, "streams of this process in progress now")               \
    X(streams_client_opened, "streams that this process opened")               \
    X(streams_server, "streams of clients in progress now")                    \
    X(streams_server_opened, "streams that clients opened")                    \
    X(cancels_sent, "CANCELs sent to servers")                                 \
    X(cancels_received, "CANCELs received from clients")                       \
    X(wakeups_event, "times that an event woke a sleeping thread")             \
    X(wakeups_told, "times that another thread of this process woke it")       \
    X(wakeups_timer, "times that a timer woke it")                             \
    X(token_handovers, "times that a waiting thread took over the engine")     \
    X(spun_us, "microseconds that threads polled without result, then slept")  \
    X(handlers_apart, "handlers started on a thread of their own")             \
    X(handlers_left, "long handlers whose work another thread took over")      \
    X(calls_expired, "calls of clients not started: too little time was left") \
    X(calls_shed, "calls of clients not started: the server was overloaded")   \
    X(calls_throttled, "calls not sent: their server sheds most calls")        \
    X(shed_queue, "of calls_shed: they came faster than handlers run")         \
    X(shed_threads, "of calls_shed: no thread was left for the handler")       \
    X(shed_memory, "of calls_shed: no memory was left for the request")        \
    X(shed_critical, "of calls_shed: those with VC_PRIORITY_CRITICAL")         \
    X(shed_default, "of calls_shed: those with VC_PRIORITY_DEFAULT")           \
    X(shed_sheddable, "of calls_shed: those with VC_PRIORITY_SHEDDABLE")       \
    X(waits_below_1ms, "calls that waited for others, less than 1 ms")         \
    X(waits_below_10ms, "the same, 1 ms to 10 ms")                             \
    X(waits_below_100ms, "the same, 10 ms to 100 ms")                          \
    X(waits_below_1s, "the same, 100 ms to 1 s")                               \
    X(waits_longer, "the same, 1 s or longer")                                 \
    X(shed_adaptive, "of calls_shed: adaptive_limit handlers waited")          \
    X(hellos_missed, "connections over TCP or shm without a hello in 2 s")     \
    X(links_made_inproc, "of links_made: within the process")                  \
    X(links_made_shm, "of links_made: through shared memory")                  \
    X(links_made_tcp, "of links_made: over TCP")                               \
    X(links_made_rdma, "of links_made: over RDMA")                             \
    X(upgrades, "times that a vc:// channel moved to a better transport")      \
    X(rejects_unable, "clients rejected: no memory to pin, or no descriptors") \
    X(cm_hints, "of cm_unreachable: links that were up, and stay so")          \
    X(cm_address_changes, "of cm_events: ADDR_CHANGE")                         \
    X(cm_timewaits, "of cm_events: TIMEWAIT_EXIT")                             \
    X(cm_multicast_errors, "of cm_events: MULTICAST_ERROR")

struct vc_counters {
    size_t size; /* set by VC_COUNTERS_INIT, so that the struct can grow */
#define VC_COUNTER_FIELD(name, what) uint64_t name;
    VC_COUNTERS(VC_COUNTER_FIELD)
#undef VC_COUNTER_FIELD
};

#define VC_COUNTERS_INIT VC_SIZED_INIT(vc_counters)

/* vc_runtime_counters - fills *out, whose size VC_COUNTERS_INIT has set. Any
 * thread, also in a handler, while the runtime lives. Each number is exact, but
 * they are not all taken at one instant. The function blocks no calls, but
 * takes long with many links: do not call it for every call.
 * VC_INVALID_ARGUMENT out->size is not set, as 0 */
VC_API enum vc_status vc_runtime_counters(struct vc_runtime *runtime,
                                          struct vc_counters *out);

/* vc_runtime_counters_text - writes the counters as lines "name value\n", as
 * much as fits in size bytes with a 0 at the end. Returns the length of the
 * whole text, as snprintf(3) does; text may be NULL when size is 0. */
VC_API size_t vc_runtime_counters_text(struct vc_runtime *runtime, char *text,
                                       size_t size);

VC_END_DECLS

#endif
