/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Cases of test_features_server.c: what the two ends agree on when a client
 * connects, and when it opens a session. */
#ifndef VC_TESTS_SUITE_NEGOTIATED_H
#define VC_TESTS_SUITE_NEGOTIATED_H

void another_schema_is_refused_where_the_server_asks_for_it(void **state);
void another_schema_is_served_with_a_warning_once_per_client(void **state);
void nothing_is_compared_unless_the_server_asks_for_it(void **state);
void an_accepted_schema_is_as_good_as_the_servers_own(void **state);
void an_older_client_is_judged_by_its_hello_and_else_refused(void **state);
void a_client_takes_the_counter_offer_of_the_server(void **state);
void a_further_link_gets_the_features_of_the_first_as_an_offer(void **state);

#endif
