/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Policies of the program's own: which are registered, what they see, and what
 * becomes of their choices. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <verbcall/service.h>

#include "rpc/balance/custom.h"
#include "tests/unit/picker_rig.h"
#include "transport/core/error.h"
#include "transport/wire/metadata.h"

/* --- the policies ------------------------------------------------------- */

/* What the policy "seen" shall do, and has seen. */
static struct {
    enum vc_status refuses; /* build() returns it */
    uint32_t picks;         /* pick() returns it */
    enum vc_status status;  /* and with these it fails */
    const char *why;
    uint32_t asks; /* it asks for the state of server 0 to asks - 1 */

    unsigned builds, destroys;
    char config[20], label[20];
    enum vc_server_state states[RIG_MAX];
    bool tried[RIG_MAX];
    struct vc_pick last;
} seen;

static enum vc_status
seen_build(struct vc_policy_servers *servers, void **state)
{
    assert_int_equal(sizeof *servers, servers->size);
    if (seen.refuses != VC_OK) {
        if (seen.why != NULL)
            memcpy(servers->why, seen.why, sizeof servers->why);
        return seen.refuses;
    }
    seen.builds++;
    snprintf(seen.config, sizeof seen.config, "%s",
             servers->config == NULL ? "none" : servers->config);
    snprintf(seen.label, sizeof seen.label, "%s",
             servers->label == NULL ? "none" : servers->label);
    *state = &seen;
    return VC_OK;
}

static void
seen_destroy(void *state)
{
    assert_ptr_equal(&seen, state);
    seen.destroys++;
}

static uint32_t
seen_pick(void *state, struct vc_pick *pick)
{
    assert_ptr_equal(&seen, state);
    assert_int_equal(sizeof *pick, pick->size);
    for (uint32_t i = 0; i < seen.asks; i++)
        seen.states[i] = pick->state(pick, i);
    for (uint32_t i = 0; i < pick->n; i++)
        seen.tried[i] = pick->tried(pick, i);
    assert_int_equal(VC_UNAVAILABLE, pick->status);
    assert_string_equal("", pick->why);
    seen.last = *pick;
    if (seen.why != NULL)
        memcpy(pick->why, seen.why, sizeof pick->why);
    pick->status = seen.status;
    return seen.picks;
}

static const struct vc_policy_type seen_type = {.size = sizeof seen_type,
                                                .name = "seen",
                                                .build = seen_build,
                                                .destroy = seen_destroy,
                                                .pick = seen_pick};

/* Whose numbers are not in range, and what they ask for. */
static uint32_t
beyond_pick(void *state, struct vc_pick *pick)
{
    struct vc_metadata found;

    assert_null(state);
    assert_int_equal(VC_SERVER_FAILING, pick->state(pick, pick->n));
    assert_int_equal(VC_SERVER_FAILING, pick->state(pick, UINT32_MAX));
    assert_false(pick->tried(pick, pick->n));
    assert_true(pick->calls(pick, pick->n) == UINT64_MAX);
    assert_false(pick->metadata(pick, "", &found));
    pick->n = UINT32_MAX; /* the library does not use its copy */
    return RIG_N;
}

static const struct vc_policy_type beyond_type = {
    .size = sizeof beyond_type, .name = "beyond-1.0", .pick = beyond_pick};

static bool
error_has(const char *text)
{
    return strstr(vc_error(), text) != NULL;
}

/* --- registering -------------------------------------------------------- */

static void
refused(const struct vc_policy_type *type, const char *why)
{
    assert_int_equal(VC_INVALID_ARGUMENT, vc_policy_register(type));
    if (!error_has(why))
        fail_msg("\"%s\" is not in: %s", why, vc_error());
}

static void
a_malformed_type_is_refused(void **state)
{
    static const char *const names[] = {NULL,
                                        "",
                                        "A",
                                        "1a",
                                        "-a",
                                        "a:b",
                                        "a b",
                                        "Seen",
                                        "nearest",
                                        "pick_first",
                                        "ring_hash",
                                        "priority",
                                        "a234567890123456789012345678901x"};

    (void)state;
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
        struct vc_policy_type type = seen_type;

        type.name = names[i];
        refused(&type, "it must be 1 to 31 of a-z");
    }
    refused(NULL, "type is NULL");
}

