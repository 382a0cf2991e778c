/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A program with two libraries that have the same well-known types. */
#include <grpc/lb/v1/load_balancer.vc.h>
#include <wellknown.vc.h>

int
main(void)
{
    const struct vc_method *get = &wellknown_clock_service.methods[0];
    const struct vc_service *balancer = &grpc_lb_v1_load_balancer_service;

    return get->reply.desc != &google__protobuf__timestamp__descriptor ||
           balancer->n_methods != 1;
}
