/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See modules/dns/dns_asker.h. */
#include "modules/dns/dns_asker.h"

#include <arpa/inet.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "modules/dns/dns.h"
#include "modules/dns/dns_socket.h"

/* What a server may send at once, which no network cuts (DNS flag day 2020).
 * More comes by TCP. */
#define EDNS_SIZE 1232

#define PORT_DNS 53
/* The text of a server's address, and how many are named in texts. */
#define SERVER_TEXT  (INET6_ADDRSTRLEN + 10)
#define SERVERS_TOLD 2

/* ares_library_init() counts, but not for several threads at a time. */
static pthread_mutex_t library_lock = PTHREAD_MUTEX_INITIALIZER;

int
vc__dns_asker_open(struct vc__dns_asker *asker, struct vc_resolver *r,
                   const char *server, void (*ready)(void *state, int fd))
{
    int rc;

    *asker =
        (struct vc__dns_asker){.resolver = r, .server = server, .ready = ready};
    pthread_mutex_lock(&library_lock);
    rc = ares_library_init(ARES_LIB_INIT_ALL);
    pthread_mutex_unlock(&library_lock);
    return rc;
}

/* Frees the channel, if there is one: callbacks of questions run inside. Called
 * by vc__dns_asker_close(), asker_init() and vc__dns_asker_renew(), on their
 * threads. */
static void
asker_drop(struct vc__dns_asker *a)
{
    if (a->channel != NULL)
        ares_destroy(a->channel);
    a->channel = NULL;
}

void
vc__dns_asker_close(struct vc__dns_asker *a)
{
    asker_drop(a);
    pthread_mutex_lock(&library_lock);
    ares_library_cleanup();
    pthread_mutex_unlock(&library_lock);
}

/* --- the channel: vc__dns_asker_renew() calls these, directly or not ---- */

/* Only c-ares calls this one, inside its functions: on the holder, or on the
 * thread of dns_close(). c-ares has opened a socket, waits for something else
 * on it, or closes it next. Has the engine watch the socket, or forget it;
 * notes in *a if it cannot be watched. */
static void
asker_socket(void *arg, ares_socket_t fd, int reads, int writes)
{
    struct vc__dns_asker *a = arg;

    if (!reads && !writes)
        vc_resolver_forget(a->resolver, fd);
    else if (vc_resolver_watch(a->resolver, fd, writes != 0, a->ready) != VC_OK)
        a->is_unwatched = true;
}

/* For vc__dns_asker_renew(): makes a channel that waits so long for the first
 * answer of a server. A single server's SERVFAIL is reported as it is; of
 * several, the next one is asked. Returns ARES_SUCCESS, or why that failed. */
static int
asker_init(struct vc__dns_asker *a, int timeout_ms, bool is_single)
{
    int mask = ARES_OPT_SOCK_STATE_CB | ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES |
               ARES_OPT_FLAGS | ARES_OPT_EDNSPSZ | ARES_OPT_RESOLVCONF;
    struct ares_options o = {
        .flags = ARES_FLAG_EDNS | (is_single ? ARES_FLAG_NOCHECKRESP : 0),
        .timeout = timeout_ms,
        .tries = VC__DNS_TRIES,
        .udp_port = vc__dns_setting.port,
        .tcp_port = vc__dns_setting.port,
        .ednspsz = EDNS_SIZE,
        .sock_state_cb = asker_socket,
        .sock_state_cb_data = a,
        .resolvconf_path = (char *)vc__dns_setting.resolv_conf, /* copied */
    };
    int rc;

    if (vc__dns_setting.port != 0)
        mask |= ARES_OPT_UDP_PORT | ARES_OPT_TCP_PORT;
#ifdef ARES_OPT_QUERY_CACHE
    /* From 1.31 on c-ares keeps answers itself: what is asked again must be
     * asked. */
    mask |= ARES_OPT_QUERY_CACHE;
    o.qcache_max_ttl = 0;
#endif
    asker_drop(a);
    rc = ares_init_options(&a->channel, &o, mask);
    if (rc != ARES_SUCCESS) {
        a->channel = NULL;
        return rc;
    }
    ares_set_socket_functions(a->channel, &vc__dns_sockets, NULL);
    if (a->server[0] != '\0')
        rc = ares_set_servers_ports_csv(a->channel, a->server);
    return rc; /* vc__dns_asker_renew() drops the channel */
}

