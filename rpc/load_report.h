/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The load report of a server, in the trailing metadata of its replies: a
 * packed xds.data.orca.v3.OrcaLoadReport, as gRPC has it (A51). Only the fields
 * below are written and read; others are skipped. Pure. Any thread.
 *
 * Called by: rpc/server/server_load.c (pack), rpc/balance/loads.c (read). */
#ifndef VC_RPC_LOAD_REPORT_H
#define VC_RPC_LOAD_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The key of the metadata entry. */
#define VC__LOAD_REPORT_KEY "endpoint-load-metrics-bin"

/* The most bytes of a packed report: four fields of a tag and eight bytes. */
#define VC__LOAD_REPORT_MAX 36u

/* 0: not known. Of a peer the numbers may be any, NaN too. */
struct vc__load_report {
    double cpu_utilization; /* field 1: 1.0 if all processors are busy */
    double rps;             /* field 6, rps_fractional: replies per second */
    double eps;             /* field 7: failed ones of them */
    double application_utilization; /* field 9: what the program says */
};

/* Packs the report, and returns its bytes, 0 if all of it is 0. Called by
 * load_renew() on the holder of an engine. */
size_t vc__load_report_pack(uint8_t out[VC__LOAD_REPORT_MAX],
                            const struct vc__load_report *report);

/* Reads a report of a peer. False, and *report is not valid, if it is no
 * protobuf message. Called by vc__loads_take(). */
bool vc__load_report_read(struct vc__load_report *report, const uint8_t *data,
                          size_t len);

#endif
