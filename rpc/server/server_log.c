/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See rpc/server/server_log.h. Any thread. */
#include "rpc/server/server_log.h"

#include <stdarg.h>
#include <stdio.h>

#include "transport/core/error.h"

/* Returns the port of the address that was added last; 0: none, or a name.
 * Called by vc__server_log(). */
static unsigned
server_log_port_of(struct vc_server *server)
{
    uint16_t port;

    pthread_mutex_lock(&server->lock);
    port = server->port;
    pthread_mutex_unlock(&server->lock);
    return port;
}

void
vc__server_log(struct vc_server *server, enum vc__log_kind kind,
               const char *format, ...)
{
    struct vc__log *log = &server->runtime->log;
    char port[24] = "", text[VC__LOG_LINE];
    va_list args;
    unsigned n;

    if (!vc__log_wants(log, kind))
        return;
    n = server_log_port_of(server);
    if (n != 0)
        snprintf(port, sizeof port, " at port %u", n);
    va_start(args, format);
    vc__text_format(text, sizeof text, format, args);
    va_end(args);
    vc__log(log, kind, "server%s%s%s: %s", server->name[0] == '\0' ? "" : " ",
            server->name, port, text);
}
