/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See tests/suite/configured.h. */
#include "tests/suite/configured.h"

#include <string.h>

#include "tests/suite/resolved.h"

void
configured_start(struct fixture *f, const char *json)
{
    struct vc_channel_opts opts = VC_CHANNEL_OPTS_INIT;

    opts.service_config = json;
    opts.call_timeout_ms = RESOLVED_MS;
    opts.retry_backoff_ms = 1;
    features_start(f, NULL, &opts);
    assert_status(VC_OK, vc_runtime_start(f->runtime));
}

enum vc_status
configured_work(struct fixture *f, unsigned method,
                const Features__Order *order, const struct vc_call_opts *opts,
                unsigned *attempt)
{
    void *reply = NULL;
    enum vc_status status = vc_channel_call(f->channel, &features_work_service,
                                            method, order, opts, &reply);

    *attempt = 0;
    if (status == VC_OK) {
        *attempt = ((Features__Report *)reply)->attempt;
        vc_message_free(reply);
    }
    return status;
}

void
configured_error(const char *text)
{
    if (strstr(vc_error(), text) == NULL)
        fail_msg("\"%s\" is not in \"%s\"", text, vc_error());
}

/* Milliseconds that the last call had. */
static uint64_t deadline_ms;

static enum vc_status
deadline_note(struct vc_interception *call, void **state, void *arg)
{
    uint64_t us = vc_interception_deadline_us(call);

    (void)state;
    (void)arg;
    deadline_ms = us == UINT64_MAX ? 0 : (us + 999) / 1000;
    return VC_OK;
}

const struct vc_interceptor configured_sees = {.size = sizeof configured_sees,
                                               .start = deadline_note};

unsigned
configured_timeout(struct fixture *f, unsigned method,
                   const struct vc_call_opts *opts)
{
    Features__Order order = features_order(1, "");
    unsigned attempt;

    assert_status(VC_OK, configured_work(f, method, &order, opts, &attempt));
    return (unsigned)((deadline_ms + 9999) / 10000 * 10);
}
