#!/bin/sh
# SPDX-FileCopyrightText: 2026 Verbcall authors
# SPDX-License-Identifier: BSD-2-Clause
#
# Coverage of the product's code by its tests, measured by gcov: see usage() below.
set -u

usage()
{
    cat <<'END_USAGE'
usage: sh tests/coverage.sh [--rdma] [--jobs N]
Builds Verbcall with gcov's counters in a folder of its own, runs the test suites that need no RDMA device (unit, idl,
fake, sim), and prints which part of the lines and of the branches of rpc/, cm/, transport/ and idl/ they ran: by folder,
for the files with the most lines that did not run, and in all:
  lines_percent P
  branches_percent P
Exit status 0 when all tests passed and at least 92 % of the lines and 80 % of the branches ran.
  --rdma    runs the suites over RDMA, too, in a guest if need be
  --jobs N  so many programs at a time (default: one a processor)
FOLDER/coverage/not_covered lists each line that did not run, and each branch that was never taken.

What cannot be run by a test is marked in the source, with the reason. It counts neither way, and is listed:
  code; /* not covered: REASON */
  /* not covered from here: REASON */ ... /* covered again */
Environment: VC_BUILD_DIR=FOLDER builds in FOLDER-coverage instead of build-coverage/.
END_USAGE
}

die()
{
    echo "Verbcall: $*" >&2
    exit 1
}

here=$PWD
CDPATH='' cd -P -- "$(dirname -- "$0")/.." || exit 1
. tests/packages.sh
. tests/build.sh
. tests/native_list.sh

rdma=
jobs=$(getconf _NPROCESSORS_ONLN)
while [ $# -gt 0 ]; do
    case $1 in
    --rdma) rdma=1 ;;
    --jobs) jobs=${2:?}; shift ;;
    -h | --help) usage; exit ;;
    *) usage >&2; exit 2 ;;
    esac
    shift
done

groups='test'
programs=native-programs
[ -z "$rdma" ] || groups='test guest' programs=check-programs
# shellcheck disable=SC2086 # words
vc_need_packages $groups || die 'cannot test it without these packages'

build=$(vc_build_folder "$here")-coverage
# Without optimisation, so that lines and branches are those of the source. gcov's library, which is linked last, calls
# access(), which programs on the fake take from there.
if ! vc_build "$build" --disable-lto 'CFLAGS=-O0 -g --coverage -fprofile-update=atomic' \
    LDFLAGS=-Wl,-u,__wrap_access || ! vc_make "$build" "$programs"; then
    die 'FAILED: it does not build'
fi
top=$(vc_plain_path .)
build=$(vc_plain_path "$build")
cd "$build" || exit 1
# More seeds run the same lines, and take hours without optimisation.
export VC_TEST_LONG=

# Removes counts of programs that ran during the build: they belong to no test.
find . -name '*.gcda' -exec rm -f {} +
rm -rf coverage
mkdir -p coverage/runs || exit 1

# A run without tests: it lists every line.
sh "$top/tests/coverage/counts.sh" "$top" . coverage/runs/none || die 'gcov failed'
[ -s coverage/runs/none.counts ] || die 'gcov found no code'

vc_native_list | xargs -n 1 -P "$jobs" --process-slot-var=VC_SLOT sh "$top/tests/coverage/run.sh" "$top"
if [ -n "$rdma" ]; then
    suites='calls connect faithful foreign hostile interop kill blows resume leaks'
    # shellcheck disable=SC2086 # words
    sh "$top/tests/coverage/run.sh" "$top" "rdma $suites"
fi

sort -o coverage/failed coverage/failed 2>/dev/null && sed 's/^/FAILED: /' coverage/failed
awk -v top="$top" -v lines_goal=92 -v branches_goal=80 -v list=coverage/not_covered \
    -f "$top/tests/coverage/report.awk" coverage/runs/*.counts && [ ! -s coverage/failed ]
