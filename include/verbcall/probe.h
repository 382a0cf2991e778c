/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A probe for tools: asks whether a program listens at an RDMA address, and by
 * which route the address is reached. It needs no runtime, channel or
 * thread. */
#ifndef VERBCALL_PROBE_H
#define VERBCALL_PROBE_H

#include <stddef.h>
#include <stdint.h>

#include <verbcall/export.h>
#include <verbcall/status.h>

VC_BEGIN_DECLS

/* The sender of the answer. */
enum vc_probe_answer {
    VC_PROBE_NONE,    /* no answer in time, or the probe failed before */
    VC_PROBE_NOBODY,  /* the host: nothing listens at that port */
    VC_PROBE_SERVER,  /* a Verbcall server */
    VC_PROBE_STRANGER /* another program, or one that exited meanwhile */
};

/* Initialize it with VC_PROBE_REPORT_INIT. What the probe did not find out is 0
 * or empty. */
struct vc_probe_report {
    size_t size; /* see VC_SIZED in verbcall/export.h */
    enum vc_probe_answer answer;

    /* Microseconds for resolving the address, for resolving the route, and for
     * connecting. connect_us runs from the request to its answer: a round trip
     * and the time that the server takes. */
    uint32_t resolve_us, route_us, connect_us;

    /* The address that was probed, which is the first one of the target, and
     * the local address; each with its port. */
    char address[128], source[128];

    char device[64]; /* of this machine: "mlx5_0" */
    char gid[40];    /* of that device, as an IPv6 address */
    uint32_t port;   /* of that device, 1.. */
    uint32_t mtu;    /* of that port: bytes of one packet on the wire */

    /* Bytes of private data: the most that a request may have, and those
     * received with the answer. A connection manager pads the latter: to 196
     * with an accept and 148 with a reject on InfiniBand and RoCE. */
    uint32_t request_data, answer_data;

    int cm_status;     /* InfiniBand reject reason; 28: by the program */
    uint32_t retry_ms; /* a busy server asks to retry after this */
    char words[160];   /* text of the reject or accept */
};

#define VC_PROBE_REPORT_INIT VC_SIZED_INIT(vc_probe_report)

/* vc_probe - asks target to connect, for no service, and takes the answer.
 * target is "rdma://HOST:PORT", "rdma+ib://HOST:PORT" or the RDMA part of
 * "vc://HOST:PORT". This takes timeout_ms milliseconds at most, 1..600000, or
 * 2000 for 0. A name is looked up before, which takes as long as the resolver
 * needs. The function blocks. The server creates no connection: it counts the
 * probe in rejects_service.
 * *report, whose size VC_PROBE_REPORT_INIT has set, is filled as far as the
 * probe got, whatever the status is. Any thread.
 * VC_OK                 the address has a listener: see report->answer
 * VC_INVALID_ARGUMENT   the target is malformed, its port is 0, or it is a
 *                       loopback address; it is tcp://, shm: or inproc://, for
 *                       which a channel and vc_channel_connect() will do;
 *                       timeout_ms is out of range; report is NULL or has no
 *                       size
 * VC_UNAVAILABLE        no listener, no such host, no route, no RDMA device, or
 *                       no answer in time; vc_error() says which
 * VC_PERMISSION_DENIED  this user may not open the RDMA devices
 * VC_RESOURCE_EXHAUSTED no memory or queues
 * VC_UNIMPLEMENTED      this library was built without RDMA */
VC_API enum vc_status vc_probe(const char *target, uint32_t timeout_ms,
                               struct vc_probe_report *report);

VC_END_DECLS

#endif