static void
a_type_without_its_functions_is_refused(void **state)
{
    struct vc_policy_type type = seen_type;

    (void)state;
    type.size--;
    refused(&type, "sizeof(struct vc_policy_type)");
    type = seen_type;
    type.pick = NULL;
    refused(&type, "policy seen: pick is NULL");
    type = seen_type;
    type.build = NULL;
    refused(&type, "a destroy without a build");
}

static void
a_name_belongs_to_one_type(void **state)
{
    const struct vc_policy_type other = seen_type;

    (void)state;
    assert_int_equal(VC_OK, vc_policy_register(&seen_type));
    assert_int_equal(VC_OK, vc_policy_register(&seen_type));
    refused(&other, "policy seen: it is registered with another type");
}

/* Runs last: no type is ever forgotten. */
static void
there_are_at_most_sixteen_policies(void **state)
{
    static struct vc_policy_type types[16];
    static char names[16][10];
    enum vc_status status;
    unsigned n = 0;

    (void)state;
    do {
        assert_in_range(n, 0, 15);
        snprintf(names[n], sizeof names[n], "more_%u", n);
        types[n] = beyond_type;
        types[n].name = names[n];
        status = vc_policy_register(&types[n++]);
    } while (status == VC_OK);
    assert_int_equal(14 + 1, n); /* seen, beyond-1.0, and one too many */
    assert_int_equal(VC_RESOURCE_EXHAUSTED, status);
    assert_true(error_has("there are 16 types already"));
    assert_int_equal(VC_OK, vc_policy_register(&types[0]));
}

/* --- choosing a policy -------------------------------------------------- */

static const struct vc_method method = {.name = "Once"};
static const struct vc_service service = {
    .name = "a.Service", .id = 7, .n_methods = 1, .methods = &method};

static uint8_t packed[100];
static size_t n_packed;

static struct vc__pick_facts
facts_of_call(const struct vc__pick_key *key)
{
    (void)key;
    return (struct vc__pick_facts){
        .method = &method,
        .attempt = 3,
        .metadata = {.data = packed, .len = n_packed}};
}

static enum vc_status
choose(const char *policy)
{
    return vc__custom_choose(&rig.picker, policy, facts_of_call);
}

static void
an_unknown_name_is_refused(void **state)
{
    (void)state;
    assert_int_equal(VC_INVALID_ARGUMENT, choose("see"));
    assert_true(error_has("\"see\" is none of pick_first"));
    assert_true(error_has("no other policy of this name is registered"));
    assert_int_equal(VC_INVALID_ARGUMENT, choose("seen2"));
    assert_int_equal(VC_INVALID_ARGUMENT, choose(""));
    assert_int_equal(VC_INVALID_ARGUMENT, choose(":seen"));
    assert_int_equal(VC_INVALID_ARGUMENT, choose("nearest:x"));
    assert_int_equal(VC_INVALID_ARGUMENT, choose("beyond-1.0:x"));
    assert_true(error_has("takes no config, as it has no build()"));
    assert_null(rig.picker.custom);
    assert_int_equal(VC_OK, choose(NULL));
    assert_int_equal(VC__POLICY_PICK_FIRST, rig.picker.policy);
}

/* --- a channel ---------------------------------------------------------- */

static struct vc__custom *channel; /* of the last channel_begin() */
static struct vc__subchannel place;

static void
channel_end(void)
{
    vc__server_set_free(rig.set);
    rig.set = NULL;
    vc__custom_free(channel);
    channel = NULL;
}

/* n servers, connected; each test sets what the policy shall do. */
static void
channel_begin(const char *policy, unsigned n)
{
    channel_end();
    memset(&seen, 0, sizeof seen);
    picker_rig_begin(VC__POLICY_CUSTOM, n);
    assert_int_equal(VC_OK, choose(policy));
    assert_int_equal(VC__POLICY_CUSTOM, rig.picker.policy);
    channel = rig.picker.custom;
    channel->place = &place;
    n_packed = 0;
}

static void
channel_ready(const char *policy, unsigned n)
{
    channel_begin(policy, n);
    assert_true(vc__custom_build(channel, NULL, rig.set));
}

static struct vc__subchannel *
pick_by(struct vc__pick_key *key)
{
    const struct vc__pick pick = {
        .service = &service, .now = 1, .seed = 1, .key = key};

    return vc__picker_pick(&rig.picker, rig.set, &pick);
}

