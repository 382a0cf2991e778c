#!/bin/sh
# SPDX-FileCopyrightText: 2026 Verbcall authors
# SPDX-License-Identifier: BSD-2-Clause
#
# tests/pods.sh BUILD: tests containers that get this machine's RDMA devices, or the guest's if there are none, in TAP, under
# podman's default seccomp profile and capabilities. Missing devices are reported; at vc:// TCP works without them.
set -u

top=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
cd -- "$top" || exit 1
. tests/build.sh
. tests/packages.sh
if [ -z "${VC_TEST_ADDR-}" ]; then
    vc_need_packages containers || { echo '1..0 # SKIP no podman here'; exit 0; }
    vc_build_product "$1" && build=$(vc_plain_path "$1") || exit 1
    exec tests/rdma --timeout 600 --share "$build" -- "$top/tests/pods.sh" "$build"
fi
cd -- "$1" || exit 1
# shellcheck source=examples/servers.sh
. "$top/examples/servers.sh"
# shellcheck source=tests/pod_root.sh
. "$top/tests/pod_root.sh"

work=$(mktemp -d) && chmod 755 "$work" || exit 1
root=$work/root n=0
trap 'vc_server_stop 2>/dev/null; rm -rf "$work"' EXIT

# NAME COMMAND...: one test. A server that the command leaves must end successfully.
check()
{
    n=$((n + 1)) name=$1 result=0
    shift
    "$@" >"$work/log" 2>&1 || result=1
    vc_server_stop >>"$work/log" 2>&1 || result=1
    if [ $result -eq 0 ]; then
        echo "ok $n - $name"
    else
        echo "not ok $n - $name"
        sed 's/^/# /' "$work/log"
    fi
}

# Runs a container on the host's network. Limits that are given replace all others.
host()
{
    timeout 30 "$work/pod" --network host --ulimit nproc=100:100 "$@"
}

# The drivers of RDMA devices, which libibverbs loads by itself.
drivers_add()
{
    for folder in /etc/libibverbs.d /usr/lib/*/libibverbs /usr/lib64/libibverbs; do
        [ ! -d "$folder" ] || { mkdir -p "$root$folder" && cp -L "$folder"/* "$root$folder"; } || return 1
    done
}

devices='--device /dev/infiniband'
memory='--ulimit memlock=-1:-1'

# SCHEME: starts a server with all devices
serve()
{
    target=$1://$VC_TEST_ADDR
    # shellcheck disable=SC2086 # words
    vc_server_start "$work/pod" --network host --ulimit nproc=100:100 $devices $memory "$root" \
        examples/greeter/greeter-server "$target:0" && target=$target:$vc_port
}

# OPTION...: runs a client with these options
greets()
{
    [ "$(host "$@" "$root" examples/greeter/greeter-client "$target" world)" = 'Hello, world' ]
}

# TEXT OPTION...: the same; the client must fail with this text
fails()
{
    text=$1
    shift
    said=$(host "$@" "$root" examples/greeter/greeter-client "$target" world 2>&1) && return 1
    echo "$said"
    case $said in *"$text"*) ;; *) return 1 ;; esac
}

# shellcheck disable=SC2086 # words
by_rdma()
{
    serve rdma && greets $devices $memory
}

# shellcheck disable=SC2086 # words
by_the_best()
{
    serve vc && greets --env VERBCALL_TRANSPORTS=rdma $devices $memory && greets $devices $memory
}

# shellcheck disable=SC2086 # words
without_devices()
{
    serve rdma && fails 'RDMA' $memory && vc_server_stop && serve vc && greets $memory
}

# shellcheck disable=SC2086 # words
without_memory()
{
    serve rdma && fails 'ulimit -l' $devices --ulimit memlock=65536:65536 && vc_server_stop && serve vc &&
        greets $devices --ulimit memlock=65536:65536
}

why=$(vc_pod_refusal "$work")
[ -z "$why" ] || { echo "1..0 # SKIP $why"; exit 0; }
drivers_add || exit 1
echo 1..4
check containers_with_devices_call_over_rdma by_rdma
check containers_with_devices_find_rdma_the_best by_the_best
check a_container_without_devices_says_so_and_calls_over_tcp without_devices
check a_container_that_may_pin_nothing_says_so_and_calls_over_tcp without_memory
