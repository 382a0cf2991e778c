/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See verbcall/probe.h. The probe sends a hello for service 0, which no server
 * has. A server answers with a reject that says so, and neither end creates a
 * connection. All of it runs on the thread of vc_probe(). */
#include <verbcall/probe.h>

#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "cm/connect/cm.h"
#include "cm/connect/features.h"
#include "cm/connect/hello.h"
#include "cm/connect/target.h"
#include "rpc/options.h"
#include "transport/wire/packet.h"

#define TIMEOUT_MS     2000u
#define TIMEOUT_MS_MAX 600000u

static const struct vc__options report_kind = {
    .name = "vc_probe_report",
    .macros = "VC_PROBE_REPORT_INIT",
    .size = sizeof(struct vc_probe_report)};

/* --- the target ----------------------------------------------------------- */

/* For probe_target_take(): sets *out to the target's transport, for vc:// to
 * that of rdma://. VC_INVALID_ARGUMENT if that is not over RDMA;
 * VC_UNIMPLEMENTED without RDMA. */
static enum vc_status
transport_of(const struct vc__target *target, const char *text,
             const struct vc__transport **out)
{
    const struct vc__transport *rdma = vc__transport_find("rdma", 4);

    if (target->transport != NULL && target->transport->ask == NULL)
        return vc__fail(
            VC_INVALID_ARGUMENT,
            "target \"%.100s\": a probe works only over RDMA: give "
            "an rdma://, rdma+ib:// or vc:// target, and for others open a "
            "channel and call vc_channel_connect()",
            text);
    if (rdma == NULL)
        return vc__fail(VC_UNIMPLEMENTED,
                        "target \"%.100s\" cannot be probed: this library was "
                        "built without RDMA (configure --without-rdma)",
                        text);
    *out = target->transport != NULL ? target->transport : rdma;
    return VC_OK;
}

/* For probe_target_take(): looks the host up, which may block, and takes its
 * first address. VC_UNAVAILABLE if there is none. */
static enum vc_status
address_of(const struct vc__target *target, struct sockaddr_storage *out)
{
    struct vc__addrs addrs;
    int err = vc__target_lookup(target, &addrs);

    if (err != 0 || addrs.n == 0)
        return vc__fail(VC_UNAVAILABLE, "cannot look up \"%s\": %s",
                        target->host,
                        err != 0 ? gai_strerror(err) : "it has no address");
    *out = addrs.addr[0];
    return VC_OK;
}

/* For vc_probe(): sets the transport and the address to probe. Returns the
 * status of the step that fails. */
static enum vc_status
probe_target_take(const char *text, const struct vc__transport **transport,
                  struct sockaddr_storage *addr)
{
    struct vc__target target;
    enum vc_status status = vc__target_parse(&target, text);

#ifdef VC_WITHOUT_RDMA
    if (status != VC_OK && text != NULL && strncmp(text, "rdma:", 5) == 0)
        return vc__fail(VC_UNIMPLEMENTED, "%s", vc_error());
#endif
    if (status == VC_OK)
        status = transport_of(&target, text, transport);
    if (status == VC_OK && atoi(target.port) == 0)
        status = vc__fail(VC_INVALID_ARGUMENT,
                          "target \"%.100s\": port 0 cannot be probed: give a "
                          "port in 1..65535",
                          text);
    if (status == VC_OK)
        status = address_of(&target, addr);
    return status == VC_OK ? vc__target_reaches(*transport, addr, "probe")
                           : status;
}

/* --- hello and answer ----------------------------------------------------- */

/* For probe_run(): makes a hello for service 0. VC_UNAVAILABLE without random
 * numbers. */
static enum vc_status
hello_make(uint8_t out[VC__HELLO_SIZE])
{
    struct vc__hello h = {.version_min = VC__VERSION_MIN,
                          .version_max = VC__VERSION_MAX,
                          .log2_eager = VC__PACKET_LOG2,
                          .log2_message = VC__PACKET_LOG2,
                          .credits = 3,
                          .features = VC__FEATURES_OURS};

    if (getrandom(h.instance, sizeof h.instance, 0) !=
        (ssize_t)sizeof h.instance)
        return vc__fail(VC_UNAVAILABLE,
                        "no random numbers: getrandom() failed");
    h.instance[0] |= 1;
    vc__hello_put(out, &h);
    return VC_OK;
}

