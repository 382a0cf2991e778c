#!/bin/sh
# SPDX-FileCopyrightText: 2026 Verbcall authors
# SPDX-License-Identifier: BSD-2-Clause
#
# How long a call takes, beside what the device can do: see usage() below. What runs beside the RDMA device is in
# inside.sh.
set -u

usage()
{
    cat <<'END'
usage: sh bench/latency.sh [ROUNDS]
Compares blocking calls over Verbcall with perftest's ib_send_lat, side by side on this machine if
it has an RDMA device, otherwise in a virtual machine with Soft-RoCE. Builds Verbcall and installs
what is missing for that. Each round (default 7) runs both in turn with messages of 64 and 4096
bytes; what counts is the median of all rounds. Prints lines of name and value:
  send_lat_SIZE_us               ib_send_lat's t_typical: one way
  call_SIZE_us                   the median call, with a request and a reply of that size
  call_SIZE_over_2x_send_lat     the second over twice the first: 1 is as fast as it can be
  rounds                         how many there were
Let nothing else run beside it.
END
}

die()
{
    echo "bench: $*" >&2
    exit 1
}

# Reads inside.sh's lines, prints the results.
summary()
{
    LC_ALL=C awk '
        function add(key, value,    i) {
            for (i = n[key]++; i > 0 && values[key, i - 1] > value; i--)
                values[key, i] = values[key, i - 1]
            values[key, i] = value
        }
        function median(key,    m) {
            m = int(n[key] / 2)
            return n[key] % 2 ? values[key, m] : (values[key, m - 1] + values[key, m]) / 2
        }
        { add($1 " " $2, $3 + 0) }
        END {
            split("64 4096", sizes, " ")
            for (s = 1; s <= 2; s++) {
                size = sizes[s]
                printf "send_lat_%d_us %.2f\n", size, median("send_lat " size)
                printf "call_%d_us %.2f\n", size, median("call " size)
                printf "call_%d_over_2x_send_lat %.3f\n", size, median("call " size) / (2 * median("send_lat " size))
            }
            print "rounds", n["call 64"]
        }'
}

here=$PWD
case ${1-} in
-h | --help) usage; exit ;;
*[!0-9]* | 0*) usage >&2; exit 2 ;;
esac
rounds=${1:-7}

CDPATH='' cd -P -- "$(dirname -- "$0")/.." || exit 1
top=$PWD
. tests/packages.sh
. tests/build.sh
build=$(vc_build_folder "$here")

vc_need_packages build bench || die 'it needs these packages'
where=$(tests/rdma --where)
case $where in
*'in a guest'*) vc_need_packages guest || die 'it needs these packages' ;;
esac
vc_build "$build" || die 'Verbcall does not build'

cd "$build" || exit 1
echo "bench: $where" >&2
"$top/tests/rdma" --timeout 1800 -- sh "$top/bench/inside.sh" "$rounds" >bench/latency.out || die "the measurement ended with status $?"
summary <bench/latency.out
