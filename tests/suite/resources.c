/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See tests/suite/resources.h. */
#include "tests/suite/resources.h"

#include <linux/netlink.h>
#include <rdma/rdma_netlink.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "tests/suite/fixture.h"

#define ANSWER_S 5

struct request {
    struct nlmsghdr head;
    struct nlattr attr;
    uint32_t device;
};

static int
request_send(int command, uint32_t device)
{
    const struct timeval most = {.tv_sec = ANSWER_S};
    struct request r = {
        .head = {.nlmsg_len = sizeof r,
                 .nlmsg_type = RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, command),
                 .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP},
        .attr = {.nla_len = NLA_HDRLEN + sizeof device,
                 .nla_type = RDMA_NLDEV_ATTR_DEV_INDEX},
        .device = device,
    };
    int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_RDMA);

    assert_true(fd >= 0);
    assert_int_equal(
        0, setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &most, sizeof most));
    assert_int_equal(sizeof r, send(fd, &r, sizeof r, 0));
    return fd;
}

static const struct nlattr *
attr_next(const uint8_t **at, const uint8_t *end)
{
    const struct nlattr *a = (const void *)*at;

    if (end - *at < NLA_HDRLEN || a->nla_len < NLA_HDRLEN ||
        a->nla_len > end - *at)
        return NULL;
    *at +=
        NLA_ALIGN(a->nla_len) < end - *at ? NLA_ALIGN(a->nla_len) : end - *at;
    return a;
}

/* True if the object is the process's: the kernel records the thread that made
 * it. */
static bool
is_of(pid_t pid, uint32_t thread)
{
    char path[64];

    if (pid == 0)
        return true;
    snprintf(path, sizeof path, "/proc/%d/task/%u", pid, thread);
    return access(path, F_OK) == 0;
}

/* Counts the process's entries in a list; an entry has an id if a process owns
 * it. */
static unsigned
pid_count(const uint8_t *at, const uint8_t *end, pid_t pid, unsigned depth)
{
    const struct nlattr *a;
    unsigned n = 0;

    while ((a = attr_next(&at, end)) != NULL) {
        const uint8_t *data = (const uint8_t *)a + NLA_HDRLEN;
        unsigned type = a->nla_type & NLA_TYPE_MASK;
        uint32_t whose;

        if (depth == 2 && type == RDMA_NLDEV_ATTR_RES_PID &&
            a->nla_len == NLA_HDRLEN + sizeof whose) {
            memcpy(&whose, data, sizeof whose);
            n += is_of(pid, whose);
        }
        if (depth == 1 || (depth == 0 && (type == RDMA_NLDEV_ATTR_RES_QP ||
                                          type == RDMA_NLDEV_ATTR_RES_CQ ||
                                          type == RDMA_NLDEV_ATTR_RES_MR ||
                                          type == RDMA_NLDEV_ATTR_RES_PD ||
                                          type == RDMA_NLDEV_ATTR_RES_SRQ)))
            n += pid_count(data, (const uint8_t *)a + a->nla_len, pid,
                           depth + 1);
    }
    return n;
}

/* Handles a message of the answer. False after the last one. */
static bool
message_take(const struct nlmsghdr *h, pid_t pid, unsigned *n, bool *known)
{
    const uint8_t *data = NLMSG_DATA(h);
    int32_t err = 0;

    if (h->nlmsg_type == NLMSG_ERROR || h->nlmsg_type == NLMSG_DONE) {
        if (h->nlmsg_len >= NLMSG_LENGTH(sizeof err))
            memcpy(&err, data, sizeof err);
        *known = err == 0;
        return false;
    }
    *n += pid_count(data, (const uint8_t *)h + h->nlmsg_len, pid, 0);
    return true;
}

/* Counts into *n; false when the device is not known. */
static bool
count(int command, uint32_t device, pid_t pid, unsigned *n)
{
    static _Alignas(struct nlmsghdr) uint8_t buffer[65536];
    int fd = request_send(command, device);
    bool known = false, more = true;

    while (more) {
        ssize_t len = recv(fd, buffer, sizeof buffer, 0);
        struct nlmsghdr *h = (void *)buffer;

        assert_true(len > 0);
        for (; more && NLMSG_OK(h, (size_t)len); h = NLMSG_NEXT(h, len))
            more = message_take(h, pid, n, &known);
    }
    close(fd);
    return known;
}

bool
resources_of(uint32_t device, pid_t pid, struct resources *r)
{
    memset(r, 0, sizeof *r);
    return count(RDMA_NLDEV_CMD_RES_QP_GET, device, pid, &r->qps) &&
           count(RDMA_NLDEV_CMD_RES_CQ_GET, device, pid, &r->cqs) &&
           count(RDMA_NLDEV_CMD_RES_MR_GET, device, pid, &r->mrs) &&
           count(RDMA_NLDEV_CMD_RES_PD_GET, device, pid, &r->pds) &&
           count(RDMA_NLDEV_CMD_RES_SRQ_GET, device, pid, &r->srqs);
}

uint32_t
resources_device(const char *name)
{
    char command[128];
    uint32_t index;
    FILE *f;

    snprintf(command, sizeof command,
             "PATH=/usr/sbin:/usr/bin:/sbin:/bin rdma dev show %s", name);
    f = popen(command, "r");
    assert_non_null(f);
    assert_int_equal(1, fscanf(f, "%u:", &index));
    assert_int_equal(0, pclose(f));
    return index;
}
