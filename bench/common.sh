# SPDX-FileCopyrightText: 2026 Verbcall authors
# SPDX-License-Identifier: BSD-2-Clause
#
# Shell functions of the benchmarks, to be sourced at their beginning, before they change the folder.
#
#   bench_rounds DEFAULT [ARGUMENT...]   $rounds by the command line, which usage() describes
#   bench_prepare GROUPS                 installs these groups of packages, in the project's folder, which is $top from then
#                                        on; $build is the build folder, $where says where the RDMA device is
#   bench_run NAME GROUPS ARGUMENT...    builds Verbcall, installs these groups of packages, and runs sh bench/ARGUMENT...
#                                        where the RDMA device is. Changes to the build folder; the output is in bench/NAME.out
#   bench_awk PROGRAM                    awk with two more functions: add(KEY, NUMBER) and median(KEY), and with n[KEY],
#                                        how many there are, and names[1..n_names], the keys in the order of their first
#
# shellcheck shell=sh

here=$PWD
bench_folder=$(dirname -- "$0")

die()
{
    echo "bench: $*" >&2
    exit 1
}

bench_rounds()
{
    rounds=$1
    shift
    case ${1-} in
    -h | --help) usage; exit ;;
    *[!0-9]* | 0*) usage >&2; exit 2 ;;
    esac
    rounds=${1:-$rounds}
}

bench_prepare()
{
    groups=$1
    CDPATH='' cd -P -- "$bench_folder/.." || exit 1
    top=$PWD
    . tests/packages.sh
    . tests/build.sh
    build=$(vc_build_folder "$here")

    # shellcheck disable=SC2086 # words
    vc_need_packages $groups || die 'it needs these packages'
    where=$(tests/rdma --where)
    case $where in
    *'in a guest'*) vc_need_packages guest || die 'it needs these packages' ;;
    esac
}

bench_run()
{
    output=bench/$1.out
    bench_prepare "$2"
    shift 2
    vc_build "$build" || die 'Verbcall does not build'

    cd "$build" || exit 1
    echo "bench: $where" >&2
    program=$top/bench/$1
    shift
    "$top/tests/rdma" --timeout 1800 -- sh "$program" "$@" >"$output" || die "the measurement ended with status $?"
}

bench_awk()
{
    LC_ALL=C awk '
        function add(key, value,    i) {
            if (!(key in n))
                names[++n_names] = key
            for (i = n[key]++; i > 0 && values[key, i - 1] > value; i--)
                values[key, i] = values[key, i - 1]
            values[key, i] = value
        }
        function median(key,    m) {
            m = int(n[key] / 2)
            return n[key] % 2 ? values[key, m] : (values[key, m - 1] + values[key, m]) / 2
        }'"$1"
}
