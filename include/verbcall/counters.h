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
    X(links_connecting, "links being made now")                                \
    X(links_up, "links that carry calls now")                                  \
    X(links_leaving, "links now that wait for the peer's goodbye")             \
    X(links_client, "links now that we began")                                 \
    X(links_server, "links now that peers began")                              \
    X(links_started, "links begun, or accepted")                               \
    X(links_made, "links that came up")                                        \
    X(links_closed, "links that were up and that we closed")                   \
    X(links_left, "links that were up and that the peer, or its end, closed")  \
    X(links_lost, "links that were up and broke, or fell silent")              \
    X(links_refused, "links that the peer refused")                            \
    X(links_failed, "links that did not come up for another reason")           \
    X(qps_in_use, "QPs of links now")                                          \
    X(qps_warm, "QPs that wait to be used again now")                          \
    X(qps_made, "QPs made")                                                    \
    X(qps_reused, "QPs taken from those that waited")                          \
    X(qps_recycled, "QPs put to those that wait")                              \
    X(qps_evicted, "QPs destroyed while they waited, to make room")            \
    X(qps_destroyed, "QPs destroyed")                                          \
    X(sessions_client, "sessions that we have at servers now")                 \
    X(sessions_client_opened, "sessions that we opened")                       \
    X(sessions_client_moved, "times that one of ours moved to another link")   \
    X(sessions_server, "sessions of clients now")                              \
    X(sessions_server_opened, "sessions that clients opened")                  \
    X(sessions_server_moved, "times that a client's moved to another link")    \
    X(calls_started, "calls of ours begun")                                    \
    X(calls_ended, "calls of ours that ended, well or not")                    \
    X(calls_given_up, "calls of ours whose deadline passed, or cancelled")     \
    X(calls_waiting, "calls of ours that wait for a slot or link now")         \
    X(calls_sent_again, "requests sent again, their link having been lost")    \
    X(calls_received, "calls of clients that came, to be run or refused")      \
    X(calls_joined, "calls that came again while they ran")                    \
    X(calls_answered_again, "calls answered by a reply that was kept")         \
    X(replies_kept, "replies kept now, for clients that lost their link")      \
    X(handlers_started, "handlers begun")                                      \
    X(handlers_running, "calls now that a handler has begun and not ended")    \
    X(packets_sent, "packets")                                                 \
    X(packets_received, "packets")                                             \
    X(packets_of_credits, "packets sent that did nothing but give credits")    \
    X(bytes_sent, "bytes of packets")                                          \
    X(bytes_received, "bytes of packets")                                      \
    X(stalls_credits, "times that something had to wait for a credit")         \
    X(stalls_buffers, "times that something had to wait for a send buffer")    \
    X(receives_posted, "receives in the shared queues now")                    \
    X(receives_promised, "of them promised to peers now")                      \
    X(receives_low, "times that a shared queue ran low")                       \
    X(cm_events, "events of the connection manager")                           \
    X(cm_requests, "of them CONNECT_REQUEST")                                  \
    X(cm_established, "of them ESTABLISHED and CONNECT_RESPONSE")              \
    X(cm_rejected, "of them REJECTED")                                         \
    X(cm_disconnected, "of them DISCONNECTED")                                 \
    X(cm_unreachable, "of them UNREACHABLE")                                   \
    X(cm_removals, "of them DEVICE_REMOVAL")                                   \
    X(rejects_version, "clients refused: no version in common")                \
    X(rejects_service, "clients refused: service not served")                  \
    X(rejects_schema, "clients refused: schemas differ")                       \
    X(rejects_busy, "clients refused: too busy")                               \
    X(rejects_limit, "clients refused: sizes or credits not acceptable")       \
    X(rejects_draining, "clients refused: going out of service")               \
    X(rejects_moved, "clients sent elsewhere")                                 \
    X(rejects_security, "clients refused: security modes do not match")        \
    X(rejects_malformed, "clients refused: no hello of Verbcall")              \
    X(rejects_pool, "clients refused: their pool is not known")                \
    X(rejects_got, "refusals that we got, with a reason")                      \
    X(keepalive_pings, "times that a peer's process was asked")                \
    X(keepalive_probes, "times that a peer's adapter was asked")               \
    X(keepalive_dead, "peers found dead by that")                              \
    X(memory_receive, "bytes pinned for receiving now")                        \
    X(memory_receive_limit, "bytes that may be, on the devices in use")        \
    X(memory_send, "bytes pinned for sending now")                             \
    X(memory_send_limit, "bytes that may be, on the devices in use")           \
    X(requests_arriving, "bytes of long requests that are arriving now")       \
    X(replies_arriving, "bytes of long replies that are arriving now")         \
    X(calls_cancelled, "calls of clients that were cancelled while they ran")  \
    X(calls_limited, "calls of clients refused, as too many ran")              \
    X(calls_retried, "attempts of our calls behind the first")                 \
    X(calls_not_retried, "attempts that the channel's budget did not allow")   \
    X(hedges_started, "attempts of our calls beside the first")                \
    X(hedges_won, "of them those whose answer was taken")                      \
    X(streams_client, "streams of ours under way now")                         \
    X(streams_client_opened, "streams that we opened")                         \
    X(streams_server, "streams of clients under way now")                      \
    X(streams_server_opened, "streams that clients opened")                    \
    X(cancels_sent, "CANCELs sent: servers told that nobody waits any more")   \
    X(cancels_received, "CANCELs of clients")                                  \
    X(wakeups_event, "times that a thread slept and something came")           \
    X(wakeups_told, "times that it slept and another thread of ours woke it")  \
    X(wakeups_timer, "times that it slept until a timer was due")              \
    X(token_handovers, "times that a waiting thread went on for another")      \
    X(spun_us, "microseconds that threads polled for nothing, then slept")     \
    X(handlers_apart, "handlers begun on a thread of their own")               \
    X(handlers_left, "handlers that took long, so that another thread went "   \
                     "on")                                                     \
    X(calls_expired, "calls of clients not begun for want of time")            \
    X(calls_shed, "calls of clients not begun, as too many waited")            \
    X(calls_throttled, "calls of ours not sent, as the server sheds most")     \
    X(shed_queue, "of those shed: they came faster than handlers run")         \
    X(shed_threads, "of them: no thread was left for their handler")           \
    X(shed_memory, "of them: no memory was left for their request")            \
    X(shed_critical, "of them: those with VC_PRIORITY_CRITICAL")               \
    X(shed_default, "of them: those with VC_PRIORITY_DEFAULT")                 \
    X(shed_sheddable, "of them: those with VC_PRIORITY_SHEDDABLE")             \
    X(waits_below_1ms, "calls that others were in front of, and waited so")    \
    X(waits_below_10ms, "the same, longer")                                    \
    X(waits_below_100ms, "the same, longer")                                   \
    X(waits_below_1s, "the same, longer")                                      \
    X(waits_longer, "the same, longer")                                        \
    X(shed_adaptive, "of those shed: as many handlers waited for others as "   \
                     "adaptive_limit lets")                                    \
    X(hellos_missed, "connections over TCP without a hello within 2 s")        \
    X(links_made_inproc, "links that came up within the process")              \
    X(links_made_shm, "the same, through shared memory")                       \
    X(links_made_tcp, "the same, over TCP")                                    \
    X(links_made_rdma, "the same, over RDMA")                                  \
    X(upgrades, "times that a vc:// channel came to a better transport")       \
    X(rejects_unable, "clients refused: no memory may be pinned, or no "       \
                      "descriptors are left")                                  \
    X(cm_hints, "of cm_unreachable those of links that were up, and stay so")  \
    X(cm_address_changes, "of cm_events ADDR_CHANGE")                          \
    X(cm_timewaits, "of cm_events TIMEWAIT_EXIT")                              \
    X(cm_multicast_errors, "of cm_events MULTICAST_ERROR")

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
