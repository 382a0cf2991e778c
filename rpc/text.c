/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See rpc/text.h. */
#include "rpc/text.h"

#include <stdbool.h>
#include <string.h>

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
    struct vc__error was = *error;

    if (vc__text_without_names(was.text, service, method) != was.text)
        return;
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