/* The choice of a first attempt. */
static struct vc__subchannel *
pick_once(void)
{
    struct vc__pick_key key = {.hashed = false};

    return pick_by(&key);
}

static int
teardown(void **state)
{
    (void)state;
    channel_end();
    return 0;
}

static void
the_server_that_it_names_is_taken(void **state)
{
    (void)state;
    channel_ready("seen", RIG_N);
    for (seen.picks = 0; seen.picks < RIG_N; seen.picks++)
        assert_ptr_equal(&rig.subs[seen.picks], pick_once());
}

static void
it_is_asked_even_for_one_server(void **state)
{
    (void)state;
    channel_ready("seen", 1);
    seen.picks = VC_PICK_WAIT;
    assert_ptr_equal(&place, pick_once());
}

static void
until_the_servers_are_known_it_is_not_asked(void **state)
{
    (void)state;
    channel_begin("seen", 1);
    seen.picks = VC_PICK_WAIT;
    assert_ptr_equal(&rig.subs[0], pick_once());
}

static void
it_sees_the_servers_as_the_resolver_named_them(void **state)
{
    (void)state;
    channel_begin("seen", 2);
    strcpy(rig.set->about[1].label, "rack-7");
    strcpy(rig.set->about[1].hash_key, "b");
    rig.set->about[1].weight = 7;
    rig.set->about[1].priority = 9;
    assert_true(vc__custom_build(channel, "rack-1", rig.set));
    pick_once();
    assert_int_equal(2, seen.last.n);
    assert_string_equal("tcp://10.9.0.0:1", seen.last.servers[0]->target);
    assert_string_equal("tcp://10.9.0.0:1", seen.last.servers[0]->hash_key);
    assert_null(seen.last.servers[0]->label);
    assert_int_equal(1, seen.last.servers[0]->weight);
    assert_string_equal("tcp://10.9.0.1:1", seen.last.servers[1]->target);
    assert_string_equal("rack-7", seen.last.servers[1]->label);
    assert_string_equal("b", seen.last.servers[1]->hash_key);
    assert_int_equal(7, seen.last.servers[1]->weight);
    assert_int_equal(9, seen.last.servers[1]->priority);
    assert_string_equal("rack-1", seen.label);
    assert_string_equal("none", seen.config);
}

static void
its_config_is_what_follows_its_name(void **state)
{
    (void)state;
    channel_ready("seen:a=2:b", RIG_N);
    assert_string_equal("a=2:b", seen.config);
    assert_string_equal("none", seen.label);
    channel_ready("seen:", RIG_N);
    assert_string_equal("", seen.config);
}

static void
it_sees_the_call(void **state)
{
    uint32_t turn;
    uint64_t random;

    (void)state;
    channel_ready("seen", RIG_N);
    pick_once();
    assert_ptr_equal(&service, seen.last.service);
    assert_ptr_equal(&method, seen.last.method);
    assert_int_equal(3, seen.last.attempt);
    turn = seen.last.turn;
    random = seen.last.random;
    pick_once();
    assert_int_equal(turn + 1, seen.last.turn);
    assert_true(random != seen.last.random);
}

/* --- what it may ask for ------------------------------------------------ */

static void
it_sees_the_state_of_each_server(void **state)
{
    static const struct {
        enum vc__pool_health health;
        bool ejected;
        enum vc_server_state is;
    } rows[] = {
        {VC__POOL_READY, false, VC_SERVER_READY},
        {VC__POOL_CONNECTING, false, VC_SERVER_CONNECTING},
        {VC__POOL_IDLE, false, VC_SERVER_IDLE},
        {VC__POOL_FAILING, false, VC_SERVER_FAILING},
        {VC__POOL_READY, true, VC_SERVER_EJECTED},
        {VC__POOL_CONNECTING, true, VC_SERVER_FAILING},
        {VC__POOL_IDLE, true, VC_SERVER_FAILING},
        {VC__POOL_FAILING, true, VC_SERVER_FAILING},
    };
    unsigned n = sizeof rows / sizeof *rows;

    (void)state;
    channel_ready("seen", n);
    for (unsigned i = 0; i < n; i++) {
        rig_health(i, rows[i].health);
        rig_eject(i, rows[i].ejected);
    }
    seen.asks = n;
    pick_once();
    for (unsigned i = 0; i < n; i++)
        if (seen.states[i] != rows[i].is)
            fail_msg("row %u: %d", i, (int)seen.states[i]);
}

