/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Processes whose seccomp profile refuses what shared memory needs, as that of
 * a container may. At vc:// their calls use TCP; at shm: they get an error that
 * names the refused system call. */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/suite/fixture.h"

#define AWAIT_MS 10000
#define TEXT     2048

/* A system call that fails with err if its first argument has this value. */
struct refusal {
    const char *call; /* its name in error texts */
    unsigned number;
    unsigned argument; /* ANY: any value */
    int err;
};
#define ANY UINT32_MAX

static const struct refusal refusals[] = {
    {"memfd_create()", SYS_memfd_create, ANY, EPERM},
    {"memfd_create()", SYS_memfd_create, ANY, ENOSYS},
    {"socket(AF_UNIX)", SYS_socket, AF_UNIX, EPERM},
    {"socket(AF_UNIX)", SYS_socket, AF_UNIX, ENOSYS},
    /* systemd's RestrictAddressFamilies= */
    {"socket(AF_UNIX)", SYS_socket, AF_UNIX, EAFNOSUPPORT},
};
#define N_REFUSALS (sizeof refusals / sizeof *refusals)

/* --- the filter ---------------------------------------------------------- */

/* The lower half of a system call's first argument. */
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define ARGUMENT (offsetof(struct seccomp_data, args) + 4)
#else
#define ARGUMENT offsetof(struct seccomp_data, args)
#endif

/* Installs the filter, for this thread and everything that it starts later. */
static void
refuse(const struct refusal *r)
{
    const unsigned err = SECCOMP_RET_ERRNO | (unsigned)r->err;
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, r->number, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, ARGUMENT),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, r->argument, 0,
                 r->argument == ANY ? 0 : 1),
        BPF_STMT(BPF_RET | BPF_K, err),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog program = {sizeof code / sizeof *code, code};

    assert_int_equal(0, prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
    assert_int_equal(0, prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program));
}

static bool
kernel_has_filters(void)
{
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, NULL) != 0 &&
           errno == EFAULT;
}

/* --- helpers ------------------------------------------------------------- */

static const struct refusal *refusal_of_server;

/* Runs in the server's process, before it listens. */
static void
refuse_to_server(struct vc_server *server)
{
    (void)server;
    refuse(refusal_of_server);
}

static const char *
words(const struct vc_channel *channel)
{
    static char text[TEXT];

    vc_channel_describe(channel, text, sizeof text);
    return text;
}

/* Makes calls, which all succeed, until the channel's description has
 * `what`. */
static void
await_says(struct fixture *f, const char *what)
{
    uint64_t due = fixture_ms() + AWAIT_MS;

    while (strstr(words(f->channel), what) == NULL) {
        assert_status(VC_OK, fixture_echo(f->channel, 10, 1));
        if (fixture_ms() >= due)
            fail_msg("\"%s\" is not in:\n%s", what, words(f->channel));
    }
}

static void
assert_in(const char *what, const char *text)
{
    if (strstr(text, what) == NULL)
        fail_msg("\"%s\" is not in \"%s\"", what, text);
}

/* Starts a client of the server that was forked last. */
static void
client_start(struct fixture *f)
{
    memset(f, 0, sizeof *f);
    f->port = (uint16_t)atomic_load(&fixture_board->port);
    fixture_target(f->port, f->target);
    fixture_start_client(f, NULL);
}

/* --- vc:// --------------------------------------------------------------- */

static void
a_client_that_is_refused_shared_memory_calls_over_tcp(unsigned round)
{
    const struct refusal *r = &refusals[round];
    struct fixture f;

    fixture_fork_server(0);
    refuse(r);
    client_start(&f);

    await_says(&f, "tcp to 127.0.0.1");
    await_says(&f, "not shm: ");

    assert_in(r->call, words(f.channel));
    assert_in("seccomp", words(f.channel));
    fixture_stop_client(&f);
}

static void
a_server_that_is_refused_shared_memory_is_called_over_tcp(unsigned round)
{
    struct fixture f;

    refusal_of_server = &refusals[round];
    fixture_add = refuse_to_server;
    fixture_fork_server(0);
    client_start(&f);

    await_says(&f, "tcp to 127.0.0.1");

    await_says(&f, "not shm: the server has announced no shared-memory");
    fixture_stop_client(&f);
}

/* --- error texts --------------------------------------------------------- */

static void
a_server_says_what_it_is_refused(unsigned round)
{
    const struct refusal *r = &refusals[round];
    char text[TEXT], name[40];
    struct fixture f;

    memset(&f, 0, sizeof f);
    refuse(r);
    fixture_start_server(&f, 1, NULL);
    vc_server_describe(f.server, text, sizeof text);
    assert_in("not shm: ", text);
    assert_in(r->call, text);

    snprintf(name, sizeof name, "shm:refused-%d", (int)getpid());
    assert_status(VC_PERMISSION_DENIED, vc_server_listen(f.server, name));
    assert_in(r->call, vc_error());
    assert_in("seccomp", vc_error());
    fixture_stop_server(&f);
}

/* At once, as a retry would not help. */
static void
a_client_says_what_it_is_refused(unsigned round)
{
    const struct refusal *r = &refusals[round];
    struct fixture f;

    memset(&f, 0, sizeof f);
    fixture_start_server(&f, 1, NULL);
    snprintf(f.target, sizeof f.target, "shm:refused-%d", (int)getpid());
    assert_status(VC_OK, vc_server_listen(f.server, f.target));
    refuse(r);
    fixture_start_client(&f, NULL);
    assert_status(VC_PERMISSION_DENIED, fixture_echo(f.channel, 10, 1));
    assert_in(r->call, vc_error());
    assert_in("seccomp", vc_error());
    fixture_stop(&f);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        fixture_apart(a_client_that_is_refused_shared_memory_calls_over_tcp,
                      N_REFUSALS),
        fixture_apart(a_server_that_is_refused_shared_memory_is_called_over_tcp,
                      N_REFUSALS),
        fixture_apart(a_server_says_what_it_is_refused, N_REFUSALS),
        fixture_apart(a_client_says_what_it_is_refused, N_REFUSALS),
    };

    if (!kernel_has_filters()) {
        printf("1..0 # SKIP this kernel has no seccomp filters\n");
        return 0;
    }
    return fixture_main(tests);
}
