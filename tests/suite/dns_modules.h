/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * When the library loads its modules, and what it says if they are missing:
 * tests of test_dns_channel, which runs itself for each of them. */
#ifndef VC_TESTS_SUITE_DNS_MODULES_H
#define VC_TESTS_SUITE_DNS_MODULES_H

#include <stdbool.h>

/* Notes the path of the program. False if it is not known. */
bool modules_begin(void);
/* The path of the program. */
const char *modules_program(void);

/* main() of a program that a test has run with this argument. */
int modules_main(const char *mode);

void the_library_loads_c_ares_for_a_dns_target_and_not_before(void **state);
void the_module_takes_no_place_of_a_programs_types(void **state);
void without_the_module_the_text_names_it_and_its_package(void **state);
void
the_library_loads_jansson_for_a_service_config_and_not_before(void **state);
void without_the_module_for_service_configs_the_text_names_it(void **state);

#endif
