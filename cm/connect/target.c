/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Parsing targets and looking names up. See cm/connect/target.h. Static
 * functions before the section "names" run on the thread of their caller. */
#include "cm/connect/target.h"

#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cm/connect/cm.h"
#include "transport/core/error.h"
#include "transport/core/thread.h"

#define AFTER_SCHEME "://"
#define AT_ALL                                                                 \
    "a server that listens at all addresses says [::], or 0.0.0.0 for those "  \
    "of IPv4"
#define NAME_LETTERS                                                           \
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_"

/* A target is malformed: returns VC_INVALID_ARGUMENT, with a text. For
 * vc__target_parse() and the functions that it calls. */
static enum vc_status
fail_target(const char *text, const char *why)
{
    return vc__fail(
        VC_INVALID_ARGUMENT,
        "target \"%.100s\": %s; write vc://HOST:PORT, "
        "rdma://HOST:PORT, rdma+ib://HOST:PORT, rdma+ud://HOST:PORT, "
        "rdma+mc://GROUP:PORT, tcp://HOST:PORT (an IPv6 address as "
        "[::1]), shm:NAME, shm:///PATH or inproc://NAME; a client "
        "also list:TARGET,..., file:///PATH, dns:///NAME:PORT, or "
        "a scheme of vc_resolver_register()",
        text, why);
}

/* A scheme is unknown, or not in this build: returns VC_INVALID_ARGUMENT, with
 * a text. For vc__target_parse(). */
static enum vc_status
fail_scheme(const char *text)
{
#ifdef VC_WITHOUT_RDMA
    if (strncmp(text, "rdma:", 5) == 0 || strncmp(text, "rdma+", 5) == 0)
        return fail_target(text, "this library was built without RDMA "
                                 "(configure --without-rdma)");
#endif
    return fail_target(text, "unknown scheme");
}

/* True for a decimal number up to 65535. For vc__target_parse(). */
static bool
port_good(const char *port)
{
    size_t digits = strspn(port, "0123456789");

    return digits >= 1 && digits <= 5 && port[digits] == '\0' &&
           atoi(port) <= 65535;
}

/* Parses the NAME of inproc://NAME or shm:NAME. Returns VC_OK, or
 * VC_INVALID_ARGUMENT. For vc__target_parse() and local_parse(). */
static enum vc_status
name_parse(struct vc__target *target, const char *text, const char *name)
{
    size_t len = strlen(name);

    if (len == 0 || len >= VC__ADDR_NAME || strspn(name, NAME_LETTERS) != len)
        return fail_target(text, "a name has 1 to 63 letters, digits or .-_");
    snprintf(target->host, sizeof target->host, "%s", name);
    target->port[0] = '\0';
    return VC_OK;
}

/* Parses "NAME" or "///PATH", which follows "shm:". Returns VC_OK, or
 * VC_INVALID_ARGUMENT. For vc__target_parse(). */
static enum vc_status
local_parse(struct vc__target *target, const char *text, const char *rest)
{
    bool is_path = strncmp(rest, "///", 3) == 0;
    size_t len;

    if (!is_path) {
        enum vc_status status = name_parse(target, text, rest);

        if (status == VC_OK)
            snprintf(target->host, sizeof target->host, "@%s", rest);
        return status;
    }
    len = strlen(rest += 2);
    if (len == 1 || len >= VC__ADDR_LOCAL)
        return fail_target(text, "a path has 2 to 97 bytes");
    snprintf(target->host, sizeof target->host, "%s", rest);
    target->port[0] = '\0';
    return VC_OK;
}

/* True for vc://, which names no transport of its own. end: its colon, or NULL.
 * For vc__target_parse(). */
static bool
is_best(const char *text, const char *end)
{
    return end != NULL && end - text == 2 && memcmp(text, "vc", 2) == 0;
}

