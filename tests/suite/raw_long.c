/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Packets of raw ends that are longer than the transport allows. The transport
 * would not send them, so they are written directly to its socket or shared
 * memory. Declared in tests/suite/raw_ops.h. */
#include <string.h>
#include <sys/socket.h>

#include "tests/suite/raw_ops.h"
#include "transport/shm/shm.h"
#include "transport/shm/wire.h"
#include "transport/tcp/tcp.h"
#include "transport/tcp/wire.h"

/* The record's header has the true length. The peer may close the connection
 * before it has read all bytes. */
static bool
tcp_send(struct vc__wire *w, const void *bytes, size_t len)
{
    uint8_t record[VC__RECORD_HEADER + RAW_SIZE];

    vc__record_put(record, VC__RECORD_PACKET, (uint32_t)len);
    memcpy(record + VC__RECORD_HEADER, bytes, len);
    return send(vc__tcp_wire_of(w)->source.fd, record, VC__RECORD_HEADER + len,
                MSG_NOSIGNAL) > 0;
}

/* There is room after the longest packet, except at the end of the memory. */
static bool
shm_send(struct vc__wire *w, const void *bytes, size_t len)
{
    struct vc__shm_out *out = &vc__shm_wire_of(w)->out;
    uint8_t *at = vc__shm_out_reserve(out);

    if (at == NULL || out->at + len > VC__SHM_DATA)
        return false;
    memcpy(at, bytes, len);
    vc__shm_out_commit(out, (uint32_t)len);
    w->transport->flush(w);
    return true;
}

bool
raw_send_long(struct vc__wire *w, const void *bytes, size_t len)
{
    if (w->transport == &vc__tcp)
        return tcp_send(w, bytes, len);
    return w->transport == &vc__shm && shm_send(w, bytes, len);
}
