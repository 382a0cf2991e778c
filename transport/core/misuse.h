/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Misuse of the library by its program, where there is no status to return. Any
 * thread.
 *
 * Called by: many files (misuse). */
#ifndef VC_TRANSPORT_MISUSE_H
#define VC_TRANSPORT_MISUSE_H

/* Writes "verbcall: " and this text to stderr, one line, and aborts. Called by
 * public functions on the thread that called them, by later_step()
 * (rpc/server/server_handler.c) on that thread or a handler's, by
 * vc__handle_fail() and vc__handle_misuse(), and by vc__broken(). */
_Noreturn void vc__misuse(const char *format, ...)
    __attribute__((format(printf, 1, 2), cold));

#endif