/* For probe_answered(): reports the reject of a Verbcall server. */
static void
probe_rejected(struct vc_probe_report *r, const struct vc__reject *reject)
{
    char words[sizeof reject->text];

    vc__words_put(words, sizeof words, reject->text, strlen(reject->text));
    r->answer = VC_PROBE_SERVER;
    r->retry_ms = reject->retry_ms;
    snprintf(r->words, sizeof r->words, "%s%s%s",
             vc__reject_rule(reject->reason)->text,
             words[0] == '\0' ? "" : ": ", words);
}

/* For report_make(), if there was an answer: reports who has answered, and
 * what. */
static void
probe_answered(struct vc_probe_report *r, const struct vc__asked *a)
{
    struct vc__accept accept;
    struct vc__reject reject;

    r->answer = a->nobody ? VC_PROBE_NOBODY : VC_PROBE_STRANGER;
    r->cm_status = a->status;
    r->answer_data = a->said_len;
    if (!a->accepted &&
        vc__reject_get(&reject, a->said, a->said_len) == VC__SAID_OK) {
        probe_rejected(r, &reject);
    } else if (a->accepted &&
               vc__accept_get(&accept, a->said, a->said_len) == VC__SAID_OK) {
        r->answer = VC_PROBE_SERVER;
        vc__words_put(r->words, sizeof r->words, accept.text,
                      strlen(accept.text));
    }
}

/* For probe_run(): reports what was found, also if the probe has failed. */
static void
report_make(struct vc_probe_report *r, const struct vc__asked *a)
{
    r->resolve_us = a->resolve_us;
    r->route_us = a->route_us;
    r->connect_us = a->connect_us;
    if (a->source.ss_family != AF_UNSPEC)
        vc__addr_text((const struct sockaddr *)&a->source, r->source);
    memcpy(r->device, a->device, sizeof r->device);
    memcpy(r->gid, a->gid, sizeof r->gid);
    r->port = a->port;
    r->mtu = a->mtu;
    if (a->answered)
        probe_answered(r, a);
}

/* --- the probe ------------------------------------------------------------ */

/* For vc_probe(): sends the hello, waits for the answer, and makes the report.
 * Returns the status of vc_probe(). */
static enum vc_status
probe_run(const struct vc__transport *transport,
          const struct sockaddr_storage *addr, uint32_t timeout_ms,
          struct vc_probe_report *r)
{
    uint8_t hello[VC__HELLO_SIZE];
    struct vc__asked asked = {0};
    enum vc_status status = hello_make(hello);

    vc__addr_text((const struct sockaddr *)addr, r->address);
    r->request_data = transport->hello_max;
    if (status == VC_OK)
        status = transport->ask(transport, addr, hello, sizeof hello,
                                timeout_ms, &asked);
    report_make(r, &asked);
    if (status == VC_OK && r->answer == VC_PROBE_NOBODY)
        return vc__fail(VC_UNAVAILABLE,
                        "nothing listens at %s: see that the server runs and "
                        "that the port is right",
                        r->address);
    return status;
}

/* For vc_probe(), also after an error: copies our report to the program's. An
 * older program's report is shorter, a newer program's is longer. */
static void
report_give(struct vc_probe_report *out, struct vc_probe_report *own)
{
    own->size = out->size;
    memcpy(out, own, out->size < sizeof *own ? out->size : sizeof *own);
}

enum vc_status
vc_probe(const char *target, uint32_t timeout_ms,
         struct vc_probe_report *report)
{
    struct vc_probe_report own = {0};
    const struct vc__transport *transport = NULL;
    struct sockaddr_storage addr;
    enum vc_status status = vc__options_size_check(&report_kind, report);

    if (status != VC_OK)
        return status;
    if (timeout_ms > TIMEOUT_MS_MAX)
        return vc__fail(VC_INVALID_ARGUMENT,
                        "vc_probe(): timeout_ms: %u is not in 1..%u; 0 stands "
                        "for %u",
                        timeout_ms, TIMEOUT_MS_MAX, TIMEOUT_MS);
    status = probe_target_take(target, &transport, &addr);
    if (status == VC_OK)
        status = probe_run(transport, &addr,
                           timeout_ms == 0 ? TIMEOUT_MS : timeout_ms, &own);
    report_give(report, &own);
    return status;
}
