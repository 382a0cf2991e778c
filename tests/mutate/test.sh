#!/bin/sh
# SPDX-FileCopyrightText: 2026 Verbcall authors
# SPDX-License-Identifier: BSD-2-Clause
#
# tests/mutate/test.sh TOP LIBRARY LIMIT NAME: runs one native test in the build folder (the current one) with the
# shared objects and the plugin of the folder LIBRARY. Exit status 0 if it passed within LIMIT seconds, 124 or 137 if it
# did not end. If LIMIT is "time" it prints "NAME SECONDS passed" or "NAME SECONDS failed", and succeeds.
set -u

top=$1
library=$2
limit=$3
name=$4
. "$top/tests/native_list.sh"

# A mutant may crash, allocate all memory, or print without end. (A shell without such limits runs it unlimited.)
# shellcheck disable=SC3045
ulimit -c 0 2>/dev/null
# shellcheck disable=SC3045
[ "$name" != idl ] || ulimit -t 30 2>/dev/null # seconds of processor time, for each program that it runs
# Some programs have an object of the library themselves, in place of its own (tests/sim/second.c).
export ASAN_OPTIONS="hard_rss_limit_mb=8000:detect_odr_violation=0"
ulimit -f 400000 2>/dev/null

LD_LIBRARY_PATH=$library
VC_PLUGIN=$library/protoc-gen-verbcall
export LD_LIBRARY_PATH VC_PLUGIN
if [ -n "${VC_SLOT-}" ] && command -v taskset >/dev/null; then
    taskset -pc "$((VC_SLOT % $(getconf _NPROCESSORS_ONLN)))" $$ >/dev/null 2>&1
fi

# Fails at the first failed test: a program that continues is stopped by its next output. Otherwise the status is that
# of the program, which tests/one.sh prints last.
passed()
{
    vc_native_run "$top" "$name" 2>&1 </dev/null | awk '
        BEGIN { status = 1 }
        /^not ok/ { status = 1; exit }
        /^# [0-9]+ s, exit status [0-9]+$/ { status = $NF }
        END { exit status }'
}

now()
{
    date +%s.%N
}

if [ "$limit" = time ]; then
    begin=$(now)
    passed && word=passed || word=failed
    echo "$name $(now) $begin $word" | awk '{ printf "%s %.2f %s\n", $1, $2 - $3, $4 }'
else
    export VC_TEST_TIMEOUT="$limit"
    passed
fi
