/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * What the examples of README and of man pages use and do not declare, so that
 * tests/tutorial.sh can compile them: see tests/examples.awk. */
#ifndef TESTS_PAGE_EXAMPLES_H
#define TESTS_PAGE_EXAMPLES_H

#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "chat.vc.h"
#include "file.vc.h"
#include "greeter.vc.h"
#include <verbcall/verbcall.h>

extern enum vc_status status;
extern struct vc_runtime *runtime;
extern struct vc_server *server;
extern struct vc_channel *channel;
extern struct vc_call *call;
extern Demo__HelloRequest request;
extern Demo__HelloReply *reply;
extern int my_fd;
extern void my_work(void);
extern bool my_next_part(File__Part *part);

#endif
