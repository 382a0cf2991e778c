#!/bin/sh
# SPDX-FileCopyrightText: 2026 Verbcall authors
# SPDX-License-Identifier: BSD-2-Clause
#
# Makes configure out of configure.ac; needed once after a checkout.
set -e
cd "$(dirname "$0")"
exec autoreconf --force --install --warnings=all,no-portability
