#!/bin/sh
# SPDX-FileCopyrightText: 2026 Verbcall authors
# SPDX-License-Identifier: BSD-2-Clause
#
# inside.sh OLD NEW: the part of former.sh that runs where the RDMA device is: `former` of either build, as server and as
# client of the other. Prints TAP.
set -u
# shellcheck source=examples/servers.sh
. "$(dirname -- "$0")/../../examples/servers.sh"
n=0
said=$(mktemp) || exit 1
vc_start_s=60

# result NAME STATUS: and what the client has said.
result()
{
    n=$((n + 1))
    if [ "$2" -eq 0 ]; then
        echo "ok $n - $1"
    else
        echo "not ok $n - $1"
        sed 's/^/# /' "$said"
    fi
}

# client SECONDS all|broken: against the server at $vc_port.
client()
{
    timeout 120 "$of_client" client "$target" "$@" >"$said" 2>&1
}

# Whether the client has said that it made rounds, its sessions moved so often at least, and so many links were made.
says()
{
    awk -v moved="$1" -v made="$2" '$1 == "rounds" && $2 > 0 && $4 >= moved && $6 >= made { good = 1 } END { exit !good }' "$said"
}

serve()
{
    vc_server_start "$of_server" server "$(vc_target 0)" "$@" || exit 1
    target=$(vc_target "$vc_port")
}

calls_and_streams()
{
    serve
    client 3 all && says 0 1 && vc_server_stop
}

# The second one drains a second after its first call, and sends its client to the first, while it calls.
drain()
{
    serve
    serve "$target"
    client 6 all && says 0 2 && vc_server_stop
}

# The client's QP breaks while it calls, so that its session goes on over the next link.
resume()
{
    serve
    client 4 broken && says 1 2 && vc_server_stop
}

# meet SERVER CLIENT: every scene, with these two programs.
meet()
{
    of_server=$1 of_client=$2
    for scene in calls_and_streams drain resume; do
        "$scene"
        result "$scene with the ${of_server##*/} server and the ${of_client##*/} client" $?
        vc_server_stop
    done
}

meet "$1" "$2"
meet "$2" "$1"
rm "$said"
echo "1..$n"
