/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A library of a few lines that gives a client's call straight to the handler.
 * It has calls that are waited for, and not those that are not, nor streams. */
#ifndef LIBRARY_H
#define LIBRARY_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <verbcall/verbcall.h>

#define CHECK(what)                                                            \
    do {                                                                       \
        if (!(what)) {                                                         \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #what); \
            exit(1);                                                           \
        }                                                                      \
    } while (0)

struct vc_server {
    const struct vc_service *service;
    void *methods;
    void *arg;
};

struct vc_channel {
    struct vc_server *server;
};

#endif
