/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See tests/suite/directory.h. */
#include "tests/suite/directory.h"

#include <stdio.h>
#include <string.h>

#define PICTURE_MAX 1000000

static uint8_t picture[PICTURE_MAX];

Lookup__Name
directory_name(const char *text, uint32_t size)
{
    Lookup__Name name = LOOKUP__NAME__INIT;

    name.text = (char *)text;
    name.has_size = size != 0;
    name.size = size;
    return name;
}

Lookup__Phone
directory_phone(const char *number)
{
    Lookup__Phone phone = LOOKUP__PHONE__INIT;

    phone.number = (char *)number;
    return phone;
}

/* --- as for protobuf-c-rpc ---------------------------------------------- */

/* Everything in the reply is overwritten when this function returns. */
static void
plain__by_name(Lookup__Directory_Service *service, const Lookup__Name *name,
               Lookup__Entry_Closure closure, void *closure_data)
{
    Lookup__Entry entry = LOOKUP__ENTRY__INIT;
    Lookup__Phone first, second = directory_phone("555-0003");
    Lookup__Phone *phones[] = {&first, &second};
    char text[16];

    (void)service;
    if (name->text == NULL ||
        (strcmp(name->text, "ann") != 0 && strcmp(name->text, "bob") != 0)) {
        closure(NULL, closure_data);
        return;
    }
    snprintf(text, sizeof text, "%s", name->text);
    entry.name = text;
    entry.phones = phones;
    entry.n_phones = text[0] == 'a' ? 1 : 2;
    first = directory_phone(text[0] == 'a' ? "555-0001" : "555-0002");
    first.has_kind = text[0] == 'b';
    first.kind = LOOKUP__KIND__WORK;
    entry.has_picture = name->has_size;
    entry.picture.len = name->size;
    entry.picture.data = picture;
    closure(&entry, closure_data);
    memset(text, '!', sizeof text);
    memset(&entry, 0xff, sizeof entry);
    memset(&first, 0xff, sizeof first);
}

static void
plain__by_number(Lookup__Directory_Service *service, const Lookup__Phone *phone,
                 Lookup__Entry_Closure closure, void *closure_data)
{
    Lookup__Name name = directory_name(
        strcmp(phone->number, "555-0001") == 0 ? "ann" : "bob", 0);

    plain__by_name(service, &name, closure, closure_data);
}

static void
plain__everyone(Lookup__Directory_Service *service, const Lookup__Name *name,
                Lookup__Entry_Closure closure, void *closure_data)
{
    plain__by_name(service, name, closure, closure_data);
}

static void
plain__print(Lookup__Directory_Service *service, const Lookup__Name *name,
             Lookup__Entry_Closure closure, void *closure_data)
{
    plain__by_name(service, name, closure, closure_data);
}

Lookup__Directory_Service
directory_plain(void)
{
    return (Lookup__Directory_Service)LOOKUP__DIRECTORY__INIT(plain__);
}

/* --- as for our generator ----------------------------------------------- */

struct taken {
    struct vc_call *call;
    Lookup__Entry *reply;
    enum vc_status status;
};

/* Copies the answer of plain__by_name() into the reply. */
static void
take(const Lookup__Entry *entry, void *arg)
{
    struct taken *t = arg;
    size_t size;
    uint8_t *packed;
    Lookup__Entry *copy;

    t->status = VC_NOT_FOUND;
    if (entry == NULL)
        return;
    size = lookup__entry__get_packed_size(entry);
    packed = vc_call_alloc(t->call, size);
    lookup__entry__pack(entry, packed);
    copy = lookup__entry__unpack(NULL, size, packed);
    t->reply->name = vc_call_strdup(t->call, copy->name);
    t->reply->n_phones = copy->n_phones;
    t->reply->phones =
        vc_call_alloc(t->call, copy->n_phones * sizeof *copy->phones);
    for (size_t i = 0; i < copy->n_phones; i++) {
        t->reply->phones[i] = vc_call_alloc(t->call, sizeof **copy->phones);
        *t->reply->phones[i] = *copy->phones[i];
        t->reply->phones[i]->number =
            vc_call_strdup(t->call, copy->phones[i]->number);
    }
    t->reply->has_picture = copy->has_picture;
    t->reply->picture.len = copy->picture.len;
    t->reply->picture.data = picture;
    lookup__entry__free_unpacked(copy, NULL);
    t->status = VC_OK;
}

static enum vc_status
own_by_name(struct vc_call *call, const Lookup__Name *name,
            Lookup__Entry *reply, void *arg)
{
    struct taken t = {.call = call, .reply = reply};

    (void)arg;
    plain__by_name(NULL, name, take, &t);
    return t.status == VC_OK
               ? VC_OK
               : vc_call_fail(call, t.status, "there is no %s", name->text);
}

static enum vc_status
own_by_number(struct vc_call *call, const Lookup__Phone *phone,
              Lookup__Entry *reply, void *arg)
{
    struct taken t = {.call = call, .reply = reply};

    (void)arg;
    plain__by_number(NULL, phone, take, &t);
    return t.status;
}

const struct lookup_directory_methods directory_own = {
    .by_name = own_by_name,
    .by_number = own_by_number,
};

/* --- clients ------------------------------------------------------------ */

static size_t
say_phone(const Lookup__Phone *phone, const char *before, char *out,
          size_t size)
{
    return (size_t)snprintf(
        out, size, "%s%s%s", before, phone->number,
        phone->has_kind && phone->kind == LOOKUP__KIND__WORK ? " work" : "");
}

void
directory_say(const Lookup__Entry *entry, char out[256])
{
    size_t n = (size_t)snprintf(out, 100, "%s", entry->name);

    for (size_t i = 0; i < entry->n_phones && n < 200; i++)
        n += say_phone(entry->phones[i], i == 0 ? " " : ", ", out + n, 256 - n);
    if (entry->has_picture && n < 200)
        snprintf(out + n, 256 - n, ", %zu bytes", entry->picture.len);
}

void
directory_told(const Lookup__Entry *entry, void *arg)
{
    struct directory_answer *a = arg;

    a->calls++;
    a->status = entry != NULL                ? VC_OK
                : vc_error_status() != VC_OK ? vc_error_status()
                                             : VC_UNKNOWN;
    a->outcome = entry != NULL ? VC_OUTCOME_EXECUTED : vc_error_outcome();
    if (entry != NULL)
        directory_say(entry, a->text);
    else
        snprintf(a->text, sizeof a->text, "%s", vc_error());
}