enum vc_status
vc__target_parse(struct vc__target *target, const char *text)
{
    const char *host, *end, *port;

    target->all = NULL;
    host = text == NULL ? NULL : strchr(text, ':');
    target->transport =
        host == NULL ? NULL : vc__transport_find(text, (size_t)(host - text));
    if (target->transport == NULL && !is_best(text, host))
        return fail_scheme(text == NULL ? "" : text);
    if (target->transport != NULL && target->transport->local)
        return local_parse(target, text, host + 1);
    if (strncmp(host, AFTER_SCHEME, strlen(AFTER_SCHEME)) != 0)
        return fail_target(text, "no // after the scheme");
    host += strlen(AFTER_SCHEME);
    if (target->transport != NULL && target->transport->named)
        return name_parse(target, text, host);
    if (*host == '[') {
        end = strchr(++host, ']');
        if (end == NULL)
            return fail_target(text, "a [ without a ]");
        port = end + 1;
    } else {
        end = port = host + strcspn(host, ":");
    }
    if (end == host)
        return fail_target(text, "no host; " AT_ALL);
    if (end - host == 1 && *host == '*')
        return fail_target(text, "* is no host; " AT_ALL);
    if ((size_t)(end - host) >= sizeof target->host)
        return fail_target(text, "a host longer than 255 bytes");
    if (*port != ':' || !port_good(port + 1))
        return fail_target(text, "no port from 0 to 65535");
    snprintf(target->host, sizeof target->host, "%.*s", (int)(end - host),
             host);
    snprintf(target->port, sizeof target->port, "%s", port + 1);
    return VC_OK;
}

void
vc__target_text(const struct vc__target *target, char text[VC__TARGET_TEXT])
{
    const char *host = target->host, *scheme = target->transport == NULL
                                                   ? "vc"
                                                   : target->transport->scheme;

    if (target->all != NULL)
        snprintf(text, VC__TARGET_TEXT, "%s", target->all);
    else if (host[0] == '@')
        snprintf(text, VC__TARGET_TEXT, "%s:%s", scheme, host + 1);
    else if (target->port[0] == '\0')
        snprintf(text, VC__TARGET_TEXT, "%s://%s", scheme, host);
    else if (strchr(host, ':') != NULL)
        snprintf(text, VC__TARGET_TEXT, "%s://[%s]:%s", scheme, host,
                 target->port);
    else
        snprintf(text, VC__TARGET_TEXT, "%s://%s:%s", scheme, host,
                 target->port);
}

/* Copies the first addresses of a result of getaddrinfo(3). For
 * target_lookup(). */
static void
addrs_copy(struct vc__addrs *out, const struct addrinfo *list)
{
    for (out->n = 0; list != NULL && out->n < VC__TARGET_ADDRS;
         list = list->ai_next) {
        if (list->ai_addrlen > sizeof out->addr[0])
            continue;
        memset(&out->addr[out->n], 0, sizeof out->addr[0]);
        memcpy(&out->addr[out->n++], list->ai_addr, list->ai_addrlen);
    }
}

/* Asks getaddrinfo(3), with these flags. Returns 0, or its error code; then
 * there are no addresses. Called for numeric addresses, by vc__target_lookup(),
 * and on the thread of a lookup. */
static int
target_lookup(const struct vc__target *target, int flags,
              struct vc__addrs *addrs)
{
    struct addrinfo hints = {.ai_flags = flags | AI_NUMERICSERV,
                             .ai_socktype = SOCK_STREAM};
    struct addrinfo *list;
    int err = getaddrinfo(target->host, target->port, &hints, &list);

    addrs->n = 0;
    if (err != 0)
        return err;
    addrs_copy(addrs, list);
    freeaddrinfo(list);
    return 0;
}

bool
vc__target_numeric(const struct vc__target *target, struct vc__addrs *addrs)
{
    const struct vc__transport *t = target->transport;

    if (t == NULL || (!t->named && !t->local))
        return target_lookup(target, AI_NUMERICHOST, addrs) == 0;
    addrs->n = 1;
    if (t->local)
        vc__addr_local(&addrs->addr[0], target->host);
    else
        vc__addr_name(&addrs->addr[0], target->host);
    return true;
}

int
vc__target_lookup(const struct vc__target *target, struct vc__addrs *addrs)
{
    return target_lookup(target, 0, addrs);
}

enum vc_status
vc__target_reaches(const struct vc__transport *transport,
                   const struct sockaddr_storage *addr, const char *what)
{
    char text[VC__ADDR_TEXT];

    if (transport->groups &&
        (!vc__addr_is_group((const struct sockaddr *)addr) ||
         vc__addr_port(addr) == 0))
        return vc__fail(
            VC_INVALID_ARGUMENT,
            "cannot %s %s: rdma+mc:// needs a multicast group with a port that "
            "is not 0, as 239.1.2.3:7000 or [ff15::77]:7000 (groups are "
            "224.0.0.0/4 and ff00::/8)",
            what, vc__addr_text((const struct sockaddr *)addr, text));
    if (!transport->no_loopback ||
        !vc__addr_is_loopback((const struct sockaddr *)addr))
        return VC_OK;
    return vc__fail(VC_INVALID_ARGUMENT,
                    "cannot %s %s: RDMA does not reach loopback addresses; use "
                    "tcp:// for them, or the address of an RDMA device (see "
                    "`rdma link show`)",
                    what, vc__addr_text((const struct sockaddr *)addr, text));
}

