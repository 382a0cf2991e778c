/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Tests of streams that go to another server before they begin: of
 * test_stream_again, which lists them. */
#ifndef VC_TESTS_SIM_MOVED_STREAMS_H
#define VC_TESTS_SIM_MOVED_STREAMS_H

void streams_that_were_not_sent_go_to_another_server(void **state);
void one_that_may_not_be_retried_does_not(void **state);
void a_move_is_no_attempt_of_the_policys(void **state);
void streams_that_were_refused_go_to_another_server(void **state);
void one_whose_messages_are_gone_ends_where_it_was_refused(void **state);
void a_first_message_waits_for_the_link_of_the_other_server(void **state);
void the_former_server_takes_no_message_of_one_that_has_left(void **state);

#endif
