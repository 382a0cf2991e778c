/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Results of a probe: a Verbcall server, no listener, or another program; and
 * targets that it does not accept. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <verbcall/counters.h>
#include <verbcall/probe.h>

#include "tests/suite/hostile.h"
#include "tests/suite/raw_rdma.h"
#include "tests/suite/stage.h"

#define PATIENT_MS 20000

static struct vc_counters
server_counters(struct fixture *f)
{
    struct vc_counters c = VC_COUNTERS_INIT;

    vc_runtime_counters(f->server_runtime, &c);
    return c;
}

static void
says(const char *text, const char *words)
{
    if (strstr(text, words) == NULL)
        fail_msg("\"%s\" is not in \"%s\"", words, text);
}

/* Checks the reported route to the tests' address. */
static void
way_is_found(const struct vc_probe_report *r)
{
    says(r->address, getenv("VC_TEST_ADDR"));
    says(r->source, getenv("VC_TEST_ADDR"));
    assert_true(r->device[0] != '\0');
    assert_non_null(strchr(r->gid, ':'));
    assert_int_equal(1, r->port);
    assert_in_range(r->mtu, 256, 4096);
    assert_true(r->resolve_us > 0);
    assert_true(r->route_us > 0);
    assert_true(r->connect_us > 0);
    assert_int_equal(56, r->request_data);
}

static void
a_server_is_found_and_makes_no_connection(void **state)
{
    struct vc_probe_report r = VC_PROBE_REPORT_INIT;
    struct fixture *f = *state;
    uint64_t links = server_counters(f).links_server;

    assert_status(VC_OK, vc_probe(f->target, PATIENT_MS, &r));
    assert_int_equal(VC_PROBE_SERVER, r.answer);
    way_is_found(&r);
    assert_int_equal(28, r.cm_status);
    assert_int_equal(148, r.answer_data);
    says(r.words, "service not served here");
    assert_int_equal(1, server_counters(f).rejects_service);
    assert_int_equal(links, server_counters(f).links_server);
    hostile_others_served(f, "a probe");
}

static void
a_server_that_drains_says_so(void **state)
{
    struct vc_probe_report r = VC_PROBE_REPORT_INIT;
    struct fixture *f = *state;

    fixture_stop_client(f);
    assert_status(VC_OK, vc_server_drain(f->server, NULL, PATIENT_MS));
    assert_status(VC_OK, vc_probe(f->target, PATIENT_MS, &r));
    assert_int_equal(VC_PROBE_SERVER, r.answer);
    says(r.words, "draining");
    fixture_start_client(f, NULL);
}

static void
where_nobody_listens_it_says_so(void **state)
{
    struct vc_probe_report r = VC_PROBE_REPORT_INIT;
    struct fixture *f = *state;

    fixture_stop_server(f);
    assert_status(VC_UNAVAILABLE, vc_probe(f->target, PATIENT_MS, &r));
    says(vc_error(), "nothing listens at ");
    assert_int_equal(VC_PROBE_NOBODY, r.answer);
    assert_int_equal(8, r.cm_status);
    way_is_found(&r);
    fixture_start_server(f, 1, NULL);
}

/* --- other programs ------------------------------------------------------ */

/* A program that takes one connection request, on a thread of its own. */
struct stranger {
    struct raw_listener listener;
    struct raw r;
    pthread_t thread;
    char target[80];
    bool (*answer)(struct raw *r);
    bool good;
};

static void *
stranger_main(void *arg)
{
    struct stranger *s = arg;

    s->good = raw_take(&s->listener, &s->r, RAW_MS) && s->answer(&s->r);
    return NULL;
}

static enum vc_status
stranger_probed(struct stranger *s, uint32_t ms, struct vc_probe_report *r)
{
    enum vc_status status;

    assert_true(raw_listen(&s->listener));
    fixture_target(s->listener.port, s->target);
    assert_int_equal(0, pthread_create(&s->thread, NULL, stranger_main, s));
    status = vc_probe(s->target, ms, r);
    pthread_join(s->thread, NULL);
    assert_true(s->good);
    raw_close(&s->r);
    raw_unlisten(&s->listener);
    return status;
}

static bool
rejects(struct raw *r)
{
    return raw_reject(r, "go away", 7);
}

/* The probe disconnects as soon as it has the answer. */
static bool
accepts(struct raw *r)
{
    return raw_accept_only(r, "hello", 5) &&
           (raw_wait(r, RAW_MS) == RAW_DISCONNECTED ||
            raw_wait(r, RAW_MS) == RAW_DISCONNECTED);
}

/* As a server without a protocol of its own does. */
static bool
accepts_barely(struct raw *r)
{
    return raw_accept_bare(r) && (raw_wait(r, RAW_MS) == RAW_DISCONNECTED ||
                                  raw_wait(r, RAW_MS) == RAW_DISCONNECTED);
}

static bool
says_nothing(struct raw *r)
{
    (void)r;
    return true;
}

