/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See tests/sim/told.h. */
#include "tests/sim/told.h"

#include <string.h>

void
told_play(void (*act)(struct scene *), sim_handle *handle)
{
    for (uint64_t seed = 1; seed <= 2; seed++) {
        struct scene s = {.opts = VC_CHANNEL_OPTS_INIT, .act = act};

        s.server.handle = handle;
        scene_run(&s, seed);
    }
}

/* Bytes that differ between neighbours, and from packet to packet. */
static uint8_t noise[1 << 20];

static void __attribute__((constructor)) noise_make(void)
{
    for (size_t i = 0; i < sizeof noise; i++)
        noise[i] = (uint8_t)(i * 7 + i / 251 + 1);
}

struct vc_metadata
told_text(const char *key, const char *value)
{
    return (struct vc_metadata){
        .key = key, .value = value, .length = strlen(value)};
}

enum vc_status
told_echo(struct vc_channel *channel, size_t size,
          const struct vc_call_opts *opts)
{
    Suite__EchoRequest request = SUITE__ECHO_REQUEST__INIT;
    Suite__EchoReply *reply;
    enum vc_status status;

    request.payload.len = size;
    request.payload.data = noise;
    status = suite_probe_echo(channel, &request, opts, &reply);
    if (status != VC_OK)
        return status;
    if (reply->payload.len != size ||
        (size > 0 && memcmp(reply->payload.data, noise, size) != 0))
        status = VC_DATA_LOSS;
    vc_message_free(reply);
    return status;
}

void
told_assert_same(const struct vc_metadata *a, const struct vc_metadata *b,
                 size_t n)
{
    for (size_t i = 0; i < n; i++) {
        assert_string_equal(a[i].key, b[i].key);
        assert_int_equal(a[i].length, b[i].length);
        assert_int_equal(((const char *)a[i].value)[a[i].length], '\0');
        if (b[i].length > 0)
            assert_memory_equal(a[i].value, b[i].value, b[i].length);
    }
}

void
told_assert_nothing(const struct vc_result *r)
{
    assert_int_equal(r->n_initial, 0);
    assert_int_equal(r->n_trailing, 0);
    assert_null(r->details);
    assert_int_equal(r->details_length, 0);
}

struct vc_metadata
told_long(size_t packed)
{
    return (struct vc_metadata){
        .key = "x-bin", .value = noise + 100, .length = packed - 3 - 5};
}

enum vc_status
told_mirror(struct sim_server *s, struct vc_call *call,
            const Suite__EchoRequest *request, Suite__EchoReply *reply)
{
    enum vc_status status = VC_OK;
    const struct vc_metadata *m;
    size_t n;

    (void)s;
    m = vc_call_metadata(call, &n);
    for (size_t i = 0; i < n && status == VC_OK; i++) {
        status = vc_call_add_initial(call, m[i].key, m[i].value, m[i].length);
        if (status == VC_OK)
            status =
                vc_call_add_trailing(call, m[i].key, m[i].value, m[i].length);
    }
    reply->tag = request->tag;
    reply->payload = request->payload;
    return status == VC_OK ? VC_OK
                           : vc_call_fail(call, status, "%s", vc_error());
}
