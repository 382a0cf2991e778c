#!/bin/sh
# SPDX-FileCopyrightText: 2026 Verbcall authors
# SPDX-License-Identifier: BSD-2-Clause
#
# Measures whether the tests detect mistakes in the product's code; see usage() below.
set -u

usage()
{
    cat <<'END_USAGE'
usage: sh tests/mutate.sh [--seed N] [--count N] [--matching TEXT] [--jobs N]
Makes small changes (mutants) to copies of the product's code, one at a time, and runs the native tests that run the
changed line, until one of them fails. Prints a line for each mutant
  caught FILE:LINE KIND | ORIGINAL -> CHANGED | by PROGRAM
  survived FILE:LINE KIND | ORIGINAL -> CHANGED |
and ends with
  mutants_caught_percent P
The kinds, in equal shares: negate (a condition, == or !=), boundary (<, <=, >, >=), drop (a call or an assignment).
Mutants are drawn from the lines of the .c files in rpc/, cm/, transport/ and idl/ that tests/coverage.sh has seen run;
it is run first where its figures are older than the sources. Another mutant is drawn for each that does not compile,
compiles to the same code, or is listed in tests/mutate/equivalent. The list may be at most 6 % of a sample.
  --seed N   decides which mutants (default 1)
  --count N  how many (default 60)
  --matching TEXT  only changes whose file name or code has this text, e.g. cm/connect/dial.c; there may be fewer then
  --jobs N   so many at a time (default: one a processor)
Exit status 0 when at least 94 % were caught.
Environment: VC_BUILD_DIR=FOLDER uses FOLDER-mutate and FOLDER-coverage instead of build-mutate/ and build-coverage/.
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

seed=1
count=60
matching=
jobs=$(getconf _NPROCESSORS_ONLN)
while [ $# -gt 0 ]; do
    case $1 in
    --seed | --count | --jobs)
        case ${2-} in
        '' | *[!0-9]*) usage >&2; exit 2 ;;
        esac
        eval "${1#--}=\$2"
        shift ;;
    --matching) matching=${2:?}; shift ;;
    -h | --help) usage; exit ;;
    *) usage >&2; exit 2 ;;
    esac
    shift
done
vc_need_packages test || die 'cannot test it without these packages'

coverage=$(vc_build_folder "$here")-coverage/coverage
build=$(vc_build_folder "$here")-mutate

# Succeeds if sources are newer than the coverage's figures; not_covered is written last.
coverage_is_old()
{
    [ ! -s "$coverage/not_covered" ] ||
        [ -n "$(find rpc cm transport idl tests include -name '*.[ch]' -newer "$coverage/not_covered" | head -n 1)" ]
}

top=$(vc_plain_path .) || exit 1
# Tests run with these sanitizers by default, too: they detect accesses beyond the end of an object.
if ! vc_configured "$build" --enable-asan CFLAGS=-O1 || ! vc_make "$build" -f "$top/tests/mutate/mutate.mk" programs; then
    die 'FAILED: it does not build'
fi
if coverage_is_old; then
    sh tests/coverage.sh --jobs "$jobs" >"$build/coverage.log"
    ! coverage_is_old || die "FAILED: no coverage, see $build/coverage.log"
fi

coverage=$(vc_plain_path "$coverage") && cd "$(vc_plain_path "$build")" || exit 1
work=$PWD/mutate
rm -rf "$work/src" "$work/drawn" "$work/mutants" "$work/results" "$work/times"
mkdir -p "$work/src" "$work/drawn" "$work/mutants" || exit 1
for folder in rpc cm transport idl; do
    cp -R "$top/$folder" "$work/src" || exit 1
done

# --- duration of each test without a mutant ---

echo "Verbcall: timing the tests" >&2
vc_native_list | xargs -n 1 -P "$jobs" --process-slot-var=VC_SLOT sh "$top/tests/mutate/test.sh" "$top" "$work/base" \
    time >"$work/times.new"
grep -v ' failed$' "$work/times.new" | sort >"$work/times"
sed -n 's/ .* failed$/ fails without a mutant, and is left out/p' "$work/times.new"

# --- draw ---

(cd "$work/src" && find . -name '*.c' | sed 's/^\.\///' | LC_ALL=C sort) |
    while read -r file; do
        awk -v name="$file" -f "$top/tests/mutate/candidates.awk" "$work/src/$file" || exit 1
    done >"$work/candidates"
awk -v seed="$seed" -v matching="$matching" -v times="$work/times" -v out="$work/drawn" -f "$top/tests/mutate/draw.awk" "$coverage"/runs/*.counts "$work/candidates" ||
    die 'cannot draw mutants'

# If the count is no multiple of three, the first kinds get one more.
echo "Verbcall: making $count mutants" >&2
printf '%s\n' "negate $(((count + 2) / 3))" "boundary $(((count + 1) / 3))" "drop $((count / 3))" |
    xargs -n 2 -P "$jobs" sh "$top/tests/mutate/prepare.sh" "$top" "$work"

# --- run ---

# The kinds alternate.
(cd "$work/mutants" && find . -mindepth 1 -maxdepth 1) | sed 's/^\.\///' | sort -t- -k2n -k1 |
    xargs -n 1 -P "$jobs" --process-slot-var=VC_SLOT sh "$top/tests/mutate/run.sh" "$top" "$work" | tee "$work/results"

[ -z "$matching" ] || count=$(wc -l <"$work/results")
awk -v count="$count" -v equivalent="$(cat "$work"/drawn/*.equivalent | wc -l)" '
    { n[$1]++ }
    END {
        printf "%d mutants: %d caught, %d survived; %d more are listed as equivalent\n", \
            NR, n["caught"], n["survived"], equivalent
        if (NR < count)
            print "FAILED: fewer mutants than wanted"
        if (equivalent * 100 > 6 * count)
            print "FAILED: more than 6 % are listed as equivalent"
        printf "mutants_caught_percent %.1f\n", NR ? 100 * n["caught"] / NR : 0
        exit !(NR >= count && equivalent * 100 <= 6 * count && n["caught"] * 100 >= 94 * NR)
    }' "$work/results"
