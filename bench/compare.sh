#!/bin/sh
# SPDX-FileCopyrightText: 2026 Verbcall authors
# SPDX-License-Identifier: BSD-2-Clause
#
# Measures whether this tree is slower than a commit; see usage() below. compare_inside.sh is the part that runs where the RDMA
# device is, ratio.awk evaluates the times, and steady.c makes instruction counts exact.
set -u
# shellcheck source=bench/common.sh
. "$(dirname -- "$0")/common.sh"

usage()
{
    cat <<'END'
usage: sh bench/compare.sh [OPTION...] COMMIT
Compares a blocking call with request and reply of 64 bytes in this tree with the same in a commit:
both are built as products, beside each other, and run in turn in one boot, each with its own
benchmark program, which has both ends of the call in one thread. Runs on this machine if it has an
RDMA device, otherwise in a virtual machine with Soft-RoCE; if that is emulated, its clock counts
instructions, the kernel's too, at 1 ns each. Installs what is missing for that.
  --minutes N        measure times for at most N minutes (default 20)
  --only time        count no instructions
  --only instructions  measure no times; the verdict is then `none`
  --plant PERCENT    make this tree's calls so much slower, to see that it is noticed
Prints lines of name and value:
  ratio, ratio_low, ratio_high   the time of a call in the tree over that in the commit, and its
                                 95 % interval; it is measured until the interval is narrow enough
  blocks                         measurements, of ten turns of each
  tree_call_us, commit_call_us   the medians of their turns
  SIDE_instructions_tree, SIDE_instructions_commit, SIDE_instructions_ratio
                                 in user space of a call, SIDE being client or server: those of the
                                 thread that polls, with one empty turn of polling for each
                                 completion. They do not depend on the machine's other work
  SIDE_polling_tree, SIDE_polling_commit, SIDE_polling_ratio
                                 all of the process, with as many empty turns as there were
  inproc_instructions_tree, inproc_instructions_commit
                                 in user space of a call over inproc, both ends in one thread; not
                                 of a commit that has no such
  verdict                        same, slower, faster or undecided
Exit status: 0 same, faster or none; 1 slower; 2 undecided; 3 when it could not measure.
END
}

fail()
{
    echo "bench: $*" >&2
    exit 3
}

# export_commit HASH FOLDER: writes the files of the commit to FOLDER/source.
export_commit()
{
    [ ! -e "$2/source/.whole" ] || return 0
    rm -rf "$2/source" && mkdir -p "$2/source" &&
        git archive --format=tar "$1" >"$2/source.tar" && tar -xf "$2/source.tar" -C "$2/source" &&
        rm "$2/source.tar" && : >"$2/source/.whole"
}

# As users build it: without tests, with configure's default optimisation.
build_both()
{
    hash=$(git rev-parse --verify --quiet "$commit^{commit}") || fail "there is no commit $commit"
    base=$build/compare/$hash
    # Removes builds of other commits.
    for other in "$build"/compare/*/source; do
        [ "$other" = "$base/source" ] || rm -rf "${other%/source}"
    done
    export_commit "$hash" "$base" || fail "cannot export $commit"
    (cd "$base/source" && vc_build "$base/build" --disable-tests) || fail "$commit does not build"
    vc_build "$build/compare/tree" --disable-tests || fail 'this tree does not build'
    [ "$only" = time ] || ${CC:-cc} -O2 -Wall -shared -fPIC -o "$build/compare/steady.so" bench/steady.c -ldl ||
        fail 'steady.c does not compile'
}

# alone BUILD COUNT: prints the instructions of COUNT calls over inproc; nothing if that build does not have inproc.
alone()
{
    program=$1/bench/.libs/call_lat
    [ -x "$program" ] || program=$1/bench/call_lat
    echo | LD_LIBRARY_PATH=$1/.libs valgrind -q --tool=callgrind --callgrind-out-file="$build/compare/alone" \
        "$program" turns inproc://call_lat 64 "$2" >/dev/null 2>&1 && sed -n 's/^totals: //p' "$build/compare/alone"
}

# Prints the instructions of a call, from the difference of two lengths, as in compare_inside.sh.
alone_counts()
{
    for side in "tree $build/compare/tree" "commit $base/build"; do
        echo "${side%% *} $(alone "${side#* }" 11000) $(alone "${side#* }" 1000)"
    done | awk 'NF == 3 { printf "inproc_instructions_%s %.2f\n", $1, ($2 - $3) / 10000 }'
}

minutes=20 only=all plant=0 commit=
while [ $# -gt 0 ]; do
    case $1 in
    -h | --help) usage; exit ;;
    --minutes | --plant)
        case ${2-} in
        '' | *[!0-9]*) usage >&2; exit 3 ;;
        esac
        eval "${1#--}=\$2"
        shift ;;
    --only)
        case ${2-} in
        time | instructions) only=$2 ;;
        *) usage >&2; exit 3 ;;
        esac
        shift ;;
    -*) usage >&2; exit 3 ;;
    *) commit=$1 ;;
    esac
    shift
done
[ -n "$commit" ] || { usage >&2; exit 3; }

bench_prepare 'build callgrind'
build_both
echo "bench: $where" >&2
cd "$build/compare" || exit 3

# inside ARGUMENT... -- OPTION...: runs compare_inside.sh with the arguments, with these options for tests/rdma.
inside()
{
    arguments=''
    while [ "$1" != -- ]; do
        arguments="$arguments $1"
        shift
    done
    shift
    # shellcheck disable=SC2086 # words
    "$top/tests/rdma" --timeout $((minutes * 60 + 1800)) --share "$build" "$@" -- \
        sh "$top/bench/compare_inside.sh" "$base/build" "$PWD/tree" $arguments || fail "the measurement ended with status $?"
}

{
    [ "$only" = instructions ] || inside time $((minutes * 60)) "$plant" -- --steady
    [ "$only" = time ] || inside instructions --
} >compare.out || exit 3
[ "$only" != instructions ] || echo 'verdict none' >>compare.out
sed '/^verdict /d' compare.out
[ "$only" = time ] || alone_counts
grep '^verdict ' compare.out
case $(sed -n 's/^verdict //p' compare.out) in
same | faster | none) exit 0 ;;
slower) exit 1 ;;
undecided) exit 2 ;;
*) fail 'there is no verdict' ;;
esac
