/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Hosts, their addresses, ports and devices. Static functions run on the thread
 * of their caller: one thread of the world runs at a time (world.h). */
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "real.h"

#define FIRST_PORT 40000
/* Limits of rxe: max_qp_rd_atom, max_ah, max_mcast_grp, max_mcast_qp_attach. */
#define READS_MAX     128
#define AHS_MAX       32767
#define GROUPS_MAX    8192
#define GROUP_QPS_MAX 56

/* Called by fake_host_new() and fake_device_new(). */
static struct fake_host *
host_add(const char *name, const char *addr, struct fake_host *machine)
{
    struct fake_host *h = fake__alloc(sizeof *h);
    struct fake_host **end = &fake__world.hosts;
    struct sockaddr_in *v4 = (struct sockaddr_in *)&h->addr;
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)&h->addr;

    snprintf(h->name, sizeof h->name, "%s", name);
    if (inet_pton(AF_INET, addr, &v4->sin_addr) == 1)
        h->addr.ss_family = AF_INET;
    else if (inet_pton(AF_INET6, addr, &v6->sin6_addr) == 1)
        h->addr.ss_family = AF_INET6;
    else
        fake__stuck("a host or device without an address");
    h->machine = machine != NULL ? machine : h;
    h->index = (unsigned)fake__device_count(machine);
    h->port_up = true;
    h->reads_in = h->reads_out = READS_MAX;
    h->max_inline = FAKE__MAX_INLINE;
    h->max_ah = AHS_MAX;
    h->max_groups = GROUPS_MAX;
    h->max_group_qps = GROUP_QPS_MAX;
    h->next_port = FIRST_PORT;
    while (*end != NULL)
        end = &(*end)->next;
    *end = h;
    h->device = fake__device_new(h);
    return h;
}

struct fake_host *
fake_host_new(const char *name, const char *addr)
{
    FAKE_CALL_SAFE("fake_host_new");

    return host_add(name, addr, NULL);
}

struct fake_host *
fake_device_new(struct fake_host *host, const char *addr)
{
    FAKE_CALL_SAFE("fake_device_new");

    return host_add(host->name, addr, host);
}

/* Called in cm.c, this file and verbs.c. */
struct fake_host *
fake__device_next(const struct fake_host *device)
{
    struct fake_host *d = device->next;

    while (d != NULL && d->machine != device->machine)
        d = d->next;
    return d;
}

struct fake_host *
fake_host_local(void)
{
    return fake__world.hosts;
}

/* Called by rdma_get_devices() (cm.c), host_add() and ibv_get_device_list()
 * (verbs.c). */
size_t
fake__device_count(const struct fake_host *host)
{
    size_t n = 0;

    for (; host != NULL; host = fake__device_next(host))
        n++;
    return n;
}

/* Called by bind_to(), remote_of() and device_to() (cm.c). */
struct fake_host *
fake__host_of_addr(const struct sockaddr *addr)
{
    const struct sockaddr_in *v4 = (const void *)addr;
    const struct sockaddr_in6 *v6 = (const void *)addr;

    for (struct fake_host *h = fake__world.hosts; h != NULL; h = h->next) {
        const struct sockaddr_in *h4 = (const void *)&h->addr;
        const struct sockaddr_in6 *h6 = (const void *)&h->addr;

        if (h->addr.ss_family != addr->sa_family)
            continue;
        if (addr->sa_family == AF_INET &&
            h4->sin_addr.s_addr == v4->sin_addr.s_addr)
            return h;
        if (addr->sa_family == AF_INET6 &&
            memcmp(&h6->sin6_addr, &v6->sin6_addr, sizeof v6->sin6_addr) == 0)
            return h;
    }
    return NULL;
}

/* As in RoCE: an IPv4 address is mapped into IPv6. Called in most files of the
 * fake. */
void
fake__gid_of(const struct fake_host *host, union ibv_gid *gid)
{
    const struct sockaddr_in *v4 = (const void *)&host->addr;
    const struct sockaddr_in6 *v6 = (const void *)&host->addr;

    memset(gid, 0, sizeof *gid);
    if (host->addr.ss_family == AF_INET6) {
        memcpy(gid, &v6->sin6_addr, sizeof *gid);
        return;
    }
    gid->raw[10] = gid->raw[11] = 0xff;
    memcpy(gid->raw + 12, &v4->sin_addr, 4);
}

/* Called by most functions of qp_wire.c. */
struct fake_host *
fake__host_of_gid(const union ibv_gid *gid)
{
    for (struct fake_host *h = fake__world.hosts; h != NULL; h = h->next) {
        union ibv_gid own;

        fake__gid_of(h, &own);
        if (memcmp(&own, gid, sizeof own) == 0)
            return h;
    }
    return NULL;
}

/* Called in ud.c and verbs_ah.c. */
bool
fake__gid_is_group(const union ibv_gid *gid)
{
    static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};

    return gid->raw[0] == 0xff ||
           (memcmp(gid->raw, mapped, sizeof mapped) == 0 &&
            gid->raw[12] >= 224 && gid->raw[12] < 240);
}

/* --- ports and devices ------------------------------------------------- */

void
fake_port_set(struct fake_host *host, bool up)
{
    FAKE_CALL_SAFE("fake_port_set");

    if (host->port_up == up)
        return;
    host->port_up = up;
    fake__note("%s: port %s", host->name, up ? "up" : "down");
    fake__device_port_event(host->device, up);
}

void
fake_device_reads(struct fake_host *host, unsigned in, unsigned out)
{
    FAKE_CALL_SAFE("fake_device_reads");

    if (in > READS_MAX || out > READS_MAX)
        fake__stuck("fake_device_reads: more than 128");
    host->reads_in = (uint8_t)in;
    host->reads_out = (uint8_t)out;
}

void
fake_device_inline(struct fake_host *host, unsigned bytes)
{
    FAKE_CALL_SAFE("fake_device_inline");

    if (bytes > FAKE__MAX_INLINE)
        fake__stuck("fake_device_inline: more than adapters have");
    host->max_inline = bytes;
}

void
fake_device_handles(struct fake_host *host, unsigned ahs)
{
    FAKE_CALL_SAFE("fake_device_handles");

    host->max_ah = ahs;
}

void
fake_device_drops_empty(struct fake_host *host, bool drops)
{
    FAKE_CALL_SAFE("fake_device_drops_empty");

    host->drops_empty = drops;
}

void
fake_device_remove(struct fake_host *host)
{
    FAKE_CALL_SAFE("fake_device_remove");

    if (host->removed)
        return;
    host->removed = true;
    fake__note("%s: device removed", host->name);
    fake__device_gone(host->device);
    fake__cm_device_gone(host);
}

void
fake_device_return(struct fake_host *host)
{
    FAKE_CALL_SAFE("fake_device_return");

    if (!host->removed)
        return;
    host->device = fake__device_new(host);
    host->removed = false;
    fake__note("%s: device is back", host->name);
}
