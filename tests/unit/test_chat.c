/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The parts of examples/chat without calls: rooms, and lines of input. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "examples/chat/input.h"
#include "examples/chat/room.h"

/* --- rooms --------------------------------------------------------------- */

static struct member *
come(const char *room, const char *name)
{
    struct member *member;

    assert_int_equal(room_enter(room, name, &member), ROOM_ENTERED);
    return member;
}

/* Expects this line next. */
static void
hears(struct member *member, const char *name, const char *text)
{
    struct line line;

    assert_true(room_next(member, &line));
    if (name == NULL)
        assert_null(line.name);
    else
        assert_string_equal(line.name, name);
    assert_string_equal(line.text, text);
    line_free(&line);
}

static void
go(struct member *member)
{
    struct line line;

    room_leave(member);
    while (room_next(member, &line))
        line_free(&line);
    room_free(member);
}

static void
all_in_a_room_hear_a_line_and_others_do_not(void **state)
{
    struct member *ann = come("kitchen", "ann");
    struct member *bob = come("kitchen", "bob");
    struct member *eve = come("cellar", "ann");

    (void)state;
    room_say(bob, "tea");
    hears(ann, NULL, "ann has come");
    hears(ann, NULL, "bob has come");
    hears(ann, "bob", "tea");
    hears(bob, NULL, "bob has come");
    hears(bob, "bob", "tea");
    hears(eve, NULL, "ann has come");
    go(bob);
    hears(ann, NULL, "bob has gone");
    room_say(eve, "quiet");
    hears(eve, "ann", "quiet");
    go(eve);
    go(ann);
}

static void
a_name_is_had_by_one_in_a_room_until_he_leaves(void **state)
{
    struct member *ann = come("kitchen", "ann"), *other;

    (void)state;
    assert_int_equal(room_enter("kitchen", "ann", &other), ROOM_HAS_NAME);
    go(ann);
    go(come("kitchen", "ann"));
}

static void
there_are_so_many_seats_and_no_more(void **state)
{
    static struct member *all[ROOM_MAX_MEMBERS];
    struct member *more;
    char name[16];

    (void)state;
    for (unsigned i = 0; i < ROOM_MAX_MEMBERS; i++) {
        snprintf(name, sizeof name, "%u", i);
        all[i] = come(name, "ann");
    }
    assert_int_equal(room_enter("more", "ann", &more), ROOM_FULL);
    for (unsigned i = 0; i < ROOM_MAX_MEMBERS; i++)
        go(all[i]);
    go(come("more", "ann"));
}

static void
one_who_does_not_listen_is_told_how_much_was_lost(void **state)
{
    struct member *ann = come("kitchen", "ann");
    char text[80];

    (void)state;
    for (unsigned i = 0; i < ROOM_MAX_LINES + 4; i++) {
        snprintf(text, sizeof text, "%u", i);
        room_say(ann, text);
    }
    hears(ann, NULL, "ann has come");
    for (unsigned i = 0; i < ROOM_MAX_LINES - 1; i++) {
        snprintf(text, sizeof text, "%u", i);
        hears(ann, "ann", text);
    }
    hears(ann, NULL, "5 lines were lost here: this client reads too slowly");
    room_say(ann, "again");
    hears(ann, "ann", "again");
    go(ann);
}

/* --- input --------------------------------------------------------------- */

/* Opens an input that reads what is written to *to. */
static void
open_input(struct input *in, int *to)
{
    int ends[2];

    assert_int_equal(pipe(ends), 0);
    assert_int_equal(dup2(ends[0], STDIN_FILENO), STDIN_FILENO);
    close(ends[0]);
    *to = ends[1];
    assert_true(input_open(in));
}

static void
put(int to, const char *text, size_t size)
{
    assert_int_equal(write(to, text, size), (ssize_t)size);
}

static void
lines_come_one_by_one_and_the_last_needs_no_newline(void **state)
{
    static struct input in;
    int to;

    (void)state;
    open_input(&in, &to);
    put(to, "one\n\nthr", 8);
    assert_string_equal(input_line(&in), "one");
    assert_string_equal(input_line(&in), "");
    put(to, "ee\nfour", 7);
    close(to);
    assert_string_equal(input_line(&in), "three");
    assert_string_equal(input_line(&in), "four");
    assert_null(input_line(&in));
    assert_null(input_line(&in));
    input_close(&in);
}

static void
a_long_line_comes_in_pieces_cut_between_characters(void **state)
{
    static struct input in;
    static char text[ROOM_MAX_TEXT + 3];
    int to;

    (void)state;
    memset(text, 'x', ROOM_MAX_TEXT - 1);
    memcpy(text + ROOM_MAX_TEXT - 1, "\303\251y\n", 4); /* past the end */
    open_input(&in, &to);
    put(to, text, ROOM_MAX_TEXT + 3);
    close(to);
    assert_int_equal(strlen(input_line(&in)), ROOM_MAX_TEXT - 1);
    assert_string_equal(input_line(&in), "\303\251y");
    assert_null(input_line(&in));
    input_close(&in);
}

static void
who_waits_for_a_line_is_stopped(void **state)
{
    static struct input in;
    int to;

    (void)state;
    open_input(&in, &to);
    put(to, "not a whole li", 14);
    input_stop(&in);
    assert_null(input_line(&in));
    input_close(&in);
    close(to);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_in_a_room_hear_a_line_and_others_do_not),
        cmocka_unit_test(a_name_is_had_by_one_in_a_room_until_he_leaves),
        cmocka_unit_test(there_are_so_many_seats_and_no_more),
        cmocka_unit_test(one_who_does_not_listen_is_told_how_much_was_lost),
        cmocka_unit_test(lines_come_one_by_one_and_the_last_needs_no_newline),
        cmocka_unit_test(a_long_line_comes_in_pieces_cut_between_characters),
        cmocka_unit_test(who_waits_for_a_line_is_stopped),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