enum vc_status
vc__address_parse(struct sockaddr_storage *addr, const char *text)
{
    struct vc__target target = {.port = "0"};
    struct vc__addrs addrs;
    int n = snprintf(target.host, sizeof target.host, "%s", text);

    if (n <= 0 || (size_t)n >= sizeof target.host ||
        strcmp(text, "*") == 0 || /* ::1 to getaddrinfo() */
        !vc__target_numeric(&target, &addrs) || addrs.n == 0)
        return vc__fail(VC_INVALID_ARGUMENT,
                        "\"%.100s\" is no numeric address; write 10.9.0.1, "
                        "fd09::1 or fe80::1%%INTERFACE",
                        text);
    *addr = addrs.addr[0];
    return VC_OK;
}

/* --- names ------------------------------------------------------------- */

/* A task, posted by the lookup's thread: runs on the holder, and calls done(),
 * or lookup_drop() if the lookup was cancelled meanwhile. */
static void
lookup_report(struct vc__task *task)
{
    struct vc__lookup *l = caa_container_of(task, struct vc__lookup, task);

    /* The lookup's thread posted this under the lock; wait until it has left
     * the lock. */
    pthread_mutex_lock(&l->lock);
    pthread_mutex_unlock(&l->lock);
    l->done(l);
}

void
vc__lookup_free(struct vc__lookup *l)
{
    pthread_mutex_destroy(&l->lock);
    free(l);
}

/* The lookup's own thread, detached, started by thread_start(). Posts
 * lookup_report(); or, if cancelled, frees the lookup. Returns NULL. */
static void *
lookup_thread(void *arg)
{
    struct vc__lookup *l = arg;
    int err = target_lookup(&l->target, 0, &l->addrs);
    bool cancelled;

    snprintf(l->text, sizeof l->text, "%s", err == 0 ? "" : gai_strerror(err));
    pthread_mutex_lock(&l->lock);
    cancelled = l->cancelled;
    l->finished = true;
    /* Posted under the lock, so that a thread that cancels knows afterwards
     * that the engine is no longer used. */
    if (!cancelled)
        vc__engine_post(l->engine, &l->task);
    pthread_mutex_unlock(&l->lock);
    if (cancelled)
        vc__lookup_free(l);
    return NULL;
}

/* Starts lookup_thread(). Returns false if that fails. For
 * vc__lookup_start(). */
static bool
thread_start(struct vc__lookup *l)
{
    pthread_attr_t attr;
    pthread_t thread;
    bool started;

    if (pthread_attr_init(&attr) != 0)
        return false;
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    started = vc__thread_start(&thread, &attr, lookup_thread, l) == 0;
    pthread_attr_destroy(&attr);
    return started;
}

struct vc__lookup *
vc__lookup_start(struct vc__engine *engine, const struct vc__target *target,
                 void (*done)(struct vc__lookup *lookup), void *owner)
{
    struct vc__lookup *l = calloc(1, sizeof *l);

    if (l == NULL)
        return NULL;
    l->engine = engine;
    l->target = *target;
    l->done = done;
    l->owner = owner;
    l->task.run = lookup_report;
    pthread_mutex_init(&l->lock, NULL);
    if (!thread_start(l)) {
        vc__lookup_free(l);
        return NULL;
    }
    return l;
}

/* Takes the place of done() when a finished lookup is cancelled:
 * lookup_report() calls it on the holder. */
static void
lookup_drop(struct vc__lookup *l)
{
    vc__lookup_free(l);
}

void
vc__lookup_cancel(struct vc__lookup *l)
{
    bool finished;

    pthread_mutex_lock(&l->lock);
    l->cancelled = true;
    finished = l->finished;
    pthread_mutex_unlock(&l->lock);
    if (finished) /* its task is posted and frees it */
        l->done = lookup_drop;
}
