/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Connecting and listening in cases that cannot work: each attempt ends in
 * time, and its error says what is wrong and what to do. */
#include "tests/suite/role.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CONNECT_MS 2000 /* the default */
#define MARGIN_MS  500  /* at the machine's usual pace */
#define TRIES      3u   /* for results that depend on the pace */

/* --- helpers ----------------------------------------------------------- */

/* Checks the status, the time, and that the text has each of the words. */
static void
says(const struct role_report *r, enum vc_status status,
     const char *const *words)
{
    if (r->status != status)
        fail_msg("%s: %s", vc_status_name(r->status), r->text);
    for (; *words != NULL; words++) {
        if (strstr(r->text, *words) == NULL)
            fail_msg("\"%s\" is not in: %s", *words, r->text);
    }
    if (r->ms > CONNECT_MS + MARGIN_MS)
        fail_msg("took %u ms: %s", r->ms, r->text);
}

#define SAYS(report, status, ...)                                              \
    says(report, status, (const char *const[]){__VA_ARGS__, NULL})

static struct role_report
connect_to(const char *target)
{
    return role_report_of(role_connect, target, NULL);
}

static struct role_report
listen_at(const char *target)
{
    return role_report_of(role_serve, target, NULL);
}

static struct role
serve_at(const char *target, const struct role_limits *limits)
{
    struct role c = role_start(role_serve, target, limits);

    if (c.report.status != VC_OK)
        fail_msg("%s: %s", target, c.report.text);
    return c;
}

/* Skips the test outside the guest: only its configuration is known and may be
 * changed. */
static void
need_guest(void)
{
    char parent[16] = "";
    FILE *file = fopen("/sys/class/infiniband/rxe0/parent", "r");

    if (file != NULL) {
        if (fgets(parent, sizeof parent, file) == NULL)
            parent[0] = '\0';
        fclose(file);
    }
    if (geteuid() != 0 || strcmp(parent, "v0\n") != 0)
        skip();
}

/* --- addresses --------------------------------------------------------- */

static void
where_nobody_listens_it_says_so(void **state)
{
    char target[80];
    struct role_report r;

    (void)state;
    r = connect_to(fixture_target(1, target));
    SAYS(&r, VC_UNAVAILABLE, "nothing listens at", "see that the server runs");
}

static void
a_host_that_is_not_there_is_not_waited_for_beyond_the_timeout(void **state)
{
    struct role_report r;

    unsigned tries = 0;

    (void)state;
    need_guest();
    do /* the CM reports this shortly before our own timeout */
        r = connect_to("rdma://10.9.0.77:1");
    while (strstr(r.text, "no host answers") == NULL && ++tries < TRIES);
    SAYS(&r, VC_UNAVAILABLE, "no host answers at 10.9.0.77:1", "see that");
}

static void
an_address_without_a_route_fails_at_once(void **state)
{
    struct role_report r;

    unsigned tries = 0;

    (void)state;
    need_guest();
    do
        r = connect_to("rdma://192.0.2.1:1");
    while (r.ms > CONNECT_MS / 2 && ++tries < TRIES);
    SAYS(&r, VC_UNAVAILABLE, "no RDMA device of this machine leads to",
         "rdma link show");
    assert_in_range(r.ms, 0, CONNECT_MS / 2);
}

static void
a_loopback_address_is_told_apart(void **state)
{
    static const char *const targets[] = {
        "rdma://127.0.0.1:1", "rdma://[::1]:1", "rdma://localhost:1"};
    struct vc_channel *channel;
    struct vc_runtime *runtime;
    struct role_report r;

    (void)state;
    assert_status(VC_OK, vc_runtime_new(NULL, &runtime));
    for (unsigned i = 0; i < 3; i++) {
        r = listen_at(targets[i]);
        SAYS(&r, VC_INVALID_ARGUMENT, "cannot listen at ", "loopback",
             "the address of an RDMA device");
        if (i < 2)
            assert_status(VC_INVALID_ARGUMENT,
                          vc_channel_open(runtime, targets[i], NULL, &channel));
    }
    vc_runtime_free(runtime);
    r = connect_to("rdma://localhost:1");
    SAYS(&r, VC_INVALID_ARGUMENT, "cannot connect to ", "loopback",
         "the address of an RDMA device");
}

