#!/bin/sh
# SPDX-FileCopyrightText: 2026 Verbcall authors
# SPDX-License-Identifier: BSD-2-Clause
#
# The programs start, find the library, and say what is wrong when nobody listens: needs no RDMA device.
set -u

for program in server client; do
    src/till-$program --help | grep -q '^usage: ' || exit 1
done
said=$(src/till-client rdma://127.0.0.1:1 tea 250 2>&1)
status=$?
echo "$said"
[ $status -eq 1 ] && case $said in
'till-client: '?*) ;;
*) exit 1 ;;
esac