static void
a_stranger_that_rejects_is_found(void **state)
{
    struct vc_probe_report r = VC_PROBE_REPORT_INIT;
    struct stranger s = {.answer = rejects};

    (void)state;
    assert_status(VC_OK, stranger_probed(&s, PATIENT_MS, &r));
    assert_int_equal(VC_PROBE_STRANGER, r.answer);
    assert_int_equal(28, r.cm_status);
    assert_int_equal(148, r.answer_data);
}

static void
a_stranger_that_accepts_is_found_and_left(void **state)
{
    struct vc_probe_report r = VC_PROBE_REPORT_INIT;
    struct stranger s = {.answer = accepts};

    (void)state;
    assert_status(VC_OK, stranger_probed(&s, PATIENT_MS, &r));
    assert_int_equal(VC_PROBE_STRANGER, r.answer);
    assert_int_equal(0, r.cm_status);
    assert_int_equal(196, r.answer_data);
}

static void
a_stranger_that_accepts_without_parameters_is_found(void **state)
{
    struct vc_probe_report r = VC_PROBE_REPORT_INIT;
    struct stranger s = {.answer = accepts_barely};

    (void)state;
    assert_status(VC_OK, stranger_probed(&s, PATIENT_MS, &r));
    assert_int_equal(VC_PROBE_STRANGER, r.answer);
    assert_int_equal(0, r.cm_status);
    assert_int_equal(196, r.answer_data);
    assert_string_equal("", r.words);
}

static void
one_that_does_not_answer_is_given_up_in_time(void **state)
{
    struct vc_probe_report r = VC_PROBE_REPORT_INIT;
    struct stranger s = {.answer = says_nothing};

    (void)state;
    assert_status(VC_UNAVAILABLE, stranger_probed(&s, 300, &r));
    says(vc_error(), "no answer within 300 ms");
    assert_int_equal(VC_PROBE_NONE, r.answer);
    assert_true(r.device[0] != '\0');
}

/* --- invalid arguments --------------------------------------------------- */

static void
refused(const char *target, uint32_t ms, const char *words)
{
    struct vc_probe_report r = VC_PROBE_REPORT_INIT;

    assert_status(VC_INVALID_ARGUMENT, vc_probe(target, ms, &r));
    says(vc_error(), words);
    assert_int_equal(sizeof r, r.size);
}

static void
bad_arguments_are_named(void **state)
{
    struct vc_probe_report none = {0};

    (void)state;
    refused("tcp://10.9.0.1:7471", 0, "vc_channel_connect()");
    refused("shm:orders", 0, "vc_channel_connect()");
    refused("inproc://orders", 0, "vc_channel_connect()");
    refused("rdma://10.9.0.1", 0, "no port");
    refused("rdma://10.9.0.1:0", 0, "port 0 cannot be");
    refused("rdma://127.0.0.1:7471", 0, "loopback");
    refused(NULL, 0, "target");
    refused("rdma://10.9.0.1:7471", 600001, "600001 is not in 1..600000");
    assert_status(VC_INVALID_ARGUMENT, vc_probe("rdma://10.9.0.1:1", 0, NULL));
    says(vc_error(), "VC_PROBE_REPORT_INIT");
    assert_status(VC_INVALID_ARGUMENT, vc_probe("rdma://10.9.0.1:1", 0, &none));
    says(vc_error(), "VC_PROBE_REPORT_INIT");
}

/* For vc:// the probe uses RDMA. */
static void
a_target_of_any_transport_is_asked_over_rdma(void **state)
{
    struct vc_probe_report r = VC_PROBE_REPORT_INIT;
    struct fixture *f = *state;
    char target[80];

    snprintf(target, sizeof target, "vc%s", f->target + strlen("rdma"));
    assert_status(VC_OK, vc_probe(target, PATIENT_MS, &r));
    assert_int_equal(VC_PROBE_SERVER, r.answer);
}

/* Bytes after the end of the program's structure are not written. */
static void
a_program_of_an_older_version_gets_what_it_knows(void **state)
{
    struct vc_probe_report r = VC_PROBE_REPORT_INIT;
    struct fixture *f = *state;

    r.size = offsetof(struct vc_probe_report, words);
    strcpy(r.words, "untouched");
    assert_status(VC_OK, vc_probe(f->target, PATIENT_MS, &r));
    assert_int_equal(offsetof(struct vc_probe_report, words), r.size);
    assert_int_equal(28, r.cm_status);
    assert_string_equal("untouched", r.words);
}

#define T(name)                                                                \
    cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        T(a_server_is_found_and_makes_no_connection),
        T(a_server_that_drains_says_so),
        T(where_nobody_listens_it_says_so),
        cmocka_unit_test(a_stranger_that_rejects_is_found),
        cmocka_unit_test(a_stranger_that_accepts_is_found_and_left),
        cmocka_unit_test(a_stranger_that_accepts_without_parameters_is_found),
        cmocka_unit_test(one_that_does_not_answer_is_given_up_in_time),
        cmocka_unit_test(bad_arguments_are_named),
        T(a_target_of_any_transport_is_asked_over_rdma),
        T(a_program_of_an_older_version_gets_what_it_knows),
    };

    return fixture_main(tests);
}
