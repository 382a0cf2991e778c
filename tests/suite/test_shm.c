/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Only for shared memory: socket files, the users that may connect, names, and
 * wires that end early. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "tests/suite/fixture.h"
#include "transport/shm/shm.h"
#include "transport/shm/wire.h"

#define PATH "/tmp/verbcall-test-shm"

/* --- files --------------------------------------------------------------- */

static struct vc_server *
serve_at(struct fixture *f, const char *target,
         const struct vc_server_opts *opts, enum vc_status expected)
{
    struct vc_server *server;
    enum vc_status status;

    assert_status(VC_OK, vc_server_new(f->server_runtime, opts, &server));
    status = vc_server_listen(server, target);
    if (status != expected)
        fail_msg("%s: %s", vc_status_name(status), vc_error());
    return server;
}

static void
a_path_has_a_file_while_it_is_listened_at(void **state)
{
    struct vc_server_opts opts = VC_SERVER_OPTS_INIT;
    struct fixture *f = *state;
    struct vc_server *server, *other;
    struct vc_channel *channel;
    struct stat st;

    unlink(PATH);
    server = serve_at(f, "shm://" PATH, NULL, VC_OK);
    assert_int_equal(0, stat(PATH, &st));
    assert_int_equal(0600, st.st_mode & 0777);
    assert_true(S_ISSOCK(st.st_mode));

    other = serve_at(f, "shm://" PATH, NULL, VC_UNAVAILABLE);
    assert_non_null(strstr(vc_error(), "another process listens"));
    vc_server_free(other);

    assert_status(VC_OK,
                  vc_channel_open(f->runtime, "shm://" PATH, NULL, &channel));
    assert_int_equal(VC_UNIMPLEMENTED,
                     fixture_echo(channel, 1, 1)); /* reached */
    vc_channel_close(channel);
    vc_server_free(server);
    assert_int_equal(-1, stat(PATH, &st));

    opts.shm_mode = 0660;
    opts.shm_group = "root";
    server = serve_at(f, "shm://" PATH, &opts, VC_OK);
    assert_int_equal(0, stat(PATH, &st));
    assert_int_equal(0660, st.st_mode & 0777);
    vc_server_free(server);

    opts.shm_group = "no-such-group";
    server = serve_at(f, "shm://" PATH, &opts, VC_INVALID_ARGUMENT);
    assert_non_null(strstr(vc_error(), "shm_group"));
    assert_int_equal(-1, stat(PATH, &st));
    vc_server_free(server);
    server = serve_at(f, "shm:///no/such/folder", NULL, VC_UNAVAILABLE);
    assert_non_null(strstr(vc_error(), "its folder does not exist; make it"));
    vc_server_free(server);
}

