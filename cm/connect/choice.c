/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See cm/connect/choice.h. Static functions run within vc__choice_make() or
 * vc__choice_require(). */
#include "cm/connect/choice.h"

#include <stdlib.h>
#include <string.h>

#include "transport/core/error.h"

#define ALLOWED   "VERBCALL_TRANSPORTS"
#define LIST_SOME "; list some of shm,rdma,tcp, the best first"

static const char *const all[] = {"shm", "rdma", "tcp"};
#define N_ALL (sizeof all / sizeof *all)

unsigned
vc__choice_rank(const struct vc__choice *c,
                const struct vc__transport *transport)
{
    unsigned i = 0;

    while (i < c->n && c->best[i] != transport)
        i++;
    return i;
}

const char *
vc__choice_allowed(void)
{
    const char *list = getenv(ALLOWED);

    return list == NULL || list[0] == '\0' ? NULL : list;
}

/* A list of transports is malformed, for the reason `why`, at this name, of len
 * bytes: returns VC_INVALID_ARGUMENT, with a text. For list_read(). */
static enum vc_status
fail_list(const char *option, const char *list, const char *name, size_t len,
          const char *why)
{
    if (len == 0)
        return vc__fail(VC_INVALID_ARGUMENT,
                        "%s \"%.60s\": a name is empty" LIST_SOME, option,
                        list);
    return vc__fail(VC_INVALID_ARGUMENT, "%s \"%.60s\": '%.*s' %s" LIST_SOME,
                    option, list, (int)(len < 40 ? len : 40), name, why);
}

/* True if a list may contain this name, also when this build lacks the
 * transport. For list_read(). */
static bool
is_of_all(const char *name, size_t len)
{
    for (unsigned i = 0; i < N_ALL; i++) {
        if (strlen(all[i]) == len && memcmp(all[i], name, len) == 0)
            return true;
    }
    return false;
}

/* Fills *c from a list such as "rdma,tcp". Returns VC_OK, or
 * VC_INVALID_ARGUMENT with a text that names the option. For
 * vc__choice_make(). */
static enum vc_status
list_read(struct vc__choice *c, const char *option, const char *list)
{
    const char *name = list;

    c->n = 0;
    for (;;) {
        size_t len = strcspn(name, ",");
        const struct vc__transport *t = vc__transport_find(name, len);

        if (!is_of_all(name, len))
            return fail_list(option, list, name, len, "is unknown");
        if (t == NULL)
            return fail_list(option, list, name, len,
                             "is missing: this library was built without RDMA "
                             "(configure --without-rdma)");
        if (vc__choice_has(c, t))
            return fail_list(option, list, name, len, "is listed twice");
        c->best[c->n++] = t;
        if (name[len] == '\0')
            return VC_OK;
        name += len + 1;
    }
}

/* Fills *c with all that a list may contain and this build has. For
 * vc__choice_make(). */
static void
take_all(struct vc__choice *c)
{
    c->n = 0;
    for (unsigned i = 0; i < N_ALL; i++) {
        const struct vc__transport *t =
            vc__transport_find(all[i], strlen(all[i]));

        if (t != NULL)
            c->best[c->n++] = t;
    }
}

/* Keeps in *c the transports that are in *other too, in the order of *c. For
 * vc__choice_make() and vc__choice_require(). */
static void
keep_common(struct vc__choice *c, const struct vc__choice *other)
{
    unsigned n = 0;

    for (unsigned i = 0; i < c->n; i++) {
        if (vc__choice_has(other, c->best[i]))
            c->best[n++] = c->best[i];
    }
    c->n = n;
}

enum vc_status
vc__choice_make(struct vc__choice *c, const char *option, const char *list,
                const char *allowed)
{
    struct vc__choice other;
    enum vc_status status = VC_OK;

    take_all(c);
    if (list != NULL)
        status = list_read(c, option, list);
    if (status != VC_OK || allowed == NULL)
        return status;
    status = list_read(&other, ALLOWED, allowed);
    if (status == VC_OK && list == NULL)
        *c = other;
    else if (status == VC_OK)
        keep_common(c, &other);
    if (status == VC_OK && c->n == 0)
        return vc__fail(VC_FAILED_PRECONDITION,
                        "%s \"%.40s\" and " ALLOWED " \"%.40s\" of the "
                        "environment have no transport in common",
                        option, list, allowed);
    return status;
}

/* True if shm is among them. For vc__choice_require(). */
static bool
has_local(const struct vc__choice *c)
{
    bool has = false;

    for (unsigned i = 0; i < c->n; i++)
        has |= c->best[i]->local;
    return has;
}

enum vc_status
vc__choice_require(struct vc__choice *c, const struct vc__choice *require)
{
    struct vc__choice both = *c;

    if (require->n > 0) {
        keep_common(&both, require);
        if (both.n == 0)
            return vc__fail(VC_INVALID_ARGUMENT,
                            "require: none of these transports is among those "
                            "of the option transports");
        /* If shm may carry calls, the other transports are needed to find
         * it. */
        if (!has_local(&both))
            *c = both;
    }
    if (c->n == 1 && c->best[0]->local)
        return vc__fail(VC_INVALID_ARGUMENT,
                        "transports: shm needs rdma or tcp to find the server "
                        "of vc://HOST:PORT; shm:NAME needs neither");
    return VC_OK;
}
