/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The log: lines about events of connections, servers and devices. By default
 * warnings and errors go to stderr. */
#ifndef VERBCALL_LOG_H
#define VERBCALL_LOG_H

#include <verbcall/export.h>

VC_BEGIN_DECLS

/* How important a line is; a lower number is more important.
 * VC_LOG_ERROR   the library cannot repair it: a server lost an address
 * VC_LOG_WARNING a person may have to act: a link or a device is lost, a peer
 *                is dead, clients wait for memory or descriptors, a server
 *                sheds calls, a resolver fails, a server is ejected or
 *                unhealthy, or is back, a service config is
 *                refused
 * VC_LOG_INFO    events of a healthy program: a link is up, a client was
 *                rejected, a server listens or is drained, the servers of
 *                a channel, or its service config, have changed
 * VC_LOG_DEBUG   attempts that failed, whose errors the callers get, too */
enum vc_log_level {
    VC_LOG_ERROR = 1,
    VC_LOG_WARNING = 2,
    VC_LOG_INFO = 3,
    VC_LOG_DEBUG = 4
};

/* For the option log_level: no lines at all. */
#define VC_LOG_NONE (~0u)

/* The program's function for lines of the log: options log and log_arg of a
 * runtime (verbcall/runtime.h). A line names its object first, as in "link to
 * 10.9.0.1:7471: up over rdma (rxe0, QP 17)". It is UTF-8 without control
 * characters, ends without a newline, and is valid until the function returns.
 * Texts of lines may change with any release: they are for people.
 *
 * The library calls the function on any thread, and on several at a time. It
 * holds no lock of its own meanwhile. But the thread may be the one that
 * advances an engine, so all links of that engine wait: the function must
 * return soon. It must not call the library, except for vc_log_level_name()
 * and vc_version(). It may change errno.
 *
 * Of each kind of line, as links that were lost, a runtime logs at most 50 a
 * second, so no peer can flood the log. The next line is then preceded by one
 * that says how many were left out: "log: 17 more lines of links that were lost
 * were not logged; there are at most 50 a second". */
typedef void vc_log_fn(enum vc_log_level level, const char *line, void *arg);

/* vc_log_level_name - returns "error", "warning", "info" or "debug"; "unknown"
 * for other numbers. Never NULL; the library owns the text. Any thread, also
 * inside a vc_log_fn. */
VC_API const char *vc_log_level_name(enum vc_log_level level);

VC_END_DECLS

#endif
