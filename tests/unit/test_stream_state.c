/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The states of streams: the whole table, and the lives of streams with
 * their windows, under a clock of their own. Each life is compared with its
 * golden trace. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "rpc/stream/stream_state.h"
#include "rpc/stream_flow.h"

static char said[16384];
static size_t said_len;

static void __attribute__((format(printf, 1, 2))) say(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    said_len += (size_t)vsnprintf(said + said_len, sizeof said - said_len,
                                  format, args);
    va_end(args);
    assert_true(said_len < sizeof said);
}

/* Fails with the first line that differs. */
static void
assert_said(const char *golden)
{
    const char *is = said;

    for (unsigned line = 1; *golden != '\0' || *is != '\0'; line++) {
        size_t want = strcspn(golden, "\n"), got = strcspn(is, "\n");

        if (want != got || memcmp(golden, is, want) != 0)
            fail_msg("line %u:\n is %.*s\nnot %.*s\nall of it:\n%s", line,
                     (int)got, is, (int)want, golden, said);
        golden += want + (golden[want] != '\0');
        is += got + (is[got] != '\0');
    }
}

static void
begin(void)
{
    said[0] = '\0';
    said_len = 0;
}

/* --- the table ------------------------------------------------------------- */

/* Prints the table: a row for each event, a column for each state. Each cell
 * has the action, and the next state. */
static void
table_say(enum vc__stream_side side)
{
    /* Open, half-closed locally, remotely, by both; ended. */
    static const char letters[] = "OLRBE";

    begin();
    say("%-12s", "");
    for (int s = 0; s < VC__STREAM_STATES; s++)
        say(" %-9c", letters[s]);
    for (int e = 0; e < VC__STREAM_EVENTS; e++) {
        say("\n%-12s", vc__stream_event_name((enum vc__stream_event)e));
        for (int s = 0; s < VC__STREAM_STATES; s++) {
            struct vc__stream_step step = vc__stream_step(
                side, (enum vc__stream_state)s, (enum vc__stream_event)e);

            say(" %-7s %c", vc__stream_action_name(step.action),
                letters[step.next]);
        }
    }
    say("\n");
}

static const char client_table[] =
    "             O         L         R         B         E        \n"
    "sends        do it   O refuse  L do it   R refuse  B refuse  E\n"
    "half-closes  do it   L nothing L do it   B nothing B nothing E\n"
    "ends         end     E end     E end     E end     E nothing E\n"
    "MESSAGE      do it   O do it   L break   R break   B nothing E\n"
    "HALF         break   O break   L break   R break   B break   E\n"
    "WINDOW       do it   O do it   L do it   R do it   B nothing E\n"
    "REPLY        end     E end     E end     E end     E nothing E\n"
    "CANCEL       break   O break   L break   R break   B break   E\n"
    "time over    end     E end     E end     E end     E nothing E\n"
    "link lost    end     E end     E end     E end     E nothing E\n"
    "message lost end     E end     E end     E end     E nothing E\n";

static void
a_client_does_this_with_each_event_in_each_state(void **state)
{
    (void)state;
    table_say(VC__STREAM_CLIENT);
    assert_said(client_table);
}

static const char server_table[] =
    "             O         L         R         B         E        \n"
    "sends        do it   O refuse  L do it   R refuse  B refuse  E\n"
    "half-closes  refuse  O refuse  L refuse  R refuse  B refuse  E\n"
    "ends         end     E end     E end     E end     E nothing E\n"
    "MESSAGE      do it   O do it   L break   R break   B nothing E\n"
    "HALF         do it   R do it   B break   R break   B nothing E\n"
    "WINDOW       do it   O do it   L do it   R do it   B nothing E\n"
    "REPLY        break   O break   L break   R break   B break   E\n"
    "CANCEL       end     E end     E end     E end     E nothing E\n"
    "time over    end     E end     E end     E end     E nothing E\n"
    "link lost    end     E end     E end     E end     E nothing E\n"
    "message lost end     E end     E end     E end     E nothing E\n";