/* A socket file of a killed process is replaced, but not a regular file. */
static void
a_file_that_is_left_over_is_replaced(void **state)
{
    struct sockaddr_un un = {.sun_family = AF_UNIX, .sun_path = PATH};
    struct fixture *f = *state;
    struct vc_server *server;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct stat st;

    unlink(PATH);
    assert_int_equal(0, bind(fd, (struct sockaddr *)&un, sizeof un));
    close(fd);
    assert_int_equal(0, stat(PATH, &st));
    server = serve_at(f, "shm://" PATH, NULL, VC_OK);
    vc_server_free(server);

    fd = open(PATH, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    close(fd);
    server = serve_at(f, "shm://" PATH, NULL, VC_UNAVAILABLE);
    assert_int_equal(0, stat(PATH, &st));
    vc_server_free(server);
    unlink(PATH);
}

/* Its backlog is full, so connecting to it fails, but somebody listens. */
static void
a_listener_that_is_busy_is_not_replaced(void **state)
{
    struct sockaddr_un un = {.sun_family = AF_UNIX, .sun_path = PATH};
    struct fixture *f = *state;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int client = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    unlink(PATH);
    assert_int_equal(0, bind(fd, (struct sockaddr *)&un, sizeof un));
    assert_int_equal(0, listen(fd, 0));
    assert_int_equal(0, connect(client, (struct sockaddr *)&un, sizeof un));
    vc_server_free(serve_at(f, "shm://" PATH, NULL, VC_UNAVAILABLE));
    assert_non_null(strstr(vc_error(), "another process listens there"));
    close(client);
    close(fd);
    unlink(PATH);
}

/* --- who may connect ----------------------------------------------------- */

/* Calls as another user; returns the status, or 100 or more on a failure. */
static int
stranger_calls(const char *target)
{
    struct vc_runtime *runtime;
    struct vc_channel *channel;
    enum vc_status status;

    if (setgid(65534) != 0 || setuid(65534) != 0)
        return 100;
    if (vc_runtime_new(NULL, &runtime) != VC_OK ||
        vc_channel_open(runtime, target, NULL, &channel) != VC_OK)
        return 101;
    status = fixture_echo(channel, 10, 1);
    vc_channel_close(channel);
    vc_runtime_free(runtime);
    return (int)status;
}

static int
as_stranger(const char *target)
{
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0)
        _exit(stranger_calls(target));
    return fixture_wait(pid);
}

static void
another_user_may_connect_by_the_mode(void **state)
{
    struct vc_server_opts opts = VC_SERVER_OPTS_INIT;
    struct fixture f = {0};

    (void)state;
    if (geteuid() != 0)
        skip();
    fixture_start_server(&f, 1, NULL);
    assert_int_equal(VC_UNAVAILABLE, as_stranger(f.target));
    fixture_stop_server(&f);
    opts.shm_mode = 0666;
    fixture_start_server(&f, 1, &opts);
    assert_int_equal(VC_OK, as_stranger(f.target));
    fixture_stop_server(&f);
}

/* Another user's process that has taken the name first: the client must send it
 * nothing. */
static int
impostor_listens(void *arg, int ready)
{
    struct sockaddr_storage addr;
    struct sockaddr_un un;
    char bytes[100];
    socklen_t len;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), peer;

    vc__addr_local(&addr, arg);
    len = vc__shm_sockaddr(&addr, &un);
    if (setuid(65534) != 0 || bind(fd, (struct sockaddr *)&un, len) != 0 ||
        listen(fd, 10) != 0 || write(ready, "r", 1) != 1)
        return 100;
    peer = accept(fd, NULL, NULL);
    return recv(peer, bytes, sizeof bytes, 0) > 0 ? 101 : 0;
}

static void
another_users_server_is_not_trusted_by_a_name(void **state)
{
    struct vc_runtime *runtime;
    struct vc_channel *channel;
    char name[60], target[80];
    pid_t pid;

    (void)state;
    if (geteuid() != 0)
        skip();
    snprintf(name, sizeof name, "@impostor-%d", (int)getpid());
    snprintf(target, sizeof target, "shm:%s", name + 1);
    pid = fixture_fork(impostor_listens, name);
    assert_status(VC_OK, vc_runtime_new(NULL, &runtime));
    assert_status(VC_OK, vc_channel_open(runtime, target, NULL, &channel));
    assert_int_equal(VC_PERMISSION_DENIED, fixture_echo(channel, 10, 1));
    assert_non_null(strstr(vc_error(), "another user's process"));
    vc_channel_close(channel);
    vc_runtime_free(runtime);
    assert_int_equal(0, fixture_wait(pid));
}

/* --- names ---------------------------------------------------------------- */

static void
where_nobody_listens_it_says_so(void **state)
{
    static const char *const targets[] = {"shm:nobody-is-here",
                                          "shm:///tmp/nobody-is-here"};
    struct fixture *f = *state;

    for (unsigned i = 0; i < 2; i++) {
        struct vc_channel *channel;

        assert_status(VC_OK,
                      vc_channel_open(f->runtime, targets[i], NULL, &channel));
        assert_int_equal(VC_UNAVAILABLE, fixture_echo(channel, 1, 1));
        assert_non_null(strstr(vc_error(), "nothing listens at"));
        assert_non_null(strstr(vc_error(), targets[i]));
        vc_channel_close(channel);
    }
}

