/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The fake as the machine of tests/fake/faithful.h. */
#include "fake/fake.h"
#include "tests/fake/faithful.h"

bool
machine_may_change(void)
{
    return true;
}

void
machine_port_set(bool up)
{
    fake_port_set(fake_host_local(), up);
}

void
machine_device_remove(void)
{
    fake_device_remove(fake_host_local());
}