static void
a_server_does_this_with_each_event_in_each_state(void **state)
{
    (void)state;
    table_say(VC__STREAM_SERVER);
    assert_said(server_table);
}

static void
it_begins_where_messages_are_to_be_sent_and_to_come(void **state)
{
    (void)state;
    assert_int_equal(vc__stream_first(true, true), VC__STREAM_OPEN);
    assert_int_equal(vc__stream_first(false, true), VC__STREAM_HALF_LOCAL);
    assert_int_equal(vc__stream_first(true, false), VC__STREAM_HALF_REMOTE);
    assert_int_equal(vc__stream_first(false, false), VC__STREAM_HALF_BOTH);
}

/* --- lives of streams ----------------------------------------------------- */

/* Events that are not in the table. */
#define TAKES (VC__STREAM_EVENTS + 0) /* the program takes a message */
#define PASS  (VC__STREAM_EVENTS + 1) /* time passes */

struct happening {
    unsigned ms; /* when */
    int event;
    uint32_t n; /* bytes of a message; the window end in a WINDOW */
};

struct life {
    enum vc__stream_side side;
    bool we_stream, they_stream;
    unsigned due; /* ms; 0: never */
    const struct happening *happenings;
    size_t n;
};

struct stream {
    enum vc__stream_side side;
    enum vc__stream_state state;
    struct vc__outflow out;
    struct vc__inflow in;
};

/* As rpc/stream/stream*.c do: first the state, then the window. */
static const char *
happen(struct stream *s, int event, uint32_t n)
{
    struct vc__stream_step step;
    bool fits = true;

    if (event == PASS)
        return "";
    if (event == TAKES)
        return vc__inflow_taken(&s->in, vc__stream_cost(n)) ? "tell" : "";
    step = vc__stream_step(s->side, s->state, (enum vc__stream_event)event);
    s->state = step.next;
    if (step.action != VC__STREAM_DO_IT)
        return vc__stream_action_name(step.action);
    if (event == VC__STREAM_EV_SENDS &&
        !vc__outflow_take(&s->out, vc__stream_cost(n)))
        return "wait";
    if (event == VC__STREAM_EV_MESSAGE)
        fits = vc__inflow_arrived(&s->in, vc__stream_cost(n));
    if (event == VC__STREAM_EV_WINDOW)
        fits = vc__outflow_window(&s->out, n);
    return vc__stream_action_name(fits ? step.action : VC__STREAM_DO_BREAK);
}

static void
happen_say(struct stream *s, unsigned ms, int event, uint32_t n)
{
    const char *what = event == TAKES  ? "takes"
                       : event == PASS ? "-"
                                       : vc__stream_event_name(event);
    const char *action = happen(s, event, n);

    say("%3u %-12s %6u %-8s %-11s out %u/%u in %u/%u\n", ms, what, n, action,
        vc__stream_state_name(s->state), s->out.sent, s->out.end, s->in.came,
        s->in.promised);
}

/* Prints the life: the events, and the deadline between them. */
static void
life_say(const struct life *l)
{
    struct stream s = {.side = l->side,
                       .state = vc__stream_first(l->we_stream, l->they_stream)};
    bool due = l->due != 0;

    begin();
    vc__outflow_init(&s.out);
    vc__inflow_init(&s.in);
    for (size_t i = 0; i < l->n; i++) {
        const struct happening *h = &l->happenings[i];

        if (due && h->ms >= l->due) {
            happen_say(&s, l->due, VC__STREAM_EV_TIME_OVER, 0);
            due = false;
        }
        happen_say(&s, h->ms, h->event, h->n);
    }
}

