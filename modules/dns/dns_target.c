/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See modules/dns/dns_target.h. vc__dns_target_parse() calls all static
 * functions, directly or not; vc__dns_host_is_valid() calls is_host_char().
 * Those that read a part return false if it is malformed, and r->why then says
 * what is wrong; for port_read() and host_split() their callers say so. */
#include "modules/dns/dns_target.h"

#include <arpa/inet.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define SCHEME    "dns:"
#define TRANSPORT "transport="
#define PORT_DNS  53u
#define NAME_MAX  253u
#define LABEL_MAX 63u

/* Part of the target's text. */
struct dns_part {
    const char *at;
    size_t len;
};

/* A target that is being read. */
struct dns_reading {
    struct vc__dns_target *target;
    char *why;
};

/* For all that read a part, and vc__dns_target_parse(): writes what is wrong to
 * r->why; the library names the target. Returns false. */
static bool __attribute__((format(printf, 2, 3)))
target_refuse(const struct dns_reading *r, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(r->why, VC__DNS_WHY, format, args);
    va_end(args);
    return false;
}

/* Returns the length of a part for "%.*s", at most 100: for those that read a
 * part and call target_refuse(). */
static int
part_width(struct dns_part p)
{
    return p.len > 100 ? 100 : (int)p.len;
}

/* For all that split a text: takes what is before `sign` from *rest, and the
 * sign. If there is no such sign, takes all. Returns true if there was one. */
static bool
part_cut(struct dns_part *rest, char sign, struct dns_part *first)
{
    const char *at = memchr(rest->at, sign, rest->len);

    *first = *rest;
    if (at == NULL) {
        *rest = (struct dns_part){rest->at + rest->len, 0};
        return false;
    }
    first->len = (size_t)(at - rest->at);
    *rest = (struct dns_part){at + 1, rest->len - first->len - 1};
    return true;
}

/* For server_read() and name_read(): reads a decimal port, 1..65535. False if
 * it is none. */
static bool
port_read(struct dns_part p, unsigned *port)
{
    unsigned is = 0;

    if (p.len < 1 || p.len > 5)
        return false;
    for (size_t i = 0; i < p.len; i++) {
        if (p.at[i] < '0' || p.at[i] > '9')
            return false;
        is = is * 10 + (unsigned)(p.at[i] - '0');
    }
    *port = is;
    return is >= 1 && is <= 65535;
}

/* Asked by server_read() and host_read(): true if the part is an address of
 * this family. */
static bool
part_is_address(int family, struct dns_part p)
{
    char text[INET6_ADDRSTRLEN];
    struct in6_addr any;

    if (p.len >= sizeof text)
        return false;
    memcpy(text, p.at, p.len);
    text[p.len] = '\0';
    return inet_pton(family, text, &any) == 1;
}

/* For server_read() and name_read(): splits "HOST:PORT" and "[HOST]:PORT".
 * *colon is true if there is a port. False if it has another form. */
static bool
host_split(struct dns_part all, struct dns_part *host, struct dns_part *port,
           bool *colon, bool *bracket)
{
    struct dns_part rest = all;

    *bracket = all.len > 0 && all.at[0] == '[';
    if (*bracket) {
        rest = (struct dns_part){all.at + 1, all.len - 1};
        if (!part_cut(&rest, ']', host) || (rest.len > 0 && rest.at[0] != ':'))
            return false;
        *colon = rest.len > 0;
        *port = (struct dns_part){rest.at + *colon, rest.len - *colon};
        return true;
    }
    *colon = part_cut(&rest, ':', host);
    *port = rest;
    return memchr(rest.at, ':', rest.len) == NULL;
}

/* --- the parts of a target --------------------------------------------- */

/* For authority_read(): reads the DNS server to ask. */
static bool
server_read(const struct dns_reading *r, struct dns_part all)
{
    struct dns_part host, port;
    unsigned number = PORT_DNS;
    bool colon, bracket;

    if (!host_split(all, &host, &port, &colon, &bracket) ||
        !part_is_address(bracket ? AF_INET6 : AF_INET, host))
        return target_refuse(
            r,
            "\"%.*s\" is no address of a DNS server; write it as 10.0.0.2, "
            "10.0.0.2:53 or [fd09::2]:53",
            part_width(all), all.at);
    if (colon && !port_read(port, &number))
        return target_refuse(r, "\"%.*s\" is no port of a DNS server",
                             part_width(port), port.at);
    snprintf(r->target->server, sizeof r->target->server,
             bracket ? "[%.*s]:%u" : "%.*s:%u", (int)host.len, host.at, number);
    return true;
}

/* For vc__dns_target_parse(): takes "//SERVER/" or "///" from *rest, if it is
 * there. */
static bool
authority_read(const struct dns_reading *r, struct dns_part *rest)
{
    struct dns_part server;

    if (rest->len < 2 || memcmp(rest->at, "//", 2) != 0)
        return true;
    *rest = (struct dns_part){rest->at + 2, rest->len - 2};
    if (!part_cut(rest, '/', &server))
        return target_refuse(r, "after // it has no further '/'; write "
                                "dns:///HOST:PORT or dns://SERVER/HOST:PORT");
    return server.len == 0 || server_read(r, server);
}

