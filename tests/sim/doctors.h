/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A channel that watches the health of its servers, on virtual time. Each
 * server has a health service of the test's own, its doctor, who also fails,
 * hangs and says what he should not. There is one world. TRACE=1 shows what
 * happens. */
#ifndef VC_TESTS_SIM_DOCTORS_H
#define VC_TESTS_SIM_DOCTORS_H

#include <verbcall/counters.h>

#include "grpc/health/v1/health.vc.h"
#include "tests/sim/traffic.h"

#define SERVERS 3u
#define MS      UINT64_C(1000)
#define S       UINT64_C(1000000)
#define RTT     (50 * MS) /* far more than a message takes */

#define WORD(name)                                                             \
    GRPC__HEALTH__V1__HEALTH_CHECK_RESPONSE__SERVING_STATUS__##name

/* What a health service does with a Watch. */
enum habit {
    ANSWERS, /* `word`, and each other one that it has later */
    HANGS,   /* says nothing */
    LACKS,   /* ends with UNIMPLEMENTED */
    FAILS,   /* ends with INTERNAL */
    ENDS,    /* answers `word`, and ends with UNAVAILABLE */
    BABBLES, /* sends what is no answer */
    FLOODS,  /* sends SERVING and NOT_SERVING in turn, as fast as it can */
    ABSENT,  /* the server has no such service */
};

struct doctor {
    atomic_uint habit, word;
    atomic_ullong since_us;    /* the word is this one */
    atomic_bool lacked;        /* there was no Watch on some connection */
    atomic_bool ends;          /* ends the Watch that runs */
    atomic_uint watches;       /* ever begun */
    atomic_uint watching;      /* now */
    atomic_uint sent;          /* messages */
    atomic_uint calls;         /* of Echo */
    atomic_uint wrong;         /* of these: long after it was NOT_SERVING */
    atomic_bool misnamed;      /* another name was asked for */
    struct vc_service service; /* as the server has it */
    struct vc_method methods[4];
};

struct doctors {
    struct fake_host *hosts[SERVERS];
    struct sim_server servers[SERVERS];
    struct doctor of[SERVERS];
    bool killed[SERVERS];
    unsigned n;
    struct vc_runtime *runtime;
    struct vc_channel *channel;
    struct traffic traffic;
    uint64_t dice;
    unsigned tag;
    atomic_uint lines_bad, lines_good, lines_none; /* of the log */
};
extern struct doctors doctors;

/* n servers, which are healthy, but those of `habits`, in order, or NULL; and
 * a channel to them that watches the health of "sim". */
void doctors_begin(uint64_t seed, unsigned n, const char *policy,
                   const enum habit *habits);
void doctors_end(void);

void doctors_server_start(unsigned i);
void doctors_server_kill(unsigned i);

/* The doctor of server i says this word from now on. */
void doctors_word(unsigned i, unsigned word);

enum vc_status doctors_call(unsigned timeout_ms);
/* Calls n times, each of which succeeds; doctors_got() counts from 0. */
void doctors_calls_good(unsigned n);
unsigned doctors_got(unsigned i);
/* All servers are connected, and have answered, after some calls. */
void doctors_settled(void);

/* True if vc_channel_describe() has this text. */
bool doctors_describes(const char *text);
/* Waits until it has. */
void doctors_described_await(const char *text);

/* Of the client. */
struct vc_counters doctors_counters(void);

#endif