#define EV(event) VC__STREAM_EV_##event
#define LIFE(side_, we, they, due_, happenings_)                               \
    {                                                                          \
        .side = VC__STREAM_##side_, .we_stream = (we), .they_stream = (they),  \
        .due = (due_), .happenings = (happenings_),                            \
        .n = sizeof(happenings_) / sizeof(happenings_)[0]                      \
    }

static const struct happening of_a_talk_that_ends_well_at_its_client[] = {
    {0, EV(SENDS), 10}, {0, EV(SENDS), 20},      {2, EV(MESSAGE), 10},
    {2, TAKES, 10},     {3, EV(HALF_CLOSES), 0}, {3, EV(HALF_CLOSES), 0},
    {4, EV(SENDS), 5},  {5, EV(MESSAGE), 20},    {5, TAKES, 20},
    {6, EV(REPLY), 0},  {7, EV(SENDS), 5},       {7, EV(ENDS), 0},
    {200, PASS, 0}};

static void
a_talk_that_ends_well_at_its_client(void **state)
{
    static const struct life l =
        LIFE(CLIENT, true, true, 100, of_a_talk_that_ends_well_at_its_client);

    (void)state;
    life_say(&l);
    assert_said(
        "  0 sends            10 do it    open        out 42/65536 in 0/65536\n"
        "  0 sends            20 do it    open        out 94/65536 in 0/65536\n"
        "  2 MESSAGE          10 do it    open        out 94/65536 in "
        "42/65536\n"
        "  2 takes            10          open        out 94/65536 in "
        "42/65536\n"
        "  3 half-closes       0 do it    half-local  out 94/65536 in "
        "42/65536\n"
        "  3 half-closes       0 nothing  half-local  out 94/65536 in "
        "42/65536\n"
        "  4 sends             5 refuse   half-local  out 94/65536 in "
        "42/65536\n"
        "  5 MESSAGE          20 do it    half-local  out 94/65536 in "
        "94/65536\n"
        "  5 takes            20          half-local  out 94/65536 in "
        "94/65536\n"
        "  6 REPLY             0 end      ended       out 94/65536 in "
        "94/65536\n"
        "  7 sends             5 refuse   ended       out 94/65536 in "
        "94/65536\n"
        "  7 ends              0 nothing  ended       out 94/65536 in "
        "94/65536\n"
        "100 time over         0 nothing  ended       out 94/65536 in "
        "94/65536\n"
        "200 -                 0          ended       out 94/65536 in "
        "94/65536\n");
}

static const struct happening of_the_same_at_its_server[] = {
    {1, EV(MESSAGE), 10}, {1, EV(MESSAGE), 20},    {1, TAKES, 10},
    {1, EV(SENDS), 10},   {3, EV(HALF), 0},        {4, TAKES, 20},
    {4, EV(SENDS), 20},   {4, EV(HALF_CLOSES), 0}, {5, EV(ENDS), 0},
    {6, EV(SENDS), 1}};

static void
the_same_at_its_server(void **state)
{
    static const struct life l =
        LIFE(SERVER, true, true, 100, of_the_same_at_its_server);

    (void)state;
    life_say(&l);
    assert_said(
        "  1 MESSAGE          10 do it    open        out 0/65536 in 42/65536\n"
        "  1 MESSAGE          20 do it    open        out 0/65536 in 94/65536\n"
        "  1 takes            10          open        out 0/65536 in 94/65536\n"
        "  1 sends            10 do it    open        out 42/65536 in "
        "94/65536\n"
        "  3 HALF              0 do it    half-remote out 42/65536 in "
        "94/65536\n"
        "  4 takes            20          half-remote out 42/65536 in "
        "94/65536\n"
        "  4 sends            20 do it    half-remote out 94/65536 in "
        "94/65536\n"
        "  4 half-closes       0 refuse   half-remote out 94/65536 in "
        "94/65536\n"
        "  5 ends              0 end      ended       out 94/65536 in "
        "94/65536\n"
        "  6 sends             1 refuse   ended       out 94/65536 in "
        "94/65536\n");
}

