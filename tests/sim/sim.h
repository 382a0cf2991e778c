/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Servers and clients of suite.proto as processes of the fake's world (fake/).
 * Runs of handlers are counted by tag, so that a test can check afterwards
 * whether each call was executed. */
#ifndef VC_TESTS_SIM_SIM_H
#define VC_TESTS_SIM_SIM_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fake/fake.h"
#include "tests/suite/suite.vc.h"

#define SIM_PORT 7471
#define SIM_TAGS 65536

/* --- servers ----------------------------------------------------------- */

struct sim_server;

/* Replaces what Echo does; call is the library's. */
typedef enum vc_status sim_handle(struct sim_server *s, struct vc_call *call,
                                  const Suite__EchoRequest *request,
                                  Suite__EchoReply *reply);

struct sim_server {
    struct fake_host *host;
    struct fake_process *process;
    char target[80];
    unsigned threads;
    atomic_uint sleep_us; /* of each handler; may change while handlers run */
    unsigned long_us;     /* of one in eight, instead */
    void (*inside)(struct sim_server *s); /* runs in each handler; or NULL */
    const struct vc_service *service;     /* served instead of Probe; or NULL */
    /* Adds further services; or NULL. */
    enum vc_status (*add)(struct vc_server *server, struct sim_server *s);
    sim_handle *handle; /* or NULL */
    /* Called at the end of Echo; its result is Echo's status. Or NULL. */
    enum vc_status (*finish)(struct sim_server *s, struct vc_call *call,
                             uint64_t tag);
    void *arg; /* of the test */
    /* Run in the process before the server is made, and after it is freed; or
     * NULL. */
    void (*begin)(struct sim_server *s), (*end)(struct sim_server *s);
    uint32_t keepalive_ms;             /* 0: the default */
    size_t memory_limit;               /* of its runtime; 0: the default */
    const struct vc_server_opts *opts; /* or NULL */
    bool calls_itself;                 /* handlers call it by `self` */
    struct vc_channel *self;
    atomic_bool serves;      /* it listens */
    atomic_uint stop, close; /* ends the process; closes the server at once */
    atomic_uint failures;    /* failed attempts to start */
    atomic_uint failed;      /* runs of the handler of Fail */
    _Atomic(struct vc_runtime *) runtime; /* set while it serves */
    struct vc_server *server;             /* set while it serves */
    struct vc_counters last; /* of a runtime whose server was closed */

    void (*closed)(struct sim_server *s); /* in its process; or NULL */
};

/* Starts a server on this host, at SIM_PORT. */
void sim_server_start(struct sim_server *s, struct fake_host *host,
                      unsigned threads);
/* Waits until the server listens; false after 10 s, or if its process ends. */
bool sim_server_await(struct sim_server *s);
/* Makes the server end in order; false if it does not within 10 s. */
bool sim_server_stop(struct sim_server *s);
/* Makes the server close now; its process waits for sim_server_stop(). */
void sim_server_close(struct sim_server *s);

/* Sets a word and wakes its waiters; waits until it is set, us microseconds at
 * most, and returns false if it was not. */
void sim_tell(atomic_uint *word);
bool sim_await(atomic_uint *word, uint64_t us);

/* Runs of the handler of Echo by tag, in all servers. */
extern atomic_uint sim_ran[SIM_TAGS];

/* --- calls ------------------------------------------------------------- */

/* Echoes size bytes. A wrong reply is VC_DATA_LOSS. timeout_ms 0: the default.
 * *outcome, if not NULL, is the outcome that the library reports. */
enum vc_status sim_echo(struct vc_channel *channel, size_t size, unsigned tag,
                        unsigned timeout_ms, enum vc_outcome *outcome);

/* The same with all options of a call. */
enum vc_status sim_echo_opts(struct vc_channel *channel, size_t size,
                             unsigned tag, const struct vc_call_opts *opts,
                             enum vc_outcome *outcome);

/* Copies Probe, and adds flags to all its methods. */
void sim_service(struct vc_service *service, struct vc_method methods[16],
                 uint32_t flags);

/* "rdma://ADDRESS:PORT" of a host. */
void sim_target(const char *addr, char target[80]);

/* Creates a runtime for the simulation: it does not spin. */
enum vc_status sim_runtime(struct vc_runtime **runtime, unsigned threads);
/* The same with this limit of pinned memory; 0: the default. */
enum vc_status sim_runtime_of(struct vc_runtime **runtime, unsigned threads,
                              size_t memory_limit);

/* Checks that a runtime's counters are consistent after its channels and
 * servers are closed. Returns NULL, or what is wrong. */
const char *sim_counters_fault(const struct vc_counters *c);

/* --- the log ----------------------------------------------------------- */

/* Makes see() get the log lines of all runtimes whose log function is
 * sim_log_opts()'s, with the process's name. NULL: no function gets them. One
 * thread of the world at a time. */
typedef void sim_log_see(const char *process, enum vc_log_level level,
                         const char *line);
void sim_log_to(sim_log_see *see);

/* Sets the options log and log_level of a runtime so that all lines are logged.
 * sim_runtime() does that, too. */
void sim_log_opts(struct vc_runtime_opts *opts);

/* The number of worlds, or other slow steps, for a test: n, or twenty times n
 * if VC_TEST_LONG=1 is in the environment. */
uint64_t sim_many(uint64_t n);

/* How many of n worlds a test plays: all, or one in so many as VC_TEST_SHARE
 * says in the environment. Where that says nothing, sim_share() is one in 5
 * with a sanitizer; sim_few(), of tests that take less time, all. */
unsigned sim_few(unsigned n);
unsigned sim_share(unsigned n);

/* Begins a world with this seed. */
void sim_begin(uint64_t seed, unsigned switch_every, bool trace);

#endif
