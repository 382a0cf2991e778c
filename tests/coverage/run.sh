#!/bin/sh
# SPDX-FileCopyrightText: 2026 Verbcall authors
# SPDX-License-Identifier: BSD-2-Clause
#
# tests/coverage/run.sh TOP NAME: runs one test in a build folder with gcov's counters (the current folder), and stores
# its coverage in coverage/runs/NAME.counts. NAME is one of vc_native_list's, or "rdma SUITE...". A test that fails gets
# a line in coverage/failed; its coverage counts all the same.
set -u

top=$1
name=$2
. "$top/tests/native_list.sh"

run=coverage/runs/$(printf '%s' "${name%% *}" | tr / _)
mkdir -p "$run"

# The counters of this run go to a folder of its own, which mirrors the current one.
GCOV_PREFIX=$PWD/$run
GCOV_PREFIX_STRIP=$(printf '%s' "$PWD" | tr -cd / | wc -c)
export GCOV_PREFIX GCOV_PREFIX_STRIP

# Threads of a simulated world run one at a time, which is faster on one processor.
pinned()
{
    if [ -n "${VC_SLOT-}" ] && command -v taskset >/dev/null; then
        taskset -pc "$((VC_SLOT % $(getconf _NPROCESSORS_ONLN)))" $$ >/dev/null 2>&1
    fi
    "$@"
}

case $name in
rdma\ *)
    rm -f coverage/totals*
    # shellcheck disable=SC2086 # words
    "$top/tests/rdma" --timeout 3600 --share "$PWD" -- \
        sh "$top/tests/inside.sh" "$PWD" "$PWD/coverage/totals" ${name#rdma } ;;
*) pinned vc_native_run "$top" "$name" >"$run.log" 2>&1 </dev/null ;;
esac || echo "$name" >>coverage/failed

sh "$top/tests/coverage/counts.sh" "$top" "$run" "$run" || exit 1
rm -rf "$run"