static void
a_name_that_does_not_resolve_is_named(void **state)
{
    struct role_report r;

    (void)state;
    r = connect_to("rdma://no-such-host.invalid:1");
    SAYS(&r, VC_UNAVAILABLE, "no-such-host.invalid", "see that");
}

/* The argument is checked before any device is opened. */
static void
a_port_of_0_leads_nowhere(void **state)
{
    struct vc_runtime *runtime;
    struct vc_channel *channel;

    (void)state;
    assert_status(VC_OK, vc_runtime_new(NULL, &runtime));
    assert_status(
        VC_INVALID_ARGUMENT,
        vc_channel_open(runtime, "rdma://10.0.0.1:0", NULL, &channel));
    assert_non_null(strstr(vc_error(), "port 0 cannot be"));
    vc_runtime_free(runtime);
}

static const char *const malformed[] = {
    "",
    "rdma",
    "rdma:",
    "rdma://",
    "rdma:/host:1",
    "RDMA://host:1",
    "udp://host:1",
    "host:1",
    "rdma://:1",
    "rdma://host",
    "rdma://host:",
    "rdma://host:-1",
    "rdma://host:+1",
    "rdma://host: 1",
    "rdma://host:1 ",
    "rdma://host:1x",
    "rdma://host:65536",
    "rdma://host:000001",
    "rdma://host:99999999999999999999",
    "rdma://[]:1",
    "rdma://[::1:1",
    "rdma://[::1]",
    "rdma://[::1]1",
    "rdma://::1:1",
};

/* The target is checked before any device is opened. */
static void
malformed_targets_are_invalid_and_the_form_is_shown(void **state)
{
    struct vc_runtime *runtime;
    struct vc_channel *channel;
    struct vc_server *server;

    (void)state;
    assert_status(VC_OK, vc_runtime_new(NULL, &runtime));
    assert_status(VC_OK, vc_server_new(runtime, NULL, &server));
    for (size_t i = 0; i < sizeof malformed / sizeof malformed[0]; i++) {
        assert_status(VC_INVALID_ARGUMENT,
                      vc_channel_open(runtime, malformed[i], NULL, &channel));
        assert_non_null(strstr(vc_error(), "write vc://HOST:PORT"));
        assert_status(VC_INVALID_ARGUMENT,
                      vc_server_listen(server, malformed[i]));
        assert_non_null(strstr(vc_error(), "write vc://HOST:PORT"));
    }
    assert_status(VC_INVALID_ARGUMENT,
                  vc_server_listen(server, "rdma://a.example:1"));
    assert_non_null(strstr(vc_error(), "give a numeric address"));
    vc_server_free(server);
    vc_runtime_free(runtime);
}

/* --- listening --------------------------------------------------------- */

static void
a_port_in_use_is_said_to_be(void **state)
{
    char target[80];
    struct role server;
    struct role_report r;

    (void)state;
    server = serve_at(fixture_target(0, target), NULL);

    r = listen_at(fixture_target(server.report.port, target));

    SAYS(&r, VC_UNAVAILABLE, target + strlen("rdma://"), "port is in use");
    role_end(&server);
}

static void
an_address_of_another_machine_cannot_be_listened_at(void **state)
{
    struct role_report r;

    (void)state;
    r = listen_at("rdma://192.0.2.1:0");
    SAYS(&r, VC_UNAVAILABLE, "192.0.2.1",
         "not one of this machine's RDMA devices");
}

/* Checks that a client at `host` reaches a server at `at`. */
static void
reached(const char *at, const char *host)
{
    struct role server = serve_at(at, NULL);
    char target[80];
    struct role_report r;

    snprintf(target, sizeof target, "rdma://%s:%u", host, server.report.port);
    r = connect_to(target);
    if (r.status != VC_OK)
        fail_msg("%s at %s: %s", host, at, r.text);
    role_end(&server);
}

