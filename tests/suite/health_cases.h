/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Tests of the health service: of test_features_server, which lists them. */
#ifndef VC_TESTS_SUITE_HEALTH_CASES_H
#define VC_TESTS_SUITE_HEALTH_CASES_H

void a_health_check_tells_what_the_server_has_set(void **state);
void a_health_watch_sees_each_change_until_the_server_stops(void **state);
void three_hundred_watches_hold_no_thread_of_handlers(void **state);
void a_health_check_that_was_slow_once_keeps_no_later_one_waiting(void **state);
void a_watcher_that_does_not_read_gets_the_newest_state_only(void **state);
void a_watcher_that_does_not_read_delays_no_drain(void **state);
void calls_of_the_health_service_leave_max_calls_to_others(void **state);
void watches_that_come_and_go_disturb_no_other(void **state);

#endif