static const struct happening
    of_a_slow_reader_stops_its_sender_until_the_deadline[] = {
        {0, EV(SENDS), 30000},  {1, EV(SENDS), 30000},
        {2, EV(SENDS), 30000},  {10, EV(WINDOW), 98304},
        {11, EV(SENDS), 30000}, {12, EV(SENDS), 30000},
        {60, EV(SENDS), 30000}, {61, EV(WINDOW), 131072},
        {62, EV(REPLY), 0}};

static void
a_slow_reader_stops_its_sender_until_the_deadline(void **state)
{
    static const struct life l =
        LIFE(CLIENT, true, false, 50,
             of_a_slow_reader_stops_its_sender_until_the_deadline);

    (void)state;
    life_say(&l);
    assert_said("  0 sends         30000 do it    half-remote out 30032/65536 "
                "in 0/65536\n"
                "  1 sends         30000 do it    half-remote out 60064/65536 "
                "in 0/65536\n"
                "  2 sends         30000 wait     half-remote out 60064/65536 "
                "in 0/65536\n"
                " 10 WINDOW        98304 do it    half-remote out 60064/98304 "
                "in 0/65536\n"
                " 11 sends         30000 do it    half-remote out 90096/98304 "
                "in 0/65536\n"
                " 12 sends         30000 wait     half-remote out 90096/98304 "
                "in 0/65536\n"
                " 50 time over         0 end      ended       out 90096/98304 "
                "in 0/65536\n"
                " 60 sends         30000 refuse   ended       out 90096/98304 "
                "in 0/65536\n"
                " 61 WINDOW       131072 nothing  ended       out 90096/98304 "
                "in 0/65536\n"
                " 62 REPLY             0 nothing  ended       out 90096/98304 "
                "in 0/65536\n");
}

static const struct happening
    of_a_reader_tells_of_room_when_it_has_taken_half_a_window[] = {
        {0, EV(MESSAGE), 30000}, {0, EV(MESSAGE), 30000},  {1, TAKES, 30000},
        {2, TAKES, 30000},       {3, EV(MESSAGE), 100000}, {4, TAKES, 100000},
        {5, EV(HALF), 0},        {6, EV(SENDS), 1},        {7, EV(ENDS), 0}};

static void
a_reader_tells_of_room_when_it_has_taken_half_a_window(void **state)
{
    static const struct life l =
        LIFE(SERVER, false, true, 0,
             of_a_reader_tells_of_room_when_it_has_taken_half_a_window);

    (void)state;
    life_say(&l);
    assert_said("  0 MESSAGE       30000 do it    half-local  out 0/65536 in "
                "30032/65536\n"
                "  0 MESSAGE       30000 do it    half-local  out 0/65536 in "
                "60064/65536\n"
                "  1 takes         30000          half-local  out 0/65536 in "
                "60064/65536\n"
                "  2 takes         30000 tell     half-local  out 0/65536 in "
                "60064/125600\n"
                "  3 MESSAGE      100000 do it    half-local  out 0/65536 in "
                "160096/125600\n"
                "  4 takes        100000 tell     half-local  out 0/65536 in "
                "160096/225632\n"
                "  5 HALF              0 do it    half-both   out 0/65536 in "
                "160096/225632\n"
                "  6 sends             1 refuse   half-both   out 0/65536 in "
                "160096/225632\n"
                "  7 ends              0 end      ended       out 0/65536 in "
                "160096/225632\n");
}

static const struct happening
    of_a_lost_link_ends_it_and_what_comes_yet_is_dropped[] = {
        {0, EV(MESSAGE), 10}, {1, EV(LINK_LOST), 0},   {2, EV(MESSAGE), 10},
        {2, EV(HALF), 0},     {2, EV(WINDOW), 131072}, {2, EV(CANCEL), 0},
        {3, EV(SENDS), 1},    {4, EV(ENDS), 0}};