/* For asker_servers(): writes the address of a server. */
static void
asker_server_text(const struct ares_addr_port_node *s, char *out, size_t size)
{
    char ip[INET6_ADDRSTRLEN] = "?";

    inet_ntop(s->family, &s->addr, ip, sizeof ip);
    snprintf(out, size, s->family == AF_INET6 ? "[%s]:%d" : "%s:%d", ip,
             s->udp_port == 0 ? PORT_DNS : s->udp_port);
}

/* For vc__dns_asker_renew(): counts the servers that will be asked, and writes
 * the first ones to a->servers. Returns ARES_SUCCESS, or why that failed. */
static int
asker_servers(struct vc__dns_asker *a, int *n)
{
    struct ares_addr_port_node *all, *s;
    int rc = ares_get_servers_ports(a->channel, &all);
    size_t len = 0;

    if (rc != ARES_SUCCESS)
        return rc;
    *n = 0;
    for (s = all; s != NULL; s = s->next, ++*n) {
        char one[SERVER_TEXT] = "...";

        if (*n < SERVERS_TOLD)
            asker_server_text(s, one, sizeof one);
        if (*n <= SERVERS_TOLD)
            len += (size_t)snprintf(a->servers + len, sizeof a->servers - len,
                                    "%s%s", *n == 0 ? "" : ", ", one);
    }
    ares_free_data(all);
    return ARES_SUCCESS;
}

/* For vc__dns_asker_renew(): returns what tells whether a file has changed;
 * zeroed if it cannot be found. */
static struct vc__dns_file
file_look(const char *path)
{
    struct stat s;

    if (stat(path, &s) != 0)
        return (struct vc__dns_file){.ino = 0};
    return (struct vc__dns_file){
        .dev = s.st_dev,
        .ino = s.st_ino,
        .size = s.st_size,
        .mtime = s.st_mtim,
    };
}

/* Asked by vc__dns_asker_renew(): true if nothing tells that the file has
 * changed. */
static bool
file_same(const struct vc__dns_file *a, const struct vc__dns_file *b)
{
    return a->dev == b->dev && a->ino == b->ino && a->size == b->size &&
           a->mtime.tv_sec == b->mtime.tv_sec &&
           a->mtime.tv_nsec == b->mtime.tv_nsec;
}

int
vc__dns_asker_renew(struct vc__dns_asker *a)
{
    struct vc__dns_file now = file_look(vc__dns_setting.resolv_conf);
    int first = (int)VC__DNS_TRIES_MS(vc__dns_setting.second_ms), n = 1, rc;

    a->is_unwatched = false;
    if (a->channel != NULL && file_same(&a->conf, &now))
        return ARES_SUCCESS;
    a->conf = now;
    rc = asker_init(a, first, true);
    if (rc == ARES_SUCCESS)
        rc = asker_servers(a, &n);
    /* Several servers share the time. */
    if (rc == ARES_SUCCESS && n > 1)
        rc = asker_init(a, first / n < 1 ? 1 : first / n, false);
    if (rc != ARES_SUCCESS)
        asker_drop(a);
    return rc;
}

/* --- while questions are under way -------------------------------------- */

void
vc__dns_asker_process(struct vc__dns_asker *a, ares_socket_t fd)
{
    /* A socket that cannot be written yet is left as it is. */
    ares_process_fd(a->channel, fd, fd);
}

uint32_t
vc__dns_asker_wait(struct vc__dns_asker *a, uint32_t most)
{
    struct timeval tv, *least = ares_timeout(a->channel, NULL, &tv);
    uint32_t ms = most;

    /* c-ares rounds down: a millisecond later it certainly is time. */
    if (least != NULL && least->tv_sec < most / 1000 + 1)
        ms = (uint32_t)(least->tv_sec * 1000 + least->tv_usec / 1000 + 1);
    return ms < most ? ms : most;
}
