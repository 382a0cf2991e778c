/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See tests/unit/dns_masq.h. masq_start() and the other functions there call
 * the static functions. */
#include "tests/unit/dns_masq.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[] = "/tmp/verbcall-dns-XXXXXX", hosts_file[64];
static pid_t masq;
static FILE *masq_log;

/* Path of the program; Debian has it where only root looks. */
static const char *
masq_path(void)
{
    static char path[512];
    const char *at = getenv("PATH");

    while (at != NULL) {
        int len = (int)strcspn(at, ":");

        snprintf(path, sizeof path, "%.*s/dnsmasq", len, at);
        if (access(path, X_OK) == 0)
            return path;
        at = at[len] == ':' ? at + len + 1 : NULL;
    }
    return access("/usr/sbin/dnsmasq", X_OK) == 0 ? "/usr/sbin/dnsmasq" : NULL;
}

bool
masq_begin(void)
{
    if (masq_path() == NULL) {
        printf("1..0 # SKIP no dnsmasq (Debian: dnsmasq-base)\n");
        return false;
    }
    if (mkdtemp(folder) == NULL) {
        perror(folder);
        exit(1);
    }
    snprintf(hosts_file, sizeof hosts_file, "%s/hosts", folder);
    return true;
}

void
masq_end(void)
{
    unlink(hosts_file);
    rmdir(folder);
}

/* In the child: becomes dnsmasq, whose log goes to `out`. */
static void
masq_run(int out, unsigned port, const char *const options[MASQ_OPTIONS])
{
    char port_is[32], file[80];
    const char *args[12 + MASQ_OPTIONS] = {masq_path(),
                                           "--no-daemon",
                                           "--conf-file=/dev/null",
                                           "--no-resolv",
                                           "--no-hosts",
                                           "--bind-interfaces",
                                           "--listen-address=127.0.0.1",
                                           "--pid-file=",
                                           "--user=",
                                           "--group=",
                                           "--local=/example/",
                                           "--local-ttl=1"};
    size_t n = 12;

    snprintf(port_is, sizeof port_is, "--port=%u", port);
    snprintf(file, sizeof file, "--addn-hosts=%s", hosts_file);
    args[n++] = port_is;
    args[n++] = file;
    while (n < sizeof args / sizeof *args - 1 && *options != NULL)
        args[n++] = *options++;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    dup2(out, 2);
    close(out);
    execv(args[0], (char **)args);
    _exit(127);
}

/* Reads the log until a line has this text. False if the program has ended. */
static bool
masq_await(const char *text)
{
    char line[512];

    while (fgets(line, sizeof line, masq_log) != NULL)
        if (strstr(line, text) != NULL)
            return true;
    return false;
}

static void
hosts_write(const char *text)
{
    FILE *f = fopen(hosts_file, "w");

    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

void
masq_start(unsigned port, const char *hosts,
           const char *const options[MASQ_OPTIONS])
{
    int out[2];

    hosts_write(hosts);
    assert_return_code(pipe(out), 0);
    masq = fork();
    if (masq == 0)
        masq_run(out[1], port, options);
    close(out[1]);
    masq_log = fdopen(out[0], "r");
    if (!masq_await("started") || !masq_await(hosts_file))
        fail_msg("dnsmasq does not start");
}

void
masq_stop(void)
{
    if (masq == 0)
        return;
    kill(masq, SIGKILL);
    waitpid(masq, NULL, 0);
    fclose(masq_log);
    masq = 0;
}

void
masq_change_begin(const char *hosts)
{
    hosts_write(hosts);
    kill(masq, SIGHUP);
}

void
masq_change_end(void)
{
    assert_true(masq_await(hosts_file));
}

void
masq_change(const char *hosts)
{
    masq_change_begin(hosts);
    masq_change_end();
}

void
masq_freeze(void)
{
    kill(masq, SIGSTOP);
    assert_int_equal(masq, waitpid(masq, NULL, WUNTRACED));
}

void
masq_thaw(void)
{
    kill(masq, SIGCONT);
}
