# SPDX-FileCopyrightText: 2026 Verbcall authors
# SPDX-License-Identifier: BSD-2-Clause
#
# Shell functions, to be sourced by what runs beside an RDMA device: servers in the background.
#
#   vc_target PORT                 prints the target of a port of $VC_TEST_ADDR, the device's address; with $VC_TEST_SCHEME it
#                                  begins so in place of rdma
#   vc_server_start COMMAND...     starts it and waits until it says "... on port N", which becomes $vc_port; its process
#                                  group becomes $vc_server
#   vc_server_stop                 ends all of them by SIGTERM; fails if one does not end, or not with status 0
#   vc_start_s, vc_stop_s          seconds that a server may take to start and to end (20 and 10)
#
# They return 1 and say why when something is wrong. shellcheck shell=sh
vc_servers='' vc_server='' vc_port='' vc_start_s=20 vc_stop_s=10
trap 'vc_server_stop' EXIT
trap 'exit 1' INT TERM HUP

vc_target()
{
    case $VC_TEST_ADDR in
    *:*) echo "${VC_TEST_SCHEME:-rdma}://[$VC_TEST_ADDR]:$1" ;;
    *) echo "${VC_TEST_SCHEME:-rdma}://$VC_TEST_ADDR:$1" ;;
    esac
}

# The server lives in a `timeout` of an hour, which kills it when it does not end within $vc_stop_s seconds of a SIGTERM.
vc_server_start()
{
    vc_folder=$(mktemp -d) && mkfifo "$vc_folder/out" || return 1
    vc_name=$1
    timeout -k "$vc_stop_s" 3600 "$@" >"$vc_folder/out" &
    vc_server=$!
    vc_servers="$vc_server=$vc_name $vc_servers"
    vc_line=$(timeout "$vc_start_s" head -n 1 <"$vc_folder/out")
    rm -r "$vc_folder"
    vc_port=${vc_line##*on port }
    case $vc_port in
    '' | *[!0-9]*)
        echo "$vc_name did not say that it serves${vc_line:+, but: $vc_line}" >&2
        return 1 ;;
    esac
}

# The last one first: it may use the others. One that was halted goes on, or it would not end.
vc_server_stop()
{
    vc_result=0
    for vc_one in $vc_servers; do
        kill -s CONT -- "-${vc_one%%=*}" 2>/dev/null
        kill "${vc_one%%=*}" 2>/dev/null
        wait "${vc_one%%=*}"
        vc_ended=$?
        [ "$vc_ended" -eq 0 ] && continue
        echo "${vc_one#*=} ended with status $vc_ended" >&2
        vc_result=1
    done
    vc_servers='' vc_server='' vc_port=''
    return "$vc_result"
}