static void
targets_that_are_none_are_refused(void **state)
{
    static const char *const targets[] = {"shm:",      "shm://",  "shm:///",
                                          "shm://a/b", "shm:a b", "shm:@a"};
    struct fixture *f = *state;

    for (unsigned i = 0; i < 6; i++) {
        struct vc_channel *channel;

        if (vc_channel_open(f->runtime, targets[i], NULL, &channel) !=
            VC_INVALID_ARGUMENT)
            fail_msg("%s", targets[i]);
        assert_non_null(strstr(vc_error(), "shm:NAME"));
    }
}

/* --- wires in early states ----------------------------------------------- */

/* A wire on an engine of its own, zeroed except for its head, as links make
 * it. */
struct lone {
    struct vc__engine engine;
    struct vc__shm_context context;
    struct vc__shm_wire wire;
};

static void
lone_open(struct lone *l)
{
    const struct vc__context_opts opts = {.memory = 1 << 20};

    memset(l, 0, sizeof *l);
    assert_int_equal(0, vc__engine_init(&l->engine, 0));
    l->context.context.transport = l->wire.wire.transport = &vc__shm;
    l->context.context.engine = &l->engine;
    l->wire.wire.context = &l->context.context;
    assert_status(VC_OK, vc__shm.open(&l->context.context, &opts));
}

static void
lone_close(struct lone *l)
{
    vc__shm.fini(&l->wire.wire);
    vc__shm.close(&l->context.context);
    vc__engine_fini(&l->engine);
}

static void
a_wire_that_never_began_leaves_standard_input_open(void **state)
{
    struct lone l;

    (void)state;
    lone_open(&l);
    assert_true(fcntl(0, F_GETFD) >= 0);
    lone_close(&l);
    assert_true(fcntl(0, F_GETFD) >= 0);
}

/* The kernel gives the number of a closed descriptor to the next one. */
static void
without_memory_no_descriptor_is_closed_twice(void **state)
{
    const struct vc__receives receives = {.most = 8, .least = 8, .first = 8};
    struct rlimit before, none = {.rlim_cur = 0};
    struct lone l;
    int fd;

    (void)state;
    assert_int_equal(0, getrlimit(RLIMIT_FSIZE, &before));
    none.rlim_max = before.rlim_max;
    lone_open(&l);
    vc__shm.take(&l.wire.wire,
                 &(struct vc__incoming){.handle = &(struct vc__shm_offer){0}});
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(0, setrlimit(RLIMIT_FSIZE, &none));
    assert_int_not_equal(VC_OK, vc__shm.prepare(&l.wire.wire, &receives));
    assert_int_equal(0, setrlimit(RLIMIT_FSIZE, &before));
    fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    lone_close(&l);
    assert_int_equal(0, close(fd));
}

#define WITH_FIXTURE(test)                                                     \
    cmocka_unit_test_setup_teardown(test, fixture_setup, fixture_teardown)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(another_user_may_connect_by_the_mode),
        cmocka_unit_test(another_users_server_is_not_trusted_by_a_name),
        WITH_FIXTURE(a_path_has_a_file_while_it_is_listened_at),
        WITH_FIXTURE(a_file_that_is_left_over_is_replaced),
        WITH_FIXTURE(a_listener_that_is_busy_is_not_replaced),
        WITH_FIXTURE(where_nobody_listens_it_says_so),
        WITH_FIXTURE(targets_that_are_none_are_refused),
        cmocka_unit_test(a_wire_that_never_began_leaves_standard_input_open),
        cmocka_unit_test(without_memory_no_descriptor_is_closed_twice),
    };

    return fixture_main(tests);
}
