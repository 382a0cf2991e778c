#!/bin/sh
# SPDX-FileCopyrightText: 2026 Verbcall authors
# SPDX-License-Identifier: BSD-2-Clause
#
# prompt_inside.sh ROUNDS [short]: the part of prompt.sh that runs where the RDMA device is, in the build folder. Prints lines of
# name and value.
set -u
# shellcheck source=examples/servers.sh
. "$(dirname -- "$0")/../examples/servers.sh"

vc_server_start bench/prompt server "$(vc_target 0)" || exit 1
round=0
while [ $((round += 1)) -le "$1" ]; do
    echo "bench: round $round of $1" >&2
    timeout 300 bench/prompt client "$(vc_target "$vc_port")" ${2+"$2"} || exit 1
done
vc_server_stop
