/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Tests of channels with policies of the program's own: of
 * test_features_policies, which lists them. */
#ifndef VC_TESTS_SUITE_OWN_CASES_H
#define VC_TESTS_SUITE_OWN_CASES_H

void calls_of_a_tenant_go_to_its_servers(void **state);
void an_ejected_server_gets_none_by_a_policy_that_asks(void **state);
void a_choice_that_is_none_fails_its_call_only(void **state);
void a_call_that_a_policy_fails_is_retried(void **state);
void a_policy_that_insists_on_a_server_has_its_calls_wait(void **state);
void a_policy_may_have_a_call_wait_after_it_has_insisted(void **state);
void a_call_that_is_to_wait_goes_when_there_is_a_server(void **state);
void a_call_that_waits_ends_at_its_deadline(void **state);
void a_deadline_that_is_noticed_late_ends_a_call_that_waits(void **state);
void messages_of_a_stream_that_waits_come_when_it_goes(void **state);
void a_stream_that_waits_ends_if_the_policy_fails_it(void **state);
void calls_that_wait_end_with_their_channel(void **state);
void a_further_attempt_knows_what_was_tried(void **state);
void a_policy_that_there_is_not_opens_no_channel(void **state);

#endif
