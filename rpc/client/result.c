/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See rpc/client/result.h. vc__metadata_pack() calls the static functions about
 * a request, vc__result_fill() those about a result. */
#include "rpc/client/result.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rpc/options.h"

/* --- of a request ------------------------------------------------------ */

/* Checks a program's entries; *size is the bytes that they take if packed.
 * Returns the errors of vc__metadata_pack(). */
static enum vc_status
entries_measure(const struct vc_metadata *entries, size_t n, size_t *size)
{
    *size = 0;
    for (size_t i = 0; i < n; i++) {
        const char *fault = vc__metadata_fault(&entries[i]);

        if (fault != NULL)
            return vc__fail(VC_INVALID_ARGUMENT, "metadata[%zu]: %s", i, fault);
        if (!vc__metadata_fits(*size, &entries[i]))
            return vc__fail(
                VC_RESOURCE_EXHAUSTED,
                "metadata[%zu], %s: with its value of %zu bytes the metadata "
                "exceed %u bytes; put long values into the message",
                i, entries[i].key, entries[i].length, VC_METADATA_MAX);
        *size += vc__metadata_size(&entries[i]);
    }
    return VC_OK;
}

/* The library's own metadata, in front of the program's. */
struct own {
    struct vc_metadata entries[2];
    unsigned n;
    char number[16];
};

/* Fills in the number of attempts before this one, if there are any, and a
 * priority that is not the default. */
static void
own_fill(struct own *o, unsigned attempt, uint32_t priority)
{
    struct vc_metadata *e = o->entries;

    if (attempt > 1) {
        *e = (struct vc_metadata){.key = VC__METADATA_ATTEMPTS,
                                  .value = o->number};
        e++->length =
            (size_t)snprintf(o->number, sizeof o->number, "%u", attempt - 1);
    }
    if (priority != VC_PRIORITY_DEFAULT) {
        *e = (struct vc_metadata){.key = VC_METADATA_PRIORITY,
                                  .value = priority == VC_PRIORITY_CRITICAL
                                               ? "critical"
                                               : "sheddable"};
        e->length = strlen(e->value);
        e++;
    }
    o->n = (unsigned)(e - o->entries);
}

/* Allocates room for the own metadata and size bytes, and writes the own.
 * Returns where the others go; NULL with an error if memory is short. */
static uint8_t *
pack_begin(const struct own *o, size_t size, uint8_t **packed, uint16_t *len)
{
    uint8_t *out;

    for (unsigned i = 0; i < o->n; i++)
        size += vc__metadata_size(&o->entries[i]);
    *packed = out = malloc(size);
    *len = (uint16_t)size;
    if (out == NULL)
        vc__fail(VC_RESOURCE_EXHAUSTED, "out of memory");
    for (unsigned i = 0; out != NULL && i < o->n; i++)
        out = vc__metadata_put(out, &o->entries[i], false);
    return out;
}

enum vc_status
vc__metadata_pack(const struct vc_metadata *entries, size_t n, unsigned attempt,
                  uint32_t priority, uint8_t **packed, uint16_t *len)
{
    struct own own;
    size_t size;
    enum vc_status status = entries_measure(entries, n, &size);
    uint8_t *out;

    if (status != VC_OK)
        return status;
    own_fill(&own, attempt, priority);
    out = pack_begin(&own, size, packed, len);
    if (out == NULL)
        return VC_RESOURCE_EXHAUSTED;
    for (size_t i = 0; i < n; i++)
        out = vc__metadata_put(out, &entries[i], false);
    return VC_OK;
}

/* --- of a reply -------------------------------------------------------- */

struct vc__reply_metadata *
vc__reply_metadata_new(const struct vc__metadata *m, bool may_trail,
                       const char **fault)
{
    struct vc__reply_metadata *b;
    size_t n;

    *fault = vc__metadata_check(m, may_trail, &n);
    if (*fault != NULL)
        return NULL;
    b = malloc(sizeof *b + vc__metadata_memory(m, n));
    if (b == NULL)
        return NULL;
    b->text[0] = '\0';
    vc__metadata_unpack(&b->view, b->entries, m, n);
    return b;
}

bool
vc__reply_metadata_pushback(const struct vc__reply_metadata *b, int32_t *ms)
{
    const struct vc_metadata *e =
        vc__metadata_find_own(&b->view, VC__METADATA_PUSHBACK);

    if (e != NULL && !vc__metadata_number(e, ms))
        *ms = -1;
    return e != NULL;
}

/* --- for the program --------------------------------------------------- */

/* Points the result at the unpacked metadata, which vc__result_fill() has it
 * own then. */
static void
reply_metadata_show(struct vc_result *result,
                    const struct vc__metadata_view *view)
{
    const struct vc_metadata *details =
        vc__metadata_find_own(view, VC__METADATA_DETAILS);

    result->initial = view->entries;
    result->n_initial = view->n_initial;
    result->trailing = view->entries + view->n_initial;
    result->n_trailing = view->n_trailing;
    if (details != NULL) {
        result->details = details->value;
        result->details_length = details->length;
    }
}

/* Keeps a copy of the text in *b, which is made if there is none yet. If memory
 * is short the result has no text. */
static void
text_keep(struct vc_result *result, struct vc__reply_metadata **b,
          const char *text)
{
    if (*b == NULL)
        *b = calloc(1, sizeof **b);
    if (*b == NULL)
        return;
    snprintf((*b)->text, sizeof(*b)->text, "%s", text);
    result->message = (*b)->text;
}

enum vc_status
vc__result_check(const struct vc_result *result)
{
    static const struct vc__options kind = {
        .name = "vc_result",
        .macros = "VC_RESULT_INIT",
        .size = sizeof *result,
        .least = offsetof(struct vc_result, memory) + sizeof result->memory,
    };

    return vc__options_size_check(&kind, result);
}

void
vc__result_fill(struct vc_result *result, const struct vc__error *error,
                unsigned attempts, struct vc__reply_metadata *b)
{
    if (result == NULL) {
        free(b);
        return;
    }
    vc_result_clear(result);
    result->status = error->status;
    result->outcome =
        error->status == VC_OK ? VC_OUTCOME_EXECUTED : error->outcome;
    result->attempts = attempts;
    if (b != NULL)
        reply_metadata_show(result, &b->view);
    if (error->status != VC_OK)
        text_keep(result, &b, error->text);
    result->memory = b;
}

/* Also called by vc__result_fill(), and by channel_intercept.c for a result of
 * the library's own. A program of a later version may have more fields: they
 * stay as they are. */
void
vc_result_clear(struct vc_result *result)
{
    const struct vc_result empty = VC_RESULT_INIT;
    size_t size;

    if (result == NULL)
        return;
    free(result->memory);
    size = result->size;
    *result = empty;
    result->size = size;
}
