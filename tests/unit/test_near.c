/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * How near a server is (rpc/balance/near.c). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <limits.h>
#include <net/if.h>
#include <unistd.h>

#include "rpc/balance/near.h"

/* The tier of a server with this target and label, for a program with the label
 * "rack-7". */
static unsigned
tier_of(const char *target, const char *label)
{
    struct vc__endpoint e = {.weight = 1};
    struct vc__near near;
    unsigned tier;

    snprintf(e.target, sizeof e.target, "%s", target);
    snprintf(e.label, sizeof e.label, "%s", label);
    vc__near_begin(&near, "rack-7");
    tier = vc__near_tier(&near, &e);
    vc__near_end(&near);
    return tier;
}

static void
shared_memory_and_inproc_are_here(void **state)
{
    (void)state;
    assert_int_equal(0, tier_of("shm:a", ""));
    assert_int_equal(0, tier_of("shm:///run/a", "rack-8"));
    assert_int_equal(0, tier_of("inproc://a", ""));
}

static void
loopback_is_here(void **state)
{
    (void)state;
    assert_int_equal(0, tier_of("tcp://127.0.0.1:1", ""));
    assert_int_equal(0, tier_of("vc://127.0.0.1:1", ""));
    assert_int_equal(0, tier_of("tcp://localhost:1", ""));
    assert_int_equal(0, tier_of("tcp://[::1]:1", ""));
}

static void
a_server_is_here_if_one_of_its_addresses_is(void **state)
{
    (void)state;
    assert_int_equal(0, tier_of("tcp://192.0.2.1:1|shm:a", ""));
    assert_int_equal(0, tier_of("tcp://127.0.0.1:1|tcp://192.0.2.1:1", ""));
    assert_int_equal(1, tier_of("tcp://192.0.2.1:1|tcp://a:1", "rack-7"));
    assert_int_equal(2, tier_of("tcp://192.0.2.1:1|tcp://a:1", ""));
}

/* All of 127/8 leads to this machine, though it has one address of it. */
static void
any_loopback_address_is_here(void **state)
{
    (void)state;
    assert_int_equal(0, tier_of("tcp://127.0.0.2:1", ""));
    assert_int_equal(0, tier_of("vc://127.9.8.7:1", ""));
    assert_int_equal(2, tier_of("tcp://128.0.0.1:1", ""));
}

/* Copies an address of an interface that is up and no loopback. False: there is
 * none. */
static bool
own_address(char out[INET_ADDRSTRLEN])
{
    struct ifaddrs *all, *i;

    assert_int_equal(0, getifaddrs(&all));
    for (i = all; i != NULL; i = i->ifa_next)
        if (i->ifa_addr != NULL && i->ifa_addr->sa_family == AF_INET &&
            (i->ifa_flags & IFF_LOOPBACK) == 0)
            break;
    if (i != NULL) {
        const struct sockaddr_in *in = (const void *)i->ifa_addr;

        assert_non_null(
            inet_ntop(AF_INET, &in->sin_addr, out, INET_ADDRSTRLEN));
    }
    freeifaddrs(all);
    return i != NULL;
}

static void
an_address_of_this_machine_is_here(void **state)
{
    char address[INET_ADDRSTRLEN], target[40];

    (void)state;
    if (!own_address(address))
        skip();
    snprintf(target, sizeof target, "tcp://%s:9", address);
    assert_int_equal(0, tier_of(target, ""));
    snprintf(target, sizeof target, "rdma://%s:9", address);
    assert_int_equal(0, tier_of(target, ""));
}

static void
the_name_of_this_machine_is_here(void **state)
{
    char name[HOST_NAME_MAX + 1], target[HOST_NAME_MAX + 20];

    (void)state;
    assert_int_equal(0, gethostname(name, sizeof name));
    snprintf(target, sizeof target, "tcp://%s:9", name);
    assert_int_equal(0, tier_of(target, ""));
    snprintf(target, sizeof target, "tcp://x%s:9", name);
    assert_int_equal(2, tier_of(target, ""));
}

static void
one_of_the_same_label_is_near(void **state)
{
    (void)state;
    assert_int_equal(1, tier_of("tcp://240.0.0.1:1", "rack-7"));
    assert_int_equal(1, tier_of("tcp://[2001:db8::1]:1", "rack-7"));
    assert_int_equal(1, tier_of("vc://elsewhere.example:1", "rack-7"));
}

static void
others_are_far(void **state)
{
    (void)state;
    assert_int_equal(2, tier_of("tcp://240.0.0.1:1", "rack-8"));
    assert_int_equal(2, tier_of("tcp://240.0.0.1:1", "rack-77"));
    assert_int_equal(2, tier_of("tcp://elsewhere.example:1", ""));
}

static void
a_program_without_a_label_has_no_neighbours(void **state)
{
    struct vc__endpoint e = {.target = "tcp://240.0.0.1:1"};
    struct vc__near near;

    (void)state;
    vc__near_begin(&near, NULL);
    assert_int_equal(2, vc__near_tier(&near, &e));
    vc__near_end(&near);
}

#define T(name) cmocka_unit_test(name)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        T(shared_memory_and_inproc_are_here),
        T(loopback_is_here),
        T(a_server_is_here_if_one_of_its_addresses_is),
        T(any_loopback_address_is_here),
        T(an_address_of_this_machine_is_here),
        T(the_name_of_this_machine_is_here),
        T(one_of_the_same_label_is_near),
        T(others_are_far),
        T(a_program_without_a_label_has_no_neighbours),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