static void
a_lost_link_ends_it_and_what_comes_yet_is_dropped(void **state)
{
    static const struct life l =
        LIFE(SERVER, true, true, 0,
             of_a_lost_link_ends_it_and_what_comes_yet_is_dropped);

    (void)state;
    life_say(&l);
    assert_said(
        "  0 MESSAGE          10 do it    open        out 0/65536 in 42/65536\n"
        "  1 link lost         0 end      ended       out 0/65536 in 42/65536\n"
        "  2 MESSAGE          10 nothing  ended       out 0/65536 in 42/65536\n"
        "  2 HALF              0 nothing  ended       out 0/65536 in 42/65536\n"
        "  2 WINDOW       131072 nothing  ended       out 0/65536 in 42/65536\n"
        "  2 CANCEL            0 nothing  ended       out 0/65536 in 42/65536\n"
        "  3 sends             1 refuse   ended       out 0/65536 in 42/65536\n"
        "  4 ends              0 nothing  ended       out 0/65536 in "
        "42/65536\n");
}

static const struct happening of_a_cancel_is_heard_after_the_half_close_too[] =
    {{0, EV(HALF), 0},
     {1, EV(SENDS), 10},
     {2, EV(CANCEL), 0},
     {3, EV(SENDS), 10},
     {3, EV(CANCEL), 0}};

static void
a_cancel_is_heard_after_the_half_close_too(void **state)
{
    static const struct life l = LIFE(
        SERVER, true, true, 100, of_a_cancel_is_heard_after_the_half_close_too);

    (void)state;
    life_say(&l);
    assert_said(
        "  0 HALF              0 do it    half-remote out 0/65536 in 0/65536\n"
        "  1 sends            10 do it    half-remote out 42/65536 in 0/65536\n"
        "  2 CANCEL            0 end      ended       out 42/65536 in 0/65536\n"
        "  3 sends            10 refuse   ended       out 42/65536 in 0/65536\n"
        "  3 CANCEL            0 nothing  ended       out 42/65536 in "
        "0/65536\n");
}

static const struct happening of_a_client_that_gives_up_hears_no_reply[] = {
    {0, EV(SENDS), 1},
    {1, EV(MESSAGE), 10},
    {2, EV(ENDS), 0},
    {3, EV(MESSAGE), 10},
    {4, EV(REPLY), 0}};

static void
a_client_that_gives_up_hears_no_reply(void **state)
{
    static const struct life l = LIFE(CLIENT, false, true, 100,
                                      of_a_client_that_gives_up_hears_no_reply);

    (void)state;
    life_say(&l);
    assert_said(
        "  0 sends             1 refuse   half-local  out 0/65536 in 0/65536\n"
        "  1 MESSAGE          10 do it    half-local  out 0/65536 in 42/65536\n"
        "  2 ends              0 end      ended       out 0/65536 in 42/65536\n"
        "  3 MESSAGE          10 nothing  ended       out 0/65536 in 42/65536\n"
        "  4 REPLY             0 nothing  ended       out 0/65536 in "
        "42/65536\n");
}

static const struct happening
    of_a_message_that_is_lost_ends_it_before_the_reply[] = {
        {1, EV(MESSAGE), 10},
        {2, EV(MESSAGE_LOST), 0},
        {3, EV(MESSAGE), 10},
        {4, EV(REPLY), 0}};

static void
a_message_that_is_lost_ends_it_before_the_reply(void **state)
{
    static const struct life l =
        LIFE(CLIENT, false, true, 100,
             of_a_message_that_is_lost_ends_it_before_the_reply);

    (void)state;
    life_say(&l);
    assert_said(
        "  1 MESSAGE          10 do it    half-local  out 0/65536 in 42/65536\n"
        "  2 message lost      0 end      ended       out 0/65536 in 42/65536\n"
        "  3 MESSAGE          10 nothing  ended       out 0/65536 in 42/65536\n"
        "  4 REPLY             0 nothing  ended       out 0/65536 in "
        "42/65536\n");
}

