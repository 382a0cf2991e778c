#!/bin/sh
# SPDX-FileCopyrightText: 2026 Verbcall authors
# SPDX-License-Identifier: BSD-2-Clause
#
# tests/dist.sh BUILD: make distcheck of a build folder as a test, in TAP.
set -u

. "$(dirname -- "$0")/build.sh"
cd -- "$(dirname -- "$0")/.." || exit 1
echo 1..1
if vc_build "$1" --enable-werror 2>&1 && vc_make "$1" distcheck 2>&1; then
    echo 'ok 1 - the_tarball_builds_tests_installs_and_uninstalls'
else
    echo 'not ok 1 - the_tarball_builds_tests_installs_and_uninstalls'
fi
