/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Tests of the health service: of test_features_server, which lists them. */
#ifndef VC_TESTS_SUITE_HEALTH_CASES_H
#define VC_TESTS_SUITE_HEALTH_CASES_H

void a_health_check_tells_what_the_server_has_set(void **state);
void a_health_watch_sees_each_change_until_the_server_stops(void **state);

#endif
