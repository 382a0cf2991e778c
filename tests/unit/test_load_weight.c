/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The weight of a server by its load report. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <float.h>
#include <math.h>

#include "rpc/balance/load_weight.h"

static const struct {
    double qps, eps, utilization, penalty;
    float weight;
} table[] = {
    {100, 0, 0.5, 1, 200},
    {100, 0, 2.0, 1, 50}, /* more than all of it is used */
    {100, 25, 0.5, 1, 100 / 0.75f},
    {100, 25, 0.5, 2, 100},
    {100, 200, 0.5, 1, 40}, /* more errors than queries */
    /* errors that do not count */
    {100, 25, 0.5, 0, 200},
    {100, 25, 0.5, -1, 200},
    {100, 25, 0.5, (double)NAN, 200},
    {100, -25, 0.5, 1, 200},
    {100, (double)NAN, 0.5, 1, 200},
    /* no load, or none that can be */
    {0, 0, 0.5, 1, 0},
    {0, 25, 0.5, 1, 0},
    {-100, 0, 0.5, 1, 0},
    {-100, 25, 0.1, 1, 0},
    {(double)NAN, 0, 0.5, 1, 0},
    {(double)INFINITY, 0, 0.5, 1, 0},
    {100, 0, 0, 1, 0},
    {100, 25, 0, 1, 0},
    {100, 0, -0.5, 1, 0},
    {-100, 0, -0.5, 1, 0},
    {100, 0, (double)NAN, 1, 0},
    {100, 0, (double)INFINITY, 1, 0},
    {(double)INFINITY, 0, (double)INFINITY, 1, 0},
    {100, (double)INFINITY, 0.5, 1, 0},
    /* beyond a float */
    {DBL_MAX, 0, 0.5, 1, 0},
    {1e38, 0, 1e-3, 1, 0},
    {1, 0, DBL_MAX, 1, 0},
    {1e-30, 0, 1e10, 1, 0},
    {1e-300, DBL_MAX, 0.5, 1, 0},
};

static void
each_report_weighs_what_the_table_says(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        float is = vc__load_weight(table[i].qps, table[i].eps,
                                   table[i].utilization, table[i].penalty);
        float differs = is - table[i].weight;

        /* Not so for NaN, either. */
        if (!(differs <= table[i].weight * FLT_EPSILON &&
              differs >= -table[i].weight * FLT_EPSILON))
            fail_msg("row %zu weighs %g", i, (double)is);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_report_weighs_what_the_table_says),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
