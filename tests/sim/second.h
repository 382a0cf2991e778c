/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A second transport for worlds without sockets: this vc__tcp is RDMA over a
 * second network, where the host of 10.9.0.X has a device at 10.9.1.X. Above
 * the transport interface it looks like TCP: it has TCP's scheme, rank and
 * counters, and targets and texts have the addresses of the first network. A
 * program that calls second_packets() is linked with this vc__tcp and not with
 * that of transport/tcp, because the linker takes the definition in libsim
 * first. */
#ifndef VC_TESTS_SIM_SECOND_H
#define VC_TESTS_SIM_SECOND_H

/* Packets sent so far, in all processes and worlds. */
unsigned long second_packets(void);

#endif