static void
only_servers_that_it_asks_for_are_connected(void **state)
{
    (void)state;
    channel_ready("seen", RIG_N);
    for (unsigned i = 0; i < RIG_N; i++) {
        rig_health(i, i == 1 ? VC__POOL_READY : VC__POOL_IDLE);
        rig_promptable(i);
        rig.pools[i].asked = 0;
    }
    seen.asks = 3;
    pick_once();
    for (unsigned i = 0; i < RIG_N; i++)
        assert_int_equal(i == 0 || i == 2 ? service.id : 0, rig.pools[i].asked);
}

static uint32_t
fewest_pick(void *state, struct vc_pick *pick)
{
    uint32_t best = 0;

    (void)state;
    for (uint32_t i = 1; i < pick->n; i++) {
        if (pick->calls(pick, i) < pick->calls(pick, best))
            best = i;
    }
    return best;
}

static void
it_sees_how_many_calls_each_has(void **state)
{
    struct vc_policy_type type = seen_type;

    (void)state;
    channel_ready("seen", RIG_N);
    type.pick = fewest_pick;
    channel->type = &type;
    for (unsigned i = 0; i < RIG_N; i++)
        rig_calls(i, i == 3 ? 2 : 9);
    assert_ptr_equal(&rig.subs[3], pick_once());
}

static void
it_sees_where_the_last_eight_attempts_went(void **state)
{
    struct vc__pick_key key = {.hashed = false};

    (void)state;
    channel_ready("seen", 10);
    for (unsigned i = 0; i < 70000; i++) {
        seen.picks = i % 10;
        pick_by(&key);
        for (unsigned k = 0; k < 10; k++) {
            unsigned ago = (i + 10 - 1 - k) % 10; /* 0: the one before */

            if (seen.tried[k] != (ago < 8 && k != i % 10 && i > ago))
                fail_msg("attempt %u, server %u", i, k);
        }
    }
}

/* What metadata() has found, as text. */
static char found_text[40];

static uint32_t
tenant_pick(void *state, struct vc_pick *pick)
{
    struct vc_metadata found;

    (void)state;
    if (!pick->metadata(pick, "tenant", &found))
        return VC_PICK_WAIT;
    assert_string_equal("tenant", found.key);
    snprintf(found_text, sizeof found_text, "%.*s", (int)found.length,
             (const char *)found.value);
    assert_false(pick->metadata(pick, "tenan", &found));
    assert_false(pick->metadata(pick, VC__METADATA_ATTEMPTS, &found));
    return 0;
}

static void
metadata_add(const char *key, const char *value)
{
    const struct vc_metadata entry = {
        .key = key, .value = value, .length = strlen(value)};

    n_packed =
        (size_t)(vc__metadata_put(packed + n_packed, &entry, false) - packed);
}

static void
it_sees_the_metadata_of_the_call(void **state)
{
    struct vc_policy_type type = seen_type;

    (void)state;
    channel_ready("seen", RIG_N);
    type.pick = tenant_pick;
    channel->type = &type;
    assert_ptr_equal(&place, pick_once());
    metadata_add(VC__METADATA_ATTEMPTS, "1");
    metadata_add("tenants", "x");
    assert_ptr_equal(&place, pick_once());
    metadata_add("tenant", "acme");
    metadata_add("tenant", "other");
    assert_ptr_equal(&rig.subs[0], pick_once());
    assert_string_equal("acme", found_text);
}

/* --- calls without a server --------------------------------------------- */

/* The choice fails the call with this status and text. */
static void
fails(enum vc_status status, const char *text)
{
    assert_ptr_equal(&channel->refusal, pick_once());
    assert_int_equal(status, vc__error_last()->status);
    if (!error_has(text))
        fail_msg("\"%s\" is not in: %s", text, vc_error());
}

