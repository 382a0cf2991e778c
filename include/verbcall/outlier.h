/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Outlier detection: a channel with several servers stops using one whose calls
 * fail much more often than those to the others, for some time. The rules, the
 * numbers and the defaults are those of gRPC's proposal A50. Channels take
 * these options by their field `outlier`; without them no server is ejected. */
#ifndef VERBCALL_OUTLIER_H
#define VERBCALL_OUTLIER_H

#include <stddef.h>
#include <stdint.h>

#include <verbcall/export.h>

VC_BEGIN_DECLS

/* For a value of 0, as 0 in a field stands for the default. */
#define VC_OUTLIER_NONE UINT32_MAX

/* The methods of vc_outlier_opts.methods. */
#define VC_OUTLIER_SUCCESS_RATE       1u
#define VC_OUTLIER_FAILURE_PERCENTAGE 2u

/* A call has failed if it ended with another status than VC_OK, also one that
 * the handler or an overloaded server chose; one that the client has cancelled,
 * or that was not sent, does not count.
 *
 * Initialize it with VC_OUTLIER_OPTS_INIT, or write VC_CHANNEL_OPTS(.outlier =
 * VC_OUTLIER_OPTS()) where it is used; 0 in a field means its default. It is
 * copied. */
struct vc_outlier_opts {
    size_t size; /* see VC_SIZED in verbcall/export.h */

    /* How outliers are found: VC_OUTLIER_SUCCESS_RATE,
     * VC_OUTLIER_FAILURE_PERCENTAGE, or both combined by |, default both. The
     * options of a method that is not used have no effect. To have none, the
     * channel gets no vc_outlier_opts. */
    uint32_t methods;

    /* Time between two evaluations, in milliseconds, 10..86400000, default
     * 10000. Each evaluation sees the calls that ended since the one before,
     * ejects servers, and lets ejected ones return. */
    uint32_t interval_ms;

    /* How long an ejection lasts, in milliseconds, 1..86400000: the base,
     * default 30000, times the number of ejections of this server, up to the
     * maximum, default 300000. A maximum below the base is taken as the base.
     * Each evaluation that finds the server in use lowers that number by 1. A
     * server returns at the first evaluation after its time is over. */
    uint32_t base_ejection_ms;
    uint32_t max_ejection_ms;

    /* No server is ejected while this percentage of the channel's servers, or
     * more, is ejected, 1..100 or VC_OUTLIER_NONE, default 10. One server may
     * always be ejected. As the percentage is checked before each ejection, the
     * last one may exceed it: 10 % of 11 servers allows 2. */
    uint32_t max_ejection_percent;

    /* Success rate: a server is an outlier if its share of successful calls is
     * below the mean of all servers by more than this factor times their
     * standard deviation. In thousandths, 1..1000000 or VC_OUTLIER_NONE,
     * default 1900 (1.9). With n servers, one that differs from all others is
     * the square root of n-1 standard deviations away: 2 with 5 servers. */
    uint32_t success_rate_stdev_factor;
    /* The probability that such an outlier is ejected, in percent, 1..100 or
     * VC_OUTLIER_NONE, default 100. With VC_OUTLIER_NONE outliers are only
     * counted. */
    uint32_t success_rate_enforcement;
    /* The method is used only if at least so many servers had enough calls in
     * the interval, 1..1024, default 5; and how many calls are enough,
     * 1..1000000000, default 100. Servers with fewer calls are left out. */
    uint32_t success_rate_minimum_hosts;
    uint32_t success_rate_request_volume;

    /* Failure percentage: a server is an outlier if more than so many percent
     * of its calls failed, 1..100 or VC_OUTLIER_NONE, default 85. None exceeds
     * 100. */
    uint32_t failure_percentage_threshold;
    /* As those of the success rate; the default of the request volume is 50. */
    uint32_t failure_percentage_enforcement;
    uint32_t failure_percentage_minimum_hosts;
    uint32_t failure_percentage_request_volume;
};

#define VC_OUTLIER_OPTS_INIT VC_SIZED_INIT(vc_outlier_opts)
#define VC_OUTLIER_OPTS(...) VC_SIZED(vc_outlier_opts, __VA_ARGS__)

VC_END_DECLS

#endif
