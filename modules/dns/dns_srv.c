/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See modules/dns/dns_srv.h. vc__dns_srv_parse() calls all static functions,
 * directly or not. Those that return an int return ARES_SUCCESS, or its errors;
 * those that skip return false if the message is malformed. */
#include "modules/dns/dns_srv.h"

#include <ares.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "modules/dns/dns_answer.h"

/* RFC 1035, sections 4.1.1 to 4.1.3: the sizes of the header, of a question
 * after its name, and of a record between its name and its data. */
#define HEADER_SIZE   12u
#define QUESTION_SIZE 4u
#define RECORD_SIZE   10u
#define TYPE_SRV      33u
#define CLASS_IN      1u
/* The data of an SRV record before the name, and the shortest record. */
#define SRV_SIZE  6u
#define SRV_LEAST (1u + RECORD_SIZE + SRV_SIZE + 1u)

#define RANK_MAX VC_ENDPOINT_PRIORITY_MAX

/* A message that is being read. */
struct srv_reading {
    const uint8_t *msg;
    size_t len, at; /* at <= len */
};

/* For all that read here: returns a number of two bytes, in the order of the
 * network. */
static unsigned
srv_u16(const uint8_t *at)
{
    return (unsigned)at[0] << 8 | at[1];
}

/* Asked by all that skip or read a record: true if so many bytes are left. */
static bool
srv_has(const struct srv_reading *r, size_t bytes)
{
    return r->len - r->at >= bytes;
}

/* For srv_questions_skip() and srv_record_read(): skips a name; a pointer ends
 * it. */
static bool
srv_name_skip(struct srv_reading *r)
{
    while (srv_has(r, 1)) {
        uint8_t head = r->msg[r->at];

        if (head >= 0xc0 && srv_has(r, 2)) {
            r->at += 2;
            return true;
        }
        if (head > 63 || !srv_has(r, 1u + head))
            return false;
        r->at += 1u + head;
        if (head == 0)
            return true;
    }
    return false;
}

/* For vc__dns_srv_parse(): skips the n questions of the message. */
static bool
srv_questions_skip(struct srv_reading *r, unsigned n)
{
    for (; n > 0; n--) {
        if (!srv_name_skip(r) || !srv_has(r, QUESTION_SIZE))
            return false;
        r->at += QUESTION_SIZE;
    }
    return true;
}

/* For srv_add(): copies the name of the host, which begins at `at`, if it is
 * one: *is_valid says so. */
static int
srv_host_copy(const struct srv_reading *r, size_t at, char out[VC__DNS_HOST],
              bool *is_valid)
{
    long encoded;
    char *name;
    int rc;

    rc = ares_expand_name(r->msg + at, r->msg, (int)r->len, &name, &encoded);
    if (rc != ARES_SUCCESS)
        return rc == ARES_ENOMEM ? rc : ARES_EBADRESP;
    *is_valid = vc__dns_host_is_valid(name, strlen(name));
    if (*is_valid)
        strcpy(out, name);
    ares_free_string(name);
    return ARES_SUCCESS;
}

/* For srv_record_read(): adds the record whose data, of `size` bytes, begins at
 * `at`, if it counts. */
static int
srv_add(const struct srv_reading *r, size_t at, size_t size,
        struct vc__dns_srvs *out)
{
    struct vc__dns_srv *s = &out->record[out->n];
    const uint8_t *data = r->msg + at;
    bool is_valid;
    int rc;

    if (size <= SRV_SIZE)
        return ARES_EBADRESP;
    *s = (struct vc__dns_srv){
        .priority = (uint16_t)srv_u16(data),
        .weight = (uint16_t)srv_u16(data + 2),
        .port = (uint16_t)srv_u16(data + 4),
        .place = (uint16_t)out->n,
    };
    rc = srv_host_copy(r, at + SRV_SIZE, s->name, &is_valid);
    if (rc == ARES_SUCCESS && is_valid && s->port != 0)
        out->n++;
    return rc;
}

/* For srv_records_read(): reads one record. Those of other types, as CNAME,
 * count by their TTL. */
static int
srv_record_read(struct srv_reading *r, struct vc__dns_srvs *out)
{
    const uint8_t *fixed;
    size_t at, size;
    bool is_srv;

    if (!srv_name_skip(r) || !srv_has(r, RECORD_SIZE))
        return ARES_EBADRESP;
    fixed = r->msg + r->at;
    at = r->at + RECORD_SIZE;
    size = srv_u16(fixed + 8);
    if (!srv_has(r, RECORD_SIZE + size))
        return ARES_EBADRESP;
    r->at = at + size;
    is_srv = srv_u16(fixed) == TYPE_SRV && srv_u16(fixed + 2) == CLASS_IN;
    out->ttl = vc__dns_ttl_least(out->ttl, (uint32_t)srv_u16(fixed + 4) << 16 |
                                               srv_u16(fixed + 6));
    return is_srv ? srv_add(r, at, size, out) : ARES_SUCCESS;
}

/* For qsort() in srv_rank(): by priority, then as they were sent. */
static int
srv_compare(const void *left, const void *right)
{
    const struct vc__dns_srv *a = left, *b = right;

    if (a->priority != b->priority)
        return a->priority < b->priority ? -1 : 1;
    return a->place < b->place ? -1 : a->place > b->place;
}

/* For vc__dns_srv_parse(): orders the records, numbers their priorities, and
 * drops those after VC_ENDPOINTS_MAX. */
static void
srv_rank(struct vc__dns_srvs *s)
{
    qsort(s->record, s->n, sizeof s->record[0], srv_compare);
    if (s->n > VC_ENDPOINTS_MAX)
        s->n = VC_ENDPOINTS_MAX;
    for (size_t i = 1; i < s->n; i++) {
        const struct vc__dns_srv *before = &s->record[i - 1];
        bool is_next = s->record[i].priority != before->priority &&
                       before->rank < RANK_MAX;

        s->record[i].rank = (uint8_t)(before->rank + is_next);
    }
}

/* For vc__dns_srv_parse(): reads all records of the section of answers, n as
 * the header says. ARES_ENODATA if none counts. */
static int
srv_records_read(struct srv_reading *r, unsigned n, struct vc__dns_srvs *out)
{
    /* A count above what the bytes can hold is found when they end. */
    size_t most = r->len / SRV_LEAST + 1;
    int rc = ARES_SUCCESS;

    out->record = calloc(n < most ? n + 1 : most, sizeof out->record[0]);
    if (out->record == NULL)
        return ARES_ENOMEM;
    for (; n > 0 && rc == ARES_SUCCESS; n--)
        rc = srv_record_read(r, out);
    return rc != ARES_SUCCESS ? rc : out->n == 0 ? ARES_ENODATA : rc;
}

int
vc__dns_srv_parse(const uint8_t *msg, size_t len, struct vc__dns_srvs *out)
{
    struct srv_reading r = {msg, len, HEADER_SIZE};
    int rc;

    *out = (struct vc__dns_srvs){.ttl = VC__DNS_TTL_MOST};
    if (len < HEADER_SIZE || len > UINT16_MAX ||
        !srv_questions_skip(&r, srv_u16(msg + 4)))
        return ARES_EBADRESP;
    rc = srv_records_read(&r, srv_u16(msg + 6), out);
    if (rc == ARES_SUCCESS)
        srv_rank(out);
    else
        vc__dns_srv_free(out);
    return rc;
}

void
vc__dns_srv_free(struct vc__dns_srvs *srvs)
{
    free(srvs->record);
    *srvs = (struct vc__dns_srvs){.n = 0};
}
