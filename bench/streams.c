/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The throughput of streams: run
 *     streams TARGET BYTES MESSAGES
 * against a pool_server. The program sends so many messages, receives as many,
 * and prints both rates and their ratio. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "bench.vc.h"
#include "bench/bench.h"
#include "examples/kv/number.h"

#define BYTES_MOST 65536u

struct plan {
    uint64_t bytes, messages;
};

static int
failed(const char *what)
{
    fprintf(stderr, "streams: %s: %s\n", what, vc_error());
    return 1;
}

static enum vc_status
send_all(struct bench_flow_up_client_stream *stream, const struct plan *p)
{
    static uint8_t zeros[BYTES_MOST];
    Bench__Payload message = BENCH__PAYLOAD__INIT;
    Bench__FlowReply *reply;
    enum vc_status status = VC_OK;

    message.data.data = zeros;
    message.data.len = p->bytes;
    for (uint64_t i = 0; i < p->messages && status == VC_OK; i++)
        status = bench_flow_up_send(stream, &message);
    if (status == VC_OK)
        status = bench_flow_up_finish(stream, &reply);
    if (status != VC_OK)
        return status;
    if (reply->messages != p->messages)
        status = VC_DATA_LOSS;
    vc_message_free(reply);
    return status;
}

static enum vc_status
receive_all(struct bench_flow_down_client_stream *stream, const struct plan *p)
{
    Bench__Payload *message = NULL;
    enum vc_status status;
    uint64_t n = 0;

    while ((status = bench_flow_down_receive(stream, &message)) == VC_OK &&
           message != NULL) {
        vc_message_free(message);
        n++;
    }
    return status == VC_OK && n != p->messages ? VC_DATA_LOSS : status;
}

/* Returns messages a second, or 0 on an error. */
static double
rate_up(struct vc_channel *channel, const struct plan *p)
{
    double began = now_us();
    struct bench_flow_up_client_stream *stream = NULL;
    enum vc_status status = bench_flow_up(channel, NULL, &stream);

    if (status == VC_OK)
        status = send_all(stream, p);
    bench_flow_up_close(stream);
    return status == VC_OK ? (double)p->messages * 1e6 / (now_us() - began) : 0;
}

static double
rate_down(struct vc_channel *channel, const struct plan *p)
{
    Bench__FlowRequest request = BENCH__FLOW_REQUEST__INIT;
    double began = now_us();
    struct bench_flow_down_client_stream *stream = NULL;
    enum vc_status status;

    request.bytes = (uint32_t)p->bytes;
    request.messages = (uint32_t)p->messages;
    status = bench_flow_down(channel, &request, NULL, &stream);
    if (status == VC_OK)
        status = receive_all(stream, p);
    bench_flow_down_close(stream);
    return status == VC_OK ? (double)p->messages * 1e6 / (now_us() - began) : 0;
}

static int
measure(struct vc_channel *channel, const struct plan *p)
{
    const struct plan few = {.bytes = p->bytes, .messages = 1000};
    double up, down;

    if (rate_up(channel, &few) == 0 || rate_down(channel, &few) == 0)
        return failed("the first messages");
    up = rate_up(channel, p);
    if (up == 0)
        return failed("messages to the server");
    down = rate_down(channel, p);
    if (down == 0)
        return failed("messages of the server");
    printf("stream_up_%" PRIu64 "_per_second %.0f\n", p->bytes, up);
    printf("stream_down_%" PRIu64 "_per_second %.0f\n", p->bytes, down);
    printf("stream_down_%" PRIu64 "_over_up %.3f\n", p->bytes, down / up);
    return 0;
}

int
main(int argc, char **argv)
{
    struct vc_runtime *runtime = NULL;
    struct vc_channel *channel = NULL;
    struct plan p;
    int result;

    if (argc != 4 || !number_parse(argv[2], 0, BYTES_MOST, &p.bytes) ||
        !number_parse(argv[3], 1, 100000000, &p.messages)) {
        fprintf(stderr, "usage: streams TARGET BYTES MESSAGES\n");
        return 2;
    }
    if (vc_runtime_new(NULL, &runtime) != VC_OK ||
        vc_channel_open(runtime, argv[1], NULL, &channel) != VC_OK)
        result = failed("no channel");
    else
        result = measure(channel, &p);
    vc_channel_close(channel);
    vc_runtime_free(runtime);
    return result;
}
