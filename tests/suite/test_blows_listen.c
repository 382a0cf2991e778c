/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A server listens again at the address of a device that was removed, once the
 * device is back, without any action of its program. This process only
 * coordinates. */
#include <stdio.h>

#include "tests/suite/device.h"
#include "tests/suite/pace.h"
#include "tests/suite/role.h"

#define LISTENS_MS 15000 /* the server tries at least every 4 s */

/* Connects until a client is served, or for LISTENS_MS. */
static struct role_report
connect_again_and_again(const char *target)
{
    uint64_t start = fixture_ms();
    struct role_report r;

    do
        r = role_report_of(role_connect, target, NULL);
    while (r.status != VC_OK && pace_since(start) < LISTENS_MS);
    return r;
}

static void
expect_served(const struct role_report *r)
{
    if (r->status != VC_OK)
        fail_msg("%s: %s", vc_status_name(r->status), r->text);
}

static void
returns_and_is_listened_at(bool was_used)
{
    struct role server;
    struct role_report r;
    char target[80];

    device_second_make();
    server = role_start(role_serve, "rdma://" DEVICE_SECOND ":0", NULL);
    expect_served(&server.report);
    snprintf(target, sizeof target, "rdma://" DEVICE_SECOND ":%u",
             server.report.port);
    if (was_used) {
        r = role_report_of(role_connect, target, NULL);
        expect_served(&r);
    }
    device_second_remove();
    r = role_report_of(role_connect, target, NULL);
    assert_int_equal(VC_UNAVAILABLE, r.status);
    device_second_renew();
    r = connect_again_and_again(target);
    expect_served(&r);
    role_end(&server);
}

static void
a_server_listens_again_when_its_device_is_back(void **state)
{
    (void)state;
    device_need_guest();
    returns_and_is_listened_at(true);
}

static void
and_also_when_nobody_had_connected(void **state)
{
    (void)state;
    device_need_guest();
    returns_and_is_listened_at(false);
}

static int
teardown(void **state)
{
    (void)state;
    device_second_end();
    return 0;
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(
            a_server_listens_again_when_its_device_is_back, teardown),
        cmocka_unit_test_teardown(and_also_when_nobody_had_connected, teardown),
    };

    return fixture_main(tests);
}
