/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * shm:NAME and shm:///PATH: between processes of one host, through shared
 * memory. The only header of this folder that code outside it includes. The
 * table's functions run on the threads that transport/transport.h names. */
#ifndef VC_TRANSPORT_SHM_SHM_H
#define VC_TRANSPORT_SHM_SHM_H

#include "transport/transport.h"

extern const struct vc__transport vc__shm;

#endif
