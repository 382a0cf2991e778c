/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Asks whether somebody listens at an RDMA address, and by which way it is
 * reached, for tools: without a runtime, a channel or a thread. */
#ifndef VERBCALL_PROBE_H
#define VERBCALL_PROBE_H

#include <stddef.h>
#include <stdint.h>

#include <verbcall/export.h>
#include <verbcall/status.h>

VC_BEGIN_DECLS

/* Who has answered. */
enum vc_probe_answer {
    VC_PROBE_NONE,    /* nobody in time; or it did not come as far */
    VC_PROBE_NOBODY,  /* the host: nothing listens at that port */
    VC_PROBE_SERVER,  /* a Verbcall server */
    VC_PROBE_STRANGER /* another program, or one that ended meanwhile */
};

/* It begins as VC_PROBE_REPORT_INIT. What the probe did not find out is 0 or
 * empty. */
struct vc_probe_report {
    size_t size; /* see VC_SIZED in verbcall/export.h */
    enum vc_probe_answer answer;

    /* Microseconds that resolving the address and the route, and connecting
     * took: from the request to its answer, which is a round trip and what the
     * server needs for it. */
    uint32_t resolve_us, route_us, connect_us;

    /* The address that was asked, the first that the target stands for, and
     * the one that it was asked from, each with its port. */
    char address[128], source[128];

    char device[64]; /* of this machine: "mlx5_0" */
    char gid[40];    /* of that device, as an IPv6 address */
    uint32_t port;   /* of that device, 1.. */
    uint32_t mtu;    /* of that port: bytes of one packet on the wire */

    /* Bytes of private data: those that a request may have, and those that came
     * with the answer, which a connection manager fills up: 196 with an accept
     * and 148 with a reject on InfiniBand and RoCE. */
    uint32_t request_data, answer_data;

    int cm_status;     /* of a reject: its reason by the InfiniBand
                          specification; 28 is the program's own */
    uint32_t retry_ms; /* a server that is busy wants to be asked again then */
    char words[160];   /* what reject or accept said, in words */
};

#define VC_PROBE_REPORT_INIT VC_SIZED_INIT(vc_probe_report)

/* vc_probe - connects to target, "rdma://HOST:PORT" or the RDMA part of
 * "vc://HOST:PORT", says that it wants no service, and leaves, all within
 * timeout_ms milliseconds, 1..600000, or 2000 for 0; a name is looked up before,
 * for as long as the resolver takes. It blocks. The server makes no connection
 * of it: it counts it in rejects_service. *report, of which VC_PROBE_REPORT_INIT
 * has set the size, is filled as far as the probe came, whatever the status is.
 * Any thread.
 * VC_OK                  somebody listens: see report->answer
 * VC_INVALID_ARGUMENT    the target is malformed, its port 0, or a loopback
 *                        address; it is tcp://, shm: or inproc://, for which a
 *                        channel and vc_channel_connect() will do; timeout_ms is
 *                        out of its range; report is NULL or has no size
 * VC_UNAVAILABLE         nobody listens, no such host, no route, no RDMA device,
 *                        or no answer in time; vc_error() says which
 * VC_PERMISSION_DENIED   this user may not open the RDMA devices
 * VC_RESOURCE_EXHAUSTED  no memory or queues
 * VC_UNIMPLEMENTED       this library was built without RDMA */
VC_API enum vc_status vc_probe(const char *target, uint32_t timeout_ms,
                               struct vc_probe_report *report);

VC_END_DECLS

#endif
