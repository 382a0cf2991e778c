/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See rpc/client/pick_facts.h. The metadata are those of the packed request, as
 * the program's own may be freed once the call has begun. */
#include "rpc/client/pick_facts.h"

#include "rpc/client/stream_client.h"
#include "transport/wire/metadata.h"

/* Of a stream, for vc__pick_facts_of(). Before the start it has no number. */
static struct vc__pick_facts
stream_facts(const struct vc__client_stream *c)
{
    return (struct vc__pick_facts){
        .method = c->type,
        .attempt = c->attempts.number > 0 ? c->attempts.number : 1,
        .metadata = vc__metadata_of(&c->request.send->frame)};
}

struct vc__pick_facts
vc__pick_facts_of(const struct vc__pick_key *key)
{
    const struct vc__attempt *u;

    if (key->of_stream)
        return stream_facts(
            caa_container_of(key, const struct vc__client_stream, key));
    u = caa_container_of(key, const struct vc__attempt, key);
    return (struct vc__pick_facts){
        .method = u->method,
        .attempt = u->attempt,
        .metadata = vc__metadata_of(&u->request.send->frame)};
}
