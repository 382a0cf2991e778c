/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Facts that the code relies on and that its comments state. They are checked
 * in every build: a library that goes on after such a fact was found false
 * would corrupt its program's memory. Any thread. */
#ifndef VC_TRANSPORT_INVARIANT_H
#define VC_TRANSPORT_INVARIANT_H

/* Writes the place and the fact to stderr, one line, and aborts. Called by the
 * macro only. */
_Noreturn void vc__broken(const char *file, int line, const char *fact)
    __attribute__((cold));

/* Aborts if the fact is false. It must have no side effect. */
#define vc__invariant(fact)                                                    \
    (__builtin_expect(!!(fact), 1) ? (void)0                                   \
                                   : vc__broken(__FILE__, __LINE__, #fact))

#endif