static void
a_server_of_all_addresses_is_reached_at_each(void **state)
{
    (void)state;
    need_guest();
    reached("rdma://[::]:0", "10.9.0.1");
    reached("rdma://[::]:0", "[fd09::1]");
    reached("rdma://0.0.0.0:0", "10.9.0.1");
    reached("rdma://[fd09::1]:0", "[fd09::1]");
}

/* --- limits and rights ------------------------------------------------- */

static const struct role_limits nobody = {.nobody = true};
static const struct role_limits little = {.memlock_kib = 64, .nobody = true};
static const struct role_limits little_later = {
    .memlock_kib = 64, .nobody = true, .later = true};
static const struct role_limits enough_for_one = {.memlock_kib = 700,
                                                  .nobody = true};

static void
a_client_that_may_not_lock_memory_is_told_its_limit(void **state)
{
    char target[80];
    struct role server;
    struct role_report r;

    (void)state;
    server = serve_at(fixture_target(0, target), NULL);
    fixture_target(server.report.port, target);

    r = role_report_of(role_connect, target, &little);

    SAYS(&r, VC_RESOURCE_EXHAUSTED, "cannot register", "limit of locked memory",
         "64 KiB", "ulimit -l");
    role_end(&server);
}

static void
a_server_that_may_not_lock_memory_says_so_when_it_listens(void **state)
{
    char target[80];
    struct role_report r;

    (void)state;
    r = role_report_of(role_serve, fixture_target(0, target), &little);
    SAYS(&r, VC_RESOURCE_EXHAUSTED, "cannot listen at", "cannot register",
         "limit of locked memory is 64 KiB", "ulimit -l");
    r = role_report_of(role_serve, "rdma://[::]:0", &little);
    SAYS(&r, VC_RESOURCE_EXHAUSTED, "cannot listen at",
         "limit of locked memory is 64 KiB");
}

static void
a_server_that_may_lock_no_more_memory_says_so_to_clients_and_lives(void **state)
{
    char target[80];
    struct role server;

    (void)state;
    server = serve_at(fixture_target(0, target), &little_later);
    fixture_target(server.report.port, target);

    for (int i = 0; i < 3; i++) {
        struct role_report r = connect_to(target);

        SAYS(&r, VC_UNAVAILABLE, "refused: it cannot accept connections now",
             "the server cannot pin memory: raise its limit (ulimit -l)");
        assert_null(strstr(r.text, "again"));
    }
    role_end(&server);
}

static void
a_server_serves_whom_it_has_memory_for(void **state)
{
    char target[80];
    struct role server;
    struct role_report r;

    (void)state;
    need_guest(); /* the amount of other locked memory depends on the device */
    server = serve_at(fixture_target(0, target), &enough_for_one);

    r = role_report_of(role_pair, fixture_target(server.report.port, target),
                       NULL);

    SAYS(&r, VC_UNAVAILABLE, "busy",
         "other connections use all memory that the server may pin",
         "again after");
    role_end(&server);
}

static void
a_port_for_the_privileged_is_refused_to_others(void **state)
{
    char target[80];
    struct role_report r;

    (void)state;
    need_guest(); /* elsewhere users may be allowed all ports */
    r = role_report_of(role_serve, fixture_target(99, target), &nobody);
    SAYS(&r, VC_PERMISSION_DENIED, "below 1024", "use another port");
}

/* True: a device or a mode was changed and must be restored. */
static bool changed;

/* Sets the mode of all devices whose names begin with prefix. */
static void
devices_chmod(const char *prefix, mode_t mode)
{
    DIR *dir = opendir("/dev/infiniband");
    struct dirent *entry;

    changed = true;
    while (dir != NULL && (entry = readdir(dir)) != NULL) {
        char path[300];

        if (strncmp(entry->d_name, prefix, strlen(prefix)) != 0 ||
            entry->d_name[0] == '.')
            continue;
        snprintf(path, sizeof path, "/dev/infiniband/%s", entry->d_name);
        assert_int_equal(0, chmod(path, mode));
    }
    if (dir != NULL)
        closedir(dir);
}

static int
devices_restore(void **state)
{
    (void)state;
    if (changed)
        devices_chmod("", 0666);
    changed = false;
    return 0;
}

