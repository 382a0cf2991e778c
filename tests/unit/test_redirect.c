/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * rpc/server/redirect.h: which of a server's targets are sent to a client. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cm/connect/cm.h"
#include "rpc/server/redirect.h"

#define DEVICE "rdma://10.9.0.1:7471"
#define SOCKET "tcp://10.9.0.1:7472"
#define NAME   "inproc://a"

/* Clients, by their transport. */
static struct vc__context by_rdma, by_tcp, by_inproc;
static const struct vc__incoming of_device = {.context = &by_rdma};
static const struct vc__incoming of_socket = {.context = &by_tcp};
static const struct vc__incoming of_process = {.context = &by_inproc};

static int
group_setup(void **state)
{
    (void)state;
    by_rdma.transport = vc__transport_find("rdma", 4);
    by_tcp.transport = vc__transport_find("tcp", 3);
    by_inproc.transport = vc__transport_find("inproc", 6);
    return 0;
}

/* The targets that decide() returns. */
static const char *decided[VC_REDIRECT_MAX];

static unsigned
decide(uint64_t service, const struct sockaddr *source,
       const char *targets[VC_REDIRECT_MAX], void *arg)
{
    unsigned n = 0;

    (void)service;
    (void)source;
    (void)arg;
    while (n < VC_REDIRECT_MAX && decided[n] != NULL) {
        targets[n] = decided[n];
        n++;
    }
    return n;
}

static struct vc__redirect
fixed(const char *one, const char *two)
{
    struct vc_server_opts opts = VC_SERVER_OPTS_INIT;
    struct vc__redirect r;

    opts.redirect[0] = one;
    opts.redirect[1] = two;
    assert_int_equal(vc__redirect_init(&r, &opts), VC_OK);
    return r;
}

#define NONE_DECIDED "redirect_decide of the server gave no valid target"
#define NONE_FIXED   "no target of the server's redirect suits this link"

/* Asserts that the client is sent to addresses of these families; without any,
 * that it gets these words. */
static void
leads_with(const struct vc__redirect *r, const struct vc__incoming *in,
           unsigned n, const uint8_t *families, const char *words)
{
    struct vc__reject reject = {.n_addrs = 0};

    assert_true(vc__redirect_find(r, 1, in, &reject));
    assert_int_equal(reject.reason, VC__REJECT_MOVED);
    assert_int_equal(reject.n_addrs, n);
    for (unsigned i = 0; i < n; i++)
        assert_int_equal(reject.addrs[i].family, families[i]);
    assert_string_equal(reject.text, words);
}

static void
leads(const struct vc__redirect *r, const struct vc__incoming *in, unsigned n,
      const uint8_t *families)
{
    leads_with(r, in, n, families, "");
}

static void
leads_nowhere(const struct vc__redirect *r, const struct vc__incoming *in,
              const char *words)
{
    leads_with(r, in, 0, NULL, words);
}

static void
a_client_is_told_targets_of_its_own_transport(void **state)
{
    const struct vc__redirect both = fixed(NAME, DEVICE);
    const struct vc__redirect name = fixed(NAME, NULL);

    (void)state;
    leads(&both, &of_device, 1, (const uint8_t[]){4});
    leads(&both, &of_process, 1, (const uint8_t[]){VC__REJECT_NAME});
    leads(&name, &of_process, 1, (const uint8_t[]){VC__REJECT_NAME});
    leads_nowhere(&name, &of_device, NONE_FIXED);
}

/* The addresses of both transports look alike. */
static void
a_client_over_tcp_is_not_sent_to_an_rdma_port(void **state)
{
    const struct vc__redirect both = fixed(DEVICE, SOCKET);
    struct vc__reject reject = {.n_addrs = 0};

    (void)state;
    assert_true(vc__redirect_find(&both, 1, &of_socket, &reject));
    assert_int_equal(1, reject.n_addrs);
    assert_int_equal(7472, reject.addrs[0].port);
    leads(&both, &of_device, 1, (const uint8_t[]){4});
    leads_nowhere(&both, &of_process, NONE_FIXED);
}

static void
what_a_program_decides_comes_first(void **state)
{
    struct vc__redirect r = fixed(DEVICE, NULL);
    struct vc__reject reject = {.n_addrs = 0};

    (void)state;
    r.decide = decide;
    decided[0] = "no target";
    decided[1] = NAME;
    leads(&r, &of_process, 1, (const uint8_t[]){VC__REJECT_NAME});
    leads_nowhere(&r, &of_device, NONE_DECIDED);
    decided[0] = NULL;
    leads(&r, &of_device, 1, (const uint8_t[]){4});
    r.n = 0;
    assert_false(vc__redirect_find(&r, 1, &of_device, &reject));
    assert_int_equal(reject.reason, 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_client_is_told_targets_of_its_own_transport),
        cmocka_unit_test(a_client_over_tcp_is_not_sent_to_an_rdma_port),
        cmocka_unit_test(what_a_program_decides_comes_first),
    };

    return cmocka_run_group_tests(tests, group_setup, NULL);
}
