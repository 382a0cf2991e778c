/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The server of verbcall_pool. */
#ifndef POOL_SERVE_H
#define POOL_SERVE_H

/* serve - serves at target until SIGINT or SIGTERM. Returns the exit status. */
int serve(const char *target);

#endif
