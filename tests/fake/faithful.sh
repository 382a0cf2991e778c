#!/bin/sh
# SPDX-FileCopyrightText: 2026 Verbcall authors
# SPDX-License-Identifier: BSD-2-Clause
#
# Run in a build folder, beside an RDMA device: runs the scenarios of faithful.c against the device and against the fake,
# and says of each, as TAP, whether both did the same. Lines that begin with "~" may differ: a send queue may take
# more than it was asked for.
set -u

[ -n "${VC_TEST_ADDR-}" ] || { echo '1..0 # SKIP no RDMA device: VC_TEST_ADDR is not set'; exit 0; }
case $(ls /sys/class/infiniband) in
rxe*) profile=rxe ;;
*) profile=strict ;;
esac
tmp=$(mktemp -d) || exit 1
trap 'rm -r "$tmp"' EXIT
timeout 120 tests/fake/faithful_real >"$tmp/real" || { echo "Bail out! against the device: status $?"; exit 1; }
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
