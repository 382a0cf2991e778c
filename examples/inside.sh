#!/bin/sh
# SPDX-FileCopyrightText: 2026 Verbcall authors
# SPDX-License-Identifier: BSD-2-Clause
#
# inside.sh TEXT [EXAMPLE...]: the part of run.sh that runs the examples, in the build folder: all, or these. The pool's takes
# $VC_POOL_SECONDS.
set -u
# shellcheck source=examples/servers.sh
. "$(dirname -- "$0")/servers.sh"
# shellcheck source=examples/more.sh
. "$(dirname -- "$0")/more.sh"

# die WHAT: says on which step it ended.
die()
{
    echo "examples: $*" >&2
    exit 1
}

greeter()
{
    echo '== greeter: one call'
    vc_server_start examples/greeter/greeter-server "$(vc_target 0)" || die 'greeter-server did not start'
    answer=$(examples/greeter/greeter-client "$(vc_target "$vc_port")" 'RDMA world') || die 'greeter-client failed'
    echo "$answer"
    [ "$answer" = 'Hello, RDMA world' ] || die 'that is not the greeting'
    vc_server_stop || die 'greeter-server failed'
}

# verify THREADS
verify()
{
    echo
    echo "== kv: all lines read back, threads: $1"
    KV_TARGET=$(vc_target "$vc_port") examples/kv/kv-client --threads "$1" verify "$text" ||
        die "kv-client with $1 threads failed"
}

kv()
{
    vc_server_start examples/kv/kv-server --listen "$(vc_target 0)" --load "$text" || die 'kv-server did not start'
    verify 1
    verify 4
    vc_server_stop || die 'kv-server failed'
}

# The server is started anew in the middle: the sessions go on with the new one.
pool()
{
    echo
    echo '== pool: 1000 sessions on at most 4 connections, and a server that is started anew'
    vc_server_start examples/pool/verbcall_pool server "$(vc_target 0)" || die 'verbcall_pool does not serve'
    target=$(vc_target "$vc_port")
    said=$(mktemp) || die 'no room for what verbcall_pool says'
    examples/pool/verbcall_pool --sessions 1000 --links 4 --seconds "${VC_POOL_SECONDS:-8}" "$target" >"$said" &
    client=$!
    until grep -q 'calls/s' "$said"; do
        kill -0 "$client" 2>/dev/null || die 'verbcall_pool ended early'
        sleep 0.1
    done
    vc_server_stop || die 'verbcall_pool failed while serving'
    vc_server_start examples/pool/verbcall_pool server "$target" || die 'verbcall_pool does not serve again'
    wait "$client"
    ended=$?
    cat "$said"
    rm "$said"
    [ "$ended" -eq 0 ] || die 'verbcall_pool failed'
    vc_server_stop || die 'verbcall_pool failed while serving'
}

text=$1
shift
[ $# -gt 0 ] || set -- greeter kv pool chat file fanout fleet
for example; do
    case $example in
    greeter | kv | pool | chat | file | fanout | fleet) "$example" ;;
    *) die "there is no example '$example'" ;;
    esac
done
