/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Server reflection: for tools that call services without having their .proto
 * file. */
#ifndef VERBCALL_REFLECTION_H
#define VERBCALL_REFLECTION_H

#include <verbcall/export.h>
#include <verbcall/status.h>

VC_BEGIN_DECLS

struct vc_server;

/* vc_reflection_add - adds the service verbcall.reflection.v1.Reflection to a
 * server. It returns the names of the server's services and methods, and the
 * files that they were generated from. Its .proto file is installed in
 * <datadir>/verbcall/verbcall/reflection/v1. The answer has the services that
 * the server has when it is asked, whenever they were added. Any thread, at any
 * time.
 * VC_ALREADY_EXISTS     the server has this service
 * VC_RESOURCE_EXHAUSTED no memory */
VC_API enum vc_status vc_reflection_add(struct vc_server *server);

VC_END_DECLS

#endif
