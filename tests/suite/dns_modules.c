/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See tests/suite/dns_modules.h. */
#include "tests/suite/dns_modules.h"

#include <dlfcn.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include <verbcall/channel.h>
#include <verbcall/resolver.h>
#include <verbcall/runtime.h>

static char self[PATH_MAX];

bool
modules_begin(void)
{
    return readlink("/proc/self/exe", self, sizeof self - 1) >= 0;
}

const char *
modules_program(void)
{
    return self;
}

/* Runs this program with an argument and this LD_LIBRARY_PATH. Returns its
 * exit status, and what it has written. */
static int
self_run(const char *mode, const char *path, char text[4096])
{
    int out[2], status;
    ssize_t n;
    size_t len = 0;
    pid_t pid;

    assert_return_code(pipe(out), 0);
    fflush(NULL);
    pid = fork();
    if (pid == 0) {
        setenv("LD_LIBRARY_PATH", path, 1);
        dup2(out[1], 1);
        execl(self, self, mode, (char *)NULL);
        _exit(127);
    }
    close(out[1]);
    while ((n = read(out[0], text + len, 4095 - len)) > 0)
        len += (size_t)n;
    text[len] = '\0';
    close(out[0]);
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static const char *
loaded(const char *file)
{
    return dlopen(file, RTLD_NOW | RTLD_NOLOAD) != NULL ? "loaded" : "absent";
}

static enum vc_status
none_open(struct vc_resolver *r, const char *target, void **state)
{
    (void)r, (void)target, (void)state;
    return VC_UNAVAILABLE;
}

static void
none_close(void *state)
{
    (void)state;
}

/* Registers up to n types, until one is refused. Returns how many were not. */
static unsigned
types_register(unsigned from, unsigned n)
{
    static struct vc_resolver_type types[32];
    static char names[32][16];
    unsigned i;

    for (i = from; i < from + n; i++) {
        snprintf(names[i], sizeof names[i], "type%u", i);
        types[i] = (struct vc_resolver_type){.size = sizeof types[i],
                                             .scheme = names[i],
                                             .open = none_open,
                                             .close = none_close};
        if (vc_resolver_register(&types[i]) != VC_OK)
            break;
    }
    return i - from;
}

/* What self_run() runs: the program registers this many types, opens a channel
 * to a dns: target, and then registers as many as it can. */
static int
types_main(unsigned before)
{
    struct vc_runtime *runtime;
    struct vc_channel *channel = NULL;
    enum vc_status status;

    if (vc_runtime_new(NULL, &runtime) != VC_OK)
        return 1;
    before = types_register(0, before);
    status = vc_channel_open(runtime, "dns:///a.example:1", NULL, &channel);
    printf("%u, %s, ", before, vc_status_name(status));
    printf("%u: ", types_register(before, 32 - before));
    printf("%s\n", vc_error());
    vc_channel_close(channel);
    vc_runtime_free(runtime);
    return 0;
}

/* What self_run() runs: opens a channel that needs a module, and prints what
 * came of it, and whether the module and its library were loaded before and
 * afterwards. */
int
modules_main(const char *mode)
{
    bool dns = strcmp(mode, "dns") == 0;
    const char *module =
        dns ? "libverbcall-dns.so.0" : "libverbcall-config.so.0";
    const char *library = dns ? "libcares.so.2" : "libjansson.so.4";
    struct vc_channel_opts opts = VC_CHANNEL_OPTS_INIT;
    struct vc_runtime *runtime;
    struct vc_channel *channel = NULL;
    enum vc_status status;

    if (strncmp(mode, "types", 5) == 0)
        return types_main((unsigned)strtoul(mode + 5, NULL, 10));
    if (vc_runtime_new(NULL, &runtime) != VC_OK)
        return 1;
    if (!dns)
        opts.service_config = "{}";
    printf("before: %s, %s\n", loaded(module), loaded(library));
    status = vc_channel_open(runtime,
                             dns ? "dns:///a.example:1" : "tcp://a.example:1",
                             &opts, &channel);
    printf("%s: %s\n", vc_status_name(status),
           status == VC_OK ? "" : vc_error());
    printf("after: %s, %s\n", loaded(module), loaded(library));
    vc_channel_close(channel);
    vc_runtime_free(runtime);
    return 0;
}

/* True if the module for service configs is among those of this build. */
static bool
config_is_built(void)
{
    char path[PATH_MAX + 40];

    snprintf(path, sizeof path, "%s/libverbcall-config.so.0",
             getenv("LD_LIBRARY_PATH"));
    return access(path, R_OK) == 0;
}

void
the_library_loads_c_ares_for_a_dns_target_and_not_before(void **state)
{
    char text[4096];

    (void)state;
    assert_int_equal(0, self_run("dns", getenv("LD_LIBRARY_PATH"), text));
    assert_string_equal("before: absent, absent\n"
                        "OK: \n"
                        "after: loaded, loaded\n",
                        text);
}

void
the_module_takes_no_place_of_a_programs_types(void **state)
{
    char text[4096];

    (void)state;
    assert_int_equal(0, self_run("types0", getenv("LD_LIBRARY_PATH"), text));
    assert_string_equal("0, OK, 16: vc_resolver_register(): there are 16 types "
                        "already\n",
                        text);
    assert_int_equal(0, self_run("types16", getenv("LD_LIBRARY_PATH"), text));
    assert_string_equal("16, OK, 0: vc_resolver_register(): there are 16 types "
                        "already\n",
                        text);
}

void
the_library_loads_jansson_for_a_service_config_and_not_before(void **state)
{
    char text[4096];

    (void)state;
    if (!config_is_built())
        skip();
    assert_int_equal(0, self_run("config", getenv("LD_LIBRARY_PATH"), text));
    assert_string_equal("before: absent, absent\n"
                        "OK: \n"
                        "after: loaded, loaded\n",
                        text);
}

void
without_the_module_for_service_configs_the_text_names_it(void **state)
{
    char text[4096];

    (void)state;
    assert_int_equal(0, self_run("config", "/nonexistent", text));
    if (strstr(text, "\nOK: ") != NULL)
        skip(); /* it is installed where the system looks */
    assert_non_null(strstr(text, "\nUNIMPLEMENTED: "
                                 "vc_channel_opts.service_config: "));
    assert_non_null(strstr(text, "the module libverbcall-config.so.0,"));
    assert_non_null(strstr(text, "the package libverbcall-config:"));
    assert_non_null(strstr(text, "after: absent, absent\n"));
}

void
without_the_module_the_text_names_it_and_its_package(void **state)
{
    char text[4096];

    (void)state;
    assert_int_equal(0, self_run("dns", "/nonexistent", text));
    if (strstr(text, "\nOK: ") != NULL)
        skip(); /* it is installed where the system looks */
    assert_non_null(strstr(text, "before: absent, absent\n"));
    assert_non_null(strstr(text, "\nUNIMPLEMENTED: "));
    assert_non_null(strstr(text, "the module libverbcall-dns.so.0,"));
    assert_non_null(strstr(text, "the package libverbcall-dns:"));
    assert_non_null(strstr(text, "after: absent, absent\n"));
}
