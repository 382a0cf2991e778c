#!/bin/sh
# SPDX-FileCopyrightText: 2026 Verbcall authors
# SPDX-License-Identifier: BSD-2-Clause
#
# Run in a build folder, beside an RDMA device: runs the scenarios of faithful.c against the device and against the fake,
# and says of each, as TAP, whether both did the same. Lines that begin with "~" may differ: a send queue may take
# more than it was asked for. In the guest the last scenario removes the device, which is made again here.
set -u

[ -n "${VC_TEST_ADDR-}" ] || { echo '1..0 # SKIP no RDMA device: VC_TEST_ADDR is not set'; exit 0; }
case $(ls /sys/class/infiniband) in
rxe*) profile=rxe ;;
*) profile=strict ;;
esac
tmp=$(mktemp -d) || exit 1
trap 'rm -r "$tmp"' EXIT

# within TRIES COMMAND...: succeeds as soon as it does, and fails after so many tries.
within()
{
    tries=$1
    shift
    until "$@" 2>/dev/null; do
        tries=$((tries - 1))
        [ "$tries" -gt 0 ] || return
        sleep 0.5
    done
}

# The command that removes the device runs until the program, which had it open, has ended.
device_renew()
{
    within 20 rdma link add rxe0 type rxe netdev v0 && ip addr replace fd09::1/64 dev v0 nodad &&
        chmod 666 /dev/infiniband/* && within 20 grep -q ACTIVE /sys/class/infiniband/rxe0/ports/1/state
}

timeout 120 tests/fake/faithful_real >"$tmp/real" || { echo "Bail out! against the device: status $?"; exit 1; }
! grep -qx 'the device is removed' "$tmp/real" || device_renew ||
    { echo 'Bail out! the device does not come back'; exit 1; }
FAKE_PROFILE=$profile timeout 60 tests/fake/faithful >"$tmp/fake" || { echo "Bail out! on the fake: status $?"; exit 1; }

# A scenario is a line that is not indented, and those after it.
awk -v OFS='\n' '
    FNR == 1 { file++ }
    /^[^ ~]/ { name = $0; if (file == 1) order[++n] = name; next }
    /^~/ { next }
    { text[file, name] = text[file, name] "\n#" $0 }
    END {
        print "1.." n
        for (i = 1; i <= n; i++) {
            same = text[1, order[i]] == text[2, order[i]]
            print (same ? "ok " : "not ok ") i " " order[i]
            if (!same) {
                print "# the device:" text[1, order[i]]
                print "# the fake:" text[2, order[i]]
            }
            bad += !same
        }
        exit bad > 0
    }' "$tmp/real" "$tmp/fake"
