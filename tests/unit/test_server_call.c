/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * rpc/server/server_call.h: how many calls are kept for reuse, the number of
 * previous attempts in a request's metadata, and a client without metadata. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cm/connect/features.h"
#include "rpc/server/server.h"
#include "rpc/server/server_call.h"
#include "rpc/server/server_link.h"

#define KEPT 256u /* calls that a server part keeps */
#define MORE 3u

/* What a call needs, in a server without an engine. */
struct place {
    struct vc_server server;
    struct vc__server_part part;
    struct vc__server_peer peer;
    struct vc__server_session session;
    struct vc__server_link link;
    struct vc__origin origin;
    struct vc__call_site site;
};

static struct place place;

static int
place_setup(void **state)
{
    (void)state;
    memset(&place, 0, sizeof place);
    vc__store_init(&place.server.store, (size_t)1 << 30, true);
    vc__account_init(&place.peer.account, &place.server.store);
    place.part.server = &place.server;
    CDS_INIT_LIST_HEAD(&place.part.stock);
    place.peer.part = &place.part;
    place.session.peer = &place.peer;
    place.origin.refs = 1;
    place.link.origin = &place.origin;
    place.session.link = &place.link;
    place.session.slots = &place.session.first;
    place.session.n_slots = 1;
    place.site.session = &place.session;
    return 0;
}

static int
place_teardown(void **state)
{
    (void)state;
    vc__call_free_stock(&place.part);
    assert_int_equal(place.origin.refs, 1);
    assert_int_equal(atomic_load(&place.server.store.used), 0);
    vc__store_fini(&place.server.store);
    return 0;
}

/* --- the stock --------------------------------------------------------- */

static unsigned
stock_count(void)
{
    struct vc_call *call;
    unsigned n = 0;

    cds_list_for_each_entry (call, &place.part.stock, node)
        n++;
    assert_int_equal(n, place.part.n_stock);
    return n;
}

static void
so_many_calls_stay_for_others(void **state)
{
    struct vc_call *calls[KEPT + MORE];

    (void)state;
    for (unsigned i = 0; i < KEPT + MORE; i++) {
        calls[i] = vc__call_take(&place.site);
        assert_non_null(calls[i]);
    }
    for (unsigned i = 0; i < KEPT + MORE; i++) {
        vc__call_release(calls[i]);
        assert_int_equal(stock_count(), i < KEPT ? i + 1 : KEPT);
    }
    assert_ptr_equal(vc__call_take(&place.site), calls[KEPT - 1]);
    assert_int_equal(stock_count(), KEPT - 1);
    vc__call_release(calls[KEPT - 1]);
}

/* --- previous attempts ------------------------------------------------- */

/* Returns the status of a request with this number of previous attempts. */
static enum vc_status
said(const char *attempts, unsigned *attempt)
{
    struct vc_metadata entry = {.key = VC__METADATA_ATTEMPTS,
                                .value = attempts,
                                .length = strlen(attempts)};
    uint8_t bytes[64];
    struct vc_call *call;
    const char *text;
    enum vc_status status;

    place.site.metadata.data = bytes;
    place.site.metadata.len =
        (size_t)(vc__metadata_put(bytes, &entry, false) - bytes);
    call = vc__call_take(&place.site);
    assert_non_null(call);
    status = vc__call_metadata_take(call, &text);
    if (status == VC_OK)
        *attempt = vc_call_attempt(call);
    else
        assert_string_equal(text, VC__METADATA_ATTEMPTS " is no number");
    vc__call_release(call);
    return status;
}

static void
a_request_says_how_many_were_before_it_from_0_on(void **state)
{
    unsigned attempt;

    (void)state;
    assert_int_equal(said("0", &attempt), VC_OK);
    assert_int_equal(attempt, 1);
    assert_int_equal(said("1", &attempt), VC_OK);
    assert_int_equal(attempt, 2);
    assert_int_equal(said("2147483647", &attempt), VC_OK);
    assert_int_equal(attempt, 2147483648u);
    assert_int_equal(said("-1", &attempt), VC_INVALID_ARGUMENT);
    assert_int_equal(said("2147483648", &attempt), VC_INVALID_ARGUMENT);
    assert_int_equal(said("one", &attempt), VC_INVALID_ARGUMENT);
}

/* --- a client without metadata ------------------------------------------ */

static void
nothing_is_added_for_a_client_that_takes_no_metadata(void **state)
{
    struct vc_call *call;

    (void)state;
    place.peer.features = VC__FEATURES_FIRST & ~VC__FEATURE_METADATA;
    call = vc__call_take(&place.site);
    assert_non_null(call);
    assert_int_equal(vc_call_add_initial(call, "a", "b", 1),
                     VC_FAILED_PRECONDITION);
    assert_int_equal(vc_call_add_trailing(call, "a", "b", 1),
                     VC_FAILED_PRECONDITION);
    assert_int_equal(vc_call_details(call, "b", 1), VC_FAILED_PRECONDITION);
    assert_int_equal(vc_call_pushback(call, 1), VC_OK);
    assert_int_equal(call->metadata.said_len, 0);
    vc__call_release(call);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(so_many_calls_stay_for_others,
                                        place_setup, place_teardown),
        cmocka_unit_test_setup_teardown(
            a_request_says_how_many_were_before_it_from_0_on, place_setup,
            place_teardown),
        cmocka_unit_test_setup_teardown(
            nothing_is_added_for_a_client_that_takes_no_metadata, place_setup,
            place_teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