/* Asked by vc__dns_host_is_valid(): true if a label may have this character. */
static bool
is_host_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c >= '0' && c <= '9') || c == '-' || c == '_';
}

bool
vc__dns_host_is_valid(const char *host, size_t len)
{
    size_t label = 0;

    if (len > 0 && host[len - 1] == '.')
        len--;
    if (len < 1 || len > NAME_MAX)
        return false;
    for (size_t i = 0; i < len; i++) {
        if (host[i] == '.' ? label == 0 : !is_host_char(host[i]))
            return false;
        label = host[i] == '.' ? 0 : label + 1;
        if (label > LABEL_MAX)
            return false;
    }
    return label > 0;
}

/* For name_read(): reads the host of a name, which has or has not had
 * brackets. */
static bool
host_read(const struct dns_reading *r, struct dns_part host, bool bracket,
          struct vc__dns_name *out)
{
    if (bracket ? !part_is_address(AF_INET6, host)
                : !vc__dns_host_is_valid(host.at, host.len))
        return target_refuse(r, "\"%.*s\" is no %s", part_width(host), host.at,
                             bracket ? "IPv6 address"
                                     : "name of a host: it has labels of 1 to "
                                       "63 letters, digits, '-' and '_'");
    memcpy(out->host, host.at, host.len);
    out->host[host.len] = '\0';
    return true;
}

/* For names_read(): reads one name, with its port, and adds it to those of the
 * target. */
static bool
name_read(const struct dns_reading *r, struct dns_part all)
{
    struct vc__dns_name *out = &r->target->name[r->target->n];
    struct dns_part host, port;
    bool colon, bracket;
    unsigned number = 0;

    if (all.len == 0)
        return target_refuse(r, "it has an empty name; write HOST:PORT");
    if (!host_split(all, &host, &port, &colon, &bracket))
        return target_refuse(r,
                             "\"%.*s\" is not HOST:PORT; an IPv6 address is "
                             "written in brackets, [fd09::1]:7471",
                             part_width(all), all.at);
    out->is_srv = !colon && !bracket && all.at[0] == '_';
    if (!colon && !out->is_srv)
        return target_refuse(r,
                             "\"%.*s\" has no port; write HOST:PORT. Only a "
                             "name of SRV records, which begins with '_', has "
                             "none",
                             part_width(all), all.at);
    if (colon && !port_read(port, &number))
        return target_refuse(r, "\"%.*s\" is no port; write 1 to 65535",
                             part_width(port), port.at);
    out->port = (uint16_t)number;
    r->target->n++;
    return host_read(r, host, bracket, out);
}

/* For vc__dns_target_parse(): reads all names, which have commas between
 * them. */
static bool
names_read(const struct dns_reading *r, struct dns_part rest)
{
    struct dns_part name;
    bool more;

    do {
        if (r->target->n == VC__DNS_NAMES_MAX)
            return target_refuse(r, "it has more than %u names",
                                 VC__DNS_NAMES_MAX);
        more = part_cut(&rest, ',', &name);
        if (!name_read(r, name))
            return false;
    } while (more);
    return true;
}

/* For query_read(): reads the value of transport=. */
static bool
transport_read(const struct dns_reading *r, struct dns_part value)
{
    static const char *const all[] = {"vc", "rdma", "tcp"};

    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        if (strlen(all[i]) != value.len ||
            memcmp(all[i], value.at, value.len) != 0)
            continue;
        strcpy(r->target->transport, all[i]);
        return true;
    }
    return target_refuse(r, "its transport is \"%.*s\"; write vc, rdma or tcp",
                         part_width(value), value.at);
}

/* For vc__dns_target_parse(): reads what is after the '?'. */
static bool
query_read(const struct dns_reading *r, struct dns_part rest)
{
    size_t len = strlen(TRANSPORT);
    struct dns_part one;
    bool more;

    do {
        more = part_cut(&rest, '&', &one);
        if (one.len < len || memcmp(one.at, TRANSPORT, len) != 0)
            return target_refuse(r,
                                 "\"%.*s\" is unknown after '?'; there is "
                                 "transport=vc|rdma|tcp",
                                 part_width(one), one.at);
        if (r->target->transport[0] != '\0')
            return target_refuse(r, "it has two transports");
        if (!transport_read(r, (struct dns_part){one.at + len, one.len - len}))
            return false;
    } while (more);
    return true;
}

bool
vc__dns_target_parse(struct vc__dns_target *target, const char *text,
                     char why[VC__DNS_WHY])
{
    const struct dns_reading r = {target, why};
    struct dns_part rest, names;

    *target = (struct vc__dns_target){.n = 0};
    if (text == NULL || strncmp(text, SCHEME, strlen(SCHEME)) != 0)
        return target_refuse(&r, "it does not begin with dns:");
    rest.at = text + strlen(SCHEME);
    rest.len = strlen(rest.at);
    if (part_cut(&rest, '?', &names) && !query_read(&r, rest))
        return false;
    if (target->transport[0] == '\0')
        strcpy(target->transport, "vc");
    return authority_read(&r, &names) && names_read(&r, names);
}
