// SPDX-FileCopyrightText: 2026 Verbcall authors
// SPDX-License-Identifier: BSD-2-Clause
//
// The measurements of bench/local.c with gRPC C++, for comparison: run
//     grpc_peer server sync|callback ADDRESS
//     grpc_peer client sync|callback ADDRESS CALLS
// ADDRESS looks like "127.0.0.1:7000". The client prints the time of a call of
// 64 bytes (median), and the calls a second with 64 under way.
#include <grpcpp/grpcpp.h>
#include <grpcpp/resource_quota.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "peer.grpc.pb.h"

namespace {

using Clock = std::chrono::steady_clock;

const int kUnderWay = 64;

double since_us(Clock::time_point began)
{
    return std::chrono::duration<double, std::micro>(Clock::now() - began).count();
}

class SyncEcho : public peer::Echo::Service {
    grpc::Status Call(grpc::ServerContext *, const peer::Payload *request, peer::Payload *reply) override
    {
        reply->set_data(request->data());
        return grpc::Status::OK;
    }
};

class CallbackEcho : public peer::Echo::CallbackService {
    grpc::ServerUnaryReactor *Call(grpc::CallbackServerContext *context, const peer::Payload *request,
                                   peer::Payload *reply) override
    {
        auto *reactor = context->DefaultReactor();
        reply->set_data(request->data());
        reactor->Finish(grpc::Status::OK);
        return reactor;
    }
};

int serve(bool callback, const std::string &address)
{
    SyncEcho sync;
    CallbackEcho with_callbacks;
    grpc::ServerBuilder builder;

    builder.AddListeningPort(address, grpc::InsecureServerCredentials());
    if (callback) {
        builder.RegisterService(&with_callbacks);
    } else {
        builder.RegisterService(&sync);
        builder.SetSyncServerOption(grpc::ServerBuilder::NUM_CQS, 1);
        builder.SetSyncServerOption(grpc::ServerBuilder::MAX_POLLERS, 1);
    }
    auto server = builder.BuildAndStart();
    if (!server)
        return 1;
    std::printf("serving\n");
    std::fflush(stdout);
    server->Wait();
    return 0;
}

// Makes one blocking call; with callbacks it waits until the callback has run.
bool call_once(peer::Echo::Stub &stub, bool callback, const peer::Payload &request)
{
    grpc::ClientContext context;
    peer::Payload reply;

    if (!callback)
        return stub.Call(&context, request, &reply).ok();

    std::mutex mutex;
    std::condition_variable done;
    bool ended = false, good = false;

    stub.async()->Call(&context, &request, &reply, [&](grpc::Status status) {
        std::lock_guard<std::mutex> lock(mutex);
        good = status.ok();
        ended = true;
        done.notify_one();
    });
    std::unique_lock<std::mutex> lock(mutex);
    done.wait(lock, [&] { return ended; });
    return good;
}

struct Flight {
    grpc::ClientContext context;
    peer::Payload reply;
    grpc::Status status;
    std::unique_ptr<grpc::ClientAsyncResponseReader<peer::Payload>> reader;
};

// Returns calls a second, by a completion queue, from one thread.
double rate(peer::Echo::Stub &stub, const peer::Payload &request, int calls)
{
    grpc::CompletionQueue queue;
    int begun = 0, ended = 0;
    auto began = Clock::now();

    auto begin = [&] {
        auto *flight = new Flight;
        flight->reader = stub.AsyncCall(&flight->context, request, &queue);
        flight->reader->Finish(&flight->reply, &flight->status, flight);
        begun++;
    };
    while (begun < kUnderWay)
        begin();
    while (ended < calls) {
        void *tag;
        bool ok;

        if (!queue.Next(&tag, &ok))
            return 0;
        delete static_cast<Flight *>(tag);
        ended++;
        if (begun < calls)
            begin();
    }
    return calls * 1e6 / since_us(began);
}

int ask(bool callback, const std::string &address, int calls)
{
    auto channel = grpc::CreateChannel(address, grpc::InsecureChannelCredentials());
    auto stub = peer::Echo::NewStub(channel);
    peer::Payload request;
    std::vector<double> us;

    request.set_data(std::string(64, 'x'));
    for (int i = 0; i < 2 * calls; i++) {
        auto began = Clock::now();

        if (!call_once(*stub, callback, request))
            return 1;
        if (i >= calls)
            us.push_back(since_us(began));
    }
    std::sort(us.begin(), us.end());
    std::printf("grpc_%s_call_64_us %.3f\n", callback ? "callback" : "sync", us[us.size() / 2]);
    std::printf("grpc_%s_calls_per_s %.0f\n", callback ? "callback" : "sync", rate(*stub, request, 2 * calls));
    return 0;
}

} // namespace

int main(int argc, char **argv)
{
    const std::string what = argc > 1 ? argv[1] : "";
    const bool callback = argc > 2 && std::string(argv[2]) == "callback";

    if (what == "server" && argc == 4)
        return serve(callback, argv[3]);
    if (what == "client" && argc == 5)
        return ask(callback, argv[3], std::atoi(argv[4]));
    std::fprintf(stderr, "usage: grpc_peer server|client sync|callback ADDRESS [CALLS]\n");
    return 2;
}
