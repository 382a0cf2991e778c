/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Metadata of many callers at a time, while links are lost and while memory
 * fails. Each call gets its own metadata, or an error. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "tests/sim/told.h"

/* --- lost links and many callers ---------------------------------------- */

#define CALLERS 6u
#define CALLS   12u

struct caller {
    struct scene *scene;
    unsigned number;
    pthread_t thread;
    char fault[300];
};

/* True if the metadata that came back are those that were sent. */
static bool
came_back(const struct vc_result *r, const struct vc_metadata *m, size_t n)
{
    if (r->n_initial != n || r->n_trailing != n)
        return false;
    for (size_t i = 0; i < n; i++) {
        if (strcmp(r->initial[i].key, m[i].key) != 0 ||
            r->initial[i].length != m[i].length ||
            strcmp(r->trailing[i].value, m[i].value) != 0)
            return false;
    }
    return true;
}

static void
call_as(struct caller *c, unsigned i)
{
    static const size_t sizes[] = {10, 1000, 7000, 8150, 20000, 60000};
    struct vc_result result = VC_RESULT_INIT;
    struct vc_call_opts opts = VC_CALL_OPTS_INIT;
    struct vc_metadata m[20];
    char values[20][60];
    enum vc_status status;

    opts.metadata = m;
    opts.n_metadata = (c->number + i) % 20;
    opts.result = &result;
    opts.timeout_ms = 60000;
    for (unsigned k = 0; k < opts.n_metadata; k++) {
        snprintf(values[k], sizeof values[k], "%u.%u.%0*u", c->number, i,
                 (int)k * 2, k);
        m[k] = told_text(k % 2 == 0 ? "even" : "odd-bin", values[k]);
    }
    status =
        told_echo(c->scene->channel, sizes[(c->number * 5 + i) % 6], &opts);
    if (status != VC_OK)
        snprintf(c->fault, sizeof c->fault, "%s", vc_error());
    else if (!came_back(&result, m, opts.n_metadata))
        snprintf(c->fault, sizeof c->fault, "other metadata");
    vc_result_clear(&result);
}

static void *
caller_main(void *arg)
{
    struct caller *c = arg;

    for (unsigned i = 0; i < CALLS && c->fault[0] == '\0'; i++)
        call_as(c, i);
    return NULL;
}

static void
calls_from_many_threads(struct scene *s)
{
    struct caller callers[CALLERS];

    for (unsigned i = 0; i < CALLERS; i++) {
        callers[i] = (struct caller){.scene = s, .number = i};
        assert_int_equal(
            pthread_create(&callers[i].thread, NULL, caller_main, &callers[i]),
            0);
    }
    for (unsigned i = 0; i < CALLERS; i++)
        pthread_join(callers[i].thread, NULL);
    for (unsigned i = 0; i < CALLERS; i++)
        if (callers[i].fault[0] != '\0')
            fail_msg("caller %u: %s", i, callers[i].fault);
}

static void
each_of_many_callers_gets_its_own(void **state)
{
    (void)state;
    told_play(calls_from_many_threads, told_mirror);
}

static uint64_t answered_again, sent_again;
static unsigned line;

static void
calls_while_links_are_lost(struct scene *s)
{
    scene_call(s, 10, 1);
    fake_rule(line % 2 == 0 ? "client qp" : "server qp", 1 + line / 2,
              FAKE_FLUSH, 0);
    calls_from_many_threads(s);
    fake_no_rules();
    answered_again += scene_server(s).calls_answered_again;
    sent_again += scene_client(s).calls_sent_again;
}

/* A kept reply keeps its metadata, and a request that is sent again carries its
 * metadata again. */
static void
metadata_survive_the_loss_of_a_link(void **state)
{
    (void)state;
    answered_again = sent_again = 0;
    for (line = 0; line < 120; line++) {
        struct scene s = {.opts = VC_CHANNEL_OPTS_INIT,
                          .act = calls_while_links_are_lost};

        s.server.handle = told_mirror;
        scene_run(&s, line + 1);
    }
    print_message("%llu calls were sent again, %llu answered again\n",
                  (unsigned long long)sent_again,
                  (unsigned long long)answered_again);
    assert_in_range(sent_again, 20, 1000000);
    assert_in_range(answered_again, 5, 1000000);
}

/* --- out of memory ------------------------------------------------------ */

/* Makes one call in which the nth allocation of p fails; false when p made
 * fewer. The call's status and its result must agree. */
static bool
lacks_memory(struct scene *s, struct fake_process *p, unsigned nth, size_t size)
{
    struct vc_metadata m[] = {told_long(3000), told_text("a", "v")};
    struct vc_result result = VC_RESULT_INIT;
    struct vc_call_opts opts = VC_CALL_OPTS_INIT;
    unsigned before = fake_failed();
    enum vc_status status;
    bool struck;

    opts.metadata = m;
    opts.n_metadata = 2;
    opts.result = &result;
    fake_fail_memory(p, nth);
    status = told_echo(s->channel, size, &opts);
    struck = fake_failed() > before;
    fake_fail_no_more();
    assert_int_equal(result.status, status);
    if (status == VC_OK) {
        told_assert_same(result.trailing, m, 2);
    } else {
        assert_string_not_equal(vc_error(), "");
        assert_int_equal(result.outcome, vc_error_outcome());
    }
    if (!struck)
        assert_int_equal(status, VC_OK);
    vc_result_clear(&result);
    return struck;
}

static unsigned places;

static void
calls_without_memory(struct scene *s)
{
    struct fake_process *processes[] = {fake_process_self(), s->server.process};

    scene_call(s, 60000, 1);
    for (unsigned i = 0; i < 2; i++) {
        for (size_t size = 10; size < 100000; size += 60000) {
            unsigned nth = 1;

            while (lacks_memory(s, processes[i], nth, size))
                nth++;
            places += nth - 1;
        }
    }
}

static void
any_allocation_may_fail(void **state)
{
    (void)state;
    places = 0;
    told_play(calls_without_memory, told_mirror);
    print_message("%u places\n", places);
    assert_in_range(places, 20, 10000);
}

#define T(name) cmocka_unit_test(name)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        T(each_of_many_callers_gets_its_own),
        T(metadata_survive_the_loss_of_a_link),
        T(any_allocation_may_fail),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