static const struct happening of_what_a_client_may_not_send_breaks_the_link[] =
    {{0, EV(REPLY), 0},      {1, EV(MESSAGE), 40000}, {2, EV(MESSAGE), 40000},
     {3, EV(WINDOW), 65535}, {4, EV(WINDOW), 65537},  {5, EV(HALF), 0},
     {6, EV(HALF), 0},       {7, EV(MESSAGE), 1},     {8, EV(LINK_LOST), 0}};

static void
what_a_client_may_not_send_breaks_the_link(void **state)
{
    static const struct life l = LIFE(
        SERVER, true, true, 0, of_what_a_client_may_not_send_breaks_the_link);

    (void)state;
    life_say(&l);
    assert_said(
        "  0 REPLY             0 break    open        out 0/65536 in 0/65536\n"
        "  1 MESSAGE       40000 do it    open        out 0/65536 in "
        "40032/65536\n"
        "  2 MESSAGE       40000 break    open        out 0/65536 in "
        "40032/65536\n"
        "  3 WINDOW        65535 break    open        out 0/65536 in "
        "40032/65536\n"
        "  4 WINDOW        65537 break    open        out 0/65536 in "
        "40032/65536\n"
        "  5 HALF              0 do it    half-remote out 0/65536 in "
        "40032/65536\n"
        "  6 HALF              0 break    half-remote out 0/65536 in "
        "40032/65536\n"
        "  7 MESSAGE           1 break    half-remote out 0/65536 in "
        "40032/65536\n"
        "  8 link lost         0 end      ended       out 0/65536 in "
        "40032/65536\n");
}

static const struct happening of_what_a_server_may_not_send_breaks_the_link[] =
    {{0, EV(HALF), 0},
     {1, EV(CANCEL), 0},
     {2, EV(MESSAGE), 1},
     {3, EV(WINDOW), 65537},
     {4, EV(LINK_LOST), 0}};

static void
what_a_server_may_not_send_breaks_the_link(void **state)
{
    static const struct life l = LIFE(
        CLIENT, true, false, 0, of_what_a_server_may_not_send_breaks_the_link);

    (void)state;
    life_say(&l);
    assert_said(
        "  0 HALF              0 break    half-remote out 0/65536 in 0/65536\n"
        "  1 CANCEL            0 break    half-remote out 0/65536 in 0/65536\n"
        "  2 MESSAGE           1 break    half-remote out 0/65536 in 0/65536\n"
        "  3 WINDOW        65537 break    half-remote out 0/65536 in 0/65536\n"
        "  4 link lost         0 end      ended       out 0/65536 in "
        "0/65536\n");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_client_does_this_with_each_event_in_each_state),
        cmocka_unit_test(a_server_does_this_with_each_event_in_each_state),
        cmocka_unit_test(it_begins_where_messages_are_to_be_sent_and_to_come),
        cmocka_unit_test(a_talk_that_ends_well_at_its_client),
        cmocka_unit_test(the_same_at_its_server),
        cmocka_unit_test(a_slow_reader_stops_its_sender_until_the_deadline),
        cmocka_unit_test(
            a_reader_tells_of_room_when_it_has_taken_half_a_window),
        cmocka_unit_test(a_lost_link_ends_it_and_what_comes_yet_is_dropped),
        cmocka_unit_test(a_cancel_is_heard_after_the_half_close_too),
        cmocka_unit_test(a_client_that_gives_up_hears_no_reply),
        cmocka_unit_test(a_message_that_is_lost_ends_it_before_the_reply),
        cmocka_unit_test(what_a_client_may_not_send_breaks_the_link),
        cmocka_unit_test(what_a_server_may_not_send_breaks_the_link),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
