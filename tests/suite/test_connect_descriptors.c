/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Clients and servers with a low limit of descriptors: each step that lacks one
 * reports that, in time, and gives no other reason. */
#include "tests/suite/role.h"

#include <string.h>

#define FEWEST  4u /* besides standard input, output and error */
#define MOST    64u
#define SOON_MS 1000

static bool
says_so(const struct role_report *r)
{
    return strstr(r->text, "descriptors") != NULL;
}

static void
a_client_with_few_descriptors_says_so(void **state)
{
    struct role server;
    struct role_report r = {.status = VC_UNKNOWN};
    char target[80];
    unsigned n;

    (void)state;
    server = role_start(role_serve,
                        fixture_target(fixture_free_number(), target), NULL);
    assert_int_equal(VC_OK, server.report.status);
    if (!fixture_has_names())
        fixture_target(server.report.port, target);

    for (n = FEWEST; n < MOST && r.status != VC_OK; n++) {
        const struct role_limits few = {.descriptors = n};

        r = role_report_of(role_connect, target, &few);
        if (r.status != VC_OK &&
            (r.status != VC_RESOURCE_EXHAUSTED || !says_so(&r)))
            fail_msg("%u descriptors: %s: %s", n, vc_status_name(r.status),
                     r.text);
        assert_in_range(r.ms, 0, SOON_MS);
    }
    assert_int_equal(VC_OK, r.status);
    assert_in_range(n, FEWEST + 2, MOST - 1);
    role_end(&server);
}

/* Connects a client to the server. */
static enum vc_status
connects(unsigned n, const char *target)
{
    struct role_report r = role_report_of(role_connect, target, NULL);

    if (r.status != VC_OK && (r.status != VC_UNAVAILABLE || !says_so(&r)))
        fail_msg("server with %u descriptors: %s: %s", n,
                 vc_status_name(r.status), r.text);
    return r.status;
}

static void
a_server_with_few_descriptors_says_so(void **state)
{
    enum vc_status status = VC_UNKNOWN;
    char target[80];

    (void)state;
    for (unsigned n = FEWEST; n < MOST && status != VC_OK; n++) {
        const struct role_limits few = {.descriptors = n};
        struct role server = role_start(
            role_serve, fixture_target(fixture_free_number(), target), &few);
        const struct role_report *r = &server.report;

        status = r->status;
        if (status != VC_OK && (status != VC_RESOURCE_EXHAUSTED || !says_so(r)))
            fail_msg("%u descriptors: %s: %s", n, vc_status_name(status),
                     r->text);
        if (!fixture_has_names())
            fixture_target(r->port, target);
        if (status == VC_OK)
            status = connects(n, target);
        role_end(&server);
    }
    assert_int_equal(VC_OK, status);
}

/* The server has descriptors until it listens. */
static void
a_server_without_descriptors_tells_its_clients(void **state)
{
    static const struct role_limits none = {.descriptors = 1, .later = true};
    char target[80];
    struct role server;

    (void)state;
    server = role_start(role_serve,
                        fixture_target(fixture_free_number(), target), &none);
    assert_int_equal(VC_OK, server.report.status);
    if (!fixture_has_names())
        fixture_target(server.report.port, target);
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(VC_UNAVAILABLE, connects(0, target));
    role_end(&server);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_client_with_few_descriptors_says_so),
        cmocka_unit_test(a_server_with_few_descriptors_says_so),
        cmocka_unit_test(a_server_without_descriptors_tells_its_clients),
    };

    return fixture_main(tests);
}
