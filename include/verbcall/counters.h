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

/* X(name, kind, unit, what it counts). The kind is GAUGE, which goes up and
 * down, or COUNTER, which only grows while the runtime lives: the types of
 * OpenMetrics. The unit is NUMBER, BYTES or MICROSECONDS. A program that
 * exports the counters makes its own table of them by this macro. New ones are
 * added at the end. While nothing changes these equations hold:
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
 * counts as a call, too, from its opening until its end has been received. The
 * streams by which a channel watches the health of its servers do not count,
 * but their sessions, CANCELs, packets and bytes do. */
#define VC_COUNTERS(X)                                                         \
    X(links_connecting, GAUGE, NUMBER, "links being connected now")            \
    X(links_up, GAUGE, NUMBER, "links that are up now")                        \
    X(links_leaving, GAUGE, NUMBER,                                            \
      "links now that wait for the peer to disconnect")                        \
    X(links_client, GAUGE, NUMBER, "links now that this process started")      \
    X(links_server, GAUGE, NUMBER, "links now that peers started")             \
    X(links_started, COUNTER, NUMBER, "links started or accepted")             \
    X(links_made, COUNTER, NUMBER, "links that came up")                       \
    X(links_closed, COUNTER, NUMBER,                                           \
      "links that were up and that this process closed")                       \
    X(links_left, COUNTER, NUMBER,                                             \
      "links that were up and that the peer closed, or its end")               \
    X(links_lost, COUNTER, NUMBER,                                             \
      "links that were up and broke, or whose peer did not answer")            \
    X(links_refused, COUNTER, NUMBER, "links that the peer refused")           \
    X(links_failed, COUNTER, NUMBER,                                           \
      "links that did not come up for another reason")                         \
    X(qps_in_use, GAUGE, NUMBER, "QPs that links use now")                     \
    X(qps_warm, GAUGE, NUMBER, "idle QPs kept for reuse now")                  \
    X(qps_made, COUNTER, NUMBER, "QPs created")                                \
    X(qps_reused, COUNTER, NUMBER, "idle QPs taken for a new link")            \
    X(qps_recycled, COUNTER, NUMBER, "QPs kept for reuse after their link")    \
    X(qps_evicted, COUNTER, NUMBER, "idle QPs destroyed to make room")         \
    X(qps_destroyed, COUNTER, NUMBER, "QPs destroyed")                         \
    X(sessions_client, GAUGE, NUMBER,                                          \
      "sessions of this process at servers now")                               \
    X(sessions_client_opened, COUNTER, NUMBER,                                 \
      "sessions that this process opened")                                     \
    X(sessions_client_moved, COUNTER, NUMBER,                                  \
      "times that such a session moved to another link")                       \
    X(sessions_server, GAUGE, NUMBER, "sessions of clients now")               \
    X(sessions_server_opened, COUNTER, NUMBER, "sessions that clients opened") \
    X(sessions_server_moved, COUNTER, NUMBER,                                  \
      "times that such a session moved to another link")                       \
    X(calls_started, COUNTER, NUMBER, "calls that this process started")       \
    X(calls_ended, COUNTER, NUMBER,                                            \
      "calls of this process that ended, with any status")                     \
    X(calls_given_up, COUNTER, NUMBER,                                         \
      "calls of this process cancelled, or past their deadline")               \
    X(calls_waiting, GAUGE, NUMBER,                                            \
      "calls of this process that wait for a slot or link now")                \
    X(calls_sent_again, COUNTER, NUMBER,                                       \
      "requests sent again after their link was lost")                         \
    X(calls_received, COUNTER, NUMBER,                                         \
      "calls received from clients, to be run or refused")                     \
    X(calls_joined, COUNTER, NUMBER, "calls received again while they ran")    \
    X(calls_answered_again, COUNTER, NUMBER,                                   \
      "calls answered with a kept reply")                                      \
    X(replies_kept, GAUGE, NUMBER,                                             \
      "replies kept now, for clients that lost their link")                    \
    X(handlers_started, COUNTER, NUMBER, "handlers started")                   \
    X(handlers_running, GAUGE, NUMBER,                                         \
      "calls now whose handler has started and not ended")                     \
    X(packets_sent, COUNTER, NUMBER, "packets sent")                           \
    X(packets_received, COUNTER, NUMBER, "packets received")                   \
    X(packets_of_credits, COUNTER, NUMBER,                                     \
      "packets sent only to grant credits")                                    \
    X(bytes_sent, COUNTER, BYTES, "bytes of packets sent")                     \
    X(bytes_received, COUNTER, BYTES, "bytes of packets received")             \
    X(stalls_credits, COUNTER, NUMBER,                                         \
      "times that sending had to wait for a credit")                           \
    X(stalls_buffers, COUNTER, NUMBER,                                         \
      "times that sending had to wait for a send buffer")                      \
    X(receives_posted, GAUGE, NUMBER,                                          \
      "receives in the shared receive queues now")                             \
    X(receives_promised, GAUGE, NUMBER,                                        \
      "of receives_posted: granted to peers as credits")                       \
    X(receives_low, COUNTER, NUMBER,                                           \
      "times that a shared receive queue ran low")                             \
    X(cm_events, COUNTER, NUMBER, "events of the RDMA connection manager")     \
    X(cm_requests, COUNTER, NUMBER, "of cm_events: CONNECT_REQUEST")           \
    X(cm_established, COUNTER, NUMBER,                                         \
      "of cm_events: ESTABLISHED and CONNECT_RESPONSE")                        \
    X(cm_rejected, COUNTER, NUMBER, "of cm_events: REJECTED")                  \
    X(cm_disconnected, COUNTER, NUMBER, "of cm_events: DISCONNECTED")          \
    X(cm_unreachable, COUNTER, NUMBER, "of cm_events: UNREACHABLE")            \
    X(cm_removals, COUNTER, NUMBER, "of cm_events: DEVICE_REMOVAL")            \
    X(rejects_version, COUNTER, NUMBER,                                        \
      "clients rejected: no version in common")                                \
    X(rejects_service, COUNTER, NUMBER,                                        \
      "clients rejected: service not served")                                  \
    X(rejects_schema, COUNTER, NUMBER, "clients rejected: schemas differ")     \
    X(schemas_differ, COUNTER, NUMBER,                                         \
      "sessions of clients whose schema differs (schema_check)")               \
    X(rejects_busy, COUNTER, NUMBER, "clients rejected: too busy")             \
    X(rejects_limit, GAUGE, NUMBER,                                            \
      "clients rejected: sizes or credits not acceptable")                     \
    X(rejects_draining, COUNTER, NUMBER, "clients rejected: draining")         \
    X(rejects_moved, COUNTER, NUMBER, "clients redirected to another server")  \
    X(rejects_security, COUNTER, NUMBER,                                       \
      "clients rejected: security modes do not match")                         \
    X(rejects_malformed, COUNTER, NUMBER, "clients rejected: malformed hello") \
    X(rejects_pool, COUNTER, NUMBER,                                           \
      "clients rejected: their pool is unknown")                               \
    X(rejects_got, COUNTER, NUMBER,                                            \
      "rejects received from servers, with a reason")                          \
    X(keepalive_pings, COUNTER, NUMBER, "PINGs sent to peers")                 \
    X(keepalive_probes, COUNTER, NUMBER,                                       \
      "times that the adapter or host of a peer was probed")                   \
    X(keepalive_dead, COUNTER, NUMBER,                                         \
      "peers that did not answer keepalive in time")                           \
    X(memory_receive, GAUGE, BYTES, "bytes pinned for receiving now")          \
    X(memory_receive_limit, GAUGE, BYTES,                                      \
      "the limit of that, on the devices in use")                              \
    X(memory_send, GAUGE, BYTES, "bytes pinned for sending now")               \
    X(memory_send_limit, GAUGE, BYTES,                                         \
      "the limit of that, on the devices in use")                              \
    X(requests_arriving, GAUGE, BYTES,                                         \
      "bytes of long requests that are arriving now")                          \
    X(replies_arriving, GAUGE, BYTES,                                          \
      "bytes of long replies that are arriving now")                           \
    X(calls_cancelled, COUNTER, NUMBER,                                        \
      "calls of clients that were cancelled while they ran")                   \
    X(calls_limited, COUNTER, NUMBER,                                          \
      "calls of clients refused by a limit of concurrent calls")               \
    X(calls_retried, COUNTER, NUMBER, "attempts of calls after the first")     \
    X(calls_not_retried, COUNTER, NUMBER,                                      \
      "retries that the retry budget of a channel forbade")                    \
    X(hedges_started, COUNTER, NUMBER,                                         \
      "hedges sent while the first attempt was in progress")                   \
    X(hedges_won, COUNTER, NUMBER,                                             \
      "of hedges_started: those whose reply was used")                         \
    X(streams_client, GAUGE, NUMBER,                                           \
      "streams of this process in progress now")                               \
    X(streams_client_opened, COUNTER, NUMBER,                                  \
      "streams that this process opened")                                      \
    X(streams_server, GAUGE, NUMBER, "streams of clients in progress now")     \
    X(streams_server_opened, COUNTER, NUMBER, "streams that clients opened")   \
    X(cancels_sent, COUNTER, NUMBER, "CANCELs sent to servers")                \
    X(cancels_received, COUNTER, NUMBER, "CANCELs received from clients")      \
    X(wakeups_event, COUNTER, NUMBER,                                          \
      "times that an event woke a sleeping thread")                            \
    X(wakeups_told, COUNTER, NUMBER,                                           \
      "times that another thread of this process woke it")                     \
    X(wakeups_timer, COUNTER, NUMBER, "times that a timer woke it")            \
    X(token_handovers, COUNTER, NUMBER,                                        \
      "times that a waiting thread took over the engine")                      \
    X(spun_us, COUNTER, MICROSECONDS,                                          \
      "microseconds that threads polled without result, then slept")           \
    X(handlers_apart, COUNTER, NUMBER,                                         \
      "handlers started on a thread of their own")                             \
    X(handlers_left, COUNTER, NUMBER,                                          \
      "long handlers whose work another thread took over")                     \
    X(calls_expired, COUNTER, NUMBER,                                          \
      "calls of clients not started: too little time was left")                \
    X(calls_shed, COUNTER, NUMBER,                                             \
      "calls of clients not started: the server was overloaded")               \
    X(calls_throttled, COUNTER, NUMBER,                                        \
      "calls not sent: their server sheds most calls")                         \
    X(servers_ejected, COUNTER, NUMBER,                                        \
      "servers that got no calls for a while: too many had failed")            \
    X(load_reports, COUNTER, NUMBER,                                           \
      "load reports of servers that were taken: weighted_round_robin")         \
    X(load_reports_malformed, COUNTER, NUMBER,                                 \
      "load reports of servers that were not: malformed")                      \
    X(shed_queue, COUNTER, NUMBER,                                             \
      "of calls_shed: they came faster than handlers run")                     \
    X(shed_threads, COUNTER, NUMBER,                                           \
      "of calls_shed: no thread was left for the handler")                     \
    X(shed_memory, COUNTER, NUMBER,                                            \
      "of calls_shed: no memory was left for the request")                     \
    X(shed_critical, COUNTER, NUMBER,                                          \
      "of calls_shed: those with VC_PRIORITY_CRITICAL")                        \
    X(shed_default, COUNTER, NUMBER,                                           \
      "of calls_shed: those with VC_PRIORITY_DEFAULT")                         \
    X(shed_sheddable, COUNTER, NUMBER,                                         \
      "of calls_shed: those with VC_PRIORITY_SHEDDABLE")                       \
    X(waits_below_1ms, COUNTER, NUMBER,                                        \
      "calls that waited for others, less than 1 ms")                          \
    X(waits_below_10ms, COUNTER, NUMBER, "the same, 1 ms to 10 ms")            \
    X(waits_below_100ms, COUNTER, NUMBER, "the same, 10 ms to 100 ms")         \
    X(waits_below_1s, COUNTER, NUMBER, "the same, 100 ms to 1 s")              \
    X(waits_longer, COUNTER, NUMBER, "the same, 1 s or longer")                \
    X(shed_adaptive, COUNTER, NUMBER,                                          \
      "of calls_shed: adaptive_limit handlers waited")                         \
    X(hellos_missed, COUNTER, NUMBER,                                          \
      "connections over TCP or shm without a hello in 2 s")                    \
    X(links_made_inproc, COUNTER, NUMBER, "of links_made: within the process") \
    X(links_made_shm, COUNTER, NUMBER, "of links_made: through shared memory") \
    X(links_made_tcp, COUNTER, NUMBER, "of links_made: over TCP")              \
    X(links_made_rdma, COUNTER, NUMBER, "of links_made: over RDMA")            \
    X(upgrades, COUNTER, NUMBER,                                               \
      "times that a vc:// channel moved to a better transport")                \
    X(rejects_unable, COUNTER, NUMBER,                                         \
      "clients rejected: no memory to pin, or no descriptors")                 \
    X(cm_hints, COUNTER, NUMBER,                                               \
      "of cm_unreachable: links that were up, and stay so")                    \
    X(cm_address_changes, COUNTER, NUMBER, "of cm_events: ADDR_CHANGE")        \
    X(cm_timewaits, COUNTER, NUMBER, "of cm_events: TIMEWAIT_EXIT")            \
    X(cm_multicast_errors, COUNTER, NUMBER, "of cm_events: MULTICAST_ERROR")   \
    X(servers_unhealthy, COUNTER, NUMBER,                                      \
      "times that a server got no calls since it was unhealthy")               \
    X(links_made_ud, COUNTER, NUMBER, "of links_made: over RDMA datagrams")    \
    X(datagrams_resent, COUNTER, NUMBER, "datagrams of rdma+ud sent again")    \
    X(datagrams_again, COUNTER, NUMBER,                                        \
      "datagrams of rdma+ud received again, and dropped")                      \
    X(datagrams_dropped, COUNTER, NUMBER,                                      \
      "datagrams of rdma+ud dropped: of no peer, or malformed")                \
    X(keepalive_packets, COUNTER, NUMBER,                                      \
      "of keepalive_probes: by a packet with bytes, not an empty one")         \
    X(keepalive_left_out, COUNTER, NUMBER,                                     \
      "probes left out: no credit for a packet, or the peer is to send first") \
    X(keepalive_empties_lost, COUNTER, NUMBER,                                 \
      "paths that seem to drop empty packets: one broke a connection")         \
    X(multicast_sent, COUNTER, NUMBER, "datagrams published to groups")        \
    X(multicast_received, COUNTER, NUMBER,                                     \
      "datagrams of publishers that members of groups received")               \
    X(multicast_lost, GAUGE, NUMBER,                                           \
      "datagrams of publishers that are missing, by their numbers")            \
    X(multicast_late, COUNTER, NUMBER,                                         \
      "of multicast_received: overtaken by others")                            \
    X(multicast_duplicates, COUNTER, NUMBER,                                   \
      "datagrams dropped: received before, or too old to tell")                \
    X(multicast_foreign, COUNTER, NUMBER,                                      \
      "datagrams dropped: not of Verbcall, damaged, or of another port")       \
    X(multicast_unknown, COUNTER, NUMBER,                                      \
      "of multicast_received: of no one-way method that is served")            \
    X(multicast_refused, COUNTER, NUMBER,                                      \
      "datagrams dropped: the server drains, is busy or lacks memory")

struct vc_counters {
    size_t size; /* set by VC_COUNTERS_INIT, so that the struct can grow */
#define VC_COUNTER_FIELD(name, kind, unit, what) uint64_t name;
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
