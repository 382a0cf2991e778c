/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Writes and reads the header of a multicast datagram, byte for byte as in
 * doc/wire.md, section 7. See transport/wire/multicast.h. */
#include "transport/wire/multicast.h"

#include <string.h>

#include "transport/core/le.h"

#define AT_VERSION   4
#define AT_RESERVED  5
#define AT_PORT      6
#define AT_PUBLISHER 8
#define AT_SEQUENCE  24
#define AT_SERVICE   32
#define AT_METHOD    40
#define AT_LENGTH    44

_Static_assert(AT_LENGTH + 4 == VC__MULTICAST_HEADER, "the length is last");
_Static_assert(AT_PUBLISHER + VC__MULTICAST_PUBLISHER == AT_SEQUENCE,
               "the sequence follows the publisher");

static const uint8_t multicast_magic[4] = {'V', 'B', 'M', 'C'};
static const uint8_t nobody[VC__MULTICAST_PUBLISHER];

void
vc__multicast_put(uint8_t out[VC__MULTICAST_HEADER],
                  const struct vc__multicast *m)
{
    memcpy(out, multicast_magic, sizeof multicast_magic);
    out[AT_VERSION] = VC__MULTICAST_VERSION;
    out[AT_RESERVED] = 0;
    vc__put16(out + AT_PORT, m->port);
    memcpy(out + AT_PUBLISHER, m->publisher, sizeof m->publisher);
    vc__put64(out + AT_SEQUENCE, m->sequence);
    vc__put64(out + AT_SERVICE, m->service);
    vc__put32(out + AT_METHOD, m->method);
    vc__put32(out + AT_LENGTH, m->body_len);
}

bool
vc__multicast_get(struct vc__multicast *m, const uint8_t *data, size_t len)
{
    if (len < VC__MULTICAST_HEADER ||
        memcmp(data, multicast_magic, sizeof multicast_magic) != 0 ||
        data[AT_VERSION] != VC__MULTICAST_VERSION || data[AT_RESERVED] != 0)
        return false;
    m->port = vc__get16(data + AT_PORT);
    memcpy(m->publisher, data + AT_PUBLISHER, sizeof m->publisher);
    m->sequence = vc__get64(data + AT_SEQUENCE);
    m->service = vc__get64(data + AT_SERVICE);
    m->method = vc__get32(data + AT_METHOD);
    m->body_len = vc__get32(data + AT_LENGTH);
    m->body = data + VC__MULTICAST_HEADER;
    return m->body_len == len - VC__MULTICAST_HEADER && m->sequence != 0 &&
           memcmp(m->publisher, nobody, sizeof nobody) != 0;
}