static void
a_call_that_it_fails_has_its_status_and_text(void **state)
{
    static char why[VC_POLICY_WHY] = "no server of tenant acme";

    (void)state;
    channel_ready("seen", RIG_N);
    seen.picks = VC_PICK_FAIL;
    seen.status = VC_PERMISSION_DENIED;
    seen.why = why;
    fails(VC_PERMISSION_DENIED, "the policy seen: no server of tenant acme");
    seen.why = NULL;
    fails(VC_PERMISSION_DENIED, "the policy seen: no server, and pick() gave");
}

static void
a_choice_that_is_none_fails_the_call(void **state)
{
    (void)state;
    channel_ready("seen", RIG_N);
    for (seen.picks = RIG_N; seen.picks < 2000; seen.picks++)
        fails(VC_INTERNAL, "the policy seen has chosen server ");
    seen.picks = VC_PICK_FAIL - 1;
    fails(VC_INTERNAL, "has chosen server 4294967293 of 5: pick() must return");
    seen.picks = VC_PICK_FAIL;
    seen.status = VC_OK;
    fails(VC_INTERNAL, "status 0, which is no error");
    seen.status = VC_UNAUTHENTICATED + 1;
    fails(VC_INTERNAL, "status 17, which is no error");
    channel_ready("beyond-1.0", RIG_N);
    fails(VC_INTERNAL, "the policy beyond-1.0 has chosen server 5 of 5");
}

static void
a_text_without_an_end_is_cut(void **state)
{
    static char why[VC_POLICY_WHY];

    (void)state;
    memset(why, 'x', sizeof why);
    channel_ready("seen", RIG_N);
    seen.picks = VC_PICK_FAIL;
    seen.status = VC_UNAVAILABLE;
    seen.why = why;
    fails(VC_UNAVAILABLE, "the policy seen: xxx");
    assert_int_equal(strlen("the policy seen: ") + VC_POLICY_WHY - 1,
                     strlen(vc_error()));
}

/* --- its state ---------------------------------------------------------- */

static void
its_state_is_destroyed_once(void **state)
{
    (void)state;
    channel_ready("seen", RIG_N);
    pick_once();
    assert_int_equal(1, seen.builds);
    assert_int_equal(0, seen.destroys);
    channel_end();
    assert_int_equal(1, seen.builds);
    assert_int_equal(1, seen.destroys);
}

static void
servers_that_it_refuses_make_no_set(void **state)
{
    static char why[VC_POLICY_WHY] = "no label";

    (void)state;
    channel_begin("seen", RIG_N);
    seen.refuses = VC_FAILED_PRECONDITION;
    assert_false(vc__custom_build(channel, NULL, rig.set));
    assert_int_equal(VC_FAILED_PRECONDITION, vc__error_last()->status);
    assert_true(error_has("seen cannot use the servers: build() gave no"));
    seen.why = why;
    assert_false(vc__custom_build(channel, NULL, rig.set));
    assert_true(error_has("the policy seen cannot use the servers: no label"));
    seen.refuses = (enum vc_status)99;
    assert_false(vc__custom_build(channel, NULL, rig.set));
    assert_int_equal(VC_INTERNAL, vc__error_last()->status);
    assert_null(rig.set->custom);
    channel_end();
    assert_int_equal(0, seen.destroys);
}

#define T(name) cmocka_unit_test_teardown(name, teardown)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        T(a_malformed_type_is_refused),
        T(a_type_without_its_functions_is_refused),
        T(a_name_belongs_to_one_type),
        T(an_unknown_name_is_refused),
        T(the_server_that_it_names_is_taken),
        T(it_is_asked_even_for_one_server),
        T(until_the_servers_are_known_it_is_not_asked),
        T(it_sees_the_servers_as_the_resolver_named_them),
        T(its_config_is_what_follows_its_name),
        T(it_sees_the_call),
        T(it_sees_the_state_of_each_server),
        T(only_servers_that_it_asks_for_are_connected),
        T(it_sees_how_many_calls_each_has),
        T(it_sees_where_the_last_eight_attempts_went),
        T(it_sees_the_metadata_of_the_call),
        T(a_call_that_it_fails_has_its_status_and_text),
        T(a_choice_that_is_none_fails_the_call),
        T(a_text_without_an_end_is_cut),
        T(its_state_is_destroyed_once),
        T(servers_that_it_refuses_make_no_set),
        T(there_are_at_most_sixteen_policies),
    };

    if (vc_policy_register(&seen_type) != VC_OK ||
        vc_policy_register(&beyond_type) != VC_OK)
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
