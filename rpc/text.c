/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See rpc/text.h. */
#include "rpc/text.h"

#include <stdbool.h>
#include <string.h>

void
vc__text_of_method(char *out, size_t size, const char *service,
                   const char *method, const char *text)
{
    const char *const parts[] = {service, ".", method, ": ", text};
    size_t at = 0;

    for (unsigned i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        size_t len = strlen(parts[i]);

        if (len > size - 1 - at)
            len = size - 1 - at;
        memcpy(out + at, parts[i], len);
        at += len;
    }
    out[at] = '\0';
}

const char *
vc__text_without_names(const char *text, const char *service,
                       const char *method)
{
    size_t s = strlen(service), m = strlen(method);
    bool named = strncmp(text, service, s) == 0 && text[s] == '.' &&
                 strncmp(text + s + 1, method, m) == 0 &&
                 strncmp(text + s + 1 + m, ": ", 2) == 0;

    return named ? text + s + 1 + m + 2 : text;
}

void
vc__text_name(struct vc__error *error, const char *service, const char *method)
{
    struct vc__error was;

    if (vc__text_without_names(error->text, service, method) != error->text)
        return;
    vc__error_copy(&was, error);
    vc__error_put(error, was.status, "%s.%s: %s", service, method, was.text);
    error->outcome = was.outcome;
    error->lack = was.lack;
}

enum vc_status
vc__text_name_last(const char *service, const char *method)
{
    struct vc__error error = *vc__error_last();

    vc__text_name(&error, service, method);
    return vc__error_raise(&error);
}
