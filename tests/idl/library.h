/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A library of a few lines that passes a client's call directly to the handler.
 * It has blocking calls only, no asynchronous calls or streams. */
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