/* Checks that neither a client nor a server at this target may open the
 * file. */
static void
assert_closed_to_nobody(const char *file, const char *server_target)
{
    char target[80];
    struct role_report r;

    r = role_report_of(role_connect, fixture_target(1, target), &nobody);
    SAYS(&r, VC_PERMISSION_DENIED, file,
         "give this user read and write access");
    r = role_report_of(role_serve, server_target, &nobody);
    SAYS(&r, VC_PERMISSION_DENIED, file,
         "give this user read and write access");
}

static void
a_connection_manager_that_may_not_be_opened_is_named(void **state)
{
    char target[80];

    (void)state;
    need_guest();
    devices_chmod("rdma_cm", 0600);

    assert_closed_to_nobody("/dev/infiniband/rdma_cm",
                            fixture_target(0, target));
}

static void
a_device_that_may_not_be_opened_is_named(void **state)
{
    char target[80];

    (void)state;
    need_guest();
    devices_chmod("uverbs", 0600);

    assert_closed_to_nobody("/dev/infiniband/uverbs",
                            fixture_target(0, target));
    assert_closed_to_nobody("/dev/infiniband/uverbs", "rdma://[::]:0");
}

/* --- no device --------------------------------------------------------- */

static int
device_restore(void **state)
{
    static const char *const add[] = {"rdma", "link",   "add", "rxe0", "type",
                                      "rxe",  "netdev", "v0",  NULL};

    if (changed)
        role_program(add);
    return devices_restore(state);
}

static void
without_a_device_it_says_how_to_see_one(void **state)
{
    static const char *const delete[] = {"rdma", "link", "delete", "rxe0",
                                         NULL};
    char target[80];
    struct role_report r;

    (void)state;
    need_guest();
    changed = true;
    assert_int_equal(0, role_program(delete));

    r = connect_to(fixture_target(1, target));
    SAYS(&r, VC_UNAVAILABLE, "no RDMA device", "rdma link show");
    r = connect_to("rdma://[fd09::1]:1");
    SAYS(&r, VC_UNAVAILABLE, "no RDMA device", "rdma link show");

    r = listen_at(fixture_target(0, target));
    SAYS(&r, VC_UNAVAILABLE, "RDMA device", "rdma link show");
}

static void
with_the_device_back_all_is_well(void **state)
{
    (void)state;
    need_guest();
    reached("rdma://[::]:0", "10.9.0.1");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(where_nobody_listens_it_says_so),
        cmocka_unit_test(
            a_host_that_is_not_there_is_not_waited_for_beyond_the_timeout),
        cmocka_unit_test(an_address_without_a_route_fails_at_once),
        cmocka_unit_test(a_loopback_address_is_told_apart),
        cmocka_unit_test(a_name_that_does_not_resolve_is_named),
        cmocka_unit_test(a_port_of_0_leads_nowhere),
        cmocka_unit_test(malformed_targets_are_invalid_and_the_form_is_shown),
        cmocka_unit_test(a_port_in_use_is_said_to_be),
        cmocka_unit_test(an_address_of_another_machine_cannot_be_listened_at),
        cmocka_unit_test(a_server_of_all_addresses_is_reached_at_each),
        cmocka_unit_test(a_client_that_may_not_lock_memory_is_told_its_limit),
        cmocka_unit_test(
            a_server_that_may_not_lock_memory_says_so_when_it_listens),
        cmocka_unit_test(
            a_server_that_may_lock_no_more_memory_says_so_to_clients_and_lives),
        cmocka_unit_test(a_server_serves_whom_it_has_memory_for),
        cmocka_unit_test(a_port_for_the_privileged_is_refused_to_others),
        cmocka_unit_test_teardown(
            a_connection_manager_that_may_not_be_opened_is_named,
            devices_restore),
        cmocka_unit_test_teardown(a_device_that_may_not_be_opened_is_named,
                                  devices_restore),
        cmocka_unit_test_teardown(without_a_device_it_says_how_to_see_one,
                                  device_restore),
        cmocka_unit_test(with_the_device_back_all_is_well),
    };

    return fixture_main(tests);
}
