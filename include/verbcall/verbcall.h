/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The whole public interface of libverbcall. */
#ifndef VERBCALL_VERBCALL_H
#define VERBCALL_VERBCALL_H

#include <verbcall/async.h>
#include <verbcall/call.h>
#include <verbcall/cancel.h>
#include <verbcall/channel.h>
#include <verbcall/counters.h>
#include <verbcall/health.h>
#include <verbcall/interceptor.h>
#include <verbcall/load.h>
#include <verbcall/log.h>
#include <verbcall/metadata.h>
#include <verbcall/multicast.h>
#include <verbcall/outlier.h>
#include <verbcall/policy.h>
#include <verbcall/probe.h>
#include <verbcall/protobuf_c.h>
#include <verbcall/rdma.h>
#include <verbcall/reflection.h>
#include <verbcall/resolver.h>
#include <verbcall/runtime.h>
#include <verbcall/server.h>
#include <verbcall/service.h>
#include <verbcall/status.h>
#include <verbcall/stream.h>
#include <verbcall/version.h>

#endif
