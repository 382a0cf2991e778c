/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Tests of channels that connect ahead (vc_channel_opts.connect_ahead): of
 * test_balance, which lists them. */
#ifndef VC_TESTS_SIM_AHEAD_CASES_H
#define VC_TESTS_SIM_AHEAD_CASES_H

void a_channel_connects_ahead_to_each_of_its_servers(void **state);
void a_lost_server_is_connected_again_after_backoffs(void **state);
void a_server_that_drops_its_clients_is_connected_less_and_less(void **state);
void a_server_that_drains_is_connected_when_it_is_back(void **state);
void a_call_does_not_wait_for_the_backoff(void **state);

#endif
