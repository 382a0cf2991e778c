#!/bin/sh
# SPDX-FileCopyrightText: 2026 Verbcall authors
# SPDX-License-Identifier: BSD-2-Clause
#
# tests/mutate/test.sh TOP LIBRARY LIMIT NAME: runs one native test in the build folder (the current one) with the shared
# objects and the plugin of the folder LIBRARY. Exit status 0 when it passed within LIMIT seconds. With the word "time"
# for a limit it prints "NAME SECONDS passed" or "NAME SECONDS failed", and succeeds.
set -u

top=$1
library=$2
limit=$3
name=$4
. "$top/tests/native_list.sh"

# A mutant may crash, ask for all memory, or print without end. (A shell that has no such limits goes without.)
# shellcheck disable=SC3045
ulimit -c 0 2>/dev/null
# shellcheck disable=SC3045
[ "$name" != idl ] || ulimit -t 30 2>/dev/null # of a processor, for each program that it runs
# shellcheck disable=SC3045
ulimit -v 16000000 2>/dev/null
ulimit -f 400000 2>/dev/null

LD_LIBRARY_PATH=$library
VC_PLUGIN=$library/protoc-gen-verbcall
export LD_LIBRARY_PATH VC_PLUGIN
if [ -n "${VC_SLOT-}" ] && command -v taskset >/dev/null; then
    taskset -pc "$((VC_SLOT % $(getconf _NPROCESSORS_ONLN)))" $$ >/dev/null 2>&1
fi

# Fails at the first test that fails: a program that goes on is then stopped by its next word.
passed()
{
    { vc_native_run "$top" "$name" 2>&1 </dev/null; echo "exit status $?"; } | awk '
        /^not ok/ && !/# SKIP/ { failed = 1; exit }
        /^exit status / { status = $3 }
        END { exit failed || status != "0" }'
}

now()
{
    date +%s.%N
}

if [ "$limit" = time ]; then
    begin=$(now)
    passed && word=passed || word=failed
    echo "$name $(now) $begin $word" | awk '{ printf "%s %.2f %s\n", $1, $2 - $3, $4 }'
elif [ "$limit" = forever ]; then
    passed
else
    timeout -k 1 "$limit" sh "$0" "$top" "$library" forever "$name"
fi
